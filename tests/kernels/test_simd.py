"""megcc_simd.h, megcc_vmath.h and megcc_act.h on every machine, against NumPy in double."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from math import erf
from pathlib import Path

import numpy as np
import pytest
from harness import HERE, TARGETS, Target

from tvm_megcc.core.machine import machine
from tvm_megcc.core.this_machine import host_arch
from tvm_megcc.kernels.contract import OP_DIR

pytestmark = pytest.mark.together

_BASE = machine(host_arch()).arch.name
_PLAIN = [
    Target("host_vector", _BASE, "gcc", ("-O2", "-DMEGCC_SIMD_PORTABLE")),
    Target("host_one_lane", _BASE, "gcc", ("-O2", "-DMEGCC_SIMD_SCALAR")),
]
Run = Callable[[int, np.ndarray, np.ndarray], tuple[int, np.ndarray]]


_OF_MACHINES = [
    pytest.param(t, marks=pytest.mark.emulator) if t.runner else t for t in TARGETS if not t.own
]


@pytest.fixture(scope="module", params=[*_OF_MACHINES, *_PLAIN], ids=lambda t: t.name)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    target: Target = request.param
    if target.missing():
        pytest.skip(target.missing())
    exe = tmp_path_factory.mktemp("simd") / "check"
    include = OP_DIR.parent
    warnings = ("-std=c99", "-Wall", "-Wextra", "-Werror")
    command = [
        target.cc,
        *warnings,
        *target.flags_for(),
        f"-I{include}",
        str(HERE / "simd_check.c"),
    ]
    subprocess.run([*command, "-o", str(exe)], check=True)

    def call(function: int, a: np.ndarray, b: np.ndarray) -> tuple[int, np.ndarray]:
        return _call(target, exe, function, a, b)

    return call


def _call(
    target: Target, exe: Path, function: int, a: np.ndarray, b: np.ndarray
) -> tuple[int, np.ndarray]:
    head = np.array([function, a.size], np.int32).tobytes()
    data = head + a.astype(np.float32).tobytes() + b.astype(np.float32).tobytes()
    done = subprocess.run([*target.runner, str(exe)], input=data, capture_output=True)
    assert done.returncode == 0, f"{function}: exit {done.returncode} {done.stderr[-500:]!r}"
    lanes, values = done.stdout[:4], done.stdout[4:]
    return int(np.frombuffer(lanes, np.int32)[0]), np.frombuffer(values, np.float32)


def _values() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    halves = np.arange(-40, 41) / 4
    big = [8388607.5, -8388607.5, 8388609.0, 1e9, -3e9, 0.0, -0.0, 0.49999997, -0.49999997]
    a = np.concatenate([halves, big, rng.normal(0, 10, 160), 10.0 ** rng.uniform(-20, 20, 60)])
    a = a.astype(np.float32)
    b = rng.permutation(a)
    b[::7] = a[::7]
    return a, b


# number in simd_check.c -> the same in NumPy; all exact.
_EXACT = {
    0: np.add, 1: np.subtract, 2: np.multiply, 6: np.minimum, 7: np.maximum,
    8: lambda a, b: -a, 9: lambda a, b: np.abs(a), 11: lambda a, b: np.rint(a),
    12: lambda a, b: np.floor(a), 13: lambda a, b: np.ceil(a), 14: lambda a, b: np.trunc(a),
    15: np.less, 16: np.less_equal, 17: np.equal, 18: np.not_equal, 19: np.greater,
    20: np.greater_equal, 21: lambda a, b: (a < b) & ~(a < 0.5),
    22: lambda a, b: (a < b) | (a < 0.5), 25: lambda a, b: a,
}  # fmt: skip


def test_simd_exact(run: Run) -> None:
    a, b = _values()
    with np.errstate(over="ignore"):
        for function, reference in _EXACT.items():
            want = np.asarray(reference(a, b)).astype(np.float32)
            got = run(function, a, b)[1]
            differ = np.flatnonzero(got != want)
            assert not differ.size, (
                f"function {function}: ({a[differ[0]]!r}, {b[differ[0]]!r}) -> {got[differ[0]]!r}"
            )


def test_simd_extremes_keep_a_nan_of_either_operand(run: Run) -> None:
    values = np.array([np.nan, -np.inf, -1.5, 0.0, 2.5, np.inf], np.float32)
    a, b = (m.reshape(-1) for m in np.meshgrid(values, values))
    for function, reference in [(27, np.minimum), (28, np.maximum)]:
        np.testing.assert_array_equal(run(function, a, b)[1], reference(a, b))


def test_simd_keeps_the_sign_of_zero(run: Run) -> None:
    a = np.array([-0.0, -0.25, 0.25, 0.0], np.float32)
    assert np.signbit(run(11, a, a)[1]).tolist() == [True, True, False, False]
    assert np.signbit(run(14, a, a)[1]).tolist() == [True, True, False, False]


def test_simd_floor_and_ceil_of_what_is_next_to_zero(run: Run) -> None:
    """Numbers that Armv7's NEON takes for 0 where it adds or compares them."""
    a = np.array([1e-40, -1e-40, 1e-45, -1e-45, 1.1e-38, -1.1e-38, 0.0, -0.0], np.float32)
    for function, reference in [(12, np.floor), (13, np.ceil)]:
        got = run(function, a, a)[1]
        np.testing.assert_array_equal(got, reference(a))
        np.testing.assert_array_equal(np.signbit(got), np.signbit(reference(a)))


