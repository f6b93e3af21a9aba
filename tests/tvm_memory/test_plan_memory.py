"""PlanMemory: what it plans, and what it leaves alone."""

from __future__ import annotations

import subprocess
import sys

import pytest
import tvm
from tvm import relax

from tests.tvm_memory.support import (
    CHAIN,
    IF,
    PACKED,
    SYMBOLIC,
    allocated_names,
    bears,
    calls,
    check,
    compare,
    module,
    planned,
)
from tvm_megcc.tvm_memory.allocated import Allocated, allocated


@pytest.mark.slow
def test_chain_takes_turns_in_one_arena() -> None:
    after = compare(
        CHAIN,
        """
        @R.function
        def main(x: R.Tensor((16, 16), "float32")) -> R.Tensor((16, 16), "float32"):
            cls = Module
            storage = R.memory.alloc_storage(R.shape([2048]), 0, "global", "uint8")
            a = R.memory.alloc_tensor(storage, 0, R.shape([16, 16]), "float32", 0)
            cls.turn(x, a)
            b = R.memory.alloc_tensor(storage, 1024, R.shape([16, 16]), "float32", 0)
            cls.turn(a, b)
            c = R.memory.alloc_tensor(storage, 0, R.shape([16, 16]), "float32", 0)
            cls.turn(b, c)
            out = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.turn(c, out)
            return out
        """,
    )
    assert bears(after["turn"])
    assert not bears(after["add"])  # gets no tensor at an offset


@pytest.mark.slow
def test_branch_keeps_what_is_read_later() -> None:
    compare(
        """
        @R.function
        def main(x: R.Tensor((16, 16), "float32")) -> R.Tensor((16, 16), "float32"):
            cls = Module
            a = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.turn(x, a)
            b = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.turn(a, b)
            c = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.turn(b, c)
            out = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.add(c, a, out)
            return out
        """,
        """
        @R.function
        def main(x: R.Tensor((16, 16), "float32")) -> R.Tensor((16, 16), "float32"):
            cls = Module
            storage = R.memory.alloc_storage(R.shape([3072]), 0, "global", "uint8")
            a = R.memory.alloc_tensor(storage, 0, R.shape([16, 16]), "float32", 0)
            cls.turn(x, a)
            b = R.memory.alloc_tensor(storage, 1024, R.shape([16, 16]), "float32", 0)
            cls.turn(a, b)
            c = R.memory.alloc_tensor(storage, 2048, R.shape([16, 16]), "float32", 0)
            cls.turn(b, c)
            out = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.add(c, a, out)
            return out
        """,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "view",
    [
        'R.reshape(a, R.shape([256]))',
        'R.memory.view(a, R.shape([256]), "float32", 0)',
        'R.call_packed("vm.builtin.reshape", a, R.shape([256]),'
        ' ty_args=R.Tensor((256,), "float32"))',
    ],
)  # fmt: skip
def test_reshape_keeps_its_source_alive(view: str) -> None:
    before = module(
        f"""
        @R.function
        def main(x: R.Tensor((16, 16), "float32")) -> R.Tensor((16, 16), "float32"):
            cls = Module
            a = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.turn(x, a)
            v: R.Tensor((256,), "float32") = {view}
            w: R.Tensor((256,), "float32") = v
            b = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.turn(x, b)
            c = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.turn(b, c)
            d = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.fold(w, d)
            out = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.add(c, d, out)
            return out
        """
    )
    after = planned(before)
    assert allocated(after["main"]) == Allocated(3072 + 1024)
    if "call_packed" not in view:  # the machine knows no packed functions by name
        check(before, after)


@pytest.mark.slow
def test_returned_tuple_and_its_parts_are_not_planned() -> None:
    before = module(
        """
        @R.function
        def main(x: R.Tensor((16, 16), "float32")):
            cls = Module
            a = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.turn(x, a)
            b = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.turn(a, b)
            c = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.turn(b, c)
            pair = (a, (b, x))
            inner = pair[1]
            taken = inner[0]
            return (c, taken)
        """
    )
    after = planned(before)
    assert allocated_names(after["main"], "relax.memory.alloc_tensor") == ["a"]
    assert allocated_names(after["main"], "relax.builtin.alloc_tensor") == ["b", "c"]
    check(before, after)


