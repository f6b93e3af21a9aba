"""Compile, run and compare kernels that `emit_prim_func` made."""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import tvm
from tvm import relax, tirx

from tests.c_warnings import STRICT
from tests.closeness import assert_close
from tests.tvm_target import LLVM
from tvm_megcc.codegen_c.tir import GeneratedKernel, emit_prim_func, symbolic_vars
from tvm_megcc.core.this_machine import host_arch

INCLUDE = Path(__file__).resolve().parents[2] / "codegen_c" / "include"
WARNINGS = ("-std=c99", *STRICT, f"-I{INCLUDE}")
#: What a source with loops over vectors includes, and how it is compiled for this machine.
VECTORS = "simd/megcc_simd.h"
VECTOR_FLAGS = ("-mavx2", "-mfma", "-mf16c") if host_arch().startswith("x86") else ()
ARMV7 = ("arm-linux-gnueabihf-gcc", "-mfpu=neon", "-mfloat-abi=hard", "-march=armv7-a")
COMPILERS = {
    "gcc": ("gcc",),
    "clang": ("clang",),
    "arm64": ("aarch64-linux-gnu-gcc",),
    "armv7": ARMV7,
}


def legalise(build: Callable, shapes: Sequence, dtypes: Sequence[str] | str) -> tvm.IRModule:
    """A Relax function of `build` over tensors, taken down to fused TIR."""
    if isinstance(dtypes, str):
        dtypes = [dtypes] * len(shapes)
    names = [f"x{k}" for k in range(len(shapes))]
    variables = [
        relax.Var(name, relax.TensorType(shape, dtype))
        for name, shape, dtype in zip(names, shapes, dtypes, strict=True)
    ]
    builder = relax.BlockBuilder()
    with builder.function("main", variables):
        with builder.dataflow():
            result = builder.emit(build(*variables))
            out = builder.emit_output(result)
        builder.emit_func_output(out)
    steps = [
        relax.backend.DispatchSortScan(),
        relax.transform.LegalizeOps(),
        relax.transform.AnnotateTIROpPattern(),
        relax.transform.FoldConstant(),
        relax.transform.FuseOps(),
        relax.transform.FuseTIR(),
    ]
    with tvm.target.Target("c"):
        return tvm.transform.Sequential(steps)(builder.get())


def prim_funcs(mod: tvm.IRModule) -> dict[str, tirx.PrimFunc]:
    """The TIR functions of `mod` by name, in order of name."""
    found = {gv.name_hint: f for gv, f in mod.functions.items() if isinstance(f, tirx.PrimFunc)}
    return dict(sorted(found.items()))


def emit_all(build: Callable, shapes: Sequence, dtypes: Sequence[str] | str) -> list[tuple]:
    """(function, kernel) of every TIR function that `build` becomes."""
    funcs = prim_funcs(legalise(build, shapes, dtypes))
    return [(f, emit_prim_func(f, f"megcc_tir_{name}")) for name, f in funcs.items()]