def test_simd_rounded(run: Run) -> None:
    """Operations that a machine may round twice (no fused multiply-add) or by a last bit."""
    a, b = _values()
    keep = (np.abs(a) < 1e15) & (np.abs(b) < 1e15) & (b != 0)
    a, b = a[keep], b[keep]
    x, y = a.astype(np.float64), b.astype(np.float64)
    for function, want in [(3, x / y), (4, x + x * y), (5, x - x * y), (10, np.sqrt(np.abs(x)))]:
        got = run(function, a, b)[1]
        scale = np.maximum(np.abs(want), np.abs(x) * (1 + np.abs(y)) if function in (4, 5) else 0)
        assert np.all(np.abs(got - want) <= 1.3e-7 * scale), f"function {function}"


def test_simd_integers(run: Run) -> None:
    rng = np.random.default_rng(2)
    a, b = (rng.integers(-1000, 1000, 77) + rng.uniform(-0.9, 0.9, 77) for _ in range(2))
    a, b = a.astype(np.float32), b.astype(np.float32)
    i, j = np.trunc(a).astype(np.int32), np.trunc(b).astype(np.int32)
    np.testing.assert_array_equal(run(23, a, b)[1], i.astype(np.float32))
    np.testing.assert_array_equal(run(24, a, b)[1], (((i << 3) >> 1) - (j ^ 5)).astype(np.float32))


def test_simd_reductions(run: Run) -> None:
    a = np.random.default_rng(3).normal(0, 1, 64).astype(np.float32)
    for function, reference in [(30, np.sum), (31, np.max), (32, np.min)]:
        lanes, got = run(function, a, a)
        want = reference(a.reshape(-1, lanes).astype(np.float64), axis=1)
        np.testing.assert_allclose(got[::lanes], want, rtol=0, atol=1e-6)


def test_simd_pairs(run: Run) -> None:
    a, b = np.random.default_rng(5).normal(0, 1, (2, 101)).astype(np.float32)
    for function, reference in [(33, np.add), (34, np.subtract)]:
        lanes, got = run(function, a, b)
        whole = a.size // (2 * lanes) * 2 * lanes
        np.testing.assert_array_equal(got[:whole], reference(a, b)[:whole])


def _arguments() -> np.ndarray:
    rng = np.random.default_rng(4)
    small = 10.0 ** rng.uniform(-20, 1, 20000) * rng.choice([-1, 1], 20000)
    x = np.concatenate([rng.uniform(-70, 88, 20000), rng.normal(0, 1.5, 40000), small])
    return x.astype(np.float32)


def test_vmath_relative_error(run: Run) -> None:
    """The bounds that megcc_vmath.h states."""
    x = _arguments()
    exact = x.astype(np.float64)
    bounds = [
        (40, np.exp(exact), 1e-7), (41, np.expm1(exact), 1.5e-7),
        (42, 1 / (1 + np.exp(-exact)), 1.5e-7), (43, np.tanh(exact), 2e-7),
        (44, np.vectorize(erf)(exact), 1.2e-7),
    ]  # fmt: skip
    for function, want, bound in bounds:
        got = run(function, x, x)[1]
        error = np.abs(got - want) / np.abs(want)
        worst = int(error.argmax())
        assert error[worst] <= bound, f"function {function}: {error[worst]:.3g} at {x[worst]!r}"


def test_vmath_special_values(run: Run) -> None:
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 89.0, -104.0], np.float32)
    want = {
        40: [np.nan, np.inf, 0, 1, 1, np.inf, 0], 41: [np.nan, np.inf, -1, 0, 0, np.inf, -1],
        42: [np.nan, 1, 0, 0.5, 0.5, 1, 0], 43: [np.nan, 1, -1, 0, 0, 1, -1],
        44: [np.nan, 1, -1, 0, 0, 1, -1],
    }  # fmt: skip
    for function, values in want.items():
        np.testing.assert_array_equal(run(function, x, x)[1], np.array(values, np.float32))


def test_activations_keep_nan(run: Run) -> None:
    """Also checks, in C, that the scalar and the vector form agree in every bit."""
    x = np.concatenate([[np.nan, 1.0, -1.0, 0.0], np.random.default_rng(5).normal(0, 3, 99)])
    for act in range(12):
        got = run(60 + act, x.astype(np.float32), x)[1]
        assert np.isnan(got[0]) and np.isfinite(got[1:]).all(), f"activation {act}"
