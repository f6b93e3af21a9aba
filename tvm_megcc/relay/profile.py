"""The result of ``GraphModule.profile``: the time of each kernel call of one run.

Example
-------
>>> print(m.profile(x=x))                                               # doctest: +SKIP
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CallTime:
    """The executions of one call in a run: several in a loop."""

    call: int
    name: str
    kernel: str
    seconds: float
    count: int


@dataclass(frozen=True, slots=True)
class Profile:
    """``calls`` in the order in which they ran first; printing lists the slowest first."""

    calls: tuple[CallTime, ...]

    @property
    def seconds(self) -> float:
        """The time of all calls."""
        return sum(call.seconds for call in self.calls)

    def __str__(self) -> str:
        total = self.seconds or 1.0
        rows = [
            f"{1000 * c.seconds:10.4f} ms {100 * c.seconds / total:5.1f} % call {c.call:4}"
            f" {c.kernel}  {c.name}"
            for c in sorted(self.calls, key=lambda c: (-c.seconds, c.call))
        ]
        return "\n".join([f"profile: {len(self.calls)} calls", *rows])


@dataclass(slots=True)
class Recorder:
    """Is called before and after each kernel call."""

    begin: float = 0.0
    calls: dict[int, CallTime] = field(default_factory=dict)

    def __call__(self, end: int, call: int, name: str, kernel: str) -> None:
        now = time.perf_counter()
        if not end:
            self.begin = time.perf_counter()
            return
        old = self.calls.get(call, CallTime(call, name, kernel, 0.0, 0))
        seconds = old.seconds + now - self.begin
        self.calls[call] = CallTime(call, name, kernel, seconds, old.count + 1)

    def profile(self) -> Profile:
        return Profile(tuple(self.calls.values()))
