"""Operators that draw random numbers, from ONNX to the running package."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from tests import philox
from tests.ops.packages import TOOLS, Arrays
from tvm_megcc import driver, frontend
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.host import package, toolchain
from tvm_megcc.memory_options import MemoryOptions

#: How far numbers of a normal distribution may be off, in units of the last place.
ULPS = 5

Run = Callable[..., Arrays]


def model(text: str, opset: int = 22) -> onnx.ModelProto:
    return parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]> {text}')


def runs(
    proto: onnx.ModelProto,
    folder: Path,
    arch: str = "host",
    threads: int = 1,
    sanitize: bool = False,
) -> Run:
    """Run a package: ``run(feed, seed, number)`` are the outputs of that run of one context."""
    if missing := [tool for tool in TOOLS[arch] if not shutil.which(tool)]:
        pytest.skip(f"{arch} needs {', '.join(missing)}")
    memory = MemoryOptions(threads=threads)
    driver.compile_model(proto, folder / "pkg", archs=(arch,), memory=memory)
    opened = package.load(folder / "pkg")
    chosen = opened.choose(arch)
    exe = toolchain.build(
        opened.path, chosen, build_dir=folder / "build", sanitize=sanitize, threads=threads > 1,
        extra_cflags=["-DMEGCC_DEBUG", "-O1"],
    )  # fmt: skip
    args = ["--threads", str(threads)] if threads > 1 else []

    def run(feed: Arrays | None = None, seed: int = 0, number: int = 0) -> Arrays:
        return toolchain.run_package(
            exe, chosen, feed or {}, opened.manifest, seed=seed, warmup=number, args=args
        ).outputs

    return run


def close(found: np.ndarray, want: np.ndarray, of: float = 0.0) -> None:
    """Within `ULPS` of ``want``, or of a number as large as `of`."""
    unit = np.spacing(np.maximum(np.abs(want), of).astype(found.dtype)).astype(np.float64)
    assert (np.abs(found.astype(np.float64) - want) <= ULPS * unit).all()


KINDS = model("""
    g (float[n, 3, 5] x, bool[m] unread) => (float u, double d, float16 h, bfloat16 b, float low,
        float z, double dz, float16 hz, float scaled, float fixed, float other) {
      u = RandomUniformLike(x) d = RandomUniformLike <dtype = 11> (x)
      h = RandomUniformLike <dtype = 10> (x) b = RandomUniformLike <dtype = 16> (x)
      low = RandomUniform <shape = [7], low = -1.0, high = 3.0> ()
      z = RandomNormalLike <dtype = 1> (unread) dz = RandomNormalLike <dtype = 11> (x)
      hz = RandomNormalLike <dtype = 10> (x)
      scaled = RandomNormal <shape = [2, 3], mean = 10.0, scale = 0.5> ()
      fixed = RandomUniform <shape = [5], seed = -3.0> ()
      other = RandomUniform <shape = [5], seed = 0.25> () }""")


FEW = model("""
    g () => (float u, float d, float z) {
      u = RandomUniform <shape = [99]> () d = RandomUniform <shape = [99], dtype = 11> ()
      z = RandomNormal <shape = [99]> () }""")


def expect_kinds(found: Arrays, n: int, m: int, seed: int, first: int) -> None:
    """What `KINDS` gives whose draws begin with number `first`."""
    size = 15 * n
    uniform = philox.uniform(size, seed, first)
    np.testing.assert_array_equal(found["u"].ravel(), uniform)
    assert found["u"].shape == (n, 3, 5)
    np.testing.assert_array_equal(
        found["d"].ravel(), philox.uniform(size, seed, first + 1, "float64")
    )
    for name, draw, below in (("h", 2, 1 - 2.0**-11), ("b", 3, 1 - 2.0**-8)):
        narrow = philox.uniform(size, seed, first + draw).astype(found[name].dtype)
        want = np.minimum(narrow.astype("f4"), np.float32(below))
        np.testing.assert_array_equal(found[name].ravel().astype("f4"), want)
    low = philox.uniform(7, seed, first + 4) * np.float64(4) - 1
    close(found["low"], low, 3.0)
    close(found["z"], philox.normal(m, seed, first + 5))
    close(found["dz"].ravel(), philox.normal(size, seed, first + 6, "float64"))
    half = philox.normal(size, seed, first + 7)
    np.testing.assert_allclose(found["hz"].ravel().astype("f8"), half, rtol=2e-3, atol=1e-7)
    close(found["scaled"].ravel(), 10 + 0.5 * philox.normal(6, seed, first + 8), 13.0)
    np.testing.assert_array_equal(found["fixed"], philox.uniform(5, -3, first + 9))
    own = int(np.float32(0.25).view(np.int32)) << 32
    np.testing.assert_array_equal(found["other"], philox.uniform(5, own, first + 10))


@pytest.mark.slow
def test_every_operator_and_type(tmp_path: Path) -> None:
    """Of any sizes, to the last bit where a number is one of the generator's."""
    run = runs(KINDS, tmp_path, sanitize=True)
    for n, m, seed, number in ((2, 9, 0, 0), (1, 2, 2**63 - 1, 1), (3, 0, 7, 2), (0, 1, 7, 0)):
        feed = {"x": np.zeros((n, 3, 5), "f4"), "unread": np.ones(m, bool)}
        expect_kinds(run(feed, seed, number), n, m, seed, 11 * number)


