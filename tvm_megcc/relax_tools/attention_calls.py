"""Attention over a cache, as two functions of TIR that are called by name: for ops and fusion.

`append` puts new keys or values behind those of a cache; `attend` is causal attention over the rows
that are filled. Their bodies say what they compute and run wherever TVM runs; kernels take the
calls, which fusion finds by the functions' names. What such a name holds is in `Attended`.

A cache may have another type than what it keeps. A row of int8 is its numbers and, in
`FACTOR_BYTES` more elements, the bytes of a float by which they are multiplied.

Example
-------
>>> Attended(0.125, 4, 0.0, sinks=True).name
'megcc_attend_3e000000_00000004_00000000_2_'
>>> Attended.of("megcc_attend_3e000000_00000004_00000000_2_1")
Attended(scale=0.125, window=4, cap=0.0, bias=False, sinks=True)
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tvm import relax, te, tirx

from tvm_megcc.relax_tools.calls import tir_name

APPEND = "megcc_append"

#: Operands of `attend` in front of biases and sinks; `append` has no more.
OF_ROWS = 4

#: Elements of a row of int8 behind its numbers: a float.
FACTOR_BYTES = 4

_ATTEND = re.compile(r"megcc_attend_([0-9a-f]{8})_([0-9a-f]{8})_([0-9a-f]{8})_([0-3])_\d*")


@dataclass(frozen=True, slots=True)
class Attended:
    """What attention does with scores: factor, rows that are seen (0: all), cap (0: none).

    With `bias` an operand is added to them; with `sinks` each head has one more score, whose
    exponential is in the sum of the softmax alone.
    """

    scale: float
    window: int
    cap: float
    bias: bool = False
    sinks: bool = False

    @property
    def name(self) -> str:
        scale, cap = (struct.pack(">f", value).hex() for value in (self.scale, self.cap))
        return f"megcc_attend_{scale}_{self.window:08x}_{cap}_{self.bias + 2 * self.sinks}_"

    @classmethod
    def of(cls, name: str) -> Attended | None:
        """The facts in a function's name, None for the name of any other function."""
        found = _ATTEND.fullmatch(name)
        if found is None:
            return None
        scale, cap = (struct.unpack(">f", bytes.fromhex(found[k]))[0] for k in (1, 3))
        extra = int(found[4])
        return cls(scale, int(found[2], 16), cap, bool(extra & 1), bool(extra & 2))


def is_append(name: str) -> bool:
    """Whether a function of this name is `append`, also of other sizes."""
    return re.fullmatch(rf"{APPEND}(_?\d+)?", name) is not None


def is_of_cache(expr: object) -> bool:
    """Whether an expression is a call of `append` or `attend`."""
    name = tir_name(expr)
    return is_append(name) or Attended.of(name) is not None


def cache_of(call: relax.Call, operands: Sequence[relax.Expr]) -> relax.Expr:
    """Of the operands of a call of `append` the past, of `attend` the keys."""
    return operands[2 if is_append(tir_name(call)) else 1]


def append(
    builder: relax.BlockBuilder, new: relax.Expr, before: relax.Expr, past: relax.Expr, rows: Any
) -> relax.Var:
    """A cache with new rows.

    Parameters
    ----------
    builder : relax.BlockBuilder
    new : relax.Expr
        ``[batch, new rows, heads, size]``
    before : relax.Expr
        ``int64[batch]``: rows that are filled.
    past : relax.Expr
        ``[batch, heads, past rows, size]``, of any type; in int8 of `FACTOR_BYTES` more elements.
    rows : int or PrimExpr
        Rows of the result; those that neither is in are 0.
    """
    return builder.emit(_appended(builder, new, before, past, rows))


