"""Graphs with states: every form runs in place as it does with separate inputs and outputs."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest
from onnx import helper

from tests.fuzz import evaluate, findings, stateful, texts, unsaid
from tests.fuzz.compiling import PLACES, Places
from tests.fuzz.data import Random
from tests.fuzz.feeds import Run, continued, runs
from tests.fuzz.replay import replay
from tests.fuzz.serving import AS_IT_IS, Serving
from tests.fuzz.session import Case, Finding, Session
from tests.fuzz.sketch import Graph, Sketch, Unfit

FORMS = list(dict.fromkeys(stateful.FORMS))


def drawn(form: stateful.Form, seed: int = 0) -> Graph:
    """A graph of one form: of the first seed from this one on that draws one."""
    for k in count(seed):
        sketch = Sketch(Random(k, 3), 17)
        try:
            form(sketch)
        except Unfit:
            continue
        if sketch.states:
            return sketch.finish()
    raise AssertionError


def counter(start: float = 1.0) -> Graph:
    """``h_next = h + x``, ``y = h_next - h``."""
    nodes = [
        helper.make_node("Add", ["h", "x"], ["h_next"], name="n0"),
        helper.make_node("Sub", ["h_next", "h"], ["y"], name="n1"),
    ]
    inputs = {"h": np.full(3, start, np.float32), "x": np.ones(3, np.float32)}
    made = Graph(nodes, {"": 17}, inputs, {}, ["h_next", "y"], states={"h": "h_next"})
    made.values = evaluate.run(nodes, made.opsets, inputs)
    return made


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_a_form_has_pairs_that_may_share_memory(form: stateful.Form) -> None:
    made = drawn(form)
    for port, output in made.states.items():
        a, b = made.values[port], made.values[output]
        assert (a.shape, a.dtype) == (b.shape, b.dtype) and output in made.outputs
    first, *later = runs(made, Random(0, 1))
    assert not first.goes_on and later[0].goes_on


def test_any_outputs_may_be_states() -> None:
    made = counter()
    made.states = {}
    stateful.pair_some(made, Random(1))
    assert set(made.states) <= {"h", "x"} and set(made.states.values()) <= {"h_next", "y"}
    assert made.states and len(set(made.states.values())) == len(made.states)


def test_a_pair_needs_both_ports() -> None:
    assert counter().pruned(["h_next"]).states == {"h": "h_next"}
    assert not counter().pruned(["y"]).states


def test_a_run_goes_on_with_what_the_one_before_left() -> None:
    made = counter()
    run = Run(dict(made.inputs), None, "not known", goes_on=True)
    found = continued(made, run, {"h_next": np.full(3, 7, np.float32), "y": np.zeros(3)})
    assert found.values is not None and found.goes_on
    np.testing.assert_array_equal(found.values["h_next"], np.full(3, 8, np.float32))
    np.testing.assert_array_equal(found.feed["h"], np.full(3, 7, np.float32))


@pytest.mark.parametrize("seed", range(12))
def test_the_text_of_attention_is_what_onnx_runtime_computes(seed: int) -> None:
    made = drawn(stateful.cached_attention, 100 * seed)
    (node,) = [n for n in made.nodes if n.op_type == "GroupQueryAttention"]
    try:
        wanted = evaluate.by_ort(node, made.opsets, made.values)
    except evaluate.Refused:
        pytest.skip("ONNX Runtime takes one row each of several sequences")
    found = texts.run(node, made.values)
    near = 2e-2 if wanted[0].dtype == np.float16 else 1e-5
    if not unsaid.undefined(node, made.values):
        for a, b in zip(found, wanted, strict=True):
            b = np.where(b == 0, a, b)  # ONNX Runtime has no rows of the past behind an end
            np.testing.assert_allclose(a.astype("f4"), b.astype("f4"), rtol=near, atol=near)


# ---- compiled ----------------------------------------------------------------------------------


def cases(session: Session) -> list[Case]:
    """Each form once, on this machine and under the sanitizers, in all places."""
    found = []
    for number, form in enumerate(FORMS):
        made = drawn(form)
        places = PLACES[number % len(PLACES)]
        modes = tuple(dict.fromkeys(("host", *session.others[:1])))
        found.append(Case(number, made, runs(made, Random(number, 1)), modes, places=places))
    return found


@pytest.mark.together("fuzzing")
@pytest.mark.slow
def test_forms_have_no_finding(fuzzing: Session) -> None:
    found = fuzzing.judge(cases(fuzzing))
    assert not found, "\n".join(finding.line for finding in found)


@pytest.mark.together("fuzzing")
@pytest.mark.slow
def test_a_state_that_is_lost_is_seen(
    fuzzing: Session, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the pair the second run has a state of its own, which is not what the first left."""
    made = counter()
    rows = runs(made, Random(3, 1))
    case = Case(0, made, rows, ("host",))
    with monkeypatch.context() as patch:
        patch.setattr(Session, "_how", staticmethod(_without_states))
        (found,) = fuzzing.judge([case])
    assert found.kind == "wrong" and found.run == 1
    written = findings.write(Finding("wrong", "x", "host", found.case, 1), tmp_path)
    content, graph, _ = findings.read(written)
    assert graph.states == {"h": "h_next"} and content["goes_on"][:2] == [False, True]
    assert replay(fuzzing, [written]) == {}


def _without_states(case: Case) -> tuple[Places, Serving, dict[str, str]]:
    return case.places, AS_IT_IS, {}
