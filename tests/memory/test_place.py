"""From a `Program` to its planned form: what is live when, where it lies, and what does not fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tvm_megcc.core.program import Call, Kernel, Location, Port, Program, Tensor
from tvm_megcc.errors import InputError
from tvm_megcc.memory import PLANNERS, DoesNotFit, lower_bound, place, problem_of


def make(
    sizes: Sequence[int],
    calls: Sequence[tuple[tuple[int, ...], int]],
    inputs: Sequence[int] = (),
    outputs: Sequence[int] = (),
) -> Program:
    """A program over byte tensors, each its own storage; a call is (reads, written tensor)."""
    return Program(
        "m",
        "portable",
        tuple(Port(f"x{i}", i) for i in inputs),
        tuple(Port(f"y{i}", i) for i in outputs),
        tuple(Tensor(f"t{i}", "u8", (n,), Location("arena", i)) for i, n in enumerate(sizes)),
        (Kernel("k", source="void k(void);"),),
        tuple(Call(0, (*reads, w), 1, name=f"n{k}") for k, (reads, w) in enumerate(calls)),
        (),
    )


def chain(length: int, size: int = 256) -> Program:
    """x -> t1 -> t2 ... with the ends as ports."""
    steps = [((i,), i + 1) for i in range(length)]
    return make([size] * (length + 1), steps, inputs=[0], outputs=[length])


def lives(program: Program, clobber_inputs: bool = False) -> list[tuple[str, int, int]]:
    problem, _ = problem_of(program, clobber_inputs)
    return [(b.name, b.first, b.last) for b in problem.intervals]


def test_ports_in_the_arena_live_to_the_end() -> None:
    assert lives(chain(3)) == [("t0", 0, 3), ("t1", 0, 2), ("t2", 1, 3), ("t3", 2, 3)]


def test_clobbered_inputs_live_to_their_last_read() -> None:
    assert lives(chain(3), clobber_inputs=True)[0] == ("t0", 0, 1)
    twice = make([8, 8, 8, 8], [((0,), 1), ((1,), 2), ((0, 2), 3)], inputs=[0], outputs=[3])
    assert lives(twice, clobber_inputs=True)[0] == ("t0", 0, 3)


def test_all_inputs_are_live_at_the_start() -> None:
    """They are written before the first call, whenever they are read."""
    program = make([8] * 4, [((0,), 2), ((1, 2), 3)], inputs=[0, 1], outputs=[3])
    assert lives(program, clobber_inputs=True)[:2] == [("t0", 0, 1), ("t1", 0, 2)]


def test_an_output_written_early_lives_to_the_end() -> None:
    program = make([8] * 4, [((0,), 1), ((0,), 2), ((2,), 3)], inputs=[0], outputs=[1, 3])
    assert ("t1", 0, 3) in lives(program)


def test_an_output_that_is_an_input_and_no_calls() -> None:
    program = make([100, 60], [], inputs=[0, 1], outputs=[1, 0])
    placed = place(program, clobber_inputs=True)
    assert placed.arena_bytes == 164  # both, the smaller one below
    assert placed.plan is not None and placed.plan.peak_step == 0


def test_inputs_are_kept_unless_they_may_be_clobbered() -> None:
    assert place(chain(6)).arena_bytes == 3 * 256
    assert place(chain(6), clobber_inputs=True).arena_bytes == 2 * 256


def test_place_fills_in_the_plan() -> None:
    program = make([256, 1024, 512, 64], [((0,), 1), ((1,), 2), ((2,), 3)], [0], [3])
    placed = place(program)
    plan = placed.plan
    assert plan is not None and placed.arena_bytes == plan.lower_bound == 1792
    assert plan.naive_bytes == 1856 and plan.peak_step == 1
    assert [(p.name, p.bytes) for p in plan.pools] == [("arena", 1792)]
    assert plan.planner in PLANNERS
    for block, tensor in zip(plan.blocks, placed.tensors, strict=True):
        assert (block.name, block.bytes) == (tensor.name, tensor.nbytes)
        assert tensor.location == Location("arena", block.pool, block.offset)


def test_place_keeps_views_inside_their_storage() -> None:
    program = chain(2)
    view = Tensor("view", "u8", (128,), Location("arena", 1, 64))
    program = replace(program, tensors=(*program.tensors, view), outputs=(Port("y", 3),))
    placed = place(program)
    base = placed.tensors[1].location.offset
    assert placed.tensors[3].location.offset == base + 64


def test_place_workspace_lives_during_its_call_only() -> None:
    program = chain(2)
    scratch = Tensor("w", "u8", (4096,), Location("arena", 9))
    calls = (replace(program.calls[0], workspace=3), program.calls[1])
    program = replace(program, tensors=(*program.tensors, scratch), calls=calls)
    assert ("w", 0, 1) in lives(program)
    assert place(program).arena_bytes == 4096 + 512


def test_place_leaves_other_spaces_alone() -> None:
    program = chain(2)
    outside = [Location("input", 0), program.tensors[1].location, Location("output", 0)]
    tensors = [replace(t, location=at) for t, at in zip(program.tensors, outside, strict=True)]
    placed = place(replace(program, tensors=tuple(tensors)))
    assert placed.arena_bytes == 256
    assert [t.location.space for t in placed.tensors] == ["input", "arena", "output"]


def test_a_program_without_an_arena() -> None:
    placed = place(make([], []))
    assert placed.arena_bytes == 0 and placed.plan is not None and placed.plan.blocks == ()


@pytest.mark.parametrize("planner", PLANNERS)
def test_place_with_every_planner_is_deterministic(planner: str) -> None:
    placed = place(chain(9), planner, time_limit=1.0)
    assert placed == place(chain(9), planner, time_limit=1.0)
    assert placed.arena_bytes is not None and placed.arena_bytes >= 768


def test_limit_says_how_many_bytes_are_missing_and_which_call_needs_them() -> None:
    program = make([256, 1024, 512, 64], [((0,), 1), ((1,), 2), ((2,), 3)], [0], [3])
    assert place(program, limit=1792).arena_bytes == 1792
    with pytest.raises(DoesNotFit) as caught:
        place(program, limit=1791)
    said = str(caught.value)
    assert "1 bytes are missing" in said and "call 1, 'n1'" in said and "'t1', 't2'" in said
    assert "\n" not in said and (caught.value.missing_bytes, caught.value.step) == (1, 1)


def test_bad_options() -> None:
    with pytest.raises(InputError, match="planner 'frob'"):
        place(chain(1), "frob")
    with pytest.raises(InputError, match="time limit"):
        place(chain(1), time_limit=float("nan"))


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Any graph: calls read earlier tensors and write new ones."""
    n_inputs = draw(st.integers(1, 3))
    n_calls = draw(st.integers(0, 12))
    sizes = draw(st.lists(st.integers(0, 400), min_size=n_inputs, max_size=n_inputs))
    calls = []
    for k in range(n_calls):
        earlier = st.integers(0, n_inputs + k - 1)
        calls.append((tuple(draw(st.lists(earlier, min_size=1, max_size=3))), n_inputs + k))
        sizes.append(draw(st.integers(0, 400)))
    last = n_inputs + n_calls - 1
    outputs = sorted({last, draw(st.integers(0, last))})
    return make(sizes, calls, range(n_inputs), outputs)