def _appended(
    builder: relax.BlockBuilder, new: relax.Expr, before: relax.Expr, past: relax.Expr, rows: Any
) -> relax.Call:
    def appended(new: te.Tensor, before: te.Tensor, past: te.Tensor) -> te.Tensor:
        kept = _rounded if past.dtype == "int8" != new.dtype else _cast
        stored = kept(new, past.dtype)

        def element(*at: tirx.Var) -> Any:
            row = tirx.Cast("int64", at[2]) - before[at[0]]
            zero = tirx.const(0, past.dtype)
            old = tirx.if_then_else(at[2] < past.shape[2], past[at], zero)
            there = tirx.all(row >= 0, row < new.shape[1])
            return tirx.if_then_else(there, stored(at[0], row, at[1], at[3]), old)

        batch, _, heads, _ = new.shape
        return te.compute([batch, heads, rows, past.shape[3]], element, name="appended")

    return builder.call_te(appended, new, before, past, primfunc_name_hint=APPEND)


def _cast(rows: te.Tensor, dtype: str) -> Callable[..., Any]:
    """Elements of rows in another type, by their place."""
    return lambda *at: rows[at] if rows.dtype == dtype else tirx.Cast(dtype, rows[at])


def _rounded(rows: te.Tensor, _: str) -> Callable[..., Any]:
    """Elements of rows ``[batch, row, head, size]`` in int8, by their place; then the factor's."""
    batch, count, heads, size = rows.shape
    along = te.reduce_axis((0, size), name="of")
    most = te.compute(
        [batch, count, heads],
        lambda b, i, h: te.max(tirx.abs(rows[b, i, h, along]), axis=along),
        name="largest",
    )

    def element(b: Any, i: Any, h: Any, c: Any) -> Any:
        largest = most[b, i, h]
        is_some = largest >= tirx.const(1e-30, "float32")
        inverse = tirx.if_then_else(is_some, 127.0 / largest, tirx.const(0, "float32"))
        number = tirx.Cast("int8", tirx.nearbyint(rows[b, i, h, tirx.min(c, size - 1)] * inverse))
        bits = tirx.reinterpret("uint32", largest / tirx.const(127, "float32"))
        shift = tirx.Cast("uint32", tirx.max(c - size, 0) * 8)
        return tirx.if_then_else(c < size, number, tirx.Cast("int8", bits >> shift))

    return element


def _row_factor(cache: te.Tensor, size: Any, b: Any, h: Any, j: Any) -> Any:
    """What the numbers of a row of a cache in int8 are multiplied by."""
    parts = [
        tirx.Cast("uint32", tirx.Cast("uint8", cache[b, h, j, size + k])) << (8 * k)
        for k in range(FACTOR_BYTES)
    ]
    return tirx.reinterpret("float32", parts[0] | parts[1] | parts[2] | parts[3])


def attend(
    builder: relax.BlockBuilder, operands: Sequence[relax.Expr], facts: Attended
) -> relax.Var:
    """Causal attention ``[batch, rows, heads, size]``.

    `operands` are the rows of queries ``[batch, rows, heads, size]``, keys and values ``[batch,
    shared heads, filled and other rows, size]``, and how many were filled before these rows:
    ``int64[batch]``. Of f16 sums and the softmax are f32. Then, as `facts` say, a bias of scores,
    ``float32[batch or 1, heads or 1, rows, columns]`` with a column for each row that is filled,
    and sinks, ``float32[heads]``.
    """
    return builder.emit(_attended(builder, operands, facts))


def with_operands(
    builder: relax.BlockBuilder, call: relax.Call, operands: Sequence[relax.Expr]
) -> relax.Call:
    """A call of `append` or `attend` with other operands.

    `operands` stand for all that the call has, sizes behind the tensors included. A cache has the
    type of the past, the rows of attention that of the queries.
    """
    facts = Attended.of(tir_name(call))
    if facts is not None:
        return _attended(builder, operands[: 4 + facts.bias + facts.sinks], facts)
    new, before, past = operands[:3]  # symbols of the result's rows follow
    return _appended(builder, new, before, past, call.ty.shape[2])


