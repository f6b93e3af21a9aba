"""Loops over vectors give what the loops over elements give, on every kind of vectors.

Each kernel is made twice from one TIR function, with vectors and without; both are linked into one
program (`vectors_driver.c`), whose tensors lie between unreadable pages.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import tvm
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tvm import te, tirx
from tvm.script import tirx as T

from tests.codegen_c import tir_support as ts
from tests.turns import in_turn
from tvm_megcc.codegen_c.tir import GeneratedKernel, emit_prim_func
from tvm_megcc.core.this_machine import host_arch

pytestmark = pytest.mark.together
Expr = tvm.ir.Expr
FLOATS = ("float32", "float16", "bfloat16")
INTEGERS = ("int32", "int8", "uint8")
TYPES = (*FLOATS, *INTEGERS, "bool")


# -- machines ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Machine:
    """A compiler with its flags, the emulator, and the lanes of its vectors."""

    name: str
    compiler: tuple[str, ...]
    runner: tuple[str, ...] = ()
    fused: bool = False  # a product and a sum are rounded once

    def missing(self) -> str:
        tools = (self.compiler[0], *self.runner)
        return ", ".join(tool for tool in tools if not shutil.which(tool))


HOST = Machine("host", ("gcc", *ts.VECTOR_FLAGS), (), bool(ts.VECTOR_FLAGS))
PORTABLE = Machine("portable", ("gcc", "-DMEGCC_SIMD_PORTABLE"))
SCALAR = Machine("one_lane", ("gcc", "-DMEGCC_SIMD_SCALAR"))
SANITIZED = Machine("sanitized", (*HOST.compiler, "-fsanitize=undefined,float-cast-overflow",
                                  "-fno-sanitize-recover=all"), (), HOST.fused)  # fmt: skip
ARM64 = Machine("arm64", (*ts.COMPILERS["arm64"], "-static"), ("qemu-aarch64",), True)
ARMV7 = Machine("armv7", (*ts.ARMV7, "-static"), ("qemu-arm",))
#: None is in a fast run: test_tir_ops.py compares loops over vectors with TVM there.
MACHINES = [
    pytest.param(HOST, marks=pytest.mark.slow),
    pytest.param(ARM64, marks=pytest.mark.emulator),
    *in_turn(4, [
        pytest.param(PORTABLE, marks=pytest.mark.slow),
        pytest.param(ARMV7, marks=pytest.mark.emulator),
        pytest.param(SCALAR, marks=pytest.mark.slow),
        pytest.param(SANITIZED, marks=pytest.mark.slow),
    ]),
]  # fmt: skip
machine = pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.name)


#: Types of arithmetic.
WIDE_TYPES = (*FLOATS, "int32")


def numpy_dtype(name: str) -> np.dtype:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


# -- functions -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    """One function's kernel with vectors, and without."""

    vectors: GeneratedKernel
    plain: GeneratedKernel

    @property
    def has_vectors(self) -> bool:
        return ts.VECTORS in self.vectors.source

    @property
    def fuses(self) -> bool:
        """Whether a product is added without being rounded, where the machine can."""
        return "megcc_vf_fma(" in self.vectors.source or "megcc_vf_fnma(" in self.vectors.source


def pair(func: tirx.PrimFunc) -> Pair:
    vectors = emit_prim_func(func, "vectors", vectors=True)
    plain = emit_prim_func(func, "plain")
    assert ts.VECTORS not in plain.source
    return Pair(vectors, plain)


@cache
def rows(value: Callable[..., Expr], dtypes: Sequence[str], out: str, outer: int = 0) -> Pair:
    """``y[i] = value(loads...)`` over an open number n of elements; ``y[r, i]`` of `outer` rows.

    Of the same function only one is made, for all machines.
    """
    n = tirx.Var("n", "int64")
    shape = (outer, n) if outer else (n,)
    tensors = [te.placeholder(shape, d, f"x{k}") for k, d in enumerate(dtypes)]

    def element(*at: Expr) -> Expr:
        e = value(*(t(*at) for t in tensors))
        return e if str(e.ty.dtype) == out else tirx.Cast(out, e)

    y = te.compute(shape, element, "y")
    return pair(te.create_prim_func([*tensors, y], index_dtype_override="int64"))


# -- calls ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Call:
    """Tensors for one call; the last is the result, in the memory of input `over` unless -1."""

    tensors: tuple[np.ndarray, ...]
    dims: tuple[int, ...] = ()
    over: int = -1


