"""scripts/stream_table.py: the bound of streamed execution, the drawn networks, and the page."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.streaming.images import network
from tvm_megcc import memory, passes, zoo
from tvm_megcc.core.program import Program
from tvm_megcc.forward import forward, reorder
from tvm_megcc.frontend import from_onnx
from tvm_megcc.lower import lower
from tvm_megcc.streaming import streamed

from .test_scripts import load

script = load("stream_table")

#: All models that are drawn; of the corpus those that are measured in a few seconds.
MODELS = (
    "vww", "ic", "mobilenet_v2 0.35, 144 px", "mobilenet_v2 1.0, 224 px", "zoo: mobilenet_v2",
    "zoo: mobilenet_v1", "zoo: resnet18", "selfie_seg_landscape", "blazeface_front",
)  # fmt: skip
SLOW = ("ultraface_rfb320", "yolox_nano", "fastestdet")
SHARED = Path(__file__).resolve().parents[3] / "shared"


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_no_streamed_arena_is_below_the_bound(name: str) -> None:
    row = script.measure(script.models(SHARED)[name], count=False)
    if row.problem.startswith("no corpus"):
        pytest.skip(row.problem)
    assert row.problem == "" and 0 < row.bound <= row.auto <= row.off


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("band", [1, "auto"])
def test_the_bound_holds_for_random_networks(seed: int, band: str | int) -> None:
    imported = from_onnx(network(seed))
    mod = imported.mod
    for transform in passes.stages("arm64").values():
        mod = transform(mod)
    lowered = lower(mod, "arm64", "image", ["x"], ["y"])
    assert isinstance(lowered, Program)
    bound = script.least_arena(reorder(lowered, "caller"), forward(lowered, "caller"))
    placed = memory.place(forward(lowered, "caller", 1, partial(streamed, band)))
    assert isinstance(placed.arena_bytes, int) and bound <= placed.arena_bytes


def test_rows_that_a_chain_keeps() -> None:
    """A network of the zoo whose bound can be computed by hand is not far from its arena."""
    bound = script.bound_of(zoo.build("tiny_cnn"), "arm64", None)
    # 16x16x8 floats, of which the depthwise call keeps two rows, then 8x8x16 after pooling.
    assert 0 < bound <= 16 * 16 * 8 * 4


def test_every_model_of_the_table_is_tested_or_slow() -> None:
    assert set(script.models(SHARED)) == {*MODELS, *SLOW}


def test_the_drawn_network_has_the_channels_of_the_paper() -> None:
    assert [script._channels(n * 0.35) for n in (16, 24, 32, 64, 96, 160, 320)] == [
        8, 8, 16, 24, 32, 56, 112,
    ]  # fmt: skip


def test_a_model_without_its_corpus_has_a_reason(tmp_path: Path) -> None:
    row = script.measure(script.models(tmp_path)["yolox_nano"], count=False)
    assert row.problem == f"no corpus at {tmp_path / 'models'}"
    full = script.Row("a", "arm64", 400, 200, 100, 150, 1_000_000, 1_020_000)
    text = script.table([full, row])
    assert "| a | arm64 | 400 | 200 | 100 | 2.00 | 150 | 1.000 M | 1.020 M | 1.020 |" in text
    assert text.endswith(f"Without figures: yolox_nano (no corpus at {tmp_path / 'models'}).")


def test_the_page_has_the_markers_and_a_table() -> None:
    text = script.PAGE.read_text()
    assert text.count(script.BEGIN) == 1
    assert "| zoo: mobilenet_v2 |" in text.partition(script.BEGIN)[2].partition(script.END)[0]
