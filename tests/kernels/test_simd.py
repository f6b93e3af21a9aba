"""megcc_simd.h, its types, megcc_vmath.h, megcc_vtrig.h and megcc_act.h on every machine.

Against NumPy in double.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from math import erf
from pathlib import Path

import numpy as np
import pytest
from harness import HERE, TARGETS, Target
from runner import BARE, on_board

from tvm_megcc.core.machine import machine
from tvm_megcc.core.this_machine import host_arch
from tvm_megcc.kernels.contract import OP_DIR

pytestmark = pytest.mark.together

_BASE = machine(host_arch()).arch.name
_PLAIN = [
    Target("host_vector", _BASE, "gcc", ("-O2", "-DMEGCC_SIMD_PORTABLE")),
    Target("host_one_lane", _BASE, "gcc", ("-O2", "-DMEGCC_SIMD_SCALAR")),
]
#: What megcc_vmath.h and megcc_vtrig.h state.
_LOG_BOUNDS = {45: 9e-8, 46: 9e-8}
_SINE_BOUND = 1e-7
Run = Callable[[int, np.ndarray, np.ndarray], tuple[int, np.ndarray]]


_OF_MACHINES = [
    pytest.param(t, marks=pytest.mark.emulator) if t.runner else t
    for t in TARGETS
    if not t.own or t.arch == "cortexm+mve.fp"
]


@pytest.fixture(scope="module", params=[*_OF_MACHINES, *_PLAIN], ids=lambda t: t.name)
def target(request: pytest.FixtureRequest) -> Target:
    return request.param


@pytest.fixture
def machine_flushes(target: Target) -> bool:
    """Whether vectors take subnormal numbers for 0, and have one NaN."""
    return target.arch.startswith(("armv7", "cortexm"))


@pytest.fixture(scope="module")
def run(target: Target, tmp_path_factory: pytest.TempPathFactory) -> Run:
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
    if target.board:
        command += [str(BARE / "start.c"), f"-I{BARE}", "-nostdlib", "-T", str(BARE / "board.ld")]
        command += ["-lgcc"]
    subprocess.run([*command, "-o", str(exe)], check=True)

    def call(function: int, a: np.ndarray, b: np.ndarray) -> tuple[int, np.ndarray]:
        return _call(target, exe, function, a, b)

    return call


def _call(
    target: Target, exe: Path, function: int, a: np.ndarray, b: np.ndarray
) -> tuple[int, np.ndarray]:
    head = np.array([function, a.size], np.int32).tobytes()
    data = head + _words(a) + _words(b)
    command = [*target.runner, str(exe)]
    given, written = exe.with_suffix(".in"), exe.with_suffix(".out")
    if target.board:
        given.write_bytes(data)
        written.write_bytes(b"")
        command = on_board(target, str(exe), str(given), str(written))
    done = subprocess.run(command, input=data, capture_output=True)
    assert done.returncode == 0, f"{function}: exit {done.returncode} {done.stderr[-500:]!r}"
    output = written.read_bytes() if target.board else done.stdout
    lanes, values = output[:4], output[4:]
    return int(np.frombuffer(lanes, np.int32)[0]), np.frombuffer(values, np.float32)


def _words(a: np.ndarray) -> bytes:
    """Integers as they are, one behind the other, with room for words; all others as f32."""
    stored = a if a.dtype.kind in "iu" else a.astype(np.float32)
    return stored.tobytes().ljust(4 * a.size, b"\0")


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


def _relative_error(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    return np.abs(got - want) / np.abs(want)


def _logarithms() -> dict[int, tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]]:
    """Function -> normal arguments of all sizes, most of them where the result is near 0."""
    rng = np.random.default_rng(6)
    near = rng.uniform(-0.5, 0.75, 40000)
    sizes = 10.0 ** rng.uniform(-37.5, 38.5, 20000)
    below = -1 + 10.0 ** rng.uniform(-7, 0, 10000)
    return {
        45: (np.concatenate([1 + near, sizes, 1 + near * 1e-4]), np.log),
        46: (np.concatenate([near, sizes, near * 1e-4, -sizes[sizes < 1], below]), np.log1p),
    }


def test_logarithms_relative_error(run: Run) -> None:
    """The bounds that megcc_vmath.h states."""
    for function, (x, reference) in _logarithms().items():
        x = x.astype(np.float32)
        x = x[(x > -1) & (np.abs(x) >= 2.0**-126) & ((x != 1) | (function == 46))]
        error = _relative_error(run(function, x, x)[1], reference(x.astype(np.float64)))
        worst = int(error.argmax())
        assert error[worst] <= _LOG_BOUNDS[function], (
            f"function {function}: {error[worst]:.3g} at {x[worst]!r}"
        )


def test_logarithm_of_one_and_a_part(run: Run) -> None:
    """megcc_vf_log1p_unit: softplus takes it of an exponential of what is not positive."""
    rng = np.random.default_rng(7)
    x = np.concatenate([rng.uniform(0, 1, 40000), 10.0 ** rng.uniform(-37, 0, 20000), [1.0]])
    x = x.astype(np.float32)
    error = _relative_error(run(49, x, x)[1], np.log1p(x.astype(np.float64)))
    assert error.max() <= 2.5e-7, f"{error.max():.3g} at {x[error.argmax()]!r}"
    got = run(49, np.array([0, np.nan], np.float32), x[:2])[1]
    assert got[0] == 0 and np.isnan(got[1])


def test_logarithms_of_subnormal_numbers(run: Run, machine_flushes: bool) -> None:
    x = np.array([1e-45, 3e-42, 1e-40, 1.1e-38], np.float32)
    got = run(45, x, x)[1]
    if machine_flushes:
        assert np.isneginf(got).all()
    else:
        assert np.all(_relative_error(got, np.log(x.astype(np.float64))) <= _LOG_BOUNDS[45])
    both = np.concatenate([x, -x])
    np.testing.assert_array_equal(run(46, both, both)[1], both)


def test_logarithms_special_values(run: Run) -> None:
    x = np.array([0, -0.0, 1, -1, -1.5, -3e38, -np.inf, np.inf, np.nan], np.float32)
    with np.errstate(divide="ignore", invalid="ignore"):
        for function, reference in [(45, np.log), (46, np.log1p)]:
            got = run(function, x, x)[1]
            np.testing.assert_allclose(got, reference(x), rtol=1e-6)
    assert np.signbit(got[:2]).tolist() == [False, True]  # of log1p


def test_sines_absolute_error(run: Run) -> None:
    """The bound that megcc_vtrig.h states, with most arguments near multiples of pi / 4."""
    rng = np.random.default_rng(7)
    turns = rng.integers(-10430, 10431, 60000) * (np.pi / 4)
    near = turns + rng.normal(0, 1, turns.size) * rng.choice([1e-3, 0.1], turns.size)
    few = np.concatenate([rng.uniform(-10, 10, 30000), 10.0 ** rng.uniform(-37, 0, 3000)])
    x = np.concatenate([near[np.abs(near) < 8192], few, [8192, -8192]]).astype(np.float32)
    for function, reference in [(47, np.sin), (48, np.cos)]:
        error = np.abs(run(function, x, x)[1] - reference(x.astype(np.float64)))
        worst = int(error.argmax())
        assert error[worst] <= _SINE_BOUND, f"{function}: {error[worst]:.3g} at {x[worst]!r}"


def test_sines_far_away_are_the_scalar_ones_and_disturb_no_neighbour(run: Run) -> None:
    rng = np.random.default_rng(8)
    near = rng.uniform(-8192, 8192, 400).astype(np.float32)
    far = [8192.001, -8193.5, 1e5, -2e6, 1e10, -3e38, np.inf, -np.inf, np.nan]
    mixed = np.where(rng.random(400) < 0.2, rng.choice(far, 400), near).astype(np.float32)
    is_far = ~(np.abs(mixed) <= 8192)
    for function, scalar in [(47, 58), (48, 59)]:
        got, alone = run(function, mixed, mixed)[1], run(function, near, near)[1]
        want = np.where(is_far, run(scalar, mixed, mixed)[1], alone)
        np.testing.assert_array_equal(got, want)
    assert np.isnan(got[np.isinf(mixed)]).all() and is_far.sum() > 40


def test_sine_keeps_a_zero(run: Run) -> None:
    x = np.array([0.0, -0.0], np.float32)
    assert np.signbit(run(47, x, x)[1]).tolist() == [False, True]
    assert run(48, x, x)[1].tolist() == [1, 1]


def _floats() -> np.ndarray:
    """Bits of f32 of all sizes: ties of both 16-bit types, their limits, subnormals, NaNs."""
    rng = np.random.default_rng(9)
    halves = rng.integers(0, 2**16, 600, np.uint16)
    with np.errstate(all="ignore"):
        f16 = halves.view(np.float16).astype(np.float32).view(np.uint32)
    ties = [halves.astype(np.uint32) << 16 | low for low in (0x7FFF, 0x8000, 0x8001)]
    ties += [f16[f16 % 2**23 != 0] ^ low for low in (0x0FFF, 0x1000, 0x1001)]
    tiny = np.arange(-90, 91) * np.float64(2**-26)  # f16's subnormals and their ties
    limits = [65504, 65519.996, 65520, 3.3895314e38, 3.4e38, 2.0**-24, 2.0**-25, 2.98e-8, np.inf]
    nan = np.array([0x7F800001, 0x7FC00000, 0x7FFFFFFF, 0x7FBFFFFF, 0x7FC12345], np.uint32)
    bits = np.concatenate([*ties, tiny.astype(np.float32).view(np.uint32), nan,
                           np.array(limits, np.float32).view(np.uint32),
                           rng.integers(0, 2**32, 2000, np.uint32)])  # fmt: skip
    return np.concatenate([bits, bits ^ np.uint32(2**31)])


def _is_nan(bits: np.ndarray) -> np.ndarray:
    return (bits & 0x7FFFFFFF) > 0x7F800000


def test_rounding_to_16_bits_is_the_scalar_one(run: Run, machine_flushes: bool) -> None:
    bits = _floats()
    finite = ~_is_nan(bits)
    with np.errstate(over="ignore"):
        halves = bits.view(np.float32).astype(np.float16)
    for vector, scalar, store in [(50, 55, 98), (51, 56, 99)]:
        got, want = (run(f, bits, bits)[1].view(np.uint32) for f in (vector, scalar))
        exact = np.ones(bits.size, np.bool_)
        if machine_flushes and vector == 50:
            exact = finite  # NEON's NaN of a conversion is always the same
            assert _is_nan(got[~finite]).all()
        np.testing.assert_array_equal(got[exact], want[exact])
        stored = run(store, bits, bits)[1].view(np.uint16)[: bits.size]
        if vector == 50:
            np.testing.assert_array_equal(stored[finite], halves.view(np.uint16)[finite])
        else:
            np.testing.assert_array_equal(stored, got >> 16)


def test_loads_of_16_bits(run: Run) -> None:
    every = np.arange(2**16, dtype=np.uint16)
    finite = np.isfinite(every.view(np.float16))
    got = run(96, every, every)[1]
    np.testing.assert_array_equal(got[finite], every.view(np.float16)[finite])
    np.testing.assert_array_equal(np.isnan(got), np.isnan(every.view(np.float16)))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(every.view(np.float16)))
    bits = run(97, every, every)[1].view(np.uint32)
    np.testing.assert_array_equal(bits, every.astype(np.uint32) << 16)


def _integers(rng: np.random.Generator, count: int = 700) -> np.ndarray:
    extremes = [-(2**31), 2**31 - 1, -(2**31) + 1, -1, 0, 1, 127, 128, -128, -129, 255, 256, 65535]
    usual = rng.integers(-300, 300, count)
    chosen = np.where(rng.random(count) < 0.4, rng.choice(extremes, count), usual)
    return np.where(rng.random(count) < 0.2, rng.integers(-(2**31), 2**31, count), chosen).astype(
        np.int32
    )


def test_integers_from_memory_and_to_it(run: Run) -> None:
    a = _integers(np.random.default_rng(10), 2000)
    np.testing.assert_array_equal(run(90, a, a)[1].view(np.int32), a)
    every = np.tile(np.arange(256, dtype=np.uint8), 9)
    np.testing.assert_array_equal(run(91, every, every)[1].view(np.int32), every.view(np.int8))
    np.testing.assert_array_equal(run(92, every, every)[1].view(np.int32), every)
    for function in (93, 94):  # the low bits, of either sign
        got = run(function, a, a)[1].view(np.uint8)[: a.size]
        np.testing.assert_array_equal(got, (a & 255).astype(np.uint8))
    flags = every & 1
    np.testing.assert_array_equal(run(95, flags, flags)[1].view(np.uint8)[: flags.size], flags)


@pytest.mark.emulator
def test_bytes_keep_their_order_on_a_big_endian_machine(tmp_path: Path) -> None:
    """Without a C library, which Debian has for no such machine."""
    compiler, emulator = "aarch64-linux-gnu-gcc", "qemu-aarch64_be"
    if not shutil.which(compiler) or not shutil.which(emulator):
        pytest.skip(f"{compiler} or {emulator} not found: apt install {TARGETS[3].packages}")
    exe = tmp_path / "check"
    flags = ("-mbig-endian", "-std=c99", "-O2", "-ffreestanding", "-nostdlib", "-static")
    source = str(HERE / "simd_big_endian.c")
    subprocess.run(
        [compiler, *flags, f"-I{OP_DIR.parent}", source, "-o", str(exe), "-lgcc"], check=True
    )
    done = subprocess.run([emulator, str(exe)])
    assert done.returncode == 0, f"check {done.returncode} of simd_big_endian.c"


@pytest.mark.slow
@pytest.mark.skipif(not _BASE.startswith("x86"), reason="AVX-512 is of x86")
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_wide_vectors_compile(compiler: str, tmp_path: Path) -> None:
    """Whether or not this machine can run them."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} not found")
    flags = ("-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{OP_DIR.parent}", "-c")
    wide = ("-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl")
    for more in ((), ("-mfma", "-mf16c", "-DMEGCC_SIMD_MAX=8")):
        command = [compiler, *flags, *wide, *more, str(HERE / "simd_check.c")]
        subprocess.run([*command, "-o", str(tmp_path / "check.o")], check=True)