def build(machine: Machine, pairs: Iterable[Pair], folder: Path) -> Path:
    """A program with the kernels of all pairs: with vectors, without, with, without."""
    if machine.missing():
        pytest.skip(f"{machine.missing()} not found")
    kernels = [k for p in pairs for k in (p.vectors, p.plain)]
    distinct = {k.symbol: k.source for k in kernels}
    table = ", ".join(k.symbol for k in kernels)
    ending = (
        "typedef void kernel(void *const *, const int32_t *, void *, int32_t, int32_t);\n"
        f"extern kernel *const kernels[];\nkernel *const kernels[] = {{{table}}};\n"
    )
    (folder / "kernels.c").write_text("\n".join([*distinct.values(), ending]))
    driver = Path(__file__).parent / "vectors_driver.c"
    exe = folder / "program"
    command = [*machine.compiler, *ts.WARNINGS, "-O1", "-c", str(folder / "kernels.c")]
    subprocess.run([*command, "-o", str(folder / "kernels.o")], check=True)
    command = [*machine.compiler, "-std=gnu99", str(driver), str(folder / "kernels.o")]
    subprocess.run([*command, "-o", str(exe)], check=True)
    return exe


def run(
    machine: Machine, exe: Path, calls: Sequence[tuple[int, GeneratedKernel, Call]]
) -> list[np.ndarray]:
    """The results of calls of the kernels of these numbers."""
    data = []
    for number, kernel, call in calls:
        scratch, work = kernel.workspace_for(call.dims), kernel.work_for(call.dims)
        head = [number, len(call.tensors), len(call.dims), scratch, 0, work, *call.dims]
        for k, tensor in enumerate(call.tensors):
            head += [tensor.nbytes, call.over if k == len(call.tensors) - 1 else -1]
        data += [np.array(head, np.int32).tobytes(), *(t.tobytes() for t in call.tensors)]
    done = subprocess.run([*machine.runner, str(exe)], input=b"".join(data), capture_output=True)
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr.decode()[-2000:]}"
    results, at = [], 0
    for _, _, call in calls:
        like = call.tensors[-1]
        part = np.frombuffer(done.stdout, like.dtype, like.size, at).reshape(like.shape)
        results.append(part)
        at += like.nbytes
    assert at == len(done.stdout)
    return results


def bits(a: np.ndarray) -> np.ndarray:
    """Integers that are equal where floats are, but for NaN, of which there is one here."""
    if a.dtype.kind in "iub":
        return a.astype(np.int64)
    number = a.view(f"i{a.dtype.itemsize}").astype(np.int64)
    return np.where(np.isnan(a.astype(np.float64)), 2**62, number)


def compare(machine: Machine, pairs: Sequence[Pair], calls: Sequence[tuple[int, Call]],
            folder: Path, *, zeros: bool = True) -> None:  # fmt: skip
    """Calls of pairs by number give the same bits, or nearly where sums of products are fused.

    Without `zeros`, the sign of a zero is free.
    """
    exe = build(machine, pairs, folder)
    wanted = [
        (2 * k + side, kernel, call)
        for k, call in calls
        for side, kernel in enumerate((pairs[k].vectors, pairs[k].plain))
    ]
    results = run(machine, exe, wanted)
    for (k, call), have, want in zip(calls, results[::2], results[1::2], strict=True):
        wide_have, wide_want = (a.astype(np.float64) for a in (have, want))
        same = bits(have) == bits(want)
        if not zeros:
            same |= wide_have == wide_want
        if machine.fused and pairs[k].fuses:
            limit = 2e-6 if want.dtype.itemsize == 4 else 1e-2
            with np.errstate(invalid="ignore"):
                same |= np.abs(wide_have - wide_want) <= limit * (1 + np.abs(wide_want))
        wrong = np.argwhere(~same)
        assert not wrong.size, (
            f"kernel {k}, dims {call.dims}: at {wrong[0]} {have[tuple(wrong[0])]!r}, not"
            f" {want[tuple(wrong[0])]!r}; inputs"
            f" {[t[tuple(wrong[0])] for t in call.tensors[:-1] if t.shape == have.shape]}"
            f"\n{pairs[k].vectors.source}"
        )


# -- numbers -------------------------------------------------------------------------------------

_SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 65504.0, -65520.0, 3e38,
            2.0**31, -(2.0**31), 1e-3, 127.5, 255.5, -129.0]  # fmt: skip


def sample(dtype: str, shape: Sequence[int], rng: np.random.Generator) -> np.ndarray:
    """Numbers of a type: usual ones, limits, infinities and NaN."""
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype in INTEGERS:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        usual = rng.integers(max(low, -100), 101, shape)
        limits = rng.choice([low, low + 1, high, high - 1, 0, 1], shape)
        return np.where(rng.random(shape) < 0.3, limits, usual).astype(dtype)
    usual = rng.normal(0, 1, shape) * rng.choice([0.01, 1, 20], shape)
    with np.errstate(over="ignore"):
        mixed = np.where(rng.random(shape) < 0.3, rng.choice(_SPECIAL, shape), usual)
        return mixed.astype(np.float32).astype(numpy_dtype(dtype))


