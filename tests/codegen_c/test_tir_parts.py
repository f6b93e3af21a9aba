"""Parts of a generated kernel's operands that no two parts of its work share."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from pathlib import Path

import numpy as np
import pytest
from tvm import relax, tirx

from . import tir_support as ts

op, nn = relax.op, relax.op.nn

IMAGE = (1, 6, 10, 16)
HEIGHT = 6
CHANNELS = (1, 1, 1, 16)


def const(*values: int) -> relax.Constant:
    return relax.const(np.array(values, np.int64))


#: Function, shapes, and whether each operand, the result last, has rows.
APART: dict[str, tuple[Callable, list, list[bool]]] = {
    "sum": (lambda a, b: op.exp(op.add(a, b)), [IMAGE, IMAGE], [True] * 3),
    "gate": (
        lambda a, g, b: op.add(op.multiply(a, g), b),
        [IMAGE, CHANNELS, IMAGE],
        [True, False, True, True],
    ),
    "gate of rows": (op.multiply, [IMAGE, (1, 6, 1, 1)], [True, True, True]),
    "gate of columns": (op.multiply, [IMAGE, (1, 1, 10, 1)], [True, False, True]),
    "gate of pixels": (op.multiply, [IMAGE, (1, 6, 10, 1)], [True, True, True]),
    "few rows": (
        lambda a, g, b: op.add(op.multiply(a, g), b),
        [(1, 6, 2, 2), (1, 1, 1, 2), (1, 6, 2, 2)],
        [True, False, True, True],
    ),
    "columns back to front": (lambda a: op.exp(op.flip(a, 2)), [IMAGE], [True, True]),
    "channels that move on": (
        lambda a: op.add(a, op.concat([op.strided_slice(a, [3], [4], [16]),
                                       op.strided_slice(a, [3], [0], [4])], 3)),
        [IMAGE], [True, True],
    ),
    "softmax of channels": (lambda a: nn.softmax(a, axis=3), [IMAGE], [True, True]),
    "mean of channels": (lambda a: op.mean(a, [3], keepdims=True), [IMAGE], [True, True]),
    "columns and channels": (
        lambda a: op.exp(op.permute_dims(a, [0, 1, 3, 2])), [IMAGE], [True, True],
    ),
    "depth to space": (
        lambda a: op.exp(op.permute_dims(op.reshape(a, (1, 6, 10, 2, 2, 4)), [0, 1, 3, 2, 4, 5])),
        [IMAGE], [True, True],
    ),
}  # fmt: skip

#: The same, of results whose rows need other rows of the first operand.
MIXED: dict[str, tuple[Callable, list]] = {
    "rows back to front": (lambda a: op.exp(op.flip(a, 1)), [IMAGE]),
    "both ends": (lambda a: op.add(a, op.flip(a, 1)), [IMAGE]),
    "a row further": (
        lambda a: op.add(op.exp(op.strided_slice(a, [1], [1], [6])),
                         op.strided_slice(a, [1], [0], [5])),
        [IMAGE],
    ),
    "the row before": (
        lambda a: op.exp(nn.pad(op.strided_slice(a, [1], [0], [5]), [0, 0, 1, 0, 0, 0, 0, 0])),
        [IMAGE],
    ),
    "rows and columns": (lambda a: op.exp(op.permute_dims(a, [0, 2, 1, 3])), [(1, 6, 6, 16)]),
    "channels first": (lambda a: op.exp(op.permute_dims(a, [0, 3, 1, 2])), [IMAGE]),
    "gathered rows": (lambda a: op.exp(op.take(a, const(0, 2, 1, 3, 4, 5), axis=1)), [IMAGE]),
    "rows by data": (lambda a, k: op.exp(op.take(a, k, axis=1)), [IMAGE, (6,)]),
    "mean over space": (lambda a: op.mean(a, [1, 2], keepdims=True), [IMAGE]),
    "sums of rows": (lambda a: op.cumsum(a, axis=1), [IMAGE]),
    "divided by a mean": (
        lambda a: op.divide(a, op.mean(a, [1, 2], keepdims=True)), [IMAGE],
    ),
    "softmax of columns": (lambda a: nn.softmax(a, axis=1), [IMAGE]),
    "window": (lambda a: nn.max_pool2d(a, (3, 3), padding=(1, 1), layout="NHWC"), [IMAGE]),
}  # fmt: skip


def dtypes(shapes: list) -> list[str]:
    return ["int64" if len(shape) == 1 else "float32" for shape in shapes]


def has_rows(kernel: ts.GeneratedKernel, func: tirx.PrimFunc) -> list[bool]:
    """Whether the rows of each operand's image are whole parts."""
    sizes = [int(np.prod([int(n) for n in p.ty.shape])) for p in func.params]
    return [
        part > 0 and size % HEIGHT == 0 and size // HEIGHT % part == 0
        for part, size in zip(kernel.rows, sizes, strict=True)
    ]