@pytest.mark.slow
@pytest.mark.emulator
@pytest.mark.parametrize("arch", ["arm64", "armv7"])
def test_numbers_are_the_same_on_arm(arch: str, tmp_path: Path) -> None:
    found = runs(FEW, tmp_path, arch)(seed=1 << 40, number=1)
    np.testing.assert_array_equal(found["u"], philox.uniform(99, 1 << 40, 3))
    np.testing.assert_array_equal(found["d"], philox.uniform(99, 1 << 40, 4, "float64"))
    close(found["z"], philox.normal(99, 1 << 40, 5))


BODIES = model(
    """
    g (int64 trips, bool goes, float[64, 33] p, bool training, float ratio, float[3, 5] logs)
        => (float a, float b, float rows, float chosen, float after, int64 flips, float flipped,
            float kept, bool mask, float[64, 33] same, int64[3, 4096] drawn) {
      a = RandomUniformLike(p) b = RandomUniformLike(p)
      rows = Loop(trips, goes) <body = body (int64 round, bool on) => (bool more, float[4] row) {
        more = Identity(on) row = RandomUniform <shape = [4]> () }>
      chosen = If(goes) <
        then_branch = yes () => (float[4] y) { y = RandomUniform <shape = [4]> () },
        else_branch = no () => (float[4] w) { w = Constant <value = float[4] {0, 0, 0, 0}> () }>
      after = RandomUniform <shape = [4]> ()
      flips = Bernoulli <dtype = 7> (p) flipped = Bernoulli(p)
      kept, mask = Dropout(p, ratio, training) same = Dropout(p, ratio)
      drawn = Multinomial <dtype = 7, sample_size = 4096> (logs) }""",
    opset=17,
)