def test_integer_arithmetic_wraps(run: Run) -> None:
    rng = np.random.default_rng(11)
    a, b = _integers(rng), _integers(rng)
    b[::5] = a[::5]
    with np.errstate(over="ignore"):
        references = {
            80: a * b, 81: np.minimum(a, b), 82: np.maximum(a, b), 83: a < b, 84: a <= b,
            85: a == b, 86: a != b, 87: np.where(a < b, a * b, b),
        }  # fmt: skip
    for function, want in references.items():
        got = run(function, a, b)[1].view(np.int32)
        np.testing.assert_array_equal(got, want.astype(np.int32), f"function {function}")


def test_truncation_to_integers_is_the_scalar_one(run: Run) -> None:
    limits = [2.0**31, 2147483520.0, 2147483392.0, 2.0**32, 1e20, 3.4e38, np.inf, 0.0, 0.99999994,
              1.5, 8388607.5, 16777217.0]  # fmt: skip
    bits = np.concatenate([np.array(limits, np.float32).view(np.uint32), _floats()])
    bits = np.concatenate([bits, bits ^ np.uint32(2**31)])
    got, want = (run(f, bits, bits)[1].view(np.int32) for f in (52, 57))
    np.testing.assert_array_equal(got, want)
    with np.errstate(invalid="ignore"):
        x = bits.view(np.float32).astype(np.float64)
    clipped = np.clip(np.where(np.isnan(x), -np.inf, x), -(2.0**31), 2147483520)
    np.testing.assert_array_equal(got, np.trunc(clipped).astype(np.int64))


def test_activations_keep_nan(run: Run) -> None:
    """Also checks, in C, that the scalar and the vector form agree in every bit."""
    x = np.concatenate([[np.nan, 1.0, -1.0, 0.0], np.random.default_rng(5).normal(0, 3, 99)])
    for act in range(12):
        got = run(60 + act, x.astype(np.float32), x)[1]
        assert np.isnan(got[0]) and np.isfinite(got[1:]).all(), f"activation {act}"
