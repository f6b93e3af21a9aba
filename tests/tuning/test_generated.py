"""Generated kernels are tuned like a library's: their loops are candidates."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.streaming.images import chain
from tests.tuning.support import Fake, kernels
from tvm_megcc import driver
from tvm_megcc.core.program import Program, programs_of, streamed_groups
from tvm_megcc.dims import symbol
from tvm_megcc.kernels.tuned import Task
from tvm_megcc.memory_options import MemoryOptions
from tvm_megcc.tuning import apply_best, session
from tvm_megcc.tuning.records import read


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two equal chains and another one that no kernel of the library serves."""
    nodes, names = [], ["x"]
    for k, scale in enumerate(("wide", "wide", "flat")):
        nodes += [
            helper.make_node("Erf", [names[-1]], [f"e{k}"]),
            helper.make_node("Mul", [f"e{k}", scale], [f"m{k}"]),
            helper.make_node("Softmax", [f"m{k}"], [f"y{k}"]),
        ]
        names.append(f"y{k}")
    rng = np.random.default_rng(0)
    scales = {"wide": rng.uniform(1, 2, 16), "flat": rng.uniform(1, 2, 1)}
    constants = [
        helper.make_tensor(name, TensorProto.FLOAT, value.shape, value)
        for name, value in scales.items()
    ]
    ports = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, [4, 5, 16]) for n in ("x", names[-1])
    ]
    graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], constants)
    path = tmp_path_factory.mktemp("model") / "chains.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def compiled(model: Path):
    return driver.compile_programs(model, ["arm64"])["arm64"]


@pytest.mark.slow
def test_generated_loops_are_candidates(model: Path, tmp_path: Path, monkeypatch) -> None:
    path, usual = tmp_path / "r.json", kernels(compiled(model))
    chains = [symbol for symbol in usual if "megcc_tir" in symbol]
    assert len(chains) == 3 and chains[0] == chains[1] != chains[2]

    # What is usual takes twenty, what is not three more or less by its name's hash.
    def cost(symbol: str) -> float:
        return 20.0 if symbol in usual else 17.0 + int(symbol[-1], 16) % 2 * 6

    monkeypatch.setattr(session, "measurer_for", lambda *_: Fake(cost))
    report = session.tune_model(model, path, arch="arm64")
    assert report.after < report.before and not report.refused
    rows = [row for row in report.rows if row.task.op == "generated"]
    assert len(rows) == 2 and all(row.default == "tir" for row in rows)
    assert {"tir unroll=2", "tir unroll=4", "tir unroll=8"} <= set(rows[0].costs)
    with apply_best(path) as known:
        tuned = kernels(compiled(model))
    assert not known.notes()
    assert [cost(symbol) for symbol in tuned if "megcc_tir" in symbol] == [17.0] * 3
    # Its facts are the text and the buffers; a name of the model is none.
    facts = {r.task.facts for r in read(path).records if r.task.op == "generated"}
    assert len(facts) == 2 and all('"p0": "float32[4,5,16]"' in text for text in facts)


@pytest.mark.slow
def test_generated_kernels_of_other_text_are_stale(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "measurer_for", lambda *_: Fake())
        session.tune_model(model, path, arch="arm64", trials=1)
    rows = path.read_text().splitlines()
    path.write_text("".join(row.replace('"digest": "', '"digest": "0') + "\n" for row in rows))
    with apply_best(path) as known:
        assert kernels(compiled(model)) == kernels(compiled(model))
    assert "are of kernels that have changed since" in known.notes()[0]


def test_generated_tasks_of_open_sizes_name_them_by_place() -> None:
    n = symbol("n", 1, 8)
    assert '"s0": "s0 for s0 in 1..8"' in Task.of("generated", "arm64", {"s0": n}).facts


@pytest.mark.emulator
@pytest.mark.slow
@pytest.mark.skipif(
    not (shutil.which("aarch64-linux-gnu-gcc") and shutil.which("qemu-aarch64")),
    reason="needs a cross compiler and qemu",
)
def test_generated_loops_are_measured(model: Path, tmp_path: Path) -> None:
    """On arm64 other loops than the usual ones are better for the chain with a row of scales."""
    report = session.tune_model(
        model, tmp_path / "r.json", arch="arm64", measure="instructions", trials=2
    )
    assert not report.refused and report.after <= report.before


@pytest.mark.slow
def test_calls_are_measured_whole(tmp_path: Path, monkeypatch) -> None:
    """A band costs less than a whole call: `stream` is off, and so are bounds that ask for it."""
    seen: list[Program] = []

    class Watching(Fake):
        def run(self, program, cases, limit, folder):
            seen.extend(programs_of(program))
            return super().run(program, cases, limit, folder)

    monkeypatch.setattr(session, "measurer_for", lambda *_: Watching())
    bounds = MemoryOptions(stream=1, limit=10_000)
    session.tune_model(chain(), tmp_path / "r.json", arch="arm64", trials=1, memory=bounds)
    assert seen and all(not streamed_groups(program) for program in seen)
    bundle = driver.compile_programs(chain(), ["arm64"], memory=MemoryOptions(stream=1))["arm64"]
    assert all(streamed_groups(program) for program in programs_of(bundle))
