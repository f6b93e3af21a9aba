"""The search of ``core.c`` in Python, for machines without a C compiler; see `branch`.

The same attempt visits the same nodes and counts the same work as the C core.
"""

from __future__ import annotations

import time
from collections import deque

import numpy as np

from tvm_megcc.memory.block import align
from tvm_megcc.memory.branch_model import Attempt, Model
from tvm_megcc.memory.flat import Ints

FAR = 1 << 62


class Search:
    """One attempt; `run` may be called once."""

    def __init__(self, model: Model, attempt: Attempt, deadline: float) -> None:
        n = model.n
        self.cap, self.tightest = attempt.cap, attempt.tightest
        self.work_limit, self.deadline = attempt.work, deadline
        self.rank: list[int] = attempt.rank.tolist()
        self.size: list[int] = model.size.tolist()
        self.whole: list[int] = model.whole.tolist()
        self.alignment: list[int] = model.alignment.tolist()
        self.fixed: list[int] = model.fixed.tolist()
        self.twin: list[int] = model.twin.tolist()
        self.first: list[int] = model.first.tolist()
        self.last: list[int] = model.last.tolist()
        self.lifetime: list[int] = model.lifetime.tolist()
        self.sections_of = _rows(model.sections_of0.tolist(), model.sections_of.tolist())
        self.blocks_in = _rows(model.blocks_in0.tolist(), model.blocks_in.tolist())
        self.near = _rows(model.near0.tolist(), model.near.tolist())
        self.near_sets = [frozenset(near) for near in self.near]
        self.low, self.base, self.placed, self.offset = [0] * n, [0] * n, [0] * n, [0] * n
        self.rest = [sum(self.whole[b] for b in blocks) for blocks in self.blocks_in]
        self.log: list[tuple[list[int], int, int]] = []
        self.queue = deque(range(model.sections))
        self.queued = [True] * model.sections
        self.nodes = self.work = 0
        self.stopped = False

    def run(self) -> tuple[int, Ints, int, int]:
        """1 solved, 0 infeasible, -1 out of work or time; offsets, nodes, work."""
        everything = list(range(len(self.size)))
        found = self._start() and self._infer(everything) and self._solve(everything)
        result = 1 if found else -1 if self.stopped else 0
        return result, np.array(self.offset, dtype=np.int64), self.nodes, self.work

    def _start(self) -> bool:
        rows = zip(self.size, self.fixed, strict=True)
        if any(size > self.cap or fixed + size > self.cap for size, fixed in rows):
            return False
        for b, fixed in enumerate(self.fixed):
            if fixed > 0 and not self._raise(b, fixed):
                return False
            if self.twin[b] >= 0 and not self._raise(self.twin[b], self.low[b] + self.whole[b]):
                return False
        return True

    # Changes, and taking them back.

    def _set(self, values: list[int], at: int, value: int) -> None:
        self.log.append((values, at, values[at]))
        values[at] = value

    def _undo(self, mark: int) -> None:
        while len(self.log) > mark:
            values, at, old = self.log.pop()
            values[at] = old
        for section in self.queue:
            self.queued[section] = False
        self.queue.clear()

    def _touch(self, section: int) -> None:
        if not self.queued[section]:
            self.queued[section] = True
            self.queue.append(section)

    def _raise(self, b: int, value: int) -> bool:
        """Block `b`, and its twins above it, lie at `value` or higher."""
        while b >= 0:
            if not self.placed[b]:
                value = align(value, self.alignment[b])
                if value <= self.low[b]:
                    return True
                if value + self.size[b] > self.cap or 0 <= self.fixed[b] < value:
                    return False
                self._set(self.low, b, value)
                for section in self.sections_of[b]:
                    self._touch(section)
            value, b = self.low[b] + self.whole[b], self.twin[b]
        return True

    # Inference.

    def _narrow(self, section: int) -> bool:
        blocks = self.blocks_in[section]
        self.work += len(blocks)
        left = [b for b in blocks if not self.placed[b]]
        if not left:
            return True
        low, whole = self.low, self.whole
        slack = max(whole[b] - self.size[b] for b in left)
        room = self.cap - self.rest[section] + slack  # the lowest here lies at most here
        if min(low[b] for b in left) > room:
            return False
        if max(low[b] for b in left) <= room:
            return True
        first_end = min(low[b] + whole[b] for b in left if low[b] <= room)
        if not all(self._raise(b, first_end) for b in left if low[b] > room):
            return False
        self.work += 2 * len(blocks) + 4 * len(left)
        total = -slack
        for b in sorted(left, key=lambda b: -low[b]):
            total += whole[b]
            if low[b] + total > self.cap:
                return False
        return True

    def _propagate(self) -> bool:
        while self.queue:
            section = self.queue.popleft()
            self.queued[section] = False
            if not self._narrow(section):
                return False
        return True

    def _neighbours(self, b: int) -> tuple[int, int]:
        """The lowest end and the lowest start of the unplaced blocks that overlap `b` in time."""
        self.work += len(self.near[b])
        others = [c for c in self.near[b] if not self.placed[c]]
        end = min((self.low[c] + self.whole[c] for c in others), default=FAR)
        return end, min((self.low[c] for c in others), default=FAR)

    def _hangs(self, b: int) -> bool:
        """Whether `b` lies higher than what is placed below it."""
        return self.low[b] != self.base[b] and self.fixed[b] < 0

    def _support(self, blocks: list[int]) -> bool | None:
        """Hanging blocks will stand on others: whether that raises a low; None when one cannot."""
        low, whole, changed = self.low, self.whole, False
        self.work += len(blocks)
        reach: dict[int, int] = {}
        for b in blocks:
            if self.placed[b] or not self._hangs(b):
                continue
            self.work += len(self.near[b])
            others = [c for c in self.near[b] if not self.placed[c]]
            if min((low[c] for c in others), default=FAR) >= self.base[b] + whole[b]:
                return None
            ends = (low[c] + whole[c] for c in others if not self._hangs(c))
            reach[b] = max(low[b], min(ends, default=FAR))
        while reach:
            self.work += len(reach)
            b = min(reach, key=lambda b: (reach[b], b))
            value = reach.pop(b)
            if value == FAR:
                return None
            if value > low[b]:
                if not self._raise(b, value):
                    return None
                changed = True
            for c in reach:
                if reach[c] > low[b] + whole[b] and c in self.near_sets[b]:
                    reach[c] = max(low[c], low[b] + whole[b])
        return changed

    def _infer(self, blocks: list[int]) -> bool:
        """All consequences of what was decided."""
        while self._propagate():
            changed = self._support(blocks)
            if not changed:
                return changed is not None
        return False

    # Branching.

    def _put(self, b: int) -> bool:
        low, whole = self.low[b], self.whole[b]
        # blocks of one lifetime that lie on each other may be swapped: only one order is tried
        if self.lifetime[b] >= 0 and any(
            self.placed[c]
            and self.offset[c] + self.whole[c] == low
            and self.rank[c] > self.rank[b]
            and self.lifetime[c] == self.lifetime[b]
            for c in self.near[b]
        ):
            return False
        self.offset[b] = low
        self._set(self.placed, b, 1)
        for section in self.sections_of[b]:
            self._set(self.rest, section, self.rest[section] - whole)
            self._touch(section)
        for c in self.near[b]:
            if self.placed[c]:
                continue
            base = align(low + whole, self.alignment[c])
            if self.base[c] < base:
                self._set(self.base, c, base)
            if not self._raise(c, low + whole):
                return False
        self.work += 2 * len(self.near[b])
        return True

    def _choose(self, blocks: list[int]) -> int:
        best, best_key = -1, (FAR, FAR, 0)
        for b in blocks:
            if self._hangs(b):
                continue
            room = 0
            if self.tightest:
                sections = self.sections_of[b]
                self.work += len(sections)
                room = min(self.cap - self.low[b] - self.rest[s] for s in sections)
            key = (room, self.low[b], self.rank[b])
            if best >= 0 and key > best_key:
                continue
            if self.tightest and self._neighbours(b)[0] <= self.low[b]:
                continue
            best, best_key = b, key
        self.work += len(blocks)
        return best

    def _out_of_time(self) -> bool:
        self.nodes += 1
        is_late = self.nodes & 63 == 0 and time.monotonic() > self.deadline
        if self.work > self.work_limit or is_late:
            self.stopped = True
        return self.stopped

    def _parts(self, blocks: list[int]) -> list[list[int]]:
        parts: list[list[int]] = []
        reach = -1
        for b in blocks:
            if self.first[b] >= reach:
                parts.append([])
            parts[-1].append(b)
            reach = max(reach, self.last[b])
        return parts

    def _solve(self, blocks: list[int]) -> bool:
        mark = len(self.log)
        if self._search(blocks):
            return True
        self._undo(mark)
        return False

    def _search(self, blocks: list[int]) -> bool:
        while True:
            blocks = [b for b in blocks if not self.placed[b]]
            if not blocks:
                return True
            if self._out_of_time():
                return False
            parts = self._parts(blocks)
            if len(parts) > 1:
                return all(self._solve(part) for part in parts)
            b = self._choose(blocks)
            if b < 0:
                return False
            mark = len(self.log)
            if self._put(b) and self._infer(blocks) and self._solve(blocks):
                return True
            self._undo(mark)
            if self.stopped or self.fixed[b] >= 0:
                return False
            end, start = self._neighbours(b)
            if start >= self.low[b] + self.whole[b]:  # nothing could keep it off its place
                return False
            if not self._raise(b, end) or not self._infer(blocks):
                return False


def _rows(starts: list[int], values: list[int]) -> list[list[int]]:
    return [values[a:b] for a, b in zip(starts, starts[1:], strict=False)]
