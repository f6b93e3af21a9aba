"""cache_append and attention_cached: new rows of a cache, and attention over its filled rows.

call_tir(megcc_append, (new, before, past))
call_tir(megcc_attend_..., (q, keys, values, before[, bias][, sinks]))
"""

from __future__ import annotations

from collections.abc import Iterator

from tvm import relax
from tvm.relax.dpl import is_op, wildcard

from tvm_megcc.core.dtypes import nbytes
from tvm_megcc.fuse.epilogue import Tail
from tvm_megcc.fuse.request import Anchor, Parts, Request
from tvm_megcc.kernels.expression import Fact
from tvm_megcc.relax_tools.attention_calls import Attended, is_append
from tvm_megcc.relax_tools.calls import tir_name
from tvm_megcc.relax_tools.exprs import dtype_of


def anchors() -> Iterator[Anchor]:
    pattern = is_op("relax.call_tir")(wildcard(), wildcard(), varg_default_wildcard=True)
    yield Anchor("cached_attention", pattern, {}, _request)


def _request(parts: Parts, tail: Tail) -> Request | None:
    call = parts["root"]
    name = tir_name(call)
    facts = Attended.of(name)
    if not is_append(name) and facts is None:
        return None
    given = call.args[1].fields if isinstance(call.args[1], relax.Tuple) else ()
    operands = [expr for expr in given if isinstance(expr.ty, relax.TensorType)]  # no sizes
    shapes = [parts.shape_of(expr) for expr in (*operands, call)]
    if any(shape is None for shape in shapes):
        return None
    sizes: dict[str, Fact]
    if facts is None:
        new, _, past, made = (shape or () for shape in shapes)
        batch, rows, heads, size = new
        sizes = {
            "b": batch, "s": rows, "h": heads, "p": past[2], "n": made[2],
            "row_bytes": nbytes(dtype_of(call), made[3]), "d": size,
        }  # fmt: skip
        return Request(
            "cache_append", sizes, dict(zip(("x", "before", "past"), operands, strict=True))
        )
    q, k = shapes[0] or (), shapes[1] or ()
    batch, rows, heads, size = q
    sizes = {
        "b": batch, "m": rows, "h": heads, "g": k[1], "n": k[2], "d": size,
        "window": facts.window, "scale": facts.scale, "cap": facts.cap,
        "softcap": int(facts.cap != 0), "row": k[3], "bias": int(facts.bias),
        "bias_n": 0, "bias_b": 0, "bias_h": 0, "sinks": int(facts.sinks),
    }  # fmt: skip
    names = ["q", "k", "v", "before"]
    if facts.bias:
        bias = shapes[4] or ()
        sizes |= {"bias_b": int(bias[0] != 1), "bias_h": int(bias[1] != 1), "bias_n": bias[3]}
        names.append("bias")
    names += ["sinks"] * facts.sinks
    return Request("attention_cached", sizes, dict(zip(names, operands, strict=True)))
