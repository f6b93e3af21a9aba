"""Flash, RAM and stack of a model on a Cortex-M, before one is flashed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cortexm import board
from tvm_megcc import driver, zoo
from tvm_megcc.cli import main
from tvm_megcc.codegen_c.sources import package_text
from tvm_megcc.core import board_table
from tvm_megcc.errors import InputError, ToolError
from tvm_megcc.host import call_graph, footprint, package

needs_tools = pytest.mark.skipif(bool(board.missing()), reason=board.missing() or "all is there")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> package.Package:
    folder = tmp_path_factory.mktemp("footprint")
    driver.compile_model(zoo.build("tiny_cnn"), folder / "pkg", archs=["cortexm+dsp"])
    return package.load(folder / "pkg")


@pytest.mark.slow
@needs_tools
def test_it_is_what_the_program_then_takes(compiled: package.Package, tmp_path: Path) -> None:
    before = sorted(compiled.path.rglob("*"))
    found = footprint.footprint(compiled, "cortex-m4")
    assert sorted(compiled.path.rglob("*")) == before, "built in the package"

    copy = tmp_path / "copy"
    shutil.copytree(compiled.path, copy)
    printed = board.make(copy / "examples" / "cortexm", "run", "CPU=cortex-m4")
    size = ["arm-none-eabi-size", copy / "examples" / "cortexm" / "firmware.elf"]
    row = subprocess.run(size, capture_output=True, text=True, check=True).stdout.splitlines()[1]
    flash, data, bss = (int(word) for word in row.split()[:3])
    stack = int(printed.split()[-2])
    assert found.how == "measured" and found.flash == pytest.approx(flash + data, rel=0.05)
    assert found.ram + 16384 == pytest.approx(data + bss, rel=0.05)
    assert found.arena == compiled.manifest["per_arch"]["cortexm+dsp"]["arena_bytes"]
    assert found.stack == pytest.approx(stack, rel=0.05)
    # The deepest chain of calls is longer than that of this run by some registers.
    assert stack <= found.stack_bound < 1.4 * stack
    # Of the same instructions, some 20 a call are the hook's.
    total, calls = found.executed.instructions, found.executed.calls
    facts = compiled.manifest["per_arch"]["cortexm+dsp"]
    assert [number for number, _ in calls] == list(range(facts["calls"]))
    inside = sum(count for _, count in calls)
    assert 0.98 * total < inside < total + 30 * len(calls), (total, calls)


@pytest.mark.slow
@needs_tools
def test_instructions_by_operator_and_by_call(
    compiled: package.Package, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["inspect", str(compiled.path), "--for", "cortex-m4"]
    assert main([*command, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)["for"]
    by_operator = facts["by_operator"]
    counts = [call["instructions"] for call in facts["calls"]]
    assert sum(by_operator.values()) == sum(counts) and 0 < max(counts) < facts["instructions"]
    assert "Conv" in max(by_operator, key=by_operator.get)
    assert main([*command, "--by", "call"]) == 0
    printed = capsys.readouterr().out.splitlines()
    head = next(k for k, line in enumerate(printed) if line.startswith("  instructions "))
    assert (
        printed[head] == f"  instructions {facts['instructions']:,} for inputs of zeros, by call:"
    )
    rows = [line.split() for line in printed[head + 1 :]]
    assert sorted(int(row[0].replace(",", "")) for row in rows[:-1]) == sorted(counts)
    assert printed[-1].endswith("between the calls")


@pytest.mark.slow
@needs_tools
def test_without_the_counter_the_stack_is_measured(
    compiled: package.Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> Path:
        raise ToolError("the counter's plugin needs a C compiler")

    monkeypatch.setattr(footprint, "plugin", none)
    found = footprint.footprint(compiled, "cortex-m4")
    assert found.how == "measured" and 0 < found.stack < found.stack_bound
    assert found.executed.instructions is None
    assert found.executed.not_counted == "the counter's plugin needs a C compiler"


@pytest.mark.slow
@needs_tools
def test_without_an_emulator_the_stack_is_a_bound(
    compiled: package.Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(footprint, "EMULATOR", "qemu-of-nowhere")
    found = footprint.footprint(compiled, "cortex-m7")
    assert found.how == "built" and found.stack == found.stack_bound > 500
    assert "the stack is a bound" in next(found.lines())


@pytest.mark.slow
@needs_tools
def test_without_a_compiler_it_is_an_estimate_and_says_so(
    compiled: package.Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = footprint.footprint(compiled, "cortex-m4")
    monkeypatch.setattr(footprint, "COMPILER", "gcc-of-nowhere")
    found = footprint.footprint(compiled, "cortex-m4")
    assert "estimated from a table (no arm-none-eabi-gcc" in next(found.lines())
    assert found.flash == pytest.approx(built.flash, rel=0.25)
    assert found.ram == pytest.approx(built.ram, rel=0.05)


@needs_tools
def test_a_cpu_that_the_compiler_does_not_know(
    compiled: package.Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    """gcc 12 has no cortex-m85, LLVM no cortex-m99."""
    monkeypatch.setattr(footprint, "resolve", lambda archs, cpus: ("cortexm+dsp",))
    monkeypatch.setattr(footprint, "CPUS", ("cortex-m99",))
    with pytest.raises(ToolError, match=r"gcc \S+ does not know -mcpu=cortex-m99; take a newer"):
        footprint.footprint(compiled, "cortex-m99")


def test_what_cannot_be_said(compiled: package.Package, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--for cortex-a9: there is no table for this CPU; use co"):
        footprint.footprint(compiled, "cortex-a9")
    with pytest.raises(InputError, match="is for cortexm.dsp, which this CPU is not; compile the"):
        footprint.footprint(compiled, "cortex-m3")
    driver.compile_model(zoo.build("tiny_mlp"), tmp_path / "pkg", archs=["portable"])
    with pytest.raises(InputError, match="no program for a Cortex-M; compile .* --mcpu cortex-m4"):
        footprint.footprint(package.load(tmp_path / "pkg"), "cortex-m4")


def test_the_example_knows_the_same_cpus() -> None:
    text = package_text("cortexm/Makefile")
    assert [line.split()[0] for line in text.splitlines() if line.startswith("board_")] == [
        f"board_{cpu}" for cpu in footprint.CPUS
    ]


def test_cli_prints_it(
    compiled: package.Package, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(footprint, "COMPILER", "gcc-of-nowhere")
    command = ["inspect", str(compiled.path), "--for", "cortex-m4"]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "on a cortex-m4, estimated from a table" in printed
    assert "instructions are not counted: no gcc-of-nowhere; apt install" in printed
    assert main([*command, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)["for"]
    assert facts["flash"] == facts["text"] + facts["rodata"] + facts["data"]


def test_a_board_by_its_memory(
    compiled: package.Package, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(footprint, "COMPILER", "gcc-of-nowhere")
    assert main(["inspect", str(compiled.path), "--for", "nRF52840"]) == 0
    printed = capsys.readouterr().out
    assert "on a nrf52840, a cortex-m4, estimated" in printed
    assert re.search(
        r"of flash are \d\.\d % of 1,048,576 bytes on nrf52840 \(nRF52840\)$", printed, re.M
    )
    found = footprint.footprint(compiled, "nrf52840")
    assert found.facts["board"] == {"name": "nrf52840", "flash": 1 << 20, "ram": 1 << 18}
    assert "board" not in footprint.footprint(compiled, "cortex-m4").facts
    small = replace(found, board=replace(board_table.board("nrf52840"), ram=found.ram))
    assert [*small.lines()][-1].endswith(f": {found.stack:,} are missing")


def test_a_board_that_does_not_run_the_package(compiled: package.Package) -> None:
    with pytest.raises(InputError, match="--for Pico: .* which this CPU is not; .* --board rp2040"):
        footprint.footprint(compiled, "Pico")


def test_call_graph_follows_pointers_as_the_runtime_uses_them() -> None:
    def node(name: str, size: int) -> str:
        return f'node: {{ title: "{name}" label: "x\\na.c:1:1\\n{size} bytes (static)" }}'

    def edge(caller: str, callee: str) -> str:
        return f'edge: {{ sourcename: "{caller}" targetname: "{callee}" label: "a.c:1:1" }}'

    pointer = "__indirect_call"
    lines = [
        node("main", 8), edge("main", "megcc_run"), edge("main", "main"),
        node("megcc_run", 16), edge("megcc_run", pointer), edge("megcc_run", "memmove"),
        node("src/megcc_op_call.c:run", 4), edge("src/megcc_op_call.c:run", "megcc_call"),
        node("src/megcc_op_call.c:check", 999), node("megcc_call", 32),
        edge("megcc_call", pointer), node("k", 64), node("other", 500), edge("k", pointer),
    ]  # fmt: skip
    graph = call_graph.read(["\n".join(lines)])
    assert graph.deepest("main", ["k"]) == 8 + 16 + 4 + 32 + 64
    assert graph.deepest("main", []) == 8 + 16 + 4 + 32
    assert graph.deepest("nowhere", []) == call_graph.LIBRARY
