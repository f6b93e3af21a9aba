"""How much workspace a call may take without raising what its function needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from tvm import relax

from tvm_megcc.fuse.choosing import SLACK, _Memory

VALUE = 4096


@dataclass(frozen=True)
class Kernel:
    """Of a call; what it may do with the memory of its first operand."""

    inplace: tuple[int, ...] = ()
    rows: int | None = None
    bytes: int = 0

    def overlap(self, facts: Mapping[str, object]) -> int | None:
        return self.rows

    def workspace(self, facts: Mapping[str, object]) -> int:
        return self.bytes


@dataclass
class Chain:
    """``x -> a -> b -> c``, where all are `VALUE` bytes, and ``c`` reads ``a``, too, if asked."""

    again: bool = False
    vars: dict[str, relax.Var] = field(default_factory=dict)

    def memory(self, kernels: Mapping[str, Kernel], slack: int | None) -> _Memory:
        builder = relax.BlockBuilder()
        x = relax.Var("x", relax.TensorType((VALUE // 4,), "float32"))
        with builder.function("main", [x]):
            with builder.dataflow():
                a = builder.emit(relax.op.exp(x), "a")
                b = builder.emit(relax.op.exp(a), "b")
                last = relax.op.add(a, b) if self.again else relax.op.exp(b)
                c = builder.emit_output(last, "c")
            builder.emit_func_output(c)
        self.vars = {"x": x, "a": a, "b": b, "c": c}
        reads = {"a": [x], "b": [a], "c": [a, b] if self.again else [b]}
        matches = {
            self.vars[name]: SimpleNamespace(
                var=self.vars[name], kernels=[kernel],
                request=SimpleNamespace(facts={}, operands=dict(enumerate(reads[name]))),
            )
            for name, kernel in kernels.items()
        }  # fmt: skip
        return _Memory(builder.get()["main"], matches, slack)


#: Calls with a kernel, whether `a` is read again; then, of `a`, `b` and `c`, the values that live
#: while they are computed, and the values that the function needs at least.
NEEDS = [
    ({"b": Kernel()}, False, (1, 2, 1), 2),
    ({"a": Kernel(), "c": Kernel()}, False, (1, 2, 1), 1),
    ({"b": Kernel(rows=64)}, False, (1, 2, 1), 1),
    ({"b": Kernel(inplace=(0,))}, False, (1, 2, 1), 2),
    ({"b": Kernel()}, True, (1, 2, 2), 2),
    ({"c": Kernel()}, True, (1, 2, 2), 2),
    ({"b": Kernel(bytes=VALUE)}, False, (1, 2, 1), 3),
    ({"b": Kernel(rows=0), "c": Kernel(bytes=VALUE)}, False, (1, 2, 1), 2),
]


@pytest.mark.parametrize("slack", [SLACK, None])
@pytest.mark.parametrize(("kernels", "again", "live", "least"), NEEDS)
def test_workspace_up_to_the_slack(
    kernels: dict[str, Kernel], again: bool, live: tuple[int, ...], least: int, slack: int | None
) -> None:
    chain = Chain(again)
    memory = chain.memory(kernels, slack)
    most = least * VALUE + (0 if slack is None else least * VALUE // slack)
    for name, values in zip("abc", live, strict=True):
        room = most - values * VALUE
        assert memory.has(chain.vars[name], room), name
        assert not memory.has(chain.vars[name], room + 1), name