@pytest.mark.parametrize("vectors", [False, True])
@pytest.mark.parametrize("name", APART)
def test_rows_are_parts(name: str, vectors: bool) -> None:
    build, shapes, wanted = APART[name]
    for func, _ in ts.emit_all(build, shapes, dtypes(shapes)):
        kernel = ts.emit_prim_func(func, "megcc_tir", vectors=vectors)
        assert has_rows(kernel, func) == wanted, (kernel.rows, kernel.source)


@pytest.mark.parametrize("name", MIXED)
def test_rows_that_need_others_are_no_parts(name: str) -> None:
    """At least one of the functions that the operators become must read or write other rows."""
    build, shapes = MIXED[name]
    made = ts.emit_all(build, shapes, dtypes(shapes))
    found = [has_rows(kernel, func) for func, kernel in made if kernel.rows]
    assert len(found) < len(made) or not all(rows[0] for rows in found), [k for _, k in made]


def test_dynamic_sizes_have_no_parts() -> None:
    height = tirx.Var("h", "int64")
    for _, kernel in ts.emit_all(op.exp, [(1, height, 10, 16)], "float32"):
        assert kernel.rows == ()


@pytest.mark.parametrize("name", [*APART, *MIXED])
def test_other_parts_change_nothing(name: str, tmp_path: Path) -> None:
    """A part of the work writes its part of the result, whatever other parts of operands hold."""
    build, shapes, *_ = {**APART, **MIXED}[name]
    rng = np.random.default_rng(3)
    for func, kernel in ts.emit_all(build, shapes, dtypes(shapes)):
        if not kernel.rows:
            continue
        library = ts.compile_c(kernel, tmp_path)
        kinds = [(tuple(int(n) for n in p.ty.shape), str(p.ty.dtype)) for p in func.params]
        arrays = [ts.sample(*kind, rng) for kind in kinds]
        arrays = [a % HEIGHT if a.dtype.kind == "i" else a for a in arrays]
        whole = [a.copy() for a in arrays]
        ts.call(library, kernel, whole)
        counts = [a.size // p for a, p in zip(arrays, kernel.rows, strict=True) if p]
        parts = gcd(kernel.work, *counts)
        first, last = parts // 3, max(2 * parts // 3, parts // 3 + 1)
        part = [a.copy() for a in arrays]
        for array, elements in zip(part, kernel.rows, strict=True):
            if elements:
                flat = array.reshape(parts, -1)
                flat[:first] = flat[last:] = np.nan if flat.dtype.kind == "f" else 77
        before = part[-1].reshape(parts, -1).copy()
        units = kernel.work // parts
        ts.call(library, kernel, part, units=(first * units, last * units))
        after, wanted = part[-1].reshape(parts, -1), whole[-1].reshape(parts, -1)
        assert after[first:last].tobytes() == wanted[first:last].tobytes()
        after[first:last] = before[first:last]
        assert after.tobytes() == before.tobytes()
