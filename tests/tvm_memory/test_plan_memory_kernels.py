"""PlanMemory: kernels that write over an input, and kernels that take tensors at offsets."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest
import tvm
from tvm import tirx

from tests.tvm_memory.support import (
    CHAIN,
    RESIDUAL,
    bears,
    check,
    compare,
    module,
    planned,
)
from tvm_megcc.tvm_memory.in_place import in_place_pairs
from tvm_megcc.tvm_memory.offsets import bear_offsets

ADD_IN_PLACE = """
@T.prim_func(private=True, s_tir=True)
def add_in_place(a: T.Buffer((16, 16), "float32"), b: T.Buffer((16, 16), "float32")):
    T.func_attr({"tirx.noalias": True})
    for i, j in T.grid(16, 16):
        with T.sblock("add"):
            vi, vj = T.axis.remap("SS", [i, j])
            a[vi, vj] = a[vi, vj] + b[vi, vj]
"""


@pytest.mark.slow
def test_result_takes_the_place_of_a_dying_input() -> None:
    after = compare(
        RESIDUAL,
        """
        @R.function
        def main(x: R.Tensor((16, 16), "float32")) -> R.Tensor((16, 16), "float32"):
            cls = Module
            storage = R.memory.alloc_storage(R.shape([2048]), 0, "global", "uint8")
            a = R.memory.alloc_tensor(storage, 0, R.shape([16, 16]), "float32", 0)
            cls.turn(x, a)
            b = R.memory.alloc_tensor(storage, 1024, R.shape([16, 16]), "float32", 0)
            cls.turn(a, b)
            cls.add_in_place(a, b)
            out = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.turn(a, out)
            return out
        """,
        kernels=ADD_IN_PLACE,
    )
    kernel = module(CHAIN, ADD_IN_PLACE)["add_in_place"]
    tvm.ir.assert_structural_equal(after["add_in_place"], bear_offsets(kernel))
    assert "add" not in [g.name_hint for g in after.get_global_vars()]  # nobody calls it any more


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("cls.add(a, a, c)", "both inputs are one tensor"),
        ("cls.turn(a, c)", "the input is read in another order"),
        ("cls.add(x, x, c)", "the caller's input is not ours"),
    ],
)
def test_in_place_is_not_taken_when(call: str, why: str) -> None:
    before = module(RESIDUAL.replace("cls.add(a, b, c)", call))
    after = planned(before)
    assert "_in_place" not in after["main"].script(), why
    check(before, after)


@pytest.mark.slow
def test_in_place_is_not_taken_when_the_input_is_read_later() -> None:
    before = module(
        RESIDUAL.replace("cls.turn(c, out)", "cls.add(c, a, out)").replace("a, b, c", "a, x, c")
    )
    after = planned(before)
    assert "_in_place" not in after["main"].script()
    check(before, after)


@pytest.mark.slow
def test_in_place_is_not_taken_when_the_input_may_be_somebody_elses() -> None:
    """`pick` returns the caller's own tensor, though it might have returned `a`."""
    before = module(
        """
        @R.function
        def pick(x: R.Tensor((16, 16), "float32"), y: R.Tensor((16, 16), "float32")) -> R.Tensor((16, 16), "float32"):
            return x

        @R.function
        def main(x: R.Tensor((16, 16), "float32")):
            cls = Module
            a = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.turn(x, a)
            picked: R.Tensor((16, 16), "float32") = cls.pick(x, a)
            b = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.add(picked, x, b)
            out = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
            cls.turn(b, out)
            return (out, x)
        """  # noqa: E501
    )
    after = planned(before)
    assert "_in_place" not in after["main"].script()
    check(before, after)


def _kernel(body: str, params: str) -> tirx.PrimFunc:
    text = f"@T.prim_func(private=True, s_tir=True)\ndef kernel({params}):\n" + indent(
        dedent(body), "    "
    )
    return module(CHAIN, text)["kernel"]