#: No element, every rest of up to 16 lanes, and turns of one and two vectors before it.
LENGTHS = (*range(36), 49, 64, 67)


def calls_of(number: int, dtypes: Sequence[str], out: str, outer: int = 0,
             lengths: Sequence[int] = LENGTHS) -> list[tuple[int, Call]]:  # fmt: skip
    """Calls of one of `rows` for these lengths."""
    found = []
    for n in lengths:
        rng = np.random.default_rng([number, n])
        shape = (outer, n) if outer else (n,)
        tensors = [sample(d, shape, rng) for d in dtypes]
        found.append((number, Call((*tensors, np.zeros(shape, numpy_dtype(out))), (n,))))
    return found


def check_rows(machine: Machine, functions: Sequence[tuple], folder: Path, *, outer: int = 0,
               vectors: bool = True, zeros: bool = True) -> None:  # fmt: skip
    """Functions (value, dtypes, dtype of the result): compared, and all of them are vectors."""
    pairs = [rows(*f, outer) for f in functions]
    for function, made in zip(functions, pairs, strict=True):
        assert made.has_vectors == vectors, f"{function[1:]}:\n{made.vectors.source}"
    calls = [c for k, (_, dtypes, out) in enumerate(functions)
             for c in calls_of(k, dtypes, out, outer)]  # fmt: skip
    compare(machine, pairs, calls, folder, zeros=zeros)


def const(value: float, like: Expr) -> Expr:
    return tirx.const(value, str(like.ty.dtype))


# -- loads, stores and casts -----------------------------------------------------------------------


def _same(x: Expr) -> Expr:
    return x


@machine
def test_copies(machine: Machine, tmp_path: Path) -> None:
    check_rows(machine, [(_same, (d,), d) for d in TYPES], tmp_path)


#: Types of the result -> those that vectors are made of.
FROM = {
    **dict.fromkeys((*FLOATS, "int32"), TYPES),
    "int8": INTEGERS,
    "uint8": INTEGERS,
    "bool": ("bool",),
}


@machine
def test_casts(machine: Machine, tmp_path: Path) -> None:
    casts = [(source, out) for out in (*FLOATS, *INTEGERS) for source in FROM[out] if source != out]
    check_rows(machine, [(_same, (source,), out) for source, out in casts], tmp_path)


@pytest.mark.parametrize("out", ["int8", "uint8", "bool"])
def test_casts_that_have_no_vectors_are_plain(out: str) -> None:
    for source in set(TYPES) - set(FROM[out]):
        assert not rows(lambda x: x, (source,), out).has_vectors, (source, out)


@pytest.mark.slow
def test_casts_on_the_way_round(tmp_path: Path) -> None:
    """Through a narrower type and back: the numbers in between are rounded."""
    functions = [
        (lambda x, d=d: tirx.Cast("float32", tirx.Cast(d, x)), ("float32",), "float32")
        for d in ("float16", "bfloat16", "int32")
    ]
    functions += [(lambda x: tirx.Cast("bfloat16", tirx.Cast("float16", x)), (d,), "bfloat16")
                  for d in ("float32", "int32")]  # fmt: skip
    check_rows(HOST, functions, tmp_path)


# -- operations ------------------------------------------------------------------------------------


@cache
def _arithmetic(dtype: str) -> list[tuple]:
    return [
        (lambda x, y: x + y, (dtype, dtype), dtype),
        (lambda x, y: x - y, (dtype, dtype), dtype),
        (lambda x, y: x * y, (dtype, dtype), dtype),
        (lambda x, y: x / y if dtype in FLOATS else x - y * const(3, x), (dtype, dtype), dtype),
    ]


def _fused(dtype: str) -> list[tuple]:
    return [
        (lambda x, y, z: x + y * z, (dtype,) * 3, dtype),
        (lambda x, y, z: x * y + z, (dtype,) * 3, dtype),
        (lambda x, y, z: x - y * z, (dtype,) * 3, dtype),
        (lambda x, y, z: x * y - z, (dtype,) * 3, dtype),
    ]


@cache
def _extremes(dtype: str) -> list[tuple]:
    return [
        (tirx.Min, (dtype, dtype), dtype),
        (tirx.Max, (dtype, dtype), dtype),
        (lambda x: tirx.Min(tirx.Max(x, const(-1, x)), const(3, x)), (dtype,), dtype),
        (lambda x: tirx.Max(const(-1, x), tirx.Min(const(3, x), x)), (dtype,), dtype),
        (lambda x, y: tirx.Max(x, const(0, x)) + tirx.Min(y, const(0, y)), (dtype, dtype), dtype),
    ]


