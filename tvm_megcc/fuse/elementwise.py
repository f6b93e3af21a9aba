"""unary, binary and cast: elementwise operators that stand alone (chains are fused as TIR)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from tvm.relax.dpl import is_op, wildcard

from tvm_megcc.dims import Size, product
from tvm_megcc.fuse.activation import Activation, over_any
from tvm_megcc.fuse.epilogue import Tail, activation
from tvm_megcc.fuse.request import Anchor, Parts, Request, anchor_of
from tvm_megcc.kernels.contract import codes
from tvm_megcc.kernels.expression import Fact
from tvm_megcc.relax_tools.exprs import dtype_of
from tvm_megcc.relax_tools.half import LARGEST

MAX_RANK = 8
#: Elements side by side below which a generated loop takes fewer instructions than the kernel.
SHORT_RUN = 16
#: Relax's operators -> names of codes in ``op/unary.h`` and ``op/binary.h``.
UNARY = {
    "exp": "EXP", "log": "LOG", "sqrt": "SQRT", "rsqrt": "RSQRT", "negative": "NEG", "abs": "ABS",
    "floor": "FLOOR", "ceil": "CEIL", "round": "ROUND", "erf": "ERF", "sin": "SIN", "cos": "COS",
    "sign": "SIGN", "square": "SQUARE", "trunc": "TRUNC",
}  # fmt: skip
BINARY = {
    "add": "ADD", "subtract": "SUB", "multiply": "MUL", "divide": "DIV", "minimum": "MIN",
    "maximum": "MAX", "power": "POW",
}  # fmt: skip


def anchors() -> Iterator[Anchor]:
    for name, code in BINARY.items():
        lhs, rhs = wildcard(), wildcard()
        pattern, parts = is_op(f"relax.{name}")(lhs, rhs), {"lhs": lhs, "rhs": rhs}
        build = partial(_binary, codes("binary")[code])
        yield Anchor(f"binary.{name}", pattern, parts, build, (activation,), elementwise=True)
    lhs, rhs = wildcard(), wildcard()
    pattern, parts = is_op("relax.nn.prelu")(lhs, rhs), {"lhs": lhs, "rhs": rhs}
    yield Anchor("binary.prelu", pattern, parts, _prelu, (activation,), elementwise=True)
    x, activations = over_any()
    for act in activations:
        parts = {"x": x, **act.parts}
        yield Anchor(f"unary.{act.name}", act.output, parts, partial(_act, act), elementwise=True)
    for name, code in UNARY.items():
        build = partial(_unary, codes("unary")[code])
        yield anchor_of(f"relax.{name}", f"unary.{name}", build, elementwise=True)
    yield anchor_of("relax.astype", "cast", partial(_cast, 0), elementwise=True)
    x, low, high = wildcard(), wildcard(), wildcard()
    clipped = is_op("relax.clip")(x, low, high)
    held = is_op("relax.where")(is_op("relax.isinf")(x), x, clipped)
    parts, build = {"x": x, "low": low, "high": high}, partial(_cast, 1)
    yield Anchor("cast.held", is_op("relax.astype")(held), parts, build, elementwise=True)


def _cast(saturate: int, parts: Parts, tail: Tail) -> Request | None:
    """`saturate` is 1 for the form of `half.held`."""
    if saturate and [float(parts[k].value) for k in ("low", "high")] != [-LARGEST, LARGEST]:
        return None
    x, shape = parts["x"], parts.shape_of(parts["x"])
    if shape is None or {dtype_of(x), dtype_of(parts["root"])} != {"f16", "f32"}:
        return None
    return Request("cast", {"size": product(shape), "saturate": saturate}, {"x": x})


def _unary(code: int, parts: Parts, tail: Tail, a: float = 0.0, b: float = 0.0) -> Request | None:
    x = parts["x"]
    shape = parts.shape_of(x)
    if shape is None:
        return None
    facts = {"func": code, "size": product(shape), "act_a": a, "act_b": b}
    return Request("unary", facts, {"x": x})


def _act(act: Activation, parts: Parts, tail: Tail) -> Request | None:
    found = act.parameters(parts)
    return None if found is None else _unary(act.code, parts, tail, *found)


def _prelu(parts: Parts, tail: Tail) -> Request | None:
    """A slope for each element of an axis is a tensor with trailing axes of extent 1."""
    shape, slope = parts.shape_of(parts["lhs"]), parts.shape_of(parts["rhs"])
    if shape is None or slope is None:
        return None
    axis = int(parts["root"].attrs.axis) % len(shape)
    return _binary(codes("binary")["PRELU"], parts, tail, (*slope, *[1] * (len(shape) - axis - 1)))


def _binary(
    code: int, parts: Parts, tail: Tail, right: Sequence[Size] | None = None
) -> Request | None:
    """Request of `code`; `right` overrides the right operand's own shape."""
    lhs, rhs, call = parts["lhs"], parts["rhs"], parts["root"]
    shapes = [
        parts.shape_of(lhs),
        parts.shape_of(rhs) if right is None else tuple(right),
        parts.shape_of(call),
    ]
    if any(s is None or len(s) > MAX_RANK for s in shapes) or dtype_of(lhs) != dtype_of(call):
        return None
    if _is_cut_short([shape or () for shape in shapes[:2]]):
        return None
    facts: dict[str, Fact] = {"func": code, **tail.activation, "size": product(shapes[2] or ())}
    for prefix, shape in zip("lr", shapes[:2], strict=True):
        padded = (1,) * (MAX_RANK - len(shape or ())) + (shape or ())
        facts.update({f"{prefix}{i}": d for i, d in enumerate(padded)})
    return Request("binary", facts, {"lhs": lhs, "rhs": rhs})


def _is_cut_short(shapes: Sequence[Sequence[Size]]) -> bool:
    """Whether both operands are broadcast, and few elements lie side by side in the result.

    The kernel looks for each run's place anew; a generated loop knows it.
    """
    rank = max(map(len, shapes))
    left, right = ((1,) * (rank - len(shape)) + tuple(shape) for shape in shapes)
    run: Size = 1
    for mine, other in zip(reversed(left), reversed(right), strict=True):
        if mine != other:
            break
        run *= mine
    both = any(a == 1 != b for a, b in zip(left, right, strict=True)) and any(
        b == 1 != a for a, b in zip(left, right, strict=True)
    )
    return both and isinstance(run, int) and 1 < run < SHORT_RUN
