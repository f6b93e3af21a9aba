"""Calls of a model that have several candidate kernels, and programs that try one of them.

A `Survey` listens while the model is compiled as ever; a `Trial` makes each call take a kernel of
our choice. Both are `kernels.tuned.Knowledge`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from tvm_megcc.core.preference import Preference
from tvm_megcc.kernels.expression import Facts
from tvm_megcc.kernels.tuned import Candidate, Figures, Task

#: What a call looks like in a program: the kernel's symbol and its attributes.
Signature = tuple[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Call:
    """A call that has several candidates."""

    task: Task
    facts: Facts
    kernels: tuple[Candidate, ...]  # the usual one first, then those that promise most

    @property
    def usual(self) -> Candidate:
        return self.kernels[0]

    def signature(self, kernel: Candidate) -> Signature:
        """The call in a program when a kernel serves it: symbol and attributes."""
        return kernel.signature(self.facts)


@dataclass(slots=True)
class Survey:
    """Collects the calls of a model while it is compiled; has no figures."""

    is_trial: ClassVar[bool] = False

    preference: Preference  # rules kernels out
    calls: dict[Task, Call] = field(default_factory=dict)  # those with several candidates

    def knows(self, task: Task) -> bool:
        return True

    def figures(self, task: Task, facts: Facts, kernels: Sequence[Candidate]) -> Figures | None:
        usual, *rest = kernels
        if others := [k for k in rest if k != usual and self._may(k)]:
            self.calls[task] = Call(task, dict(facts), (usual, *others))
        return None

    def _may(self, kernel: Candidate) -> bool:
        if self.preference.exact and not kernel.exact:
            return False
        return self.preference.optimize in kernel.optimize


@dataclass(frozen=True, slots=True)
class Trial:
    """Makes calls take these kernels; calls that are not named stay as they are."""

    is_trial: ClassVar[bool] = True

    kernels: Mapping[Task, Candidate]

    def knows(self, task: Task) -> bool:
        return task in self.kernels

    def figures(self, task: Task, facts: Facts, kernels: Sequence[Candidate]) -> Figures | None:
        kernel = self.kernels.get(task)
        if kernel is None:
            return None
        # Generated kernels of one task may have several names.
        number = [each.candidate for each in kernels].index(kernel.candidate)
        return Figures((None,) * len(kernels), "instructions", number)
