"""What `emit_prim_func` promises beside the numbers."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tvm import relax, tirx
from tvm.script import tirx as T

from tvm_megcc.codegen_c.tir import c_sizes, emit_prim_func, symbolic_vars
from tvm_megcc.codegen_c.tir.c_exprs import ExprPrinter
from tvm_megcc.codegen_c.tir.indices import key_of
from tvm_megcc.errors import UnsupportedError

from . import tir_support as ts
from .test_tir_ops import CASES

op, nn = relax.op, relax.op.nn
SEVERAL = ["softmax", "conv_relu", "layer_norm", "argmax", "matmul_f16", "resize_cubic",
           "scatter_elements", "group_norm", "minmax_int8", "max_pool"]  # fmt: skip


def kernels_of(name: str) -> list:
    build, shapes, dtypes, *_ = CASES[name]
    return [kernel for _, kernel in ts.emit_all(build, shapes, dtypes)]


def dim(name: str) -> tirx.Var:
    return tirx.Var(name, "int64")


@pytest.mark.slow
def test_same_function_gives_same_bytes_in_every_process():
    code = (
        "from tests.codegen_c.test_tir_emit import *\n"
        "for name in SEVERAL:\n"
        "    for k in kernels_of(name): print(k.symbol, k.workspace_bytes, k.work, k.source)\n"
    )
    root = Path(__file__).resolve().parents[2]
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=root,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            stdout=subprocess.PIPE,
        )
        for seed in ("1", "2")
    ]
    first, second = (r.communicate()[0] for r in runs)
    assert len(first) > 2000 and first == second


def test_equal_bodies_share_a_symbol_and_different_ones_do_not():
    func, again_func = (
        next(iter(ts.prim_funcs(ts.legalise(op.exp, [(4,)], "float32")).values())) for _ in "12"
    )
    one = emit_prim_func(func, "megcc_tir_exp")
    again = emit_prim_func(again_func, "megcc_tir_exp1")
    other = emit_prim_func(func, "megcc_tir_other")
    (longer,) = [k for _, k in ts.emit_all(op.exp, [(5,)], "float32")]
    assert one.symbol == again.symbol and one.source == again.source
    assert re.fullmatch(r"megcc_tir_exp_[0-9a-f]{10}", one.symbol)
    assert other.symbol.rsplit("_", 1)[1] == one.symbol.rsplit("_", 1)[1]
    assert longer.symbol != one.symbol


def test_global_symbol_names_the_kernel():
    func = next(iter(ts.prim_funcs(ts.legalise(op.exp, [(4,)], "float32")).values()))
    kernel = emit_prim_func(func.with_attr("global_symbol", "fused_exp12"))
    assert re.fullmatch(r"megcc_tir_fused_exp_[0-9a-f]{10}", kernel.symbol)


@pytest.mark.parametrize("name", SEVERAL)
def test_kernel_is_freestanding(name: str, tmp_path: Path):
    for kernel in kernels_of(name):
        library = ts.compile_c(kernel, tmp_path, flags=("-O2", "-ffreestanding"))
        assert ts.undefined_symbols(library) <= {"memcpy", "memmove", "memset", "memcmp"}


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["clang", "arm64", "armv7"])
def test_kernels_compile_without_warnings_elsewhere(compiler: str, tmp_path: Path):
    if ts.missing(compiler):
        pytest.skip(f"{ts.COMPILERS[compiler][0]} is not installed")
    for name in SEVERAL:
        for kernel in kernels_of(name):
            ts.compile_c(kernel, tmp_path, compiler)


@pytest.mark.parametrize("name", SEVERAL)
def test_kernel_is_clean_under_sanitizers(name: str, tmp_path: Path):
    build, shapes, dtypes, *values = CASES[name]
    ts.check_against_tvm(
        build,
        shapes,
        dtypes,
        folder=tmp_path,
        values=values[0] if values else {},
        flags=("-O1", "-fsanitize=undefined", "-fno-sanitize-recover=all", "-static-libubsan"),
    )


SYMBOLIC = {
    "chain": (lambda n, m: (CASES["chain"][0], [(n, 8), (8,)])),
    "softmax": (lambda n, m: (nn.softmax, [(n, m)])),
    "mean": (lambda n, m: (lambda x: op.mean(x, [1]), [(n, m, 5)])),
    "matmul": (lambda n, m: (op.matmul, [(n, 7), (7, m)])),
    "concat": (lambda n, m: (lambda x, y: op.concat([x, y], 0), [(n, 3), (m, 3)])),
    "pool": (lambda n, m: (lambda x: nn.max_pool2d(x, 3, 2, 1), [(1, 2, n, m)])),
    "conv": (lambda n, m: (CASES["conv_relu"][0], [(1, 3, n, m), (4, 3, 3, 3)])),
    "transpose": (lambda n, m: (lambda x: op.permute_dims(x, [1, 0, 2]), [(n, 2, m)])),
    "broadcast": (lambda n, m: (op.add, [(n, 1), (m,)])),
}


@pytest.mark.parametrize("sizes", [(3, 6), (1, 17), (8, 9)], ids=str)
@pytest.mark.parametrize("name", sorted(SYMBOLIC))
def test_symbolic_dims_come_from_attr(name: str, sizes: tuple[int, int], tmp_path: Path):
    build, shapes = SYMBOLIC[name](dim("n"), dim("m"))
    dims = dict(zip(("n", "m"), sizes, strict=True))
    for kernel in ts.check_against_tvm(build, shapes, folder=tmp_path, dims=dims, flags=("-O1",)):
        assert set(kernel.symbolic) <= {"n", "m"} and kernel.symbolic


def test_symbolic_work_and_workspace_are_expressions():
    n, m = dim("n"), dim("m")
    ((func, kernel),) = ts.emit_all(nn.softmax, [(n, m)], "float32")
    assert kernel.symbolic == ("n", "m") == tuple(v.name for v in symbolic_vars(func))
    assert (kernel.work, kernel.workspace_bytes) == (-1, -1)
    assert kernel.work_for([5, 100]) == 5
    assert kernel.workspace_for([5, 100]) % 64 == 0
    assert kernel.workspace_for([5, 100]) >= 400


def test_sizes_stand_before_what_loops_hold():
    n = dim("n")
    exprs = ExprPrinter("f")
    exprs.bind(n, "s0", index=True)
    exprs.quotients[key_of(n // 2)] = "q0"
    assert exprs.index(n // 2) == "q0"
    size = c_sizes.product([n // 2, tirx.IntImm("int64", 3)], {n: "s0"}, exprs)
    assert "q0" not in size.c and "s0" in size.c and "q0" not in size.text


def test_cost_is_of_one_unit_of_work():
    n, m = dim("n"), dim("m")
    ((_, kernel),) = ts.emit_all(nn.softmax, [(n, m)], "float32")
    one, two = (c_sizes.evaluate(kernel.cost_expr, [5, width]) for width in (100, 200))
    assert c_sizes.evaluate(kernel.cost_expr, [50, 100]) == one
    assert 100 * 40 < one < 100 * 200 and abs(two - 2 * one) < one / 10
    ((_, sort),) = ts.emit_all(lambda x: op.sort(x, -1), [(3, 8)], "float32")
    assert sort.work == 3 and c_sizes.evaluate(sort.cost_expr, []) >= 1000


def gelu(x: relax.Expr) -> relax.Expr:
    erf = op.erf(op.multiply(x, relax.const(0.70710678, "float32")))
    return op.multiply(x, op.add(erf, relax.const(1.0, "float32")))


INPLACE = {
    # What the result may overwrite: read once per element, at the element that is written.
    "unary": (op.exp, [(2, 3, 4)], "float32", (0,)),
    "binary": (op.add, [(2, 3, 4), (2, 3, 4)], "float32", (0, 1)),
    "broadcast rhs": (op.multiply, [(2, 3, 4), (4,)], "float32", (0,)),
    "broadcast lhs": (op.subtract, [(3, 1), (2, 3, 4)], "float32", (1,)),
    "prelu": (lambda x, s: nn.prelu(x, s, axis=3), [(1, 5, 6, 7), (7,)], "float32", (0,)),
    "fused": (gelu, [(3, 5)], "float32", (0,)),
    "symbolic": (gelu, [(dim("n"), 5)], "float32", (0,)),
    "other width": (lambda x: op.astype(x, "int8"), [(3, 5)], "float32", ()),
    "other place": (lambda x: op.flip(x, axis=1), [(3, 5)], "float32", ()),
    "transposed": (op.permute_dims, [(4, 4)], "float32", ()),
    "itself transposed": (lambda x: op.add(x, op.permute_dims(x)), [(4, 4)], "float32", ()),
    "reduction": (lambda x: op.sum(x, axis=1), [(3, 5)], "float32", ()),
}


@pytest.mark.parametrize("name", sorted(INPLACE))
def test_inputs_that_the_result_may_overwrite(name: str, tmp_path: Path):
    build, shapes, dtype, operands = INPLACE[name]
    kernels = ts.check_against_tvm(build, shapes, dtype, folder=tmp_path, dims={"n": 6})
    assert [k.inplace for k in kernels] == [operands]
    (kernel,) = kernels
    assert ("MEGCC_IVDEP" in kernel.source) == bool(operands)


@pytest.mark.parametrize("size", [0, 1])
def test_zero_extent(size: int, tmp_path: Path):
    ts.check_against_tvm(
        CASES["chain"][0], [(dim("n"), 8), (8,)], folder=tmp_path, dims={"n": size}
    )


def test_work_range_of_a_flat_chain_is_every_element():
    ((_, kernel),) = ts.emit_all(CASES["chain"][0], [(4, 8), (4, 8)], "float32")
    assert kernel.work == 32 and kernel.workspace_bytes == 0
    assert kernel.source.count("for (") == 1


def test_softmax_works_row_by_row():
    ((_, kernel),) = ts.emit_all(nn.softmax, [(6, 10, 128)], "float32")
    assert kernel.work == 60
    assert kernel.workspace_bytes == 512  # one row


@pytest.mark.parametrize(
    "dtype, columns, workspace",
    [("float32", 1, 0), ("float32", 63, 0), ("float32", 64, 0), ("float32", 65, 320),
     ("float32", 128, 512), ("float64", 32, 0), ("float64", 33, 320)],
)  # fmt: skip
def test_rows_of_256_bytes_are_on_the_stack(dtype: str, columns: int, workspace: int):
    """Longer ones are in the workspace, in blocks of 64 bytes."""
    ((_, kernel),) = ts.emit_all(nn.softmax, [(6, 2, columns)], dtype)
    assert kernel.workspace_bytes == workspace


def test_empty_range_does_nothing(tmp_path: Path):
    for name in ("chain", "group_norm"):
        for kernel in kernels_of(name):
            library = ts.compile_c(kernel, tmp_path)
            # Null operands: any access would crash.
            function = getattr(ts.ctypes.CDLL(str(library)), kernel.symbol)
            pointers = (ts.ctypes.c_void_p * 8)()
            function(pointers, None, None, 0, 0)


def test_unsupported_call_names_function_and_call():
    @T.prim_func(private=True, s_tir=True)
    def foreign(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("y"):
                v = T.axis.spatial(4, i)
                y[v] = T.call_extern("float32", "frobnicate", x[v])

    with pytest.raises(UnsupportedError, match="megcc_tir_foreign.*frobnicate"):
        emit_prim_func(foreign, "megcc_tir_foreign")


def test_half_precision_sums_do_not_lose_small_addends(tmp_path: Path):
    ((_, kernel),) = ts.emit_all(lambda x: op.sum(x, -1), [(1, 4096)], "float16")
    x = np.ones((1, 4096), np.float16)
    out = np.zeros(1, np.float16)
    ts.call(ts.compile_c(kernel, tmp_path), kernel, [x, out])
    assert out.tolist() == [4096.0]  # in f16 arithmetic the sum stays at 2048