@pytest.mark.slow
def test_bounded_dims_are_planned_at_their_bound() -> None:
    attr = 'R.func_attr({"tir_var_upper_bound": {"n": 100}})'
    before = module(SYMBOLIC.format(attr=attr))
    after = planned(before)
    assert allocated(after["main"]) == Allocated(3 * 6400)  # two that take turns, and the result
    storage = allocated_names(after["main"], "relax.memory.alloc_storage")
    assert storage == ["storage"]
    for n in (1, 7, 100):
        check(before, after, dims={"n": n})


@pytest.mark.slow
def test_unbounded_dims_of_one_size_take_turns() -> None:
    before = module(SYMBOLIC.format(attr="pass"))
    after = planned(before)
    (size, count), *more = allocated(after["main"]).unknown
    assert (count, more) == (3, [])
    check(before, after, dims={"n": 5})


@pytest.mark.slow
def test_functions_are_planned_apart_and_calls_keep_arguments_alive() -> None:
    before = module(
        """
        @R.function
        def pick(x: R.Tensor((16, 16), "float32"), y: R.Tensor((16, 16), "float32")) -> R.Tensor((16, 16), "float32"):
            cls = Module
            a = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.turn(y, a)
            b = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.turn(a, b)
            return x

        @R.function
        def main(x: R.Tensor((16, 16), "float32")) -> R.Tensor((16, 16), "float32"):
            cls = Module
            a = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.turn(x, a)
            b = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.turn(a, b)
            picked: R.Tensor((16, 16), "float32") = cls.pick(a, b)
            c = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.turn(x, c)
            d = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.turn(c, d)
            out = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.add(picked, d, out)
            return out
        """  # noqa: E501
    )
    after = planned(before)
    assert allocated(after["pick"]) == Allocated(2048)
    # b may be the result of `pick` as well as a: both live until the last call.
    assert allocated(after["main"]) == Allocated(4096 + 1024)
    check(before, after)


@pytest.mark.slow
def test_packed_function_sees_no_offset() -> None:
    compare(
        PACKED,
        """
        @R.function
        def main(x: R.Tensor((16, 16), "float32")) -> R.Tensor((16, 16), "float32"):
            cls = Module
            storage = R.memory.alloc_storage(R.shape([2048]), 0, "global", "uint8")
            a = R.memory.alloc_tensor(storage, 0, R.shape([16, 16]), "float32", 0)
            cls.turn(x, a)
            b = R.memory.alloc_tensor(storage, 1024, R.shape([16, 16]), "float32", 0)
            b1 = R.memory.ensure_zero_offset(b)
            R.call_packed("test.plan_memory.double", a, b1, ty_args=R.Tuple())
            c = R.memory.alloc_tensor(storage, 0, R.shape([16, 16]), "float32", 0)
            cls.turn(b1, c)
            out = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.turn(c, out)
            return out
        """,
    )


@pytest.mark.slow
def test_packed_function_on_an_unknown_device_gets_whole_storages() -> None:
    before = module(PACKED)
    after = planned(before, target=None)
    assert len(allocated_names(after["main"], "relax.memory.alloc_storage")) == 2
    assert "ensure_zero_offset" not in after["main"].script()
    check(before, after)


@pytest.mark.slow
def test_tensors_of_two_types_share_the_arena() -> None:
    before = module(
        """
        @R.function
        def main(x: R.Tensor((16, 16), "float32")) -> R.Tensor((16, 16), "float32"):
            cls = Module
            a = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.turn(x, a)
            b = R.builtin.alloc_tensor(R.shape([16, 16]), "int8", 0, "global")
            cls.large(a, b)
            c = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.small(b, c)
            out = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.turn(c, out)
            return out
        """
    )
    after = planned(before)
    assert allocated(after["main"]) == Allocated(1024 + 256 + 1024)
    check(before, after)


@pytest.mark.slow
def test_devices_are_kept_apart() -> None:
    c = 'c = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", {}'
    mod = module(CHAIN.replace(c.format(0), c.format(1)))
    after = planned(mod)
    storages = [
        (int(c.args[1]), int(c.args[0].values[0]))
        for c in calls(after["main"], "relax.memory.alloc_storage")
    ]
    assert sorted(storages) == [(0, 2048), (1, 1024)]
    check(mod, after)


