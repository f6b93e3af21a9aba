"""Bytes that a planned function allocates."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tvm import relax, tirx

from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.tvm_memory.bounds import Bounds


@dataclass(frozen=True, slots=True)
class Allocated:
    """`known` bytes (upper bounds count as sizes), and the count of each unknown size."""

    known: int
    unknown: tuple[tuple[str, int], ...] = ()

    def at_most(self, other: Allocated) -> bool:
        """Whether this is provably no more than `other`."""
        theirs = dict(other.unknown)
        return self.known <= other.known and all(
            count <= theirs.get(size, 0) for size, count in self.unknown
        )


def mixes_devices(func: relax.Function) -> bool:
    """Whether a tensor of one device lies in a storage of another."""
    devices: dict[relax.Var, str] = {}
    tensors: list[relax.Call] = []

    def visit(expr: relax.Expr) -> None:
        for block in expr.blocks if isinstance(expr, relax.SeqExpr) else ():
            for binding in block.bindings:
                call = binding.value
                if op_name(call) == "relax.memory.alloc_storage":
                    devices[binding.var] = str(call.args[1])
                elif op_name(call) == "relax.memory.alloc_tensor":
                    tensors.append(call)

    relax.analysis.post_order_visit(func, visit)
    return any(devices.get(t.args[0], str(t.args[4])) != str(t.args[4]) for t in tensors)


def allocated(func: relax.Function) -> Allocated:
    """Bytes of all storages of `func`, and of its tensors with storage of their own."""
    bounds = Bounds(func)
    known = 0
    unknown: Counter[str] = Counter()

    def visit(expr: relax.Expr) -> None:
        nonlocal known
        size: int | tirx.PrimExpr
        if op_name(expr) == "relax.memory.alloc_storage":
            size = bounds.size(expr.args[0].values, "uint8")
        elif op_name(expr) == "relax.builtin.alloc_tensor":
            if not isinstance(expr.args[0], relax.ShapeExpr):
                return
            size = bounds.size(expr.args[0].values, str(expr.args[1].value))
        else:
            return
        if isinstance(size, int):
            known += size
        else:
            unknown[str(size)] += 1

    relax.analysis.post_order_visit(func.body, visit)
    return Allocated(known, tuple(sorted(unknown.items())))
