"""Dispatch on the Relax level: what is refused, and what `relax.VirtualMachine` computes."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax

from tests.closeness import assert_close
from tests.dispatch.support import call, dense, expected, machine
from tvm_megcc import relay
from tvm_megcc.dims import Symbol
from tvm_megcc.dispatch import dispatch, list_shapes, plan_of
from tvm_megcc.errors import InputError

ANY = relay.Any()


def buckets(axes: dict[int, list], name: str = "x"):  # noqa: ANN201
    return lambda shapes: {name: axes}


def test_log_dispatcher_is_that_of_the_rfc() -> None:
    found = relay.vm.log_dispatcher({"data": (1, 3, ANY, ANY)})
    doubling = [(1, 2), (2, 4), (4, 8), (8, 16), (16, 32), (32, 64), (64, 128), (128, 256)]
    assert found == {"data": {2: [*doubling, (256, None)], 3: [*doubling, (256, None)]}}


def test_uniform_dispatcher() -> None:
    made = relay.vm.uniform_dispatcher(step=16, low=1, high=40)
    assert made({"x": (ANY, 4), "y": (2,)}) == {"x": {0: [(1, 17), (17, 33), (33, 40), (40, None)]}}


@pytest.mark.parametrize("arguments", [{"step": 0}, {"step": 1, "low": 5, "high": 5}])
def test_uniform_dispatcher_refuses(arguments: dict[str, int]) -> None:
    with pytest.raises(InputError):
        relay.vm.uniform_dispatcher(**arguments)


@pytest.mark.parametrize("fallback", ["symbolic", "none"])
def test_dispatched_module_computes_the_same(fallback: str) -> None:
    mod = dense()
    assert (
        mod.dispatch(
            "main", {"x": (ANY, 4)}, buckets({0: [(1, 2), (2, 4), (6, 8)]}), fallback=fallback
        )
        is mod
    )
    relax.analysis.well_formed(mod)
    assert "if n < 2" in mod.script()
    vm = machine(mod)
    for n in (1, 2, 3, 6, 7):
        x = np.random.default_rng(n).standard_normal((n, 4)).astype("float32")
        assert_close(call(vm, x), expected(x))
    for n in (4, 5, 8):
        x = np.ones((n, 4), "float32")
        if fallback == "symbolic":
            assert_close(call(vm, x), expected(x))
        else:
            with pytest.raises(Exception, match="(?i)match"):
                call(vm, x)


def test_buckets_of_two_dims_are_multiplied() -> None:
    mod = dense(("n", "h", 4))
    mod.dispatch(
        "main", {"x": (ANY, ANY, 4)}, buckets({0: [(1, 2), (2, None)], 1: [(1, 3), (3, None)]})
    )
    plan = plan_of(mod, "main")
    assert plan is not None
    assert [ranges for _, ranges in plan.variants] == [
        {"n": (1, 2), "h": (1, 3)}, {"n": (1, 2), "h": (3, None)},
        {"n": (2, None), "h": (1, 3)}, {"n": (2, None), "h": (3, None)},
    ]  # fmt: skip
    vm = machine(mod)
    for shape in ((1, 1), (1, 5), (4, 2), (3, 3), (0, 2)):
        x = np.random.default_rng(1).standard_normal((*shape, 4)).astype("float32")
        assert_close(call(vm, x), expected(x))


def test_a_bucket_of_one_size_is_static() -> None:
    mod = dense()
    mod.dispatch("main", {"x": (ANY, 4)}, buckets({0: [(1, 2), (2, 9)]}))
    (one, _), (more, _) = plan_of(mod, "main").variants
    assert list(mod[one].params[0].ty.shape.values) == [1, 4]
    attrs = mod[more].attrs
    assert (dict(attrs["tir_var_lower_bound"]), dict(attrs["tir_var_upper_bound"])) == (
        {"n": 2}, {"n": 8},
    )  # fmt: skip


def test_bounds_prune_buckets() -> None:
    mod = dense(bounds=[Symbol("n", 2, 6)])
    mod.dispatch("main", {"x": (ANY, 4)}, relay.vm.log_dispatcher)
    plan = plan_of(mod, "main")
    assert [ranges["n"] for _, ranges in plan.variants] == [(2, 4), (4, 7)]
    assert plan.fallback is None  # every size within the bounds has its bucket


def test_constants_are_shared() -> None:
    mod = dense()
    mod.dispatch("main", {"x": (ANY, 4)}, relay.vm.log_dispatcher)
    found = []
    for _, func in mod.functions_items():
        relax.analysis.post_order_visit(
            func, lambda e: found.append(e) if isinstance(e, tvm.ir.GenericConst) else None
        )
    assert len(found) > 8
    assert all(constant.same_as(found[0]) for constant in found)


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        ({0: [(1, 4), (3, 6)]}, "overlap"),
        ({0: [(1, None), (3, 6)]}, "overlap"),
        ({0: [(3, 3)]}, "empty"),
        ({0: []}, "empty"),
        ({1: [(1, 2)]}, "is 4, which is not symbolic"),
        ({2: [(1, 2)]}, "no axis 2"),
        ({}, "no axis has buckets"),
    ],
)
def test_buckets_that_make_no_sense(axes: dict[int, list], words: str) -> None:
    mod = dense()
    with pytest.raises(InputError, match=words):
        mod.dispatch("main", {"x": (ANY, 4)}, buckets(axes))
    assert [gv.name_hint for gv in mod.get_global_vars()] == ["main"]  # nothing was changed


def test_what_else_is_refused() -> None:
    mod = dense()
    with pytest.raises(InputError, match="'z' is no input of the function; they are 'x'"):
        mod.dispatch("main", {"x": (ANY, 4)}, buckets({0: [(1, 2)]}, "z"))
    with pytest.raises(InputError, match="'z' is no input"):
        mod.dispatch("main", {"z": (ANY, 4)}, relay.vm.log_dispatcher)
    with pytest.raises(InputError, match="imported with"):
        mod.dispatch("main", {"x": (ANY, 5)}, relay.vm.log_dispatcher)
    with pytest.raises(InputError, match="no function 'other'"):
        mod.dispatch("other", {"x": (ANY, 4)}, relay.vm.log_dispatcher)
    with pytest.raises(InputError, match="9 of 'n' are 9 programs and the limit is 8"):
        mod.dispatch("main", {"x": (ANY, 4)}, relay.vm.log_dispatcher, max_buckets=8)
    with pytest.raises(InputError, match="fallback 'never'"):
        mod.dispatch("main", {"x": (ANY, 4)}, buckets({0: [(1, 2)]}), fallback="never")
    mod.dispatch("main", {"x": (ANY, 4)}, relay.vm.log_dispatcher)
    with pytest.raises(InputError, match="dispatched already"):
        mod.dispatch("main", {"x": (ANY, 4)}, relay.vm.log_dispatcher)


def test_axes_of_one_dim_need_one_list() -> None:
    mod = dense(("n", "n", 4))
    with pytest.raises(InputError, match="other buckets elsewhere"):
        dispatch(mod, "main", {"x": (ANY, ANY, 4)}, buckets({0: [(1, 2)], 1: [(1, 3)]}))
    dispatch(mod, "main", {"x": (ANY, ANY, 4)}, buckets({0: [(1, 3)], 1: [(1, 3)]}))
    assert [ranges for _, ranges in plan_of(mod, "main").variants] == [{"n": (1, 3)}]


def test_listed_shapes() -> None:
    mod = dense(("n", "h", 4))
    list_shapes(mod, "main", [{"x": (1, 2, 4)}, {"x": (3, 1, 4)}, {"x": (1, 2, 4)}])
    plan = plan_of(mod, "main")
    assert [r for _, r in plan.variants] == [{"n": (1, 2), "h": (2, 3)}, {"n": (3, 4), "h": (1, 2)}]
    assert plan.fallback is None
    vm = machine(mod)
    x = np.ones((3, 1, 4), "float32")
    assert_close(call(vm, x), expected(x))
    with pytest.raises(InputError, match="does not say the size of 'h'"):
        list_shapes(dense(("n", "h", 4)), "main", [{"x": (1, ANY, 4)}])


def test_plan_reads_as_text() -> None:
    mod = dense()
    mod.dispatch("main", {"x": (ANY, 4)}, buckets({0: [(1, 2), (2, 4), (8, None)]}))
    assert str(plan_of(mod, "main")).splitlines() == [
        "main_n1: n == 1", "main_n2_4: 2 <= n < 4", "main_n8_: n >= 8", "main_any: all other sizes",
    ]  # fmt: skip
