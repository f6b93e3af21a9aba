"""Options of memory planning, in a module of their own so that reading them loads nothing else.

Example
-------
>>> MemoryOptions(planner="greedy-size", limit=256 * 1024)
MemoryOptions(planner='greedy-size', time_limit=5.0, limit=262144, pools=(), \
clobber_inputs=False, threads=1, stream=None)
"""

from __future__ import annotations

from dataclasses import dataclass

from tvm_megcc.errors import InputError

#: Where inputs and outputs may live.
IO_PLACES = ("caller", "arena", "stream")


@dataclass(frozen=True, slots=True)
class MemoryOptions:
    """Options of `tvm_megcc.memory.place`.

    Attributes
    ----------
    planner : str
        One of `tvm_megcc.memory.PLANNERS`.
    time_limit : float
        Seconds for the searches among them.
    limit : int or None
        Bytes that all pools together may take.
    pools : tuple of (str, int or None)
        Names of the caller's buffers with their bytes, best first; None is as large as needed.
        Without any there is one.
    clobber_inputs : bool
        Whether the space of an input that lives in the arena may be used again after its last read;
        the caller must then write it before each run.
    threads : int
        How many threads calls have memory for, at most; any smaller number works, too.
    stream : {"auto", "off"}, int or None
        Whether calls over an image run in bands of rows (`tvm_megcc.streaming`): where that lowers
        the arena; not at all; in bands of so many rows; None: where the arena would not fit
        otherwise into `limit` or a board's RAM.
    """

    planner: str = "auto"
    time_limit: float = 5.0
    limit: int | None = None
    pools: tuple[tuple[str, int | None], ...] = ()
    clobber_inputs: bool = False
    threads: int = 1
    stream: str | int | None = None


def check(options: MemoryOptions) -> None:
    """Raise InputError for options that no model can be planned with, before one is read."""
    from tvm_megcc import memory

    memory.check_planner(options.planner, options.time_limit)
    how = options.stream
    if how not in (None, "auto", "off") and (not isinstance(how, int) or how < 1):
        raise InputError(f"stream {how!r} is not known; choose auto, off, or rows of a band")
    if options.pools:
        memory.check_pools(options.pools, options.planner)