_TWO = 'x: T.Buffer((8, 8), "float32"), y: T.Buffer((8, 8), "float32")'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "pairs"),
    [
        (  # the input is used up before the result begins
            """
            t = T.sblock_alloc_buffer((8, 8))
            for i, j in T.grid(8, 8):
                with T.sblock("first"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    t[vi, vj] = x[vj, vi]
            for i, j in T.grid(8, 8):
                with T.sblock("second"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    y[vi, vj] = t[vj, vi]
            """,
            [(0, 1)],
        ),
        (  # the input is read again after the result was begun
            """
            for i, j in T.grid(8, 8):
                with T.sblock("first"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    y[vi, vj] = x[vi, vj]
            for i, j in T.grid(8, 8):
                with T.sblock("second"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    y[vi, vj] = y[vi, vj] + x[vi, vj]
            """,
            [],
        ),
        (  # every element of the result is stored eight times
            """
            for i, j, k in T.grid(8, 8, 8):
                with T.sblock("sum"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    y[vi, vj] = x[vi, vj] * T.float32(2)
            """,
            [],
        ),
        (  # a reduction reads neighbours after their element was stored
            """
            for i, j, k in T.grid(8, 8, 8):
                with T.sblock("sum"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    with T.init():
                        y[vi, vj] = T.float32(0)
                    y[vi, vj] = y[vi, vj] + x[vi, vk]
            """,
            [],
        ),
        (  # one loop drives both dims: only the diagonal would be right
            """
            for i, j in T.grid(8, 8):
                with T.sblock("odd"):
                    vi, vj = T.axis.remap("SS", [i, i])
                    y[vi, vj] = x[vi, vj]
            """,
            [],
        ),
    ],
)
def test_in_place_pairs(body: str, pairs: list[tuple[int, int]]) -> None:
    assert in_place_pairs(_kernel(body, _TWO)) == pairs


@pytest.mark.slow
def test_kernel_that_passes_a_pointer_on_bears_no_offset() -> None:
    body = """
    T.evaluate(T.call_extern("int32", "f", x.data, T.int32(8)))
    for i, j in T.grid(8, 8):
        with T.sblock("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = x[vi, vj]
    """
    assert bear_offsets(_kernel(body, _TWO)) is None
    without = "\n".join(line for line in body.splitlines() if "call_extern" not in line)
    func = bear_offsets(_kernel(without, _TWO))
    assert func is not None and bears(func)
    assert bear_offsets(func) is func


@pytest.mark.slow
def test_kernel_with_an_opaque_handle_bears_no_offset() -> None:
    body = """
    for i, j in T.grid(8, 8):
        with T.sblock("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = x[vi, vj]
    """
    assert bear_offsets(_kernel(body, _TWO + ", n: T.int32")) is not None
    assert bear_offsets(_kernel(body, _TWO + ", h: T.handle")) is None


@pytest.mark.slow
def test_kernel_that_matches_a_part_bears_no_offset() -> None:
    body = """
    for i in T.serial(8):
        with T.sblock("row"):
            vi = T.axis.spatial(8, i)
            T.reads(x[vi, 0:8])
            T.writes(y[vi, 0:8])
            row = T.match_buffer(x[vi, 0:8], (8,), offset_factor=1)
            for j in T.serial(8):
                y[vi, j] = row[j]
    """
    assert bear_offsets(_kernel(body, _TWO)) is None


def test_generated_code_checks_no_offset_and_adds_it() -> None:
    def source(func: tirx.PrimFunc) -> str:
        mod = tvm.IRModule({"turn": func.with_attr("global_symbol", "turn")})
        return tvm.tirx.build(mod, "c").inspect_source()

    kernel = module(CHAIN)["turn"]
    assert "(uint64_t)0ULL == (((DLTensor*)x_handle)[0].byte_offset)" in source(kernel)
    shifted = source(bear_offsets(kernel))
    assert "expected 0" not in shifted and "0ULL ==" not in shifted
    assert "x_offset" in shifted and "y_offset" in shifted