@cache
def _choices(dtype: str) -> list[tuple]:
    compares = (tirx.LT, tirx.LE, tirx.GT, tirx.GE, tirx.EQ, tirx.NE)
    found = [
        (lambda x, y, z, c=c: tirx.Select(c(x, y), z, x), (dtype,) * 3, dtype) for c in compares
    ]
    return [
        *found,
        (lambda x, y: tirx.Select(x < y, x, y), (dtype,) * 2, dtype),
        (lambda x, y: tirx.Select(x > y, x, y), (dtype,) * 2, dtype),
        (lambda x, b: tirx.Select(b, x, const(7, x)), (dtype, "bool"), dtype),
        (lambda x, y, z: tirx.Select(tirx.And(x < y, tirx.Not(y < z)), x, z), (dtype,) * 3, dtype),
        (lambda x, y, z: tirx.Select(tirx.Or(x < y, tirx.EQ(y, z)), y, z), (dtype,) * 3, dtype),
        (lambda x, y, z: tirx.if_then_else(x < y, x, z), (dtype,) * 3, dtype),
    ]


@machine
def test_arithmetic(machine: Machine, tmp_path: Path) -> None:
    check_rows(machine, [f for d in WIDE_TYPES for f in _arithmetic(d)], tmp_path)


@machine
def test_extremes_and_clips(machine: Machine, tmp_path: Path) -> None:
    functions = [f for d in WIDE_TYPES for f in _extremes(d)]
    check_rows(machine, functions, tmp_path, zeros=False)


@machine
def test_choices_of_data(machine: Machine, tmp_path: Path) -> None:
    check_rows(machine, [f for d in WIDE_TYPES for f in _choices(d)], tmp_path, zeros=False)


@pytest.mark.slow
@pytest.mark.parametrize("machine", [HOST, PORTABLE], ids=lambda m: m.name)
@pytest.mark.parametrize("dtype", FLOATS)
def test_sums_of_products(dtype: str, machine: Machine, tmp_path: Path) -> None:
    pairs = [rows(*f) for f in _fused(dtype)]
    assert [p.fuses for p in pairs] == [True, True, True, False]
    calls = [c for k in range(len(pairs)) for c in calls_of(k, (dtype,) * 3, dtype)]
    usual = []
    for k, call in calls:  # without infinities, whose differences are none
        kept = (np.clip(np.nan_to_num(t.astype(np.float32)), -9, 9) for t in call.tensors)
        usual.append((k, Call(tuple(a.astype(numpy_dtype(dtype)) for a in kept), call.dims)))
    compare(machine, pairs, usual, tmp_path)


_QUESTIONS = [tirx.isnan, tirx.isinf, tirx.isfinite]


@machine
def test_functions_that_are_exact(machine: Machine, tmp_path: Path) -> None:
    functions = [
        (lambda x, f=f: f(x), ("float32",), "float32")
        for f in (tirx.floor, tirx.ceil, tirx.trunc, tirx.nearbyint, tirx.abs)
    ]
    functions += [(lambda x, q=q: tirx.Select(q(x), const(1, x), x), ("float32",), "float32")
                  for q in _QUESTIONS]  # fmt: skip
    functions += [(lambda x: tirx.sqrt(tirx.abs(x)), ("float32",), "float32")]
    check_rows(machine, functions, tmp_path)


@machine
def test_integers(machine: Machine, tmp_path: Path) -> None:
    wide, narrow = ("int32", "int32"), ("int8", "uint8")
    up = lambda x: tirx.Cast("int32", x)  # noqa: E731
    functions = [
        (lambda x: tirx.truncdiv(x, const(8, x)), ("int32",), "int32"),
        (lambda x: tirx.floordiv(x, const(16, x)), ("int32",), "int32"),
        (lambda x, y: x * y + const(5, x), wide, "int32"),
        (lambda x, y: tirx.Min(tirx.Max(up(x) + up(y), tirx.const(-128, "int32")),
                               tirx.const(127, "int32")), narrow, "int8"),
        (lambda x, y: up(x) * up(y), narrow, "uint8"),
        (lambda x, y: x < y, wide, "bool"),
        (lambda x, y: tirx.EQ(up(x), up(y)), narrow, "bool"),
        (lambda x, y: tirx.Cast("int64", x) < tirx.Cast("int64", y), narrow, "bool"),
        (lambda x: tirx.Select(tirx.Cast("int64", x) > tirx.const(3, "int64"), x, const(3, x)),
         ("int32",), "int32"),
        (lambda a, b: tirx.And(a, tirx.Not(b)), ("bool", "bool"), "bool"),
    ]  # fmt: skip
    check_rows(machine, functions, tmp_path)


#: Functions of megcc_vmath.h and megcc_vtrig.h, and how far they may be from the scalar ones.
ELEMENTARY = ("exp", "tanh", "sigmoid", "erf", "log", "log1p", "sin", "cos", "rsqrt")


