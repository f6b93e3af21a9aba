"""How the work of a call may be split among threads, for lower, forward and emission.

Example
-------
>>> from tvm_megcc.core.program import Call
>>> grain(Call(0, (0, 1), 1, work=1000, cost=1 << 13))
16
"""

from __future__ import annotations

from tvm_megcc.core.program import Call, Program
from tvm_megcc.dims import typical

#: Operations below which handing out a part of a call costs more than it gains: microseconds.
PIECE = 1 << 17

#: Most workers that a call can have.
MOST = 255

_LARGEST_GRAIN = 0xFFFFFF


def grain(call: Call) -> int:
    """Least part of the work that is worth handing out."""
    return min(-(-PIECE // call.cost), _LARGEST_GRAIN)


def parts(call: Call) -> int:
    """Into how many parts it is worth splitting the call, for usual sizes."""
    return max(1, typical(call.work) // grain(call))


def is_whole(program: Program, call: Call) -> bool:
    """Whether a call must run from first to last: its output overwrites input that was read."""
    if call.overlap is None:
        return False
    source, target = (program.tensors[call.operands[k]] for k in (0, -1))
    a, b = source.location, target.location
    if a.space not in ("arena", "block") or (a.space, a.index) != (b.space, b.index):
        return False
    ends = (a.offset, source.nbytes, b.offset, target.nbytes)
    if a.space == "block" or not all(isinstance(end, int) for end in ends):  # one storage
        return True
    return bool(a.offset < b.offset + target.nbytes and b.offset < a.offset + source.nbytes)
