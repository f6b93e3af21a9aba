"""Problems and solutions as CSV: a round trip, MiniMalloc's spellings, and files that are wrong."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given, settings

from tests.memory.problems import problems
from tvm_megcc.errors import InputError
from tvm_megcc.memory import Gap, Interval, Problem, plan
from tvm_megcc.memory.csv_form import parse


@settings(max_examples=100, deadline=None)
@given(problems)
def test_problem_round_trip(problem: Problem) -> None:
    assert Problem(parse(problem.to_csv())) == problem


def test_solution_has_the_problem_and_an_offset_per_block() -> None:
    problem = Problem((Interval("a,b", 0, 2, 100), Interval("c", 1, 3, 50)))
    text = plan(problem).to_csv(problem)
    rows = list(csv.DictReader(text.splitlines()))
    assert [row["id"] for row in rows] == ["a,b", "c"]
    assert [int(row["offset"]) for row in rows] == list(plan(problem).offsets)
    assert parse(text)[0].offset == plan(problem).offsets[0]


def test_inclusive_ends_gaps_and_free_offsets() -> None:
    text = "buffer_id,start,end,size,alignment,hint,gaps,offset\nx,0,9,64,8,-1,2-3 5-6@0:8,-1\n"
    assert parse(text) == (Interval("x", 0, 10, 64, 8, None, (Gap(2, 4), Gap(5, 7, (0, 8)))),)


def test_from_csv_reads_a_file(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("size,id,upper,lower\n8,a,2,0\n\n")
    assert Problem.from_csv(path) == Problem((Interval("a", 0, 2, 8, 1),))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "'p.csv' is empty"),
        ("id,lower,upper\n", "column 'size' is missing"),
        ("id,lower,upper,size,size\n", "column 'size' is there twice"),
        ("id,lower,upper,size,colour\n", "column 'colour' is unknown"),
        ("id,lower,upper,size\na,0,1\n", "line 2: 3 fields under 4 columns"),
        ("id,lower,upper,size\na,0,1,x\n", "line 2: size 'x' is not a whole number"),
        ("id,lower,upper,size\na,2,1,8\n", "line 2: the block ends at 1"),
        ("id,lower,upper,size\na,0,1,-8\n", "'p.csv': block 'a': size -8 is negative"),
        ("id,lower,upper,size,gaps\na,0,9,8,3\n", "gap '3' is not of the form"),
        ("id,lower,upper,size,gaps\na,0,9,8,3-4@1\n", "gap '3-4@1' is not of the form"),
        ("id,lower,upper,size,alignment\na,0,1,8,0\n", "alignment 0"),
    ],
)
def test_wrong_files_are_refused(
    text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.csv").write_text(text)
    with pytest.raises(InputError) as caught:
        Problem.from_csv("p.csv")
    assert said in str(caught.value)


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        Problem.from_csv(tmp_path / "none.csv")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not UTF-8"):
        Problem.from_csv(tmp_path / "binary")
