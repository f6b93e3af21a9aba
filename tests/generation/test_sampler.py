"""Tokens that the sampler in C draws, against probabilities computed by numpy."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests import philox
from tests.runtime.test_runtime import SANITIZE
from tvm_megcc.core.machine import machine
from tvm_megcc.core.this_machine import host_arch, is_native
from tvm_megcc.host import toolchain

ROOT = Path(__file__).resolve().parents[2]
DATA, INDEX = -21, -2  # statuses


def build(folder: Path, arch: str, *flags: str) -> Path:
    program = folder / f"sampled_{arch}{len(flags)}"
    where = [f"-I{ROOT / 'runtime'}/{part}" for part in ("include", "generate")]
    files = [Path(__file__).with_name("sampled.c"), ROOT / "runtime/generate/megcc_sampler.c"]
    command = [*toolchain.find_compiler(arch).split(), "-std=c99", *flags, *where]
    subprocess.run([*command, *map(str, files), "-o", str(program)], check=True)
    return program


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("sampler"), host_arch(), *SANITIZE)


def tokens(
    program: Path,
    logits: np.ndarray,
    n: int = 1,
    *,
    temperature: float = 0,
    top_k: int = 0,
    top_p: float = 0,
    min_p: float = 0,
    penalty: float = 0,
    seed: int = 0,
    history: Sequence[int] = (),
    launcher: Sequence[str] = (),
) -> list[int]:
    settings = [temperature, top_k, top_p, min_p, penalty, seed, n]
    sent = np.array([len(logits), len(history)], "<u4").tobytes()
    sent += logits.astype("<f4").tobytes() + np.array(history, "<i4").tobytes()
    command = [*launcher, str(program), *map(str, settings)]
    done = subprocess.run(command, input=sent, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return list(map(int, done.stdout.split()))


LOGITS = np.random.default_rng(0).normal(0, 2, 60).astype("f4")


def probabilities(
    logits: np.ndarray, temperature: float, top_k: int = 0, top_p: float = 1, min_p: float = 0
) -> np.ndarray:
    """Of each token, by definition."""
    p = np.exp((logits.astype("f8") - logits.max()) / temperature)
    order = np.argsort(-p, kind="stable")
    if top_k:
        p[order[top_k:]] = 0
    sums = np.cumsum(p[order]) / p.sum()
    p[order[np.searchsorted(sums, top_p) + 1 :]] = 0
    p[p < min_p * p.max()] = 0
    return p / p.sum()


@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": 1.0},
        {"temperature": 0.5},
        {"temperature": 3.0, "top_k": 7},
        {"temperature": 1.5, "top_p": 0.6},
        {"temperature": 1.5, "min_p": 0.2},
        {"temperature": 2.0, "top_k": 20, "top_p": 0.7, "min_p": 0.1},
        {"temperature": 1.0, "top_k": 1000, "top_p": 1.0},
        {"temperature": 1.0, "top_p": 1e-6},
    ],
)
def test_tokens_have_their_probabilities(program: Path, settings: dict[str, float]) -> None:
    wanted = probabilities(LOGITS, **settings)
    n = 6_000
    found = np.bincount(tokens(program, LOGITS, n, seed=5, **settings), minlength=len(LOGITS))
    assert not found[wanted == 0].any()
    deviation = np.sqrt(n * wanted * (1 - wanted)) + 1
    assert (np.abs(found - n * wanted) < 5 * deviation).all()


def test_a_draw_is_the_words_of_philox(program: Path) -> None:
    """One word pair a draw, of the block 0: two equal logits tell its first bit."""
    words = [philox.blocks(1, 9, draw)[0] for draw in range(50)]
    # The latest of equal tokens is the first in the sum.
    wanted = [1 - int(block[1] >> 31) for block in words]
    assert tokens(program, np.zeros(2, "f4"), 50, temperature=1, seed=9) == wanted


def test_greedy_and_ties(program: Path) -> None:
    assert tokens(program, LOGITS) == [int(LOGITS.argmax())]
    assert tokens(program, np.array([1, 3, 3, 2], "f4")) == [1]
    close = np.array([1, np.nextafter(np.float32(1), np.float32(2))], "f4")
    assert tokens(program, close) == [1]
    assert tokens(program, np.array([-np.inf, -5, -np.inf], "f4"), 3, temperature=2) == [1] * 3
    assert tokens(program, np.array([3e38, -3e38, 1e-42], "f4"), 3, temperature=1) == [0] * 3


def test_repetition_penalty(program: Path) -> None:
    logits = np.array([2.0, 1.9, -1.0, -1.1], "f4")
    assert tokens(program, logits, penalty=1.2, history=[0, 0, 0]) == [1]
    assert tokens(program, logits, penalty=1.0, history=[0]) == [0]
    # Once, however often a token was.
    assert tokens(program, logits, penalty=1.04, history=[0] * 9 + [3]) == [0]
    low = np.array([-1.0, -1.1], "f4")
    assert tokens(program, low, penalty=1.2, history=[0]) == [1]


@pytest.mark.parametrize(
    ("settings", "status"),
    [
        ({"temperature": -1.0}, DATA),
        ({"temperature": 1e-4}, DATA),
        ({"temperature": float("nan")}, DATA),
        ({"top_p": 1.5}, DATA),
        ({"min_p": -0.1}, DATA),
        ({"top_k": -1}, DATA),
        ({"penalty": float("inf")}, DATA),
        ({"history": [60]}, INDEX),
        ({"history": [-1]}, INDEX),
    ],
)
def test_settings_out_of_range(program: Path, settings: dict[str, float], status: int) -> None:
    assert tokens(program, LOGITS, **settings) == [status]


@pytest.mark.parametrize("bad", [[np.nan, 1], [np.inf, 1], [-np.inf, -np.inf], []])
def test_logits_that_are_none(program: Path, bad: list[float]) -> None:
    assert tokens(program, np.array(bad, "f4"), temperature=1) == [DATA]


@pytest.mark.slow
@pytest.mark.emulator
def test_equal_tokens_on_all_machines(program: Path, tmp_path: Path) -> None:
    logits = np.random.default_rng(1).normal(0, 2, 3000).astype("f4")
    settings = {"temperature": 0.9, "top_p": 0.95, "penalty": 1.1, "history": range(0, 3000, 7)}
    wanted = tokens(program, logits, 200, **settings)
    assert len(set(wanted)) > 30
    builds = [(host_arch(), ("-O3", "-ffp-contract=fast"))]
    builds += [(arch, ("-O3", "-static")) for arch in ("arm64", "armv7")]
    for arch, flags in builds:
        launcher = [] if is_native(arch) else [machine(arch).arch.qemu]
        if launcher and not (
            shutil.which(launcher[0]) and shutil.which(machine(arch).arch.compiler)
        ):
            continue
        found = tokens(build(tmp_path, arch, *flags), logits, 200, launcher=launcher, **settings)
        assert found == wanted, arch