@pytest.fixture(scope="module")
def bodies(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return runs(BODIES, tmp_path_factory.mktemp("bodies"))


def feed_of(**values: object) -> Arrays:
    p = np.random.default_rng(3).uniform(0, 1, (64, 33)).astype("f4")
    logs = np.log(np.array([[1, 2, 3, 4, 0], [0, 0, 5, 0, 0], [1, 1, 1, 1, 1]], "f4"))
    feed = {"trips": 3, "goes": True, "p": p, "training": True, "ratio": 0.25, "logs": logs}
    feed |= values
    kinds = {"trips": "i8", "goes": "?", "training": "?"}
    return {name: np.asarray(value, kinds.get(name, "f4")) for name, value in feed.items()}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_every_draw_is_another_one(bodies: Run) -> None:
    """Of equal nodes, in each iteration and run, in the branch that is taken; by number."""
    for number in (0, 1):
        for trips in (3, 1):
            found = bodies(feed_of(trips=trips), seed=5, number=number)
            draws = trips + 8
            first = draws * number
            size = 64 * 33
            for k, name in enumerate("ab"):
                want = philox.uniform(size, 5, first + k)
                np.testing.assert_array_equal(found[name].ravel(), want)
            assert found["rows"].shape == (trips, 4)
            for k in range(trips):
                want = philox.uniform(4, 5, first + 2 + k)
                np.testing.assert_array_equal(found["rows"][k], want)
            behind = first + 2 + trips
            for k, name in enumerate(("chosen", "after")):
                np.testing.assert_array_equal(found[name], philox.uniform(4, 5, behind + k))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_a_branch_that_is_not_taken_draws_nothing(bodies: Run) -> None:
    found = bodies(feed_of(goes=False))
    assert not found["chosen"].any() and found["rows"].shape == (0, 4)
    np.testing.assert_array_equal(found["after"], philox.uniform(4, 0, 2))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_bernoulli_dropout_and_multinomial(bodies: Run) -> None:
    feed = feed_of()
    p, found = feed["p"], bodies(feed)
    size, first = p.size, 7

    def drawn(draw: int) -> np.ndarray:
        return philox.uniform(size, 0, first + draw).reshape(p.shape)

    np.testing.assert_array_equal(found["flips"], (drawn(0) < p).astype("i8"))
    np.testing.assert_array_equal(found["flipped"], (drawn(1) < p).astype("f4"))
    mask = drawn(2) >= 0.25
    np.testing.assert_array_equal(found["mask"], mask)
    np.testing.assert_array_equal(found["kept"], np.where(mask, p * np.float32(1 / 0.75), 0))
    np.testing.assert_array_equal(found["same"], p)
    for row, odds in zip(found["drawn"], np.exp(feed["logs"].astype("f8")), strict=True):
        share = odds / odds.sum()
        counts = np.bincount(row, minlength=5) / 4096
        assert np.abs(counts - share).max() <= 4 * 0.5 / 64, "more than 4 standard deviations"
        assert not counts[odds == 0].any()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize(
    ("training", "ratio", "kept"), [(False, 0.5, 1.0), (True, 0.0, 1.0), (True, 1.0, 0.0)]
)
def test_dropout_that_drops_nothing_or_all(
    bodies: Run, training: bool, ratio: float, kept: float
) -> None:
    feed = feed_of(training=training, ratio=ratio)
    found = bodies(feed)
    np.testing.assert_array_equal(found["kept"], feed["p"] * np.float32(kept))
    assert found["mask"].mean() == kept


COUNT = 1 << 16
MANY = model(f"""
    g () => (float u, float z, double du, double dz) {{
      u = RandomUniform <shape = [{COUNT}]> () z = RandomNormal <shape = [{COUNT}]> ()
      du = RandomUniform <shape = [{COUNT}], dtype = 11> ()
      dz = RandomNormal <shape = [{COUNT}], dtype = 11> () }}""")


@pytest.mark.slow
def test_moments_and_distributions(tmp_path: Path) -> None:
    """Of 2**16 numbers; on several threads the same to the bit as on one."""
    run = runs(MANY, tmp_path, threads=3)
    found = run(seed=11)
    for name, array in found.items():
        ordered = np.sort(array.astype("f8"))
        is_normal = "z" in name
        mean, variance, kurtosis = (0, 1, 3) if is_normal else (0.5, 1 / 12, 1.8)
        centred = ordered - mean
        allowed = 4 / math.sqrt(COUNT)
        assert abs(centred.mean()) < allowed * math.sqrt(variance)
        assert abs((centred**2).mean() / variance - 1) < allowed * math.sqrt(kurtosis - 1)
        assert abs((centred**3).mean()) < allowed * math.sqrt(15) * variance**1.5
        assert abs((centred**4).mean() / variance**2 - kurtosis) < allowed * math.sqrt(96)
        below = ordered
        if is_normal:
            below = np.array([0.5 * (1 + math.erf(v / math.sqrt(2))) for v in ordered])
        # Kolmogorov and Smirnov, at 1 %.
        steps = np.arange(COUNT + 1) / COUNT
        farthest = max(np.abs(below - steps[1:]).max(), np.abs(below - steps[:-1]).max())
        assert farthest < 1.63 / math.sqrt(COUNT), name
        neighbours = np.corrcoef(array[:-1], array[1:])[0, 1]
        assert abs(neighbours) < allowed
    np.testing.assert_array_equal(found["u"], philox.uniform(COUNT, 11, 0))
    close(found["z"], philox.normal(COUNT, 11, 1))
    np.testing.assert_array_equal(found["du"], philox.uniform(COUNT, 11, 2, "float64"))
    close(found["dz"], philox.normal(COUNT, 11, 3, "float64"))


@pytest.mark.parametrize(
    ("node", "match"),
    [
        ("RandomUniform <shape = [2], low = 1.0, high = 0.0> ()", "'y': draws from 1.0 to 0.0"),
        ("RandomUniform <shape = [2], low = -3e38, high = 3e38> ()", "both finite"),
        ("RandomNormalLike(i)", "'y': draws numbers of int64"),
        ("Multinomial(e)", "'y': there is no class to draw"),
    ],
)
def test_what_cannot_be_drawn(node: str, match: str) -> None:
    with pytest.raises(UnsupportedError, match=match):
        frontend.from_onnx(model(f"g (int64[2] i, float[2, 0] e) => (y) {{ y = {node} }}"))