@pytest.mark.slow
def test_elementary_functions_are_close(tmp_path: Path) -> None:
    pairs = [rows(lambda x, f=f: getattr(tirx, f)(x), ("float32",), "float32") for f in ELEMENTARY]
    assert all(p.has_vectors for p in pairs)
    x = np.concatenate([np.random.default_rng(0).uniform(0.01, 20, 67), [np.nan, np.inf]])
    call = Call((x.astype(np.float32), np.zeros(69, np.float32)), (69,))
    exe = build(HOST, pairs, tmp_path)
    calls = [(2 * k + side, kernel, call) for k, p in enumerate(pairs)
             for side, kernel in enumerate((p.vectors, p.plain))]  # fmt: skip
    results = run(HOST, exe, calls)
    for have, want in zip(results[::2], results[1::2], strict=True):
        np.testing.assert_allclose(have, want, rtol=4e-7, atol=2e-7)


# -- what all turns share --------------------------------------------------------------------------


def nest(value: Callable[..., Expr], shapes: Sequence, dtypes: Sequence[str], out: str,
         outer: int = 5) -> Pair:  # fmt: skip
    """``y[r, i] = value(r, i, tensors...)`` over `outer` rows of an open length n."""
    n = tirx.Var("n", "int64")
    sized = [tuple(n if extent == "n" else extent for extent in shape) for shape in shapes]
    tensors = [te.placeholder(s, d, f"x{k}")
               for k, (s, d) in enumerate(zip(sized, dtypes, strict=True))]  # fmt: skip
    y = te.compute((outer, n), lambda r, i: value(r, i, *tensors), "y")
    assert out == str(y.dtype)
    return pair(te.create_prim_func([*tensors, y], index_dtype_override="int64"))


def nest_calls(number: int, shapes: Sequence, dtypes: Sequence[str], out: str,
               lengths: Iterable[int] = LENGTHS) -> list[tuple[int, Call]]:  # fmt: skip
    found = []
    for n in lengths:
        rng = np.random.default_rng([number, n])
        sized = [tuple(n if extent == "n" else extent for extent in shape) for shape in shapes]
        tensors = [sample(d, s, rng) for s, d in zip(sized, dtypes, strict=True)]
        found.append((number, Call((*tensors, np.zeros((5, n), numpy_dtype(out))), (n,))))
    return found


_ZERO = tirx.const(0.0, "float32")
_THREE = tirx.const(3.0, "float32")
#: Value, shapes of the tensors, their types. Rows 0 and 4 have no neighbour in what is read.
GUARDS = {
    "a row before the first": (
        lambda r, i, x: tirx.if_then_else(r >= 1, x[r - 1, i], _ZERO), [(4, "n")], ["float32"]),
    "a row behind the last": (
        lambda r, i, x: tirx.if_then_else(r < 4, x[r, i] * _THREE, _THREE), [(4, "n")],
        ["float32"]),
    "a shared number": (
        lambda r, i, x, b: tirx.if_then_else(r < 4, x[r, i] * b[r], x[r, i]), [(5, "n"), (4,)],
        ["float32", "float32"]),
    "a shared number before the first": (
        lambda r, i, x, b: x[r, i] - tirx.if_then_else(r >= 1, b[r - 1], _ZERO),
        [(5, "n"), (4,)], ["float32", "float32"]),
    "either of two tensors": (
        lambda r, i, x, z: tirx.if_then_else(r < 2, x[r, i], z[r - 2, i]), [(2, "n"), (3, "n")],
        ["float32", "float32"]),
    "a row of which data tells": (
        lambda r, i, x, b: tirx.if_then_else(
            tirx.And(b[r] >= 0, b[r] < 4), x[b[r], i], _ZERO),
        [(4, "n"), (5,)], ["float32", "int32"]),
    "numbers that all turns share": (
        lambda r, i, x, b: tirx.Max(x[r, i] * b[r] - b[4 - r], b[r]), [(5, "n"), (5,)],
        ["float32", "float32"]),
    "the last number of a line that may be empty": (
        lambda r, i, x: x[r, i] * x[r, x.shape[1] - 1], [(5, "n")], ["float32"]),
    "of halves": (
        lambda r, i, x, b: tirx.if_then_else(r < 4, x[r, i] - b[r], x[r, i]),
        [(5, "n"), (4,)], ["float16", "float16"]),
    "of integers": (
        lambda r, i, x, b: tirx.if_then_else(r < 4, x[r, i] + b[r], b[0]), [(5, "n"), (4,)],
        ["int32", "int32"]),
}  # fmt: skip


@machine
def test_what_is_not_chosen_is_not_read(machine: Machine, tmp_path: Path) -> None:
    pairs, calls = [], []
    for value, shapes, dtypes in GUARDS.values():
        pairs.append(nest(value, shapes, dtypes, dtypes[0]))
        calls += nest_calls(len(pairs) - 1, shapes, dtypes, dtypes[0], range(0, 36, 3))
    for name, made in zip(GUARDS, pairs, strict=True):
        assert made.has_vectors or name == "a row of which data tells", made.vectors.source
    compare(machine, pairs, calls, tmp_path, zeros=False)


