"""softmax, layer_norm and reduce: operators along one line of elements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from tvm.relax.dpl import is_op, wildcard

from tvm_megcc.dims import Size, product
from tvm_megcc.fuse.epilogue import Tail
from tvm_megcc.fuse.request import Anchor, Parts, Request, anchor_of
from tvm_megcc.kernels.contract import codes
from tvm_megcc.relax_tools.calls import reduced_axes
from tvm_megcc.relax_tools.exprs import as_int, dtype_of

#: Relax's operators; their codes in ``op/reduce.h`` are the same words.
REDUCE = ("sum", "mean", "max", "min", "prod")


def anchors() -> Iterator[Anchor]:
    for name, log in (("softmax", 0), ("log_softmax", 1)):
        yield anchor_of(f"relax.nn.{name}", name, partial(_softmax, log))
    for name in REDUCE:
        yield anchor_of(f"relax.{name}", name, partial(_reduce, codes("reduce")[name.upper()]))
    for rms, name, operands in (
        (0, "layer_norm", ("x", "scale", "bias")),
        (1, "rms_norm", ("x", "scale")),
    ):
        parts = {operand: wildcard() for operand in operands}
        pattern = is_op(f"relax.nn.{name}")(*parts.values())
        yield Anchor(name, pattern, parts, partial(_normed, rms))


def _split(shape: Sequence[Size], first: int, last: int) -> dict[str, Size]:
    """Facts ``outer``, ``axis``, ``inner`` for lines along the axes ``[first, last)``."""
    return {
        "outer": product(shape[:first]),
        "axis": product(shape[first:last]),
        "inner": product(shape[last:]),
    }


def _softmax(log: int, parts: Parts, tail: Tail) -> Request | None:
    x, shape = parts["x"], parts.shape_of(parts["x"])
    if not shape:
        return None
    axis = int(parts["root"].attrs.axis) % len(shape)
    facts = {"log": log, **_split(shape, axis, axis + 1)}
    return Request("softmax", facts, {"x": x})


def runs_of(shape: Sequence[Size], axes: Sequence[int]) -> list[list[int]]:
    """Runs of adjacent axes among the sorted `axes`; axes of one element do not separate them.

    An axis of one element joins the run before it, else the one behind it.
    """
    runs: list[list[int]] = []
    ones: list[int] = []
    goes_on = False  # nothing of more than one element separates the last run from this axis
    for axis, size in enumerate(shape):
        if axis not in axes:
            goes_on = goes_on and size == 1
        elif size == 1:
            (runs[-1] if runs else ones).append(axis)
        elif goes_on:
            runs[-1].append(axis)
        else:
            runs.append([axis])
            goes_on = True
    return [[*ones, *runs[0]], *runs[1:]] if runs else [ones]


def _reduce(code: int, parts: Parts, tail: Tail) -> Request | None:
    x, shape = parts["x"], parts.shape_of(parts["x"])
    if not shape:
        return None
    lines = reduced_axes(parts["root"])
    runs = runs_of(shape, lines)
    if not lines or len(runs) > 1:
        return None
    (run,) = runs
    line = [axis for axis in run if shape[axis] != 1] or run[:1]
    facts = {"func": code, **_split(shape, line[0], line[-1] + 1)}
    return Request("reduce", facts, {"x": x})


def _normed(rms: int, parts: Parts, tail: Tail) -> Request | None:
    x, attrs, shape = parts["x"], parts["root"].attrs, parts.shape_of(parts["x"])
    if not shape:
        return None
    axes = sorted(a % len(shape) for a in (as_int(v) for v in attrs.axes) if a is not None)
    if axes != list(range(len(shape) - len(axes), len(shape))):
        return None
    facts = {
        "scale": int(rms or bool(attrs.scale)), "bias": int(not rms and bool(attrs.center)),
        "rms": rms,
        "outer": product(shape[: axes[0]]), "inner": product(shape[axes[0] :]),
        "eps": float(attrs.epsilon),
    }  # fmt: skip
    wanted = {name: parts[name] for name in ("scale", "bias") if facts[name]}
    lines = shape[axes[0] :], dtype_of(x)
    if any((parts.shape_of(w), dtype_of(w)) != lines for w in wanted.values()):
        return None
    return Request("layer_norm", facts, {"x": x, **wanted})
