"""Kernels emitted from legalised TIR give the numbers of TVM's own code generator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tvm import relax, tirx

from .tir_support import call, check_against_tvm, check_function, compile_c, emit_all

op, nn = relax.op, relax.op.nn
RNG = np.random.default_rng(11)
S = (2, 3, 4)


def ints(high: int, shape: tuple[int, ...]) -> np.ndarray:
    return RNG.integers(0, high, shape)


def chain(x, y):
    return nn.relu(op.multiply(op.add(op.exp(x), y), op.sigmoid(x)))


def one_hot(i):
    on, off = (relax.prim_value(tirx.FloatImm("float32", v)) for v in (1.0, 0.0))
    return op.one_hot(i, on, off, 6)


def conv_relu(x, w):
    return nn.relu(nn.conv2d(x, w, strides=(2, 2), padding=1))


def resize(method: str, mode: str = "half_pixel"):
    return lambda x: op.image.resize2d(
        x, (7, 9), layout="NCHW", method=method, coordinate_transformation_mode=mode
    )


# name: (function, shapes, dtypes[, {input: values}])
CASES: dict[str, tuple] = {
    "chain": (chain, [S, (3, 1)], "float32"),
    "chain_f16": (chain, [S, (3, 1)], "float16"),
    "chain_f64": (chain, [S, (3, 1)], "float64"),
    "softmax": (nn.softmax, [(2, 5, 33)], "float32"),
    "softmax_middle": (lambda x: nn.softmax(x, 1), [S], "float32"),
    "log_softmax": (nn.log_softmax, [S], "float32"),
    "softmax_f16": (nn.softmax, [S], "float16"),
    "layer_norm": (lambda x, g, b: nn.layer_norm(x, g, b, [-1]), [S, (4,), (4,)], "float32"),
    "group_norm": (
        lambda x, g, b: nn.group_norm(x, g, b, 2, 1, [2, 3]),
        [(1, 4, 5, 5), (4,), (4,)],
        "float32",
    ),
    "batch_norm": (
        lambda x, g, b, m, v: nn.batch_norm(x, g, b, m, op.abs(v), 1, training=False)[0],
        [S, (3,), (3,), (3,), (3,)],
        "float32",
    ),
    "sum_rows": (lambda x: op.sum(x, -1), [(5, 33)], "float32"),
    "sum_columns": (lambda x: op.sum(x, 0), [(5, 33)], "float32"),
    "sum_all": (lambda x: op.sum(x), [S], "float32"),
    "sum_i64": (lambda x: op.sum(x, [1]), [S], "int64"),
    "sum_f16": (lambda x: op.sum(x, [1]), [S], "float16"),
    "mean": (lambda x: op.mean(x, [1, 2], True), [S], "float32"),
    "max": (lambda x: op.max(x, [1]), [S], "float32"),
    "variance": (lambda x: op.variance(x, [1]), [S], "float32"),
    "argmax": (lambda x: op.argmax(x, 1), [S], "float32"),
    "argmin_ties": (lambda x: op.argmin(x, -1, True), [S], "int32"),
    "transpose": (lambda x: op.permute_dims(x, [2, 0, 1]), [S], "float32"),
    "concat": (lambda x, y: op.concat([x, y], 1), [S, (2, 5, 4)], "float32"),
    "split": (lambda x: op.split(x, 3, 1), [S], "float32"),
    "tile": (lambda x: op.tile(x, (2, 1, 3)), [S], "int8"),
    "pad": (lambda x: nn.pad(x, (0, 0, 1, 2, 3, 1)), [S], "float32"),
    "pad_reflect": (lambda x: nn.pad(x, (0, 0, 1, 1, 2, 2), "reflect"), [S], "float32"),
    "flip": (lambda x: op.flip(x, 1), [S], "float32"),
    "take": (
        lambda x, i: op.take(x, i, 1),
        [S, (5,)],
        ["float32", "int64"],
        {1: np.array([0, 2, 1, 2, 0])},
    ),
    "gather_elements": (
        lambda x, i: op.gather_elements(x, i, 1),
        [S, (2, 5, 4)],
        ["float32", "int64"],
        {1: ints(3, (2, 5, 4))},
    ),
    "gather_nd": (
        op.gather_nd,
        [S, (5, 2)],
        ["float32", "int64"],
        {1: ints(2, (5, 2))},
    ),
    "scatter_elements": (
        lambda x, i, u: op.scatter_elements(x, i, u, 0, "add"),
        [(9, 4), (3, 4), (3, 4)],
        ["float32", "int64", "float32"],
        {1: ints(9, (3, 4))},
    ),
    "scatter_nd": (
        lambda x, i, u: op.scatter_nd(x, i, u, "update"),
        [(9, 4), (3, 1), (3, 4)],
        ["float32", "int64", "float32"],
        {1: np.array([[1], [5], [3]])},
    ),
    "strided_slice": (
        lambda x: op.strided_slice(x, [1, 2], [2, 0], [-10, 4], [-1, 2]),
        [S],
        "float32",
    ),
    "cumsum": (lambda x: op.cumsum(x, 1), [S], "float32"),
    "cumsum_long": (lambda x: op.cumsum(x, 1), [(3, 41)], "float32"),
    "where": (op.where, [S, S, (3, 1)], ["bool", "float32", "float32"]),
    "one_hot": (one_hot, [(2, 3)], "int32", {0: np.array([[0, 1, 5], [2, 3, 9]])}),
    "triu": (lambda x: op.triu(x, 1), [(4, 5)], "float32"),
    "arange": (lambda x: op.add(x, op.arange(0, 10, 2, "int64")), [(5,)], "int64"),
    "matmul": (op.matmul, [(2, 5, 7), (2, 7, 9)], "float32"),
    "matmul_transposed": (
        lambda x, w: op.matmul(x, op.permute_dims(w)),
        [(5, 7), (9, 7)],
        "float32",
    ),
    "matmul_f16": (op.matmul, [(5, 7), (7, 9)], "float16"),
    "matmul_i8": (lambda a, b: op.matmul(a, b, "int32"), [(5, 7), (7, 9)], "int8"),
    "conv_relu": (conv_relu, [(1, 3, 9, 9), (4, 3, 3, 3)], "float32"),
    "conv_grouped": (
        lambda x, w: nn.conv2d(x, w, padding=2, dilation=2, groups=2),
        [(2, 4, 9, 9), (6, 2, 3, 3)],
        "float32",
    ),
    "conv2d_transpose": (
        lambda x, w: nn.conv2d_transpose(x, w, strides=(2, 2), padding=1),
        [(1, 3, 8, 8), (3, 4, 3, 3)],
        "float32",
    ),
    "conv3d": (
        lambda x, w: nn.conv3d(x, w, padding=1),
        [(1, 2, 5, 5, 5), (3, 2, 3, 3, 3)],
        "float32",
    ),
    "max_pool": (lambda x: nn.max_pool2d(x, 3, 2, 1, ceil_mode=True), [(1, 2, 9, 9)], "float32"),
    "max_pool_u8": (lambda x: nn.max_pool2d(x, 3, 2, 1), [(1, 2, 9, 9)], "uint8"),
    "avg_pool": (
        lambda x: nn.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        [(1, 2, 9, 9)],
        "float32",
    ),
    "resize_linear": (resize("linear"), [(1, 2, 4, 5)], "float32"),
    "resize_nearest": (resize("nearest_neighbor"), [(1, 2, 4, 5)], "float32"),
    "resize_cubic": (resize("cubic", "align_corners"), [(1, 2, 4, 5)], "float32"),
    "grid_sample": (op.image.grid_sample, [(1, 2, 5, 5), (1, 2, 4, 4)], "float32"),
    "gelu": (nn.gelu, [S], "float32"),
    "logical": (
        lambda x, y: op.logical_xor(op.logical_and(x, y), op.logical_not(y)),
        [S, (3, 1)],
        "bool",
    ),
    "quantize": (
        lambda x, s, z: op.quantize(x, op.add(op.abs(s), relax.const(0.1)), z, axis=1),
        [S, (3,), (3,)],
        ["float32", "float32", "int8"],
    ),
    "topk": (lambda x: op.topk(x, 2, 1, "both", False), [(2, 5, 4)], "float32"),
    "topk_indices": (lambda x: op.topk(x, 3, ret_type="indices", dtype="int64"), [S], "int8"),
    "sort": (lambda x: op.sort(x, 0, True), [(7, 3)], "float32"),
    "argsort": (lambda x: op.argsort(x, -1), [(3, 37)], "int32"),
    "median": (lambda x: op.median(x, 1), [(2, 5, 3)], "float32"),
    "fmod": (lambda x, y: op.mod(x, y), [S, (3, 1)], "float32"),
}
for _dtype in ("int8", "uint8", "int16", "int32", "uint32", "int64"):
    CASES[f"minmax_{_dtype}"] = (
        lambda x, y: op.maximum(op.minimum(op.multiply(x, y), x), op.subtract(x, y)),
        [S, (3, 1)],
        _dtype,
    )
for _dtype in ("uint8", "uint32", "int32", "int64"):
    CASES[f"bits_{_dtype}"] = (
        lambda x, y: op.bitwise_xor(op.bitwise_and(x, y), op.bitwise_not(op.bitwise_or(x, y))),
        [S, (3, 1)],
        _dtype,
    )


@pytest.mark.parametrize("name", sorted(CASES))
def test_operator_gives_tvms_numbers(name: str, tmp_path: Path):
    build, shapes, dtypes, *values = CASES[name]
    kernels = check_against_tvm(
        build, shapes, dtypes, folder=tmp_path, values=values[0] if values else {}, flags=("-O1",)
    )
    assert kernels


@pytest.mark.slow
def test_opaque_loops_stay_in_order(tmp_path: Path):
    """Box suppression: a sort, scans and loops that declare no accesses, next to plain blocks."""

    def suppress(boxes, scores):
        limits = relax.const(3, "int64"), relax.const(0.5), relax.const(0.1)
        return op.vision.all_class_non_max_suppression(boxes, scores, *limits)

    funcs = emit_all(suppress, [(1, 6, 4), (1, 2, 6)], "float32")
    ((func, kernel),) = [p for p in funcs if "suppression" in p[1].symbol]
    corners = (0, 0.4, 5, 5.5, 9, 20)
    values = {
        0: np.array([[[k, k, k + 3.0, k + 3.0] for k in corners]]),
        1: np.random.default_rng(1).uniform(0, 1, (1, 2, 6)),
        2: np.array(0.5),
        3: np.array(0.1),
    }
    check_function(func, kernel, tmp_path, values=values)


@pytest.mark.parametrize(
    ("function", "reference"),
    [
        (op.floor_divide, np.floor_divide),
        (op.floor_mod, np.mod),
        (op.divide, lambda a, b: np.trunc(a / b).astype(a.dtype)),
        (op.mod, np.fmod),
    ],
    ids=["floor_divide", "floor_mod", "divide", "mod"],
)
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
def test_division_of_every_sign(function, reference, dtype: str, tmp_path: Path):
    low = 0 if dtype.startswith("u") else -9
    x = np.arange(low, 10, dtype=dtype)
    y = np.array([v for v in range(low, 10) if v], dtype)
    shapes = [(x.size, 1), (y.size,)]
    ((_, kernel),) = emit_all(function, shapes, dtype)
    out = np.empty((x.size, y.size), dtype)
    call(compile_c(kernel, tmp_path), kernel, [x, y, out])
    np.testing.assert_array_equal(out, reference(x[:, None], y))


def test_division_by_zero_does_not_trap(tmp_path: Path):
    ((_, kernel),) = emit_all(op.floor_divide, [(3,), (3,)], "int32")
    out = np.empty(3, np.int32)
    low = -(2**31)
    x, y = np.array([5, low, low], np.int32), np.array([0, 0, -1], np.int32)
    call(compile_c(kernel, tmp_path), kernel, [x, y, out])
    assert out.tolist() == [0, 0, low]


def test_round_takes_halves_to_even(tmp_path: Path):
    ((_, kernel),) = emit_all(op.round, [(6,)], "float32")
    x = np.array([0.5, 1.5, 2.5, -0.5, -2.5, 3.2], np.float32)
    out = np.empty_like(x)
    call(compile_c(kernel, tmp_path), kernel, [x, out])
    np.testing.assert_array_equal(out, np.rint(x))


def test_relu_and_clip_keep_nan(tmp_path: Path):
    ((_, kernel),) = emit_all(lambda x: op.clip(nn.relu(x), 0, 6), [(4,)], "float32")
    out = np.empty(4, np.float32)
    x = np.array([np.nan, -1, 3, 9], np.float32)
    call(compile_c(kernel, tmp_path), kernel, [x, out])
    np.testing.assert_array_equal(out, np.array([np.nan, 0, 3, 6], np.float32))


def test_floats_are_no_reals(tmp_path: Path):
    """What TVM takes for the same of real numbers: a round trip, and comparisons turned round."""

    def build(x, y):
        far = relax.const(1e30, "float32")
        back = op.subtract(op.add(x, far), far)
        flags = [op.equal(x, x), op.logical_not(op.less(x, y)), op.less(op.add(x, y), x)]
        return op.concat([back, *(op.astype(flag, "float32") for flag in flags)], 0)

    ((_, kernel),) = emit_all(build, [(4,), (4,)], "float32")
    x, y = np.array([np.nan, 1.5, np.inf, -2], "f4"), np.array([1, np.nan, 1, -1e-9], "f4")
    out = np.empty(16, np.float32)
    call(compile_c(kernel, tmp_path), kernel, [x, y, out])
    flags = [x == x, ~(x < y), x + y < x]
    want = [x + np.float32(1e30) - np.float32(1e30), *flags]
    np.testing.assert_array_equal(out, np.concatenate(want).astype("f4"))


@pytest.mark.parametrize("name", ["greater", "less"])
def test_choice_of_the_extreme_computes_its_operands_once(name: str, tmp_path: Path):
    def build(x, y):
        z = op.exp(x)
        return op.where(getattr(op, name)(z, y), z, y)

    ((_, kernel),) = emit_all(build, [(5,), (5,)], "float32")
    assert kernel.source.count("megcc_expf(") == 1
    x = np.array([np.nan, 0, 0, 0, np.inf], "f4")
    y = np.array([2, np.nan, 3, -3, 7], "f4")
    out = np.empty(5, np.float32)
    call(compile_c(kernel, tmp_path), kernel, [x, y, out])
    z = np.exp(x)
    np.testing.assert_allclose(out, np.where(z > y if name == "greater" else z < y, z, y))


def test_a_choice_by_data_loads_both_values(tmp_path: Path):
    """So that compilers vectorise a PReLU; a choice that guards a subscript stays one."""
    ((_, kernel),) = emit_all(
        lambda x, s: op.where(op.less(x, relax.const(0.0, "float32")), op.multiply(x, s), x),
        [(9,), (9,)], "float32",
    )  # fmt: skip
    assert "megcc_choose_f32((p0[i0] < 0.0f), (p0[i0] * p1[i0]), p0[i0])" in kernel.source
    x = np.array([np.nan, -2, 3, -np.inf, np.inf, -0.0, 0, -1e30, 5], "f4")
    slope = np.linspace(-1, 1, 9, dtype="f4")
    out = np.empty(9, np.float32)
    call(compile_c(kernel, tmp_path), kernel, [x, slope, out])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(out, np.where(x < 0, x * slope, x))
    ((_, guarded),) = emit_all(lambda x: op.nn.pad(x, [1, 1]), [(9,)], "float32")
    assert "choose" not in guarded.source


FUNCTIONS = "acos acosh asin asinh atan atanh cos cosh erf exp log sin sinh sqrt rsqrt tan tanh"


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_elementary_functions_reach_their_headers(dtype: str, tmp_path: Path):
    rng = np.random.default_rng(5)
    for name in FUNCTIONS.split():
        x = rng.uniform(0.05, 0.95, 40) + (1.0 if name == "acosh" else 0.0)
        x = x.astype(dtype)
        ((_, kernel),) = emit_all(getattr(op, name), [x.shape], dtype)
        out = np.empty_like(x)
        call(compile_c(kernel, tmp_path, flags=("-O1",)), kernel, [x, out])
        want = _numpy(name, x.astype(np.float64))
        tolerance = {"float16": 1e-3, "float32": 4e-7, "float64": 8e-16}[dtype]
        np.testing.assert_allclose(out.astype(np.float64), want, rtol=tolerance, err_msg=name)


def _numpy(name: str, x: np.ndarray) -> np.ndarray:
    import math

    long = {"acos": "arccos", "asin": "arcsin", "atan": "arctan"}
    long |= {k + "h": v + "h" for k, v in long.items()}
    if name == "erf":
        return np.array([math.erf(v) for v in x])
    if name == "rsqrt":
        return 1 / np.sqrt(x)
    return getattr(np, long.get(name, name))(x)
