"""Which kernels a `Survey` says may be tried of a call, and which a `Trial` makes it take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from tvm_megcc.core.preference import OPTIMIZE, Preference
from tvm_megcc.kernels.expression import Fact
from tvm_megcc.kernels.tuned import Figures, Task
from tvm_megcc.tuning.trials import Survey, Trial


@dataclass(frozen=True)
class Kernel:
    """A candidate by name alone."""

    stem: str
    exact: bool = True
    optimize: tuple[str, ...] = OPTIMIZE
    settings: tuple[tuple[str, int], ...] = ()

    @property
    def candidate(self) -> str:
        return self.stem

    def signature(self, facts: Mapping[str, Fact]) -> tuple[str, tuple[str, ...]]:
        return f"megcc_{self.stem}", tuple(f"{k}={v}" for k, v in facts.items())

    def sources(self) -> str:
        return ""


PLAIN, OTHER = Kernel("plain"), Kernel("other")
ROUNDED, FAST = Kernel("rounded", exact=False), Kernel("fast", False, ("speed",))
FACTS: dict[str, Fact] = {"m": 4}
TASK = Task.of("matmul", "portable", FACTS)


@pytest.mark.parametrize(
    "preference, candidates",
    [
        (Preference("speed"), (PLAIN, OTHER, ROUNDED, FAST)),
        (Preference("balanced"), (PLAIN, OTHER, ROUNDED)),
        (Preference("size"), (PLAIN, OTHER, ROUNDED)),
        (Preference("speed", exact=True), (PLAIN, OTHER)),
        (Preference("size", exact=True), (PLAIN, OTHER)),
    ],
)
def test_candidates_are_those_that_the_user_allows(
    preference: Preference, candidates: tuple[Kernel, ...]
) -> None:
    survey = Survey(preference)
    assert survey.knows(TASK) and not survey.is_trial
    assert survey.figures(TASK, FACTS, [PLAIN, OTHER, ROUNDED, FAST]) is None
    (call,) = survey.calls.values()
    assert (call.task, call.facts, call.usual) == (TASK, FACTS, PLAIN)
    assert call.kernels == candidates
    assert call.signature(OTHER) == ("megcc_other", ("m=4",))


def test_a_call_without_a_choice_is_none() -> None:
    survey = Survey(Preference("size", exact=True))
    assert survey.figures(TASK, FACTS, [PLAIN, ROUNDED, FAST]) is None
    assert survey.figures(TASK, FACTS, [PLAIN]) is None
    assert not survey.calls


def test_a_trial_takes_its_kernel_and_leaves_other_calls() -> None:
    trial, other = Trial({TASK: OTHER}), Task.of("matmul", "arm64", FACTS)
    assert trial.is_trial and trial.knows(TASK) and not trial.knows(other)
    kernels = [PLAIN, OTHER, FAST]
    assert trial.figures(TASK, FACTS, kernels) == Figures((None,) * 3, "instructions", 1)
    assert trial.figures(other, FACTS, kernels) is None
