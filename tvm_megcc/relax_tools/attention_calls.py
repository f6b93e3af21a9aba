"""Attention over a cache, as two functions of TIR that are called by name: for ops and fusion.

`append` puts new keys or values behind those of a cache; `attend` is causal attention over the rows
that are filled. Their bodies say what they compute and run wherever TVM runs; kernels take the
calls, which fusion finds by the functions' names. What such a name holds is in `Attended`.

Example
-------
>>> Attended(0.125, 4, 0.0).name
'megcc_attend_3e000000_00000004_00000000_'
>>> Attended.of("megcc_attend_3e000000_00000004_00000000_1")
Attended(scale=0.125, window=4, cap=0.0)
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tvm import relax, te, tirx

from tvm_megcc.relax_tools.calls import tir_name

APPEND = "megcc_append"

_ATTEND = re.compile(r"megcc_attend_([0-9a-f]{8})_([0-9a-f]{8})_([0-9a-f]{8})_\d*")


@dataclass(frozen=True, slots=True)
class Attended:
    """What attention does with scores: factor, rows that are seen (0: all), cap (0: none)."""

    scale: float
    window: int
    cap: float

    @property
    def name(self) -> str:
        scale, cap = (struct.pack(">f", value).hex() for value in (self.scale, self.cap))
        return f"megcc_attend_{scale}_{self.window:08x}_{cap}_"

    @classmethod
    def of(cls, name: str) -> Attended | None:
        """The facts in a function's name, None for the name of any other function."""
        found = _ATTEND.fullmatch(name)
        if found is None:
            return None
        scale, cap = (struct.unpack(">f", bytes.fromhex(found[k]))[0] for k in (1, 3))
        return cls(scale, int(found[2], 16), cap)


def is_append(name: str) -> bool:
    """Whether a function of this name is `append`, also of other sizes."""
    return re.fullmatch(rf"{APPEND}(_?\d+)?", name) is not None


def is_of_cache(expr: object) -> bool:
    """Whether an expression is a call of `append` or `attend`."""
    name = tir_name(expr)
    return is_append(name) or Attended.of(name) is not None


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
        ``[batch, heads, past rows, size]``
    rows : int or PrimExpr
        Rows of the result; those that neither is in are 0.
    """
    return builder.emit(_appended(builder, new, before, past, rows))


def _appended(
    builder: relax.BlockBuilder, new: relax.Expr, before: relax.Expr, past: relax.Expr, rows: Any
) -> relax.Call:
    def appended(new: te.Tensor, before: te.Tensor, past: te.Tensor) -> te.Tensor:
        def element(*at: tirx.Var) -> Any:
            row = tirx.Cast("int64", at[2]) - before[at[0]]
            zero = tirx.const(0, new.dtype)
            old = tirx.if_then_else(at[2] < past.shape[2], past[at], zero)
            there = tirx.all(row >= 0, row < new.shape[1])
            return tirx.if_then_else(there, new[at[0], row, at[1], at[3]], old)

        batch, _, heads, size = new.shape
        return te.compute([batch, heads, rows, size], element, name="appended")

    return builder.call_te(appended, new, before, past, primfunc_name_hint=APPEND)


def attend(
    builder: relax.BlockBuilder, operands: Sequence[relax.Expr], facts: Attended
) -> relax.Var:
    """Causal attention ``[batch, rows, heads, size]``.

    `operands` are the rows of queries ``[batch, rows, heads, size]``, keys and values ``[batch,
    shared heads, filled and other rows, size]``, and how many were filled before these rows:
    ``int64[batch]``. Of f16 sums and the softmax are f32.
    """
    return builder.emit(_attended(builder, operands, facts))


def with_operands(
    builder: relax.BlockBuilder, call: relax.Call, operands: Sequence[relax.Expr]
) -> relax.Call:
    """A call of `append` or `attend` with other operands, whose type of element its result has.

    `operands` stand for all that the call has, sizes behind the tensors included.
    """
    facts = Attended.of(tir_name(call))
    if facts is not None:
        return _attended(builder, operands[:4], facts)
    new, before, past = operands[:3]  # symbols of the result's rows follow
    return _appended(builder, new, before, past, call.ty.shape[2])


def _attended(
    builder: relax.BlockBuilder, operands: Sequence[relax.Expr], facts: Attended
) -> relax.Call:
    def attended(q: te.Tensor, k: te.Tensor, v: te.Tensor, before: te.Tensor) -> te.Tensor:
        batch, queries, heads, size = q.shape
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
            if facts.cap:
                cap = tirx.const(facts.cap, dtype)
                value = tirx.tanh(value / cap) * cap
            return tirx.if_then_else(seen(b, i, j), value, tirx.min_value(dtype))

        scores = te.compute([batch, heads, queries, keys], score, name="scores")
        over = te.reduce_axis((0, keys), name="over")
        most = te.compute(
            [batch, heads, queries],
            lambda b, h, i: te.max(scores[b, h, i, over], axis=over),
            name="most",
        )
        terms = te.compute(
            [batch, heads, queries, keys],
            lambda b, h, i, j: tirx.exp(scores[b, h, i, j] - most[b, h, i]),
            name="terms",
        )
        total_over = te.reduce_axis((0, keys), name="total_over")
        total = te.compute(
            [batch, heads, queries],
            lambda b, h, i: te.sum(terms[b, h, i, total_over], axis=total_over),
            name="total",
        )
        last = te.reduce_axis((0, keys), name="last")

        def term(b: Any, i: Any, h: Any, c: Any) -> Any:
            row = tirx.Cast(dtype, v[b, tirx.floordiv(h, shared), last, c])
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
            lambda b, i, h, c: tirx.Cast(q.dtype, weighted[b, i, h, c] / total[b, h, i]),
            name="attended",
        )

    return builder.call_te(attended, *operands, primfunc_name_hint=facts.name)
