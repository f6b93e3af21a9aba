"""The memory of a planned program: pools, blocks, the plan."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pool:
    """One of the caller's buffers for activations: its name, and how many bytes are used of it."""

    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Block:
    """The place of one storage: `offset` in pool number `pool`, during calls ``[first, last)``.

    A storage of which parts are live has several blocks of one name, one after the other.
    """

    name: str
    first: int
    last: int
    bytes: int
    pool: int
    offset: int


@dataclass(frozen=True, slots=True)
class Storage:
    """A block of the arena of a program whose sizes are symbolic.

    It stands, aligned, on the highest end of the blocks below it, and is as large as the tensors in
    it need.

    Attributes
    ----------
    name : str
    alignment : int
        Bytes.
    below : tuple of int
        Numbers, all smaller than its own, of the blocks that it stands on.
    first, last : int
        Live during calls ``[first, last)``.
    dynamic : bool
        Not in the arena: its size depends on data, so the VM asks the caller's allocator for it.
    """

    name: str
    alignment: int
    below: tuple[int, ...]
    first: int
    last: int
    dynamic: bool = False


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """How ``memory.place`` came to its addresses.

    Attributes
    ----------
    planner : str
        Which planner won.
    lower_bound : int
        Bytes below which no plan for these blocks can go.
    naive_bytes : int
        Bytes if every block had a place of its own.
    peak_step : int
        Number of a call during which the most bytes are live.
    blocks : tuple of Block
    pools : tuple of Pool
        One ("arena") unless several were asked for.
    """

    planner: str
    lower_bound: int
    naive_bytes: int
    peak_step: int
    blocks: tuple[Block, ...]
    pools: tuple[Pool, ...]
