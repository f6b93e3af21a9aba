"""``python -m tvm_megcc.memory``, and the plot it can write."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given, settings

from tests.memory.problems import problems
from tvm_megcc.errors import InputError
from tvm_megcc.memory import Interval, Problem, plan, plot, validate
from tvm_megcc.memory.__main__ import byte_count, main

CSV = "id,lower,upper,size\na,0,3,4\nb,3,9,4\nc,0,9,4\nd,9,21,4\ne,0,21,4\n"
NAMESPACE = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def problem_file(tmp_path: Path) -> Path:
    path = tmp_path / "problem.csv"
    path.write_text(CSV)
    return path


def test_command_writes_a_valid_solution(
    problem_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, picture = problem_file.with_name("s.csv"), problem_file.with_name("p.svg")
    arguments = [str(problem_file), "-o", str(out), "--plot", str(picture), "--planner", "exact"]
    assert main(arguments) == 0
    assert capsys.readouterr().out == (
        "5 blocks, arena 12 bytes, lower bound 12 bytes, optimal (exact)\n"
    )
    fixed = Problem.from_csv(out)  # its offsets are fixed now, and must hold
    validate(fixed, plan(fixed))
    assert plan(fixed).arena_bytes == 12
    ET.parse(picture)


def test_command_runs_as_a_module(problem_file: Path) -> None:
    command = [sys.executable, "-m", "tvm_megcc.memory", str(problem_file), "--limit", "11"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("error: the arena takes 12 bytes (at least), 1 more than")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [["none.csv"], ["{p}", "--limit", "x"], ["{p}", "--time=-1"]])
def test_command_errors_are_one_sentence_and_leave_no_output(
    problem_file: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    out = problem_file.with_name("s.csv")
    out.write_text("as it was")
    said = [a.replace("{p}", str(problem_file)) for a in arguments]
    assert main([*said, "-o", str(out)]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert out.read_text() == "as it was"
    assert sorted(p.name for p in out.parent.iterdir()) == ["problem.csv", "s.csv"]


def test_command_says_when_it_cannot_write(
    problem_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(problem_file), "-o", str(problem_file.parent / "no" / "s.csv")]) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_byte_count() -> None:
    assert [byte_count(t) for t in ("12", "256K", "8m", "1G")] == [12, 1 << 18, 1 << 23, 1 << 30]
    for wrong in ("", "K", "1.5K", "-3", "²"):
        with pytest.raises(InputError, match="not a number of bytes"):
            byte_count(wrong)


@settings(max_examples=60, deadline=None)
@given(problems)
def test_plot_is_well_formed_and_shows_every_piece(problem: Problem) -> None:
    root = ET.fromstring(plot.svg(problem, plan(problem, "auto", 0.1)))
    assert root.tag == f"{NAMESPACE}svg"
    shown = [r for r in root.iter(f"{NAMESPACE}rect") if r.get("class") == "t"]
    pieces = [p for b in problem.intervals if b.is_live for p in b.pieces()]
    assert len(shown) == len(pieces)
    assert all(r.find(f"{NAMESPACE}title") is not None for r in shown)


def test_plot_escapes_names_and_marks_the_peak() -> None:
    problem = Problem((Interval("<a> & 'b'", 0, 4, 4096), Interval("b", 2, 4, 4096)))
    root = ET.fromstring(plot.svg(problem, plan(problem), title="<model>"))
    text = "\n".join(root.itertext())
    assert "<a> & 'b'" in text
    assert "<model>: arena 8,192 bytes" in text
    assert "peak at step 2: 8,192 bytes" in text
    assert "step (call of the program)" in text and "address (KiB)" in text


def test_plot_takes_other_names() -> None:
    problem = Problem((Interval("a", 0, 4, 4096),))
    assert ">second<" in plot.svg(problem, plan(problem), ["second"])