def compile_c(
    kernel: GeneratedKernel, folder: Path, compiler: str = "gcc", flags: Sequence[str] = ("-O2",)
) -> Path:
    """Build a kernel: a shared library for the host's compilers, an object for the others."""
    command = COMPILERS[compiler]
    host = compiler in ("gcc", "clang")
    tag = hashlib.sha256("".join((kernel.source, compiler, *flags)).encode()).hexdigest()[:12]
    source = folder / f"{tag}.c"
    source.write_text(kernel.source)
    target = folder / f"{tag}.{'so' if host else 'o'}"
    mode = ("-shared", "-fPIC") if host else ("-c",)
    done = subprocess.run(
        [*command, *WARNINGS, *flags, *mode, str(source), "-o", str(target)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{done.stderr}\n{kernel.source}"
    return target


def undefined_symbols(library: Path) -> set[str]:
    """Names that the object takes from elsewhere, without those of every shared library."""
    done = subprocess.run(["nm", "-u", str(library)], capture_output=True, text=True, check=True)
    names = {line.split()[-1].split("@")[0] for line in done.stdout.splitlines() if line.strip()}
    usual = {"_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", "__cxa_finalize"}
    return names - usual - {"__gmon_start__", "_GLOBAL_OFFSET_TABLE_"}


def concrete(shape: Sequence, dims: dict) -> tuple[int, ...]:
    """A shape with its symbolic dims replaced."""
    return tuple(_evaluate(extent, dims) for extent in shape)


def _evaluate(extent: tvm.ir.Expr, dims: dict) -> int:
    analyzer = tvm.sym.Analyzer()
    for var, value in dims.items():
        analyzer.bind(var, tirx.IntImm(str(var.ty.dtype), value))
    result = analyzer.simplify(extent)
    assert isinstance(result, tirx.IntImm), f"{extent} is not fixed by {dims}"
    return int(result.value)


def call(
    library: Path,
    kernel: GeneratedKernel,
    arrays: Sequence[np.ndarray],
    dims: Sequence[int] = (),
    pieces: int = 1,
    units: tuple[int, int] | None = None,
) -> None:
    """Run a kernel in place on `arrays`: its work, or `units` of it, cut into `pieces`."""
    function = getattr(ctypes.CDLL(str(library)), kernel.symbol)
    function.restype = None
    function.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int32] * 2
    pointers = (ctypes.c_void_p * max(1, len(arrays)))(*(a.ctypes.data for a in arrays))
    attrs = (ctypes.c_int32 * max(1, len(dims)))(*dims)
    scratch = kernel.workspace_for(dims)
    guard = 64
    room = np.full(scratch + 2 * guard + 64, 0xA5, np.uint8)
    start = guard + -(room.ctypes.data + guard) % 64
    first, last = units or (0, kernel.work_for(dims))
    cuts = [first + (last - first) * k // pieces for k in range(pieces + 1)]
    for begin, end in zip(cuts, cuts[1:], strict=False):
        function(pointers, attrs, room.ctypes.data + start, begin, end)
    assert (room[:start] == 0xA5).all() and (room[start + scratch :] == 0xA5).all()


def sample(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> np.ndarray:
    """Small varied values of a dtype."""
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype.startswith(("int", "uint")):
        low = -9 if dtype.startswith("int") else 0
        return rng.integers(low, 10, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def run_tvm(func: tirx.PrimFunc, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The same function through TVM's LLVM code generator."""
    named = func.with_attr("global_symbol", "main")
    library = tvm.compile(tvm.IRModule({"main": named}), target=LLVM)
    tensors = [tvm.runtime.tensor(a) for a in arrays]
    library["main"](*tensors)
    return [t.numpy() for t in tensors]


def check_against_tvm(
    build: Callable,
    shapes: Sequence,
    dtypes: Sequence[str] | str = "float32",
    *,
    folder: Path,
    values: dict[int, np.ndarray] | None = None,
    dims: dict[str, int] | None = None,
    tolerance: float = 2e-6,
    flags: Sequence[str] = ("-O2",),
) -> list[GeneratedKernel]:
    """Every TIR function of `build` gives TVM's numbers, whole and in three pieces.

    So do its loops over vectors, where it has some.
    """
    kernels = []
    known = dict(values=values, dims=dims, tolerance=tolerance)
    for func, kernel in emit_all(build, shapes, dtypes):
        check_function(func, kernel, folder, **known, flags=flags)
        vectors = emit_prim_func(func, "megcc_tir_vectors", vectors=True)
        if VECTORS in vectors.source:
            check_function(func, vectors, folder, **known, flags=(*flags, *VECTOR_FLAGS))
        kernels.append(kernel)
    return kernels


def check_function(
    func: tirx.PrimFunc,
    kernel: GeneratedKernel,
    folder: Path,
    *,
    values: dict[int, np.ndarray] | None = None,
    dims: dict[str, int] | None = None,
    tolerance: float = 2e-6,
    flags: Sequence[str] = ("-O1",),
) -> None:
    """One kernel gives TVM's numbers, whole and in three pieces, and where it overwrites inputs."""
    known = {v: (dims or {})[v.name] for v in symbolic_vars(func)}
    rng = np.random.default_rng(7)
    buffers = [p for p in func.params if isinstance(p.ty, tirx.BufferType)]
    arrays = [sample(concrete(b.ty.shape, known), str(b.ty.dtype), rng) for b in buffers]
    for k, given in (values or {}).items():
        if k < len(arrays) and arrays[k].shape == given.shape:
            arrays[k] = given.astype(arrays[k].dtype)
    expected = run_tvm(func, arrays)
    library = compile_c(kernel, folder, flags=flags)
    for pieces in (1, 3):
        got = [a.copy() for a in arrays]
        call(library, kernel, got, list(known.values()), pieces)
        for have, want in zip(got, expected, strict=True):
            assert_close(have, want, _limit(want, tolerance))
        for operand in kernel.inplace:
            if arrays[operand].nbytes != arrays[-1].nbytes:
                continue
            got = [a.copy() for a in arrays]
            got[-1] = got[operand].reshape(arrays[-1].shape)  # a view: one memory for both
            call(library, kernel, got, list(known.values()), pieces)
            assert_close(got[-1], expected[-1], _limit(expected[-1], tolerance))


def _limit(want: np.ndarray, tolerance: float) -> float:
    return max(tolerance, 2e-3) if want.dtype == np.float16 else tolerance


def missing(compiler: str) -> bool:
    return shutil.which(COMPILERS[compiler][0]) is None