def overwritten(program: Program, clobber_inputs: bool) -> str:
    """Run the program on bytes that remember who wrote them; what was lost when it was needed."""
    assert program.arena_bytes is not None
    memory: list[int | None] = [None] * program.arena_bytes

    def span(tensor: int) -> range:
        t = program.tensors[tensor]
        return range(t.location.offset, t.location.offset + t.nbytes)

    def write(tensor: int) -> None:
        for byte in span(tensor):
            memory[byte] = tensor

    def lost(tensor: int) -> bool:
        return any(memory[byte] != tensor for byte in span(tensor))

    for port in program.inputs:
        write(port.tensor)
    for call in program.calls:
        *reads, written = call.operands
        if any(map(lost, reads)):
            return f"{call.name} reads what is gone"
        write(written)
        if any(map(lost, reads)) and written not in reads:
            return f"{call.name} writes over what it reads"
    kept = [*program.outputs, *(() if clobber_inputs else program.inputs)]
    return next((f"{p.name} is gone at the end" for p in kept if lost(p.tensor)), "")


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(programs(), st.booleans())
def test_nothing_is_overwritten_while_it_is_needed(program: Program, clobber: bool) -> None:
    placed = place(program, clobber_inputs=clobber)
    assert overwritten(placed, clobber) == ""
    problem, _ = problem_of(program, clobber)
    assert placed.arena_bytes is not None and placed.arena_bytes >= lower_bound(problem)
    if not clobber:
        return
    kept = place(program).arena_bytes
    assert kept is not None and kept >= lower_bound(problem)