@pytest.mark.slow
@pytest.mark.parametrize("taken", [True, False])
def test_branches_of_an_if_share_the_arena(taken: bool) -> None:
    before = module(IF)
    after = planned(before)
    check(before, after, taken=taken)
    # TVM plans nothing that crosses a branch; here only the result has storage of its own.
    assert allocated(after["main"]).known <= 5 * 1024
    stock = relax.transform.StaticPlanBlockMemory()(before)
    assert allocated(stock["main"]).known >= 6 * 1024


@pytest.mark.slow
def test_condition_stays_out_of_the_arena() -> None:
    before = module(
        """
        @R.function
        def main(x: R.Tensor((16, 16), "float32")) -> R.Tensor((16, 16), "float32"):
            cls = Module
            a = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.turn(x, a)
            go = R.builtin.alloc_tensor(R.shape([]), "bool", 0, "global")
            R.call_packed("decide", a, go, ty_args=R.Tuple())
            if go:
                y = x
            else:
                y = x
            b = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.turn(y, b)
            return b
        """
    )
    after = planned(before)
    assert allocated_names(after["main"], "relax.builtin.alloc_tensor") == ["go", "b"]


@pytest.mark.slow
def test_operator_that_is_not_known_keeps_its_arguments() -> None:
    before = module(
        CHAIN.replace(
            "return out",
            'R.call_builtin_with_ctx("keep", (a,), ty_args=R.Tuple())\n    return out',
        )
    )
    after = planned(before)
    assert allocated_names(after["main"], "relax.builtin.alloc_tensor") == ["a", "out"]


@pytest.mark.slow
def test_tensor_nobody_uses_fits_its_storage() -> None:
    before = module(
        CHAIN.replace(
            "return out",
            'idle = R.builtin.alloc_tensor(R.shape([64, 64]), "float32", 0, "global")\n'
            "    return out",
        )
    )
    after = planned(before)
    check(before, after)


@pytest.mark.slow
def test_never_more_than_tvm_where_tvm_is_better() -> None:
    """A packed function whose result may be its argument: TVM trusts it, we do not."""
    text = """
        @R.function
        def main(x: R.Tensor((16, 16), "float32")) -> R.Tensor((16, 16), "float32"):
            cls = Module
            a = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.turn(x, a)
            r: R.Tensor((16, 16), "float32") = R.call_packed("f", a, ty_args=R.Tensor((16, 16), "float32"))
            b = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.turn(x, b)
            c = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.turn(b, c)
            out = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.add(c, r, out)
            return out
        """  # noqa: E501
    before = module(text)
    stock = relax.transform.StaticPlanBlockMemory()(before)
    after = planned(before)
    assert allocated(after["main"]) == allocated(stock["main"])
    tvm.ir.assert_structural_equal(after["main"], stock["main"], map_free_vars=True)
    tvm.ir.assert_structural_equal(after["turn"], before["turn"])


@pytest.mark.slow
def test_planned_outputs_stay_with_tvm() -> None:
    attr = 'R.func_attr({"tir_var_upper_bound": {"n": 100}, "relax.memory_plan_dynamic_func_output": 1})'  # noqa: E501
    before = module(SYMBOLIC.format(attr=attr))
    after = planned(before)
    assert not calls(after["main"], "relax.builtin.alloc_tensor")
    assert allocated(after["main"]) == Allocated(3 * 6400)


@pytest.mark.slow
def test_module_without_anything_to_plan_stays() -> None:
    before = module(
        """
        @R.function
        def main(x: R.Tensor((16, 16), "float32")) -> R.Tensor((16, 16), "float32"):
            return x
        """
    )
    tvm.ir.assert_structural_equal(planned(before), before)


@pytest.mark.slow
def test_transform_names_every_pass_without_importing_tvm_early() -> None:
    code = (
        "import sys, tvm_megcc; assert 'tvm' not in sys.modules;"
        "from tvm_megcc import passes;"
        "assert all(hasattr(tvm_megcc.transform, n) for n in passes.__all__);"
        "assert tvm_megcc.transform.PlanMemory().info.name == 'tvm_megcc.PlanMemory'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