def _position(r: Expr, i: Expr, x: te.Tensor) -> Expr:
    return tirx.if_then_else(i >= 1, x[r, i - 1], _ZERO)


#: What stays a loop over elements: value, shapes, types, type of the result.
PLAIN = {
    "int64": (lambda r, i, x: x[r, i] + tirx.const(1, "int64"), [(5, "n")], ["int64"]),
    "float64": (lambda r, i, x: x[r, i] * x[r, i], [(5, "n")], ["float64"]),
    "uint32": (lambda r, i, x: x[r, i] * x[r, i], [(5, "n")], ["uint32"]),
    "int16": (lambda r, i, x: x[r, i] + x[r, i], [(5, "n")], ["int16"]),
    "int8 that wraps": (lambda r, i, x: x[r, i] + x[r, i], [(5, "n")], ["int8"]),
    "stride": (lambda r, i, x: x[r, i * 2], [(5, 150)], ["float32"]),
    "backwards": (lambda r, i, x: x[r, 70 - i], [(5, 71)], ["float32"]),
    "every second": (lambda r, i, x: x[r, tirx.floordiv(i, 2)], [(5, "n")], ["float32"]),
    "columns": (lambda r, i, x: x[i, r], [("n", 5)], ["float32"]),
    "power": (lambda r, i, x: tirx.pow(tirx.abs(x[r, i]), x[r, i]), [(5, "n")], ["float32"]),
    "remainder": (
        lambda r, i, x: tirx.truncmod(x[r, i], tirx.const(7, "int32")), [(5, "n")], ["int32"]),
    "quotient": (
        lambda r, i, x: tirx.truncdiv(x[r, i], tirx.const(7, "int32")), [(5, "n")], ["int32"]),
    "a guarded position": (_position, [(5, "n")], ["float32"]),
    "gathered": (lambda r, i, x, b: x[r, tirx.Min(tirx.Max(b[i], 0), 9)], [(5, 10), ("n",)],
                 ["float32", "int32"]),
    "of which data and position tell": (
        lambda r, i, x: tirx.if_then_else(
            tirx.And(i >= 1, x[r, i] > _ZERO), x[r, i - 1], _ZERO), [(5, "n")], ["float32"]),
}  # fmt: skip


def _plain_tensors(number: int, n: int) -> tuple[np.ndarray, ...]:
    _, shapes, dtypes = list(PLAIN.values())[number]
    rng = np.random.default_rng(n)
    found = []
    for shape, dtype in zip(shapes, dtypes, strict=True):
        sized = tuple(n if extent == "n" else extent for extent in shape)
        known = dtype in TYPES
        found.append(
            sample(dtype, sized, rng) if known else rng.integers(0, 9, sized).astype(dtype)
        )
    return (*found, np.zeros((5, n), numpy_dtype(dtypes[0])))


@pytest.mark.parametrize("name", PLAIN)
def test_what_has_no_vectors_stays_a_loop_over_elements(name: str) -> None:
    value, shapes, dtypes = PLAIN[name]
    made = nest(value, shapes, dtypes, dtypes[0])
    assert not made.has_vectors, made.vectors.source
    texts = [k.source.replace(k.symbol, "") for k in (made.vectors, made.plain)]
    assert texts[0] == texts[1]


@pytest.mark.slow
def test_what_stays_a_loop_over_elements_gives_the_same_numbers(tmp_path: Path) -> None:
    pairs = [nest(value, shapes, dtypes, dtypes[0]) for value, shapes, dtypes in PLAIN.values()]
    calls = [(k, Call(_plain_tensors(k, n), (n,))) for k in range(len(pairs)) for n in (0, 5, 37)]
    compare(HOST, pairs, calls, tmp_path)


@T.prim_func(private=True, s_tir=True)
def running_product(x: T.Buffer((50,), "float32"), y: T.Buffer((51,), "float32")):
    y[0] = T.float32(2)
    for i in range(50):
        y[i + 1] = y[i] * x[i]


@T.prim_func(private=True, s_tir=True)
def by_its_first(x: T.Buffer((50,), "float32"), y: T.Buffer((50,), "float32")):
    for i in range(50):
        y[i] = x[i]
    for i in range(50):
        y[i] = y[i] + y[0]


@T.prim_func(private=True, s_tir=True)
def itself(x: T.Buffer((50,), "float32"), y: T.Buffer((50,), "float32")):
    for i in range(50):
        y[i] = x[i]
    for i in range(50):
        y[i] = y[i] - x[49 - i] * T.float32(0.5)
    for i in range(3, 50):
        y[i] = T.max(y[i], x[i - 3])


