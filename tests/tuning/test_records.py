"""Files of records: what is read, what is skipped, and two who write at once."""

from __future__ import annotations

import multiprocessing
from dataclasses import replace
from pathlib import Path

import pytest

from tvm_megcc.errors import InputError
from tvm_megcc.kernels import registry
from tvm_megcc.kernels.tuned import Task
from tvm_megcc.tuning.records import File, Known, Record, append, digest, read

FACTS = {"T": "f32", "axis": 10, "inner": 1, "log": 0, "outer": 1}
STEM = "softmax_f32_rows_simd"
DIGEST, REF_DIGEST = (digest(k) for k in registry.choices("softmax", "arm64", FACTS))
TASK = Task.of("softmax", "arm64", FACTS)
RECORD = Record(TASK, STEM, (), 274.0, "instructions", 0.0, "qemu", "", "", "0.1.0", DIGEST)


def kernels():
    return registry.choices("softmax", "arm64", FACTS)


def figures(*records: Record) -> tuple[float | None, ...]:
    known = Known([replace_file(records)])
    found = known.figures(TASK, FACTS, kernels())
    return () if found is None else found.costs


def replace_file(records):
    return File("r.json", tuple(records))


def test_records_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    slow = replace(RECORD, kernel="softmax_f32", parameters=(("BLOCK", 4),), cost=None, why="slow")
    append(path, [RECORD])
    append(path, [slow])
    assert read(path).records == (RECORD, slow) and not read(path).problem
    assert slow.candidate == "softmax_f32 BLOCK=4"


def test_records_facts_that_are_no_numbers_name_a_task() -> None:
    from tvm_megcc.dims import symbol

    n = symbol("n", 1, 8)
    one = Task.of("softmax", "arm64", {"outer": n * 4, "low": float("-inf")})
    assert one.facts == '{"low": "-inf", "outer": "4*s0 for s0 in 1..8"}'
    rows = symbol("rows", 1, 8)  # the name is the model's, and says nothing
    assert one == Task.of("softmax", "arm64", {"outer": rows * 4, "low": float("-inf")})
    assert one != Task.of("softmax", "arm64", {"outer": symbol("n", 1, 9) * 4, "low": -1.0})


def test_records_a_cut_line_is_skipped_and_ended(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    append(path, [RECORD, RECORD])
    path.write_bytes(path.read_bytes()[:-40])
    assert read(path).records == (RECORD,)
    assert read(path).problem == f"'{path}': line 2 is no record and skipped"
    append(path, [RECORD])
    assert read(path).records == (RECORD, RECORD) and "line 2 is" in read(path).problem


@pytest.mark.parametrize("text", [b"\x7fELF\x00", b"[1, 2]\n", b'{"cost": 1}\n'])
def test_records_of_another_file_are_refused(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(text)
    with pytest.raises(InputError, match="holds no records"):
        read(path)
    with pytest.raises(InputError, match="No such file"):
        read(tmp_path / "none.json")


def write(path: Path, device: str) -> None:
    for _ in range(50):
        append(path, [replace(RECORD, device=device)] * 20)


def test_records_of_two_writers_are_all_there(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=write, args=(path, name * 3000)) for name in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    found = read(path)
    assert len(found.records) == 2 * 50 * 20 and not found.problem


def test_records_answer_by_candidate_and_the_last_one_holds() -> None:
    slow = replace(RECORD, kernel="softmax_f32", cost=907.0, digest=REF_DIGEST)
    assert [k.stem for k in kernels()] == [STEM, "softmax_f32"]
    assert figures(RECORD, slow) == (274.0, 907.0)
    assert figures(RECORD, slow, replace(RECORD, cost=11.0)) == (11.0, 907.0)
    assert figures(RECORD, slow, replace(slow, cost=None)) == (274.0, None)
    assert figures(slow) == (None, 907.0)
    assert figures() == ()


def test_records_of_time_count_more_and_devices_are_not_mixed() -> None:
    slow = replace(RECORD, kernel="softmax_f32", cost=907.0, digest=REF_DIGEST)
    timed = replace(RECORD, unit="ns", device="local", cost=9.0)
    assert figures(RECORD, slow, timed) == (9.0, None)
    board = replace(slow, unit="ns", device="board", cost=5.0, spread=1.0)
    assert figures(timed, board) == (None, 6.0)
    assert figures(board, timed) == (9.0, None)


def test_records_of_other_sizes_are_not_compared() -> None:
    """A call of open sizes costs what it costs at those that it was measured at."""
    slow = replace(RECORD, kernel="softmax_f32", cost=907.0, digest=REF_DIGEST)
    assert figures(RECORD, replace(slow, at="outer=1,64")) == (None, 907.0)
    assert figures(replace(RECORD, at="outer=1,64"), replace(slow, at="outer=1,64")) == (274, 907)
    row = replace(RECORD, at="outer=1,64").line()
    assert Record.of_line(row).at == "outer=1,64"
    assert Record.of_line(row.replace('"at": "outer=1,64", ', "")) == RECORD  # of earlier versions


def test_records_that_are_of_no_use_are_said() -> None:
    stale = replace(RECORD, digest="of an earlier kernel")
    known = Known([replace_file([stale])])
    assert known.figures(TASK, FACTS, kernels()) is None
    assert known.notes() == [
        "'r.json': 1 records are of kernels that have changed since and are skipped; tvmc tune"
        " measures them again"
    ]
    other = Task.of("softmax", "armv7", FACTS)
    assert known.figures(other, FACTS, kernels()) is None
    assert "no record is for armv7, only for arm64" in known.notes()[0]
