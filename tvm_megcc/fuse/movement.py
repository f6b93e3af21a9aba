"""transpose, concat, pad, slice and gather: operators that copy elements of any type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tvm import relax

from tvm_megcc.core.dtypes import nbytes
from tvm_megcc.dims import Size, product
from tvm_megcc.fuse.epilogue import Tail
from tvm_megcc.fuse.request import Anchor, Parts, Request, anchor_of
from tvm_megcc.kernels.contract import codes
from tvm_megcc.kernels.expression import Fact
from tvm_megcc.relax_tools.calls import permutation_of
from tvm_megcc.relax_tools.exprs import as_float, as_int, dtype_of
from tvm_megcc.relax_tools.slices import slice_of

MAX_RANK = 8
MAX_CONCAT = 16
#: Modes of Relax -> names of codes in ``op/pad.h``.
PAD_MODES = {"constant": "CONSTANT", "replicate": "EDGE", "reflect": "REFLECT", "circular": "WRAP"}

Facts = dict[str, Fact]


def anchors() -> Iterator[Anchor]:
    for name, build in (
        ("permute_dims", _transpose),
        ("concat", _concat),
        ("nn.pad", _pad),
        ("strided_slice", _slice),
        ("take", _gather),
    ):
        yield anchor_of(f"relax.{name}", name.removeprefix("nn."), build)


def _numbered(prefix: str, values: Sequence[Size], fill: int) -> dict[str, Size]:
    """Facts ``prefix0 .. prefix7``, padded in front."""
    padded = [fill] * (MAX_RANK - len(values)) + list(values)
    return {f"{prefix}{i}": v for i, v in enumerate(padded)}


def _movable(parts: Parts, x: relax.Expr) -> tuple[Size, ...] | None:
    """Shape of a tensor of at most `MAX_RANK` dims, or None."""
    shape = parts.shape_of(x)
    return None if shape is None or len(shape) > MAX_RANK else shape


def _transpose(parts: Parts, tail: Tail) -> Request | None:
    return transposed(parts, parts["x"], parts["root"])


def transposed(parts: Parts, x: relax.Expr, call: relax.Call) -> Request | None:
    """Request of a ``permute_dims`` of `x`."""
    shape = _movable(parts, x)
    if shape is None:
        return None
    missing = MAX_RANK - len(shape)
    perm = [*range(missing), *(missing + a for a in permutation_of(call))]
    facts = {"size": product(shape), **_numbered("d", shape, 1), **_numbered("p", perm, 0)}
    return Request("transpose", facts, {"x": x})


def _concat(parts: Parts, tail: Tail) -> Request | None:
    call = parts["root"]
    fields = call.args[0].fields if isinstance(call.args[0], relax.Tuple) else ()
    axis, out = as_int(call.attrs.axis), parts.shape_of(call)
    shapes = [parts.shape_of(f) for f in fields]
    if axis is None or not out or not 0 < len(fields) <= MAX_CONCAT or None in shapes:
        return None
    axis %= len(out)
    esize = nbytes(dtype_of(call), 1)
    sizes = [product(s[axis:]) * esize for s in shapes if s is not None]
    facts: Facts = {
        "count": len(fields), "outer": product(out[:axis]),
        **{f"b{i}": (sizes[i] if i < len(sizes) else 0) for i in range(MAX_CONCAT)},
    }  # fmt: skip
    return Request("concat", facts, {f"x{i}": field for i, field in enumerate(fields)})


def _pad(parts: Parts, tail: Tail) -> Request | None:
    x, attrs, out = parts["x"], parts["root"].attrs, parts.shape_of(parts["root"])
    shape = _movable(parts, x)
    mode, value = PAD_MODES.get(str(attrs.pad_mode)), as_float(attrs.pad_value)
    if shape is None or out is None or mode is None:
        return None
    value = float(attrs.pad_value) if value is None else value
    if value != 0.0 and dtype_of(x) != "f32":
        return None
    width = [int(v) for v in attrs.pad_width]
    facts = {
        "mode": codes("pad")[mode], "size": product(out), "value_lo": value, "value_hi": 0,
        **_numbered("d", shape, 1), **_numbered("a", width[::2], 0),
        **_numbered("z", width[1::2], 0),
    }  # fmt: skip
    return Request("pad", facts, {"x": x})


def _slice(parts: Parts, tail: Tail) -> Request | None:
    x, call, out = parts["x"], parts["root"], parts.shape_of(parts["root"])
    shape = _movable(parts, x)
    taken = slice_of(call, shape, parts.symbols) if shape is not None else None
    if shape is None or out is None or taken is None:
        return None
    facts = {
        "size": product(out), **_numbered("d", shape, 1), **_numbered("b", taken.begins, 0),
        **_numbered("s", taken.steps, 1), **_numbered("o", out, 1),
    }  # fmt: skip
    return Request("slice", facts, {"x": x})


def _gather(parts: Parts, tail: Tail) -> Request | None:
    x, call = parts["x"], parts["root"]
    index = call.args[1]
    shape, where = _movable(parts, x), parts.shape_of(index)
    axis = as_int(call.attrs.axis)
    if shape is None or where is None or axis is None:
        return None
    axis %= len(shape)
    facts = {
        "outer": product(shape[:axis]), "axis": shape[axis],
        "row_bytes": product(shape[axis + 1 :]) * nbytes(dtype_of(x), 1), "count": product(where),
    }  # fmt: skip
    return Request("gather", facts, {"x": x, "index": index})