@T.prim_func(private=True, s_tir=True)
def of_itself(x: T.Buffer((50,), "float32"), y: T.Buffer((1,), "float32")):
    y[0] = T.float32(1)
    for i in range(50):
        y[0] = y[0] + x[i] * y[0]


def test_a_turn_that_reads_what_another_one_writes(tmp_path: Path) -> None:
    functions = (running_product, by_its_first, itself, of_itself)
    pairs = [pair(f) for f in functions]
    x = np.random.default_rng(0).uniform(0.9, 1.1, 50).astype(np.float32)
    sizes = (51, 50, 50, 1)
    calls = [(k, Call((x, np.zeros(n, np.float32)))) for k, n in enumerate(sizes)]
    compare(PORTABLE, pairs, calls, tmp_path)


#: Type, fold, and a term of x and z.
FOLDS = [
    ("float32", te.max, lambda x, z: x), ("float32", te.min, lambda x, z: x * z),
    ("float32", te.sum, lambda x, z: x), ("float32", te.sum, lambda x, z: x * z),
    ("int32", te.max, lambda x, z: x), ("int32", te.min, lambda x, z: x - z),
    ("int32", te.sum, lambda x, z: x * z),
]  # fmt: skip


def folded(dtype: str, fold: Callable, term: Callable[[Expr, Expr], Expr]) -> Pair:
    n = tirx.Var("n", "int64")
    x, z = (te.placeholder((5, n), dtype, name) for name in "xz")
    k = te.reduce_axis((0, n), "k")
    y = te.compute((5,), lambda r: fold(term(x[r, k], z[r, k]), axis=k), "y")
    return pair(te.create_prim_func([x, z, y], index_dtype_override="int64"))


def test_a_long_line_is_summed_in_runs(tmp_path: Path) -> None:
    """One sum of 10^6 numbers near 1 in four or eight vectors' lanes errs by 1e-4."""
    made = folded("float32", te.sum, lambda x, z: x * z)
    n = 1_000_003
    x = np.random.default_rng(0).uniform(0.5, 1.5, (5, n)).astype(np.float32)
    call = Call((x, x, np.zeros(5, np.float32)), (n,))
    (found,) = run(HOST, build(HOST, [made], tmp_path), [(0, made.vectors, call)])
    np.testing.assert_allclose(found, (x.astype(np.float64) ** 2).sum(1), rtol=3e-7)


@machine
def test_folds(machine: Machine, tmp_path: Path) -> None:
    """Sums are of small whole numbers, which are exact in any order."""
    pairs = [folded(*row) for row in FOLDS]
    calls = []
    for k, (dtype, fold, _) in enumerate(FOLDS):
        for n in (*LENGTHS, 260, 1031):  # several runs, and a part of one
            rng = np.random.default_rng([k, n])
            x, z = (sample(dtype, (5, n), rng) for _ in "xz")
            if fold is te.sum and dtype == "float32":
                x, z = (rng.integers(-9, 10, (5, n)).astype(dtype) for _ in "xz")
            calls.append((k, Call((x, z, np.zeros(5, dtype)), (n,))))
    compare(machine, pairs, calls, tmp_path, zeros=False)


def test_the_result_in_the_memory_of_an_operand(tmp_path: Path) -> None:
    dtypes = (*FLOATS, *INTEGERS)
    pairs = []
    for dtype in dtypes:
        wide = "float32" if dtype in FLOATS else "int32"

        def value(x: Expr, y: Expr, wide: str = wide) -> Expr:
            return tirx.Max(tirx.Cast(wide, x) - tirx.Cast(wide, y), tirx.const(-9, wide))

        pairs.append(rows(value, (dtype, dtype), dtype))
        assert pairs[-1].has_vectors and pairs[-1].vectors.inplace == (0, 1)
    calls = [(k, Call(call.tensors, call.dims, over)) for k, dtype in enumerate(dtypes)
             for over in (0, 1) for _, call in calls_of(k, (dtype, dtype), dtype)]  # fmt: skip
    compare(HOST, pairs, calls, tmp_path)


# -- random expressions ----------------------------------------------------------------------------

OPERANDS = ("float32", "float32", "float16", "bfloat16", "int32", "int32", "int8", "uint8", "bool")
Choose = Callable[[int], int]  # a number below the argument


