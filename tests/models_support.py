"""An independent look at the addresses of a program whose shapes can change."""

from __future__ import annotations

from collections.abc import Mapping

from tvm_megcc.core.program import Program, data_symbols, sized
from tvm_megcc.memory.stacking import placed


def check_blocks(program: Program, values: Mapping[str, int]) -> None:
    """No two blocks that are live at once share a byte, and every tensor lies in its block."""
    offsets, arena = placed(program, values)
    values = {**{s.name: 0 for s in data_symbols(program)}, **values}
    ends = list(offsets)
    for tensor in sized(program, values).tensors:
        if tensor.location.space == "block":
            k = tensor.location.index
            ends[k] = max(ends[k], offsets[k] + int(tensor.location.offset + tensor.nbytes))  # type: ignore[arg-type]
    live = sorted(
        (offsets[k], ends[k], s.first, s.last, s.name)
        for k, s in enumerate(program.storages)
        if not s.dynamic and ends[k] > offsets[k]
    )
    for n, (_, end, first, last, name) in enumerate(live):
        assert end <= arena
        for start, _, other_first, other_last, other in live[n + 1 :]:
            if start >= end:
                break
            assert last <= other_first or other_last <= first, (values, name, other)
