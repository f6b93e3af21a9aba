"""A machine that runs a planned module on names of values instead of numbers.

Every kernel writes the name ``(kernel, names it read)``. A name stands in memory for exactly the
bytes it was written to, until something overlaps them; whoever reads other bytes reads garbage. So
a plan is right when the function returns what it returns with memory of its own for every tensor.
The machine knows nothing of how the plan came about.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx

GARBAGE = ("garbage",)


@dataclass(eq=False)
class Storage:
    """Bytes; `names` maps ``(start, end)`` to the name written there."""

    size: int
    names: dict[tuple[int, int], Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Tensor:
    """`shown` is the byte offset that the tensor's users see."""

    storage: Storage
    offset: int
    size: int
    shown: int

    def read(self) -> Any:
        return self.storage.names.get((self.offset, self.offset + self.size), GARBAGE)

    def write(self, name: Any) -> None:
        start, end = self.offset, self.offset + self.size
        assert end <= self.storage.size, "a tensor ends outside its storage"
        names = self.storage.names
        for low, high in [k for k in names if k[0] < end and start < k[1]]:
            del names[low, high]
        names[start, end] = name


def run(mod: tvm.IRModule, dims: Mapping[str, int] | None = None, taken: bool = True) -> list[Any]:
    """The names that ``main`` returns; `taken` says which branch of every ``If`` is run."""
    machine = _Machine(mod, dict(dims or {}), taken)
    return machine.call("main", [machine.parameter(i, p) for i, p in enumerate(mod["main"].params)])


class _Machine:
    def __init__(self, mod: tvm.IRModule, dims: dict[str, int], taken: bool) -> None:
        self.mod = mod
        self.dims = dims
        self.taken = taken

    def parameter(self, i: int, param: relax.Var) -> Tensor:
        tensor = self.fresh(param.ty.shape.values, param.ty.dtype)
        tensor.write(("parameter", i))
        return tensor

    def fresh(self, shape: Any, dtype: Any) -> Tensor:
        size = self.bytes(shape, dtype)
        return Tensor(Storage(size), 0, size, 0)

    def bytes(self, shape: Any, dtype: Any) -> int:
        total = tvm.DataType(str(dtype)).bits // 8
        for dim in shape:
            total *= self.number(dim)
        return total

    def number(self, dim: Any) -> int:
        def known(var: tirx.Var) -> tirx.PrimExpr:
            return tirx.IntImm("int64", self.dims[var.name])

        if not isinstance(dim, tirx.IntImm):
            dim = tvm.sym.Analyzer().simplify(tvm_ffi.structural_map(dim, (tirx.Var, known)))
        return int(dim)

    def call(self, function: str, arguments: list[Any]) -> list[Any]:
        func = self.mod[function]
        env = dict(zip(func.params, arguments, strict=True))
        result = self.sequence(func.body, env)
        if function != "main":
            return result
        for tensor in _leaves(result):
            others = [t for t in _leaves(list(env.values())) if t.storage is tensor.storage]
            assert len({(t.offset, t.size) for t in others}) == 1, "a result shares its storage"
        return [t.read() for t in _leaves(result)]

    def sequence(self, seq: relax.SeqExpr, env: dict[relax.Var, Any]) -> Any:
        for block in seq.blocks:
            for binding in block.bindings:
                env[binding.var] = self.value(binding.value, env)
        return self.value(seq.body, env)

    def value(self, expr: relax.Expr, env: dict[relax.Var, Any]) -> Any:
        if isinstance(expr, relax.Var):
            return env[expr]
        if isinstance(expr, relax.Tuple):
            return [self.value(f, env) for f in expr.fields]
        if isinstance(expr, relax.TupleGetItem):
            return self.value(expr.tuple_value, env)[expr.index]
        if isinstance(expr, relax.If):
            return self.sequence(expr.true_branch if self.taken else expr.false_branch, env)
        if isinstance(expr, relax.Call):
            return self.operator(expr, env)
        if isinstance(expr, tvm.ir.GenericConst) and hasattr(expr.value, "numpy"):
            array = expr.value.numpy()
            tensor = Tensor(Storage(array.nbytes), 0, array.nbytes, 0)
            tensor.write(("constant", array.tobytes()))
            return tensor
        return None

    def operator(self, call: relax.Call, env: dict[relax.Var, Any]) -> Any:
        name = call.op.name if isinstance(call.op, tvm.ir.Op) else ""
        if name == "relax.builtin.alloc_tensor":
            return self.fresh(call.args[0].values, call.args[1].value)
        if name == "relax.memory.alloc_storage":
            return Storage(self.number(call.args[0].values[0]))
        arguments = [self.value(a, env) for a in call.args]
        if name == "relax.memory.alloc_tensor":
            offset = int(call.args[1])
            size = self.bytes(call.args[2].values, call.args[3].value)
            return Tensor(arguments[0], offset, size, offset)
        if name in ("relax.reshape", "relax.memory.view"):
            return arguments[0]
        if name == "relax.memory.ensure_zero_offset":
            t = arguments[0]
            return Tensor(t.storage, t.offset, t.size, 0)
        if isinstance(call.op, relax.ExternFunc):
            assert all(t.shown == 0 for t in arguments), "an extern function sees an offset"
            arguments[-1].write((call.op.global_symbol, *(t.read() for t in arguments[:-1])))
            return None
        assert isinstance(call.op, relax.GlobalVar), f"{call.op} is not known here"
        func = self.mod[call.op]
        if isinstance(func, relax.Function):
            return self.call(call.op.name_hint, arguments)
        return self.kernel(call.op.name_hint, func, arguments)

    def kernel(self, name: str, func: tirx.PrimFunc, tensors: list[Tensor]) -> None:
        for param, tensor in zip(func.params, tensors, strict=True):
            bears = isinstance(param.elem_offset, tirx.Var)
            assert bears or tensor.shown == 0, f"{name} does not take {param.name} at an offset"
        stored: list[tirx.Var] = []
        tvm_ffi.structural_walk(func.body, (tirx.BufferStore, lambda s: stored.append(s.buffer)))
        original = re.sub(r"_in_place\d*$", "", name)
        if original == name:
            inputs, out = tensors[:-1], tensors[-1]
        else:
            (place,) = {i for i, p in enumerate(func.params) for s in stored if s.same_as(p)}
            inputs, out = tensors, tensors[place]
        out.write((original, *(t.read() for t in inputs)))


def _leaves(value: Any) -> list[Tensor]:
    if isinstance(value, list):
        return [leaf for v in value for leaf in _leaves(v)]
    return [value] if isinstance(value, Tensor) else []