def test_pools_take_what_is_used_most_and_pass_the_rest_on() -> None:
    program = make([4096, 256, 256, 4096], [((0,), 1), ((1,), 2), ((2, 0), 3)], [0], [3])
    placed = place(program, pools=[("sram", 600), ("psram", None)])
    plan = placed.plan
    assert plan is not None and placed.arena_bytes == sum(p.bytes for p in plan.pools)
    assert [p.name for p in plan.pools] == ["sram", "psram"] and plan.pools[0].bytes == 512
    where = {b.name: plan.pools[b.pool].name for b in plan.blocks}
    assert where == {"t0": "psram", "t1": "sram", "t2": "sram", "t3": "psram"}
    for block, tensor in zip(plan.blocks, placed.tensors, strict=True):
        assert tensor.location == Location("arena", block.pool, block.offset)


def test_one_pool_of_its_own_name() -> None:
    placed = place(chain(6), pools=[("ram", 768)])
    assert placed.plan is not None and placed.arena_bytes == 768
    assert [(p.name, p.bytes) for p in placed.plan.pools] == [("ram", 768)]


def test_pools_that_are_too_small_say_what_is_missing_and_where() -> None:
    program = make([256, 1024, 512, 64], [((0,), 1), ((1,), 2), ((2,), 3)], [0], [3])
    with pytest.raises(DoesNotFit) as caught:
        place(program, pools=[("a", 100), ("b", 600)], limit=9999)
    said = str(caught.value)
    assert f"{caught.value.missing_bytes} bytes are missing" in said and "'b' of 600 bytes" in said
    assert f"call {caught.value.step}, 'n{caught.value.step}'" in said
    more = 600 + caught.value.missing_bytes
    assert place(program, pools=[("a", 100), ("b", more + 256)]).arena_bytes


def test_pools_and_a_limit_or_a_planner() -> None:
    pools = [("a", 300), ("b", None)]
    need = place(chain(6), pools=pools).arena_bytes
    assert need is not None
    assert place(chain(6), pools=pools, limit=need).arena_bytes == need
    with pytest.raises(DoesNotFit, match="1 bytes are missing"):
        place(chain(6), pools=pools, limit=need - 1)
    with pytest.raises(InputError, match="with pools use auto"):
        place(chain(6), "exact", pools=pools)
    with pytest.raises(InputError, match="'a' is given twice"):
        place(chain(6), pools=[("a", 300), ("a", None)])


@settings(max_examples=60, deadline=None)
@given(programs(), st.integers(0, 900))
def test_nothing_is_overwritten_in_any_pool(program: Program, size: int) -> None:
    placed = place(program, pools=[("a", size), ("b", None)])
    plan = placed.plan
    assert plan is not None and plan.pools[0].bytes <= size
    # the second pool behind the first, and the same check as for one arena
    shift = (0, plan.pools[0].bytes)
    tensors = tuple(
        replace(t, location=Location("arena", 0, t.location.offset + shift[t.location.index]))
        for t in placed.tensors
    )
    assert overwritten(replace(placed, tensors=tensors), clobber_inputs=False) == ""
