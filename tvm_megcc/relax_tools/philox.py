"""Philox4x32-10: random numbers as a pure function of a key and a counter, in TE.

Source: Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3" (SC'11).
A block of four words follows from a counter of four words and a key of two. Here the counter is the
number of the block in its draw and the number of the draw (`draws`); so any element of a draw can
be computed without those before it, by any thread.

Elements take the words of their blocks in order:

* ``uniform`` in f32: one word, its upper 24 bits, times 2**-24. In f64: two words, the first in
  front, of which the upper 53 bits count.
* ``normal``: Box and Muller's two numbers of two uniform ones. In f32 those are a word each, in f64
  two words each.

Example
-------
>>> uniform(words, (2, 3), "float32")                                   # doctest: +SKIP
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tvm import te, tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from tvm_megcc.relax_tools.tir_kernels import local

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
#: Increments of the key in each round.
WEYL = (0x9E3779B9, 0xBB67AE85)

#: Four words -> the elements of a block.
_Elements = Callable[[Sequence[Any]], list[Any]]


def uniform(draw: te.Tensor, shape: Sequence[Any], dtype: str) -> te.Tensor:
    """Tensor of uniform random numbers in [0, 1), of `dtype` f32 or f64, for the key `draw`."""
    if dtype == "float64":
        return _filled(draw, shape, dtype, _uniform_f64, 2)
    return _filled(draw, shape, dtype, lambda w: [_fraction(v) for v in w], 4)


def normal(draw: te.Tensor, shape: Sequence[Any], dtype: str) -> te.Tensor:
    """Tensor of normal random numbers, mean 0, variance 1, of `dtype` f32 or f64, for `draw`."""
    if dtype == "float64":
        return _filled(draw, shape, dtype, _normal_f64, 2)
    return _filled(draw, shape, dtype, lambda w: [*_normal_f32(*w[:2]), *_normal_f32(*w[2:])], 4)


def _filled(
    draw: te.Tensor, shape: Sequence[Any], dtype: str, elements: _Elements, per_block: int
) -> te.Tensor:
    count: Any = math.prod(shape, start=tirx.const(1, "int64"))

    def kernel(ins: Sequence[Any], outs: Sequence[Any]) -> tirx.Stmt:
        with IRBuilder() as builder:
            given, result = T.buffer_proxy(ins[0]), T.buffer_proxy(outs[0])
            with T.parallel(0, (count + (per_block - 1)) // per_block) as block:
                counter = [tirx.Cast("uint32", block), _u32(0), given[2], given[3]]
                found = elements(block_of(counter, [given[0], given[1]]))
                for k, value in enumerate(found):
                    at = block * per_block + k
                    with T.If(at < count), T.Then():
                        result[at] = value
        return builder.get()

    return te.extern([(count,)], [draw], kernel, dtype=[dtype], name=f"random_{dtype}")


def block_of(counter_words: Sequence[Any], key_words: Sequence[Any]) -> list[Any]:
    """Compute the four words of a block from a counter of four ``uint32`` and a key of two.

    Emits statements into the open IR builder.
    """
    key, counter, old = (local("uint32", n) for n in (2, 4, 4))
    for k in range(2):
        key[k] = key_words[k]
    for k in range(4):
        counter[k] = counter_words[k]
    with T.serial(0, ROUNDS):
        for k in range(4):
            old[k] = counter[k]
        for k in range(2):
            product = tirx.Cast("uint64", old[2 * k]) * tirx.const(MULTIPLIERS[k], "uint64")
            high = tirx.Cast("uint32", product >> tirx.const(32, "uint64"))
            to = 2 - 2 * k
            counter[to + 1] = tirx.Cast("uint32", product)
            counter[to] = high ^ old[to + 1] ^ key[1 - k]
        for k in range(2):
            key[k] = key[k] + _u32(WEYL[k])
    return [counter[k] for k in range(4)]


def _fraction(word: Any) -> Any:
    """Upper 24 bits of a word as a number in [0, 1)."""
    return tirx.Cast("float32", word >> _u32(8)) * tirx.const(2.0**-24, "float32")


def _bits53(high: Any, low: Any) -> Any:
    """Upper 53 of 64 bits as f64."""
    both = (tirx.Cast("uint64", high) << tirx.const(32, "uint64")) | tirx.Cast("uint64", low)
    return tirx.Cast("float64", both >> tirx.const(11, "uint64"))


def _uniform_f64(w: Sequence[Any]) -> list[Any]:
    scale = tirx.const(2.0**-53, "float64")
    return [_bits53(w[k], w[k + 1]) * scale for k in (0, 2)]


def _normal_f32(first: Any, second: Any) -> list[Any]:
    # In (0, 1], at least 2**-33, so that numbers reach 6.7.
    part = tirx.Cast("float32", first) * tirx.const(2.0**-32, "float32")
    turn = tirx.Cast("float32", (second & _u32(0x3FFFFFFF)) >> _u32(6))
    return _polar(
        part + tirx.const(2.0**-33, "float32"),
        turn * tirx.const(2.0**-24, "float32"),
        second >> _u32(30),
        "float32",
    )


def _normal_f64(w: Sequence[Any]) -> list[Any]:
    scale = tirx.const(2.0**-53, "float64")
    part = (_bits53(w[0], w[1]) + tirx.const(0.5, "float64")) * scale
    turn = _bits53((w[2] << _u32(2)) | (w[3] >> _u32(30)), w[3] << _u32(2)) * scale
    return _polar(part, turn, w[2] >> _u32(30), "float64")


def _polar(part: Any, turn: Any, quadrant: Any, dtype: str) -> list[Any]:
    """Two normal numbers by Box and Muller: `part` in (0, 1] gives the radius, the rest the angle.

    Sine and cosine are taken of at most an eighth of a circle, where both are exact.
    """
    radius, angle, cosine, sine = (local(dtype) for _ in range(4))
    swapped = local("uint32")
    one = tirx.const(1.0, dtype)
    radius[0] = tirx.sqrt(tirx.log(part) * tirx.const(-2.0, dtype))
    angle[0] = turn
    swapped[0] = quadrant & _u32(1)
    with T.If(angle[0] > tirx.const(0.5, dtype)), T.Then():
        angle[0] = one - angle[0]
        swapped[0] = _u32(1) - swapped[0]
    angle[0] = angle[0] * tirx.const(math.pi / 2, dtype)
    cosine[0], sine[0] = tirx.cos(angle[0]), tirx.sin(angle[0])
    with T.If(swapped[0] == _u32(1)), T.Then():
        angle[0] = cosine[0]
        cosine[0] = sine[0]
        sine[0] = angle[0]
    left = tirx.any(quadrant == _u32(1), quadrant == _u32(2))
    below = quadrant >= _u32(2)
    return [
        radius[0] * tirx.if_then_else(negative, -value[0], value[0])
        for negative, value in ((left, cosine), (below, sine))
    ]


def _u32(value: int) -> Any:
    return tirx.const(value, "uint32")
