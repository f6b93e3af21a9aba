"""What the tests of PlanMemory share: modules in TVMScript, and what makes a plan right."""

from __future__ import annotations

from textwrap import dedent, indent

import tvm
from tvm import relax, tirx

from tests.tvm_memory import memory_machine
from tests.tvm_target import LLVM
from tvm_megcc.transform import PlanMemory
from tvm_megcc.tvm_memory.allocated import allocated, mixes_devices

#: `turn` reads its input in another order than it writes, so it cannot work in place; `add` can.
KERNELS = """
@T.prim_func(private=True, s_tir=True)
def turn(x: T.Buffer((16, 16), "float32"), y: T.Buffer((16, 16), "float32")):
    for i, j in T.grid(16, 16):
        with T.sblock("turn"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = x[vj, vi]

@T.prim_func(private=True, s_tir=True)
def add(a: T.Buffer((16, 16), "float32"), b: T.Buffer((16, 16), "float32"), y: T.Buffer((16, 16), "float32")):
    T.func_attr({"tirx.noalias": True})
    for i, j in T.grid(16, 16):
        with T.sblock("add"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = a[vi, vj] + b[vi, vj]

@T.prim_func(private=True, s_tir=True)
def fold(x: T.Buffer((256,), "float32"), y: T.Buffer((16, 16), "float32")):
    for i, j in T.grid(16, 16):
        with T.sblock("fold"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = x[vi * 16 + vj] + T.float32(1)

@T.prim_func(private=True, s_tir=True)
def large(x: T.Buffer((16, 16), "float32"), y: T.Buffer((16, 16), "int8")):
    for i, j in T.grid(16, 16):
        with T.sblock("large"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = T.cast(x[vi, vj] * T.float32(9), "int8")

@T.prim_func(private=True, s_tir=True)
def small(x: T.Buffer((16, 16), "int8"), y: T.Buffer((16, 16), "float32")):
    for i, j in T.grid(16, 16):
        with T.sblock("small"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = T.cast(x[vi, vj], "float32") + T.float32(1)

@T.prim_func(private=True, s_tir=True)
def rows(x: T.handle, y: T.handle):
    n = T.int64()
    a = T.match_buffer(x, (n, T.int64(16)), "float32")
    b = T.match_buffer(y, (n, T.int64(16)), "float32")
    for i, j in T.grid(n, T.int64(16)):
        with T.sblock("rows"):
            vi, vj = T.axis.remap("SS", [i, j])
            b[vi, vj] = a[vi, T.int64(15) - vj]
"""  # noqa: E501


def module(functions: str, kernels: str = "") -> tvm.IRModule:
    """A module of the Relax functions and the kernels above."""
    text = dedent(KERNELS) + dedent(kernels) + dedent(functions)
    text = text.replace("@R.function", "@R.function(pure=False)")
    head = "@I.ir_module\nclass Module:\n"
    return tvm.script.from_source(head + indent(text, "    "))


def planned(mod: tvm.IRModule, target: tvm.target.Target | None = LLVM) -> tvm.IRModule:
    if target is None:
        return PlanMemory()(mod)
    with target:
        return PlanMemory()(mod)


def check(before: tvm.IRModule, after: tvm.IRModule, **options: object) -> None:
    """The plan is right, and needs no more than TVM's."""
    assert relax.analysis.check_well_formed(after)
    want = memory_machine.run(before, **options)  # type: ignore[arg-type]
    assert memory_machine.GARBAGE not in want
    assert memory_machine.run(after, **options) == want  # type: ignore[arg-type]
    for gvar, func in relax.transform.StaticPlanBlockMemory()(before).functions_items():
        if isinstance(func, relax.Function) and not mixes_devices(func):
            assert allocated(after[gvar.name_hint]).at_most(allocated(func))


def compare(before: str, expected: str, kernels: str = "", **options: object) -> tvm.IRModule:
    """Plan `before`; its functions are those of `expected` then."""
    mod = module(before)
    after = planned(mod)
    want = module(expected, kernels)
    for gvar, func in want.functions_items():
        if isinstance(func, relax.Function):
            tvm.ir.assert_structural_equal(after[gvar.name_hint], func, map_free_vars=True)
    check(mod, after, **options)
    return after


def bears(func: tirx.PrimFunc) -> bool:
    return all(isinstance(p.elem_offset, tirx.Var) for p in func.params)


def allocated_names(func: relax.Function, op: str) -> list[str]:
    return [
        binding.var.name
        for block in func.body.blocks
        for binding in block.bindings
        if isinstance(binding.value, relax.Call) and getattr(binding.value.op, "name", "") == op
    ]


def calls(func: relax.Function, op: str) -> list[relax.Call]:
    found = []

    def visit(expr: relax.Expr) -> None:
        if isinstance(expr, relax.Call) and getattr(expr.op, "name", "") == op:
            found.append(expr)

    relax.analysis.post_order_visit(func.body, visit)
    return found


CHAIN = """
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
    cls.turn(c, out)
    return out
"""


SYMBOLIC = """
@R.function
def main(x: R.Tensor(("n", 16), "float32")) -> R.Tensor(("n", 16), "float32"):
    {attr}
    n = T.int64()
    cls = Module
    a = R.builtin.alloc_tensor(R.shape([n, 16]), "float32", 0, "global")
    cls.rows(x, a)
    b = R.builtin.alloc_tensor(R.shape([n, 16]), "float32", 0, "global")
    cls.rows(a, b)
    c = R.builtin.alloc_tensor(R.shape([n, 16]), "float32", 0, "global")
    cls.rows(b, c)
    out = R.builtin.alloc_tensor(R.shape([n, 16]), "float32", 0, "global")
    cls.rows(c, out)
    return out
"""


PACKED = """
@R.function
def main(x: R.Tensor((16, 16), "float32")) -> R.Tensor((16, 16), "float32"):
    cls = Module
    a = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
    cls.turn(x, a)
    b = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
    R.call_packed("test.plan_memory.double", a, b, ty_args=R.Tuple())
    c = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
    cls.turn(b, c)
    out = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
    cls.turn(c, out)
    return out
"""


@tvm.register_global_func("test.plan_memory.double", override=True)
def _double(x: tvm.runtime.Tensor, y: tvm.runtime.Tensor) -> None:
    y.copyfrom(x.numpy() * 2)


IF = """
@R.function
def main(x: R.Tensor((16, 16), "float32"), go: R.Tensor((), "bool")) -> R.Tensor((16, 16), "float32"):
    cls = Module
    a = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
    cls.turn(x, a)
    kept = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
    cls.turn(a, kept)
    if go:
        b = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
        cls.turn(a, b)
        c = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
        cls.turn(b, c)
        y = c
    else:
        d = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
        cls.add(kept, a, d)
        y = d
    e = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
    cls.turn(y, e)
    out = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
    cls.add(e, y, out)
    return out
"""  # noqa: E501


RESIDUAL = """
@R.function
def main(x: R.Tensor((16, 16), "float32")) -> R.Tensor((16, 16), "float32"):
    cls = Module
    a = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
    cls.turn(x, a)
    b = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
    cls.turn(a, b)
    c = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
    cls.add(a, b, c)
    out = R.builtin.alloc_tensor(R.shape([16, 16]), "float32", 0, "global")
    cls.turn(c, out)
    return out
"""