def _attended(
    builder: relax.BlockBuilder, operands: Sequence[relax.Expr], facts: Attended
) -> relax.Call:
    def attended(
        q: te.Tensor, k: te.Tensor, v: te.Tensor, before: te.Tensor, *extra: te.Tensor
    ) -> te.Tensor:
        batch, queries, heads, size = q.shape
        bias = extra[0] if facts.bias else None
        sinks = extra[-1] if facts.sinks else None
        narrow = k.dtype == "int8" != q.dtype
        keys, dtype = k.shape[2], "float32" if q.dtype == "float16" else q.dtype
        shared = tirx.floordiv(heads, k.shape[1])
        along = te.reduce_axis((0, size), name="along")
        products = te.compute(
            [batch, heads, queries, keys],
            lambda b, h, i, j: te.sum(
                tirx.Cast(dtype, q[b, i, h, along])
                * tirx.Cast(dtype, k[b, tirx.floordiv(h, shared), j, along]),
                axis=along,
            ),
            name="products",
        )

        def seen(b: Any, i: Any, j: Any) -> Any:
            place = before[b] + tirx.Cast("int64", i)
            found = tirx.Cast("int64", j) <= place
            if facts.window:
                found = tirx.all(found, tirx.Cast("int64", j) + facts.window > place)
            return found

        def score(b: Any, h: Any, i: Any, j: Any) -> Any:
            value = products[b, h, i, j] * tirx.const(facts.scale, dtype)
            if narrow:
                value = value * _row_factor(k, size, b, tirx.floordiv(h, shared), j)
            if facts.cap:
                cap = tirx.const(facts.cap, dtype)
                value = tirx.tanh(value / cap) * cap
            if bias is not None:
                value = (
                    value
                    + bias[
                        b if _is_many(bias.shape[0]) else 0,
                        h if _is_many(bias.shape[1]) else 0,
                        i,
                        tirx.min(j, bias.shape[3] - 1),
                    ]
                )
            return tirx.if_then_else(seen(b, i, j), value, tirx.min_value(dtype))

        scores = te.compute([batch, heads, queries, keys], score, name="scores")
        over = te.reduce_axis((0, keys), name="over")
        most = te.compute(
            [batch, heads, queries],
            lambda b, h, i: te.max(scores[b, h, i, over], axis=over),
            name="most",
        )

        def top(b: Any, h: Any, i: Any) -> Any:
            return most[b, h, i] if sinks is None else tirx.max(most[b, h, i], sinks[h])

        terms = te.compute(
            [batch, heads, queries, keys],
            lambda b, h, i, j: tirx.exp(scores[b, h, i, j] - top(b, h, i)),
            name="terms",
        )
        total_over = te.reduce_axis((0, keys), name="total_over")
        sums = te.compute(
            [batch, heads, queries],
            lambda b, h, i: te.sum(terms[b, h, i, total_over], axis=total_over),
            name="total",
        )

        def total(b: Any, h: Any, i: Any) -> Any:
            found = sums[b, h, i]
            return found if sinks is None else found + tirx.exp(sinks[h] - top(b, h, i))

        last = te.reduce_axis((0, keys), name="last")

        def term(b: Any, i: Any, h: Any, c: Any) -> Any:
            head = tirx.floordiv(h, shared)
            row = tirx.Cast(dtype, v[b, head, last, c])
            if narrow:
                row = row * _row_factor(v, size, b, head, last)
            value = terms[b, h, i, last] * row
            # What is not filled may hold anything, a NaN too.
            return tirx.if_then_else(seen(b, i, last), value, tirx.const(0, dtype))

        weighted = te.compute(
            [batch, queries, heads, size],
            lambda b, i, h, c: te.sum(term(b, i, h, c), axis=last),
            name="weighted",
        )
        return te.compute(
            [batch, queries, heads, size],
            lambda b, i, h, c: tirx.Cast(q.dtype, weighted[b, i, h, c] / total(b, h, i)),
            name="attended",
        )

    return builder.call_te(attended, *operands, primfunc_name_hint=facts.name)


def _is_many(dim: Any) -> bool:
    """Whether a dim of a bias is not one for all."""
    return not (isinstance(dim, tirx.IntImm) and int(dim) == 1)
