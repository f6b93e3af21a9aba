"""The facts of streamed groups are those of a run of the program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tvm_megcc import driver
from tvm_megcc.core.program import Call, Program, Slide, programs_of, sized, streamed_groups
from tvm_megcc.dims import numbers
from tvm_megcc.host import package
from tvm_megcc.memory_options import MemoryOptions
from tvm_megcc.report.profile import bands_of, bytes_of

from .images import chain, open_network


def compiled(stream: str | int) -> Program:
    memory = MemoryOptions(stream=stream)
    found = driver.compile_programs(chain(), ["portable"], memory=memory)["portable"]
    (program,) = programs_of(found)
    return program


@pytest.mark.slow
def test_a_group_is_what_a_run_does() -> None:
    program = compiled(2)
    groups = streamed_groups(program)
    assert groups
    calls = [step for step in program.calls if isinstance(step, Call)]
    for group in groups:
        inside = calls[group.first_call : group.last_call + 1]
        assert all(call.rows is not None for call in inside)
        paths = [call.rows.output for call in inside if call.rows is not None]
        for path, count in zip(paths, group.bands, strict=True):
            # Every row is computed, by as many bands as are not empty.
            steps = [path.at(t + 1) - path.at(t) for t in range(group.iterations)]
            assert sum(steps) == path.height and sum(step > 0 for step in steps) == count
        assert group.band_rows == paths[-1].step
        moved = 0
        for step in program.calls[group.first_step : group.last_step]:
            if isinstance(step, Slide):
                for t in range(1, group.iterations):
                    kept = step.made.at(t) - step.base.at(t)
                    if step.base.at(t) != step.base.at(t - 1):
                        moved += max(kept, 0) * step.row_bytes
        assert group.moved_bytes == moved > 0
        names = [program.tensors[call.operands[-1]].name for call in inside]
        assert {b.name for b in group.buffers} < set(names)
        assert all(0 < b.rows < b.height and b.bytes % b.rows == 0 for b in group.buffers)
    assert all(call.rows is None for call in calls[groups[-1].last_call + 1 :])


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 9])
def test_a_group_of_any_size_is_that_of_each_size(seed: int) -> None:
    """Facts that are sizes, as numbers; bytes that are moved are what they are at most."""
    found = driver.compile_programs(
        open_network(seed), ["portable"], memory=MemoryOptions(stream=2)
    )["portable"]
    (program,) = programs_of(found)
    groups = streamed_groups(program)
    assert groups
    for h, w in ((9, 9), (24, 10), (37, 50), (64, 8)):
        number = numbers({"h": h, "w": w})
        for group, one in zip(
            groups, streamed_groups(sized(program, {"h": h, "w": w})), strict=True
        ):
            assert number(group.iterations) == one.iterations
            assert tuple(map(number, group.bands)) == one.bands
            assert number(group.moved_bytes) >= one.moved_bytes
            for buffer, other in zip(group.buffers, one.buffers, strict=False):
                assert buffer.name == other.name
                sizes = (buffer.rows, buffer.height, buffer.bytes)
                assert tuple(map(number, sizes)) == (other.rows, other.height, other.bytes)


@pytest.mark.slow
def test_whole_calls_are_in_no_group() -> None:
    assert streamed_groups(compiled("off")) == ()


@pytest.mark.slow
def test_the_manifest_has_the_groups(tmp_path: Path) -> None:
    found = {}
    for stream in ("off", 2):
        out = tmp_path / str(stream)
        options = MemoryOptions(stream=stream)
        driver.compile_model(chain(), out, archs=["portable"], memory=options)
        found[stream] = package.load(out).manifest["per_arch"]["portable"]
    assert "streamed" not in found["off"] and bands_of(found["off"], {}) == {}
    whole, streamed = found["off"]["graph"], found[2]["graph"]
    (group,) = found[2]["streamed"]
    assert group["buffers"] and json.dumps(group)
    assert sorted(bands_of(found[2], {}).values()) == sorted(group["bands"])
    by_name = {t["name"]: t for t in streamed["tensors"]}
    for buffer in group["buffers"]:
        tensor = by_name[buffer["name"]]
        assert (tensor["rows"], tensor["height"]) == (buffer["rows"], buffer["height"])
        assert tensor["bytes"] == buffer["bytes"]
    # A line buffer's bytes are, in a profile, those of the whole image.
    *alike, pooling = zip(whole["calls"], streamed["calls"], strict=True)
    assert all(a["kernel"] == b["kernel"] for a, b in alike)
    for a, b in alike:
        assert sizes(whole, a) == sizes(streamed, b), a["name"]
    # The mean adds up band by band, in a kernel of its own that reads and writes the sums.
    image, mean = sizes(whole, pooling[0])
    assert "global_pool_band" in pooling[1]["kernel"]
    assert sizes(streamed, pooling[1]) == [image, 2 * 4 * 4, 2 * 4 * 4, mean]


def sizes(graph: dict[str, Any], call: dict[str, Any]) -> list[int | None]:
    """Bytes of what a call reads and writes, as profiles count them."""
    return [bytes_of(graph["tensors"][t], {}) for t in (*call["reads"], *call["writes"])]