class Grower:
    """Grows an expression of loads; `choose` decides."""

    def __init__(self, loads: Sequence[Expr], choose: Choose) -> None:
        self.loads, self.choose = loads, choose

    def load(self, *dtypes: str) -> Expr:
        found = [e for e in self.loads if str(e.ty.dtype) in dtypes]
        return found[self.choose(len(found))]

    def real(self, depth: int, product: bool = True) -> Expr:
        """Of f32. No product is added to anything, as machines round that once or twice."""
        if depth == 0:
            return tirx.Cast("float32", self.load(*TYPES)) if self.choose(3) else self.constant()
        a = self.real(depth - 1, product=False)
        kind = self.choose(9)
        if kind == 0:
            return a + self.real(depth - 1, product=False)
        if kind == 1:
            return a - self.real(depth - 1, product=False)
        if kind == 2 and product:
            return a * self.real(depth - 1)
        if kind == 3:
            divisor = tirx.Max(tirx.abs(self.real(depth - 1)), tirx.const(0.5, "float32"))
            return a / divisor
        if kind == 4:
            return tirx.Min(a, self.real(depth - 1, product=False))
        if kind == 5:
            return tirx.Max(a, self.real(depth - 1, product=False))
        if kind == 6:
            other = self.real(depth - 1, product=False)
            return tirx.Select(self.truth(depth - 1), a, other)
        if kind == 7:
            narrow = ("float16", "bfloat16", "int32")[self.choose(3)]
            return tirx.Cast("float32", tirx.Cast(narrow, a))
        return tirx.Cast("float32", self.whole(depth - 1))

    def constant(self) -> Expr:
        values = (0.25, -3.0, 100.0, 1e-3, 3e4, 0.0)
        return tirx.const(values[self.choose(len(values))], "float32")

    def whole(self, depth: int) -> Expr:
        """Of i32."""
        if depth == 0:
            return tirx.Cast("int32", self.load(*INTEGERS, "bool"))
        a = self.whole(depth - 1)
        kind = self.choose(8)
        if kind == 7:
            return tirx.Cast("int32", self.real(depth - 1))
        if kind == 6:
            divide = (tirx.truncdiv, tirx.floordiv)[self.choose(2)]
            return divide(a, tirx.const(2 ** (1 + self.choose(5)), "int32"))
        b = self.whole(depth - 1)
        if kind == 5:
            return tirx.Select(self.truth(depth - 1), a, b)
        return (tirx.Add, tirx.Sub, tirx.Mul, tirx.Min, tirx.Max)[kind](a, b)

    def truth(self, depth: int) -> Expr:
        """A condition on a load, so that it is one of data."""
        if depth == 0:
            return self.load("bool")
        kind = self.choose(4)
        if kind == 0:
            return tirx.And(self.truth(depth - 1), self.truth(depth - 1))
        if kind == 1:
            return tirx.Not(self.truth(depth - 1))
        compare = (tirx.LT, tirx.LE, tirx.GT, tirx.GE, tirx.EQ, tirx.NE)[self.choose(6)]
        if kind == 2:
            return compare(tirx.Cast("int32", self.load(*INTEGERS)), self.whole(depth - 1))
        return compare(tirx.Cast("float32", self.load(*FLOATS)), self.real(depth - 1))


def grown(choose: Choose) -> tuple[Pair, str]:
    """A random function of `OPERANDS`, and the type of its result."""
    out = TYPES[choose(len(TYPES))]

    def value(*loads: Expr) -> Expr:
        grower = Grower(loads, choose)
        if out == "bool":
            return grower.truth(3)
        return grower.real(4) if out in FLOATS else grower.whole(4)

    return rows(value, OPERANDS, out), out


def check_grown(machine: Machine, chosen: Sequence[tuple[Pair, str]], folder: Path) -> None:
    """Zeros have either sign, as minima do; no result depends on it."""
    calls = [c for k, (_, out) in enumerate(chosen)
             for c in calls_of(k, OPERANDS, out, lengths=(3, 17, 67))]  # fmt: skip
    compare(machine, [made for made, _ in chosen], calls, folder, zeros=False)


@cache
def _drawn(seed: int, count: int) -> tuple[tuple[Pair, str], ...]:
    numbers = random.Random(seed)
    return tuple(grown(lambda below: numbers.randrange(below)) for _ in range(count))


@machine
def test_random_expressions(machine: Machine, tmp_path: Path) -> None:
    fast = machine == HOST
    chosen = _drawn(1, 6) if fast else _drawn(2, 40)
    assert sum(made.has_vectors for made, _ in chosen) > len(chosen) // 2
    assert not any(made.fuses for made, _ in chosen)
    check_grown(machine, chosen, tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not host_arch().startswith("x86"), reason="two kinds of vectors on x86")
@settings(max_examples=6, phases=[Phase.explicit, Phase.generate], deadline=None, derandomize=True,
          suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow,
                                 HealthCheck.data_too_large])  # fmt: skip
@given(data=st.data())
def test_drawn_expressions(data: st.DataObject, tmp_path: Path) -> None:
    """As above, from other decisions."""
    chosen = [grown(lambda below: data.draw(st.integers(0, below - 1))) for _ in range(2)]
    for machine in (HOST, PORTABLE):
        check_grown(machine, chosen, tmp_path)
