"""Many nodes in one package: each case is a model of one node, and those of an opset are joined.

A build is what costs time, so cases are cheap this way. All operands that are no `Weight` are
inputs of the package. The answers to compare with are ONNX Runtime's, or those of ONNX's reference
where ONNX Runtime has none.

Example
-------
>>> check_together([case("Neg", [np.ones(3, "float32")])], folder)  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import compose, helper
from onnx.reference import ReferenceEvaluator

from tests.frontend.running import by_onnxruntime
from tests.ops.cases import Weight
from tests.ops.packages import Arrays, runner

#: The newest IR version that ONNX Runtime reads.
IR_VERSION = 11


@dataclass(frozen=True)
class Open:
    """An operand some of whose dims the model leaves open: their names, in place of sizes."""

    value: np.ndarray
    dims: Sequence[str | int]


@dataclass(frozen=True)
class Case:
    """A node, its operands (in order, None where absent) and attributes.

    Attributes
    ----------
    by : {"onnxruntime", "reference"}
        Whose answer is the right one; where ONNX Runtime has no kernel it is the reference's.
    want : sequence of arrays, optional
        The answer itself.
    close : float
        Relative tolerance of floats, to the largest of the result.
    """

    op: str
    operands: Sequence[np.ndarray | Weight | Open | None]
    attrs: dict[str, Any] = field(default_factory=dict)
    opset: int = 17
    domain: str = ""
    outputs: int | Sequence[str] = 1
    by: str = "onnxruntime"
    want: Sequence[np.ndarray] | None = None
    close: float = 1e-5

    @property
    def opsets(self) -> tuple[tuple[str, int], ...]:
        """The opset imports of its model: those of ai.onnx, and of its own domain."""
        if not self.domain:
            return (("", self.opset),)
        if self.domain == "com.microsoft":
            return (("", 17), (self.domain, 1))
        return (("", 17), (self.domain, self.opset))

    def model(self) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
        """A model of the node, and its inputs."""
        names = ["" if v is None else f"x{k}" for k, v in enumerate(self.operands)]
        results = self.outputs
        if isinstance(results, int):
            results = [f"y{k}" for k in range(results)]
        node = helper.make_node(
            self.op, names, list(results), name="node", domain=self.domain, **self.attrs
        )
        feeds, ports, weights = {}, [], []
        for name, operand in zip(names, self.operands, strict=True):
            if isinstance(operand, Weight):
                weights.append(onnx.numpy_helper.from_array(operand.value, name))
            elif operand is not None:
                value = operand.value if isinstance(operand, Open) else operand
                dims = operand.dims if isinstance(operand, Open) else value.shape
                feeds[name] = value
                dtype = helper.np_dtype_to_tensor_dtype(value.dtype)
                ports.append(helper.make_tensor_value_info(name, dtype, list(dims)))
        wanted = [helper.make_empty_tensor_value_info(name) for name in results if name]
        graph = helper.make_graph([node], "g", ports, wanted, weights)
        opsets = [helper.make_opsetid(*pair) for pair in self.opsets]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION), feeds


def case(
    op: str,
    operands: Sequence[np.ndarray | Weight | Open | None],
    opset: int = 18,
    *,
    outputs: int | Sequence[str] = 1,
    wants: Sequence[np.ndarray] | None = None,
    relative: float = 1e-5,
    **attrs: Any,
) -> Case:
    """A `Case` of ai.onnx whose attributes are keywords."""
    return Case(op, operands, attrs, opset, outputs=outputs, want=wants, close=relative)


def check_together(cases: Iterable[Case], folder: Path, arch: str = "host") -> None:
    """Every case's answer is the right one; all that are not are named."""
    wrong, cases = [], list(cases)
    for number, opsets in enumerate(dict.fromkeys(case.opsets for case in cases)):
        chosen = [(k, case) for k, case in enumerate(cases) if case.opsets == opsets]
        graph = onnx.GraphProto(name="g")
        inputs: dict[str, np.ndarray] = {}
        for k, case in chosen:
            proto, feeds = case.model()
            own = compose.add_prefix(proto, f"c{k}_").graph
            for part in ("node", "input", "output", "initializer"):
                getattr(graph, part).extend(getattr(own, part))
            inputs |= {f"c{k}_{name}": value for name, value in feeds.items()}
        imports = [helper.make_opsetid(*pair) for pair in opsets]
        place = folder / str(number)
        place.mkdir(parents=True)
        joined = helper.make_model(graph, opset_imports=imports, ir_version=IR_VERSION)
        found = runner(joined, place, arch)(inputs)
        wrong += [text for k, case in chosen if (text := _difference(case, k, found))]
    assert not wrong, "\n".join(wrong)


def _difference(case: Case, number: int, found: Arrays) -> str:
    """What is wrong with the answer to a case; nothing where it is right."""
    names = [port.name for port in case.model()[0].graph.output]
    for name, want in zip(names, right_answer(case), strict=True):
        got, want = found[f"c{number}_{name}"], np.asarray(want)
        if (got.shape, got.dtype) != (want.shape, want.dtype):
            fact = f"{got.dtype}{got.shape} instead of {want.dtype}{want.shape}"
        elif not same(got, want, case.close):
            where = ~np.isclose(got, want, rtol=case.close, atol=case.close, equal_nan=True)
            fact = f"{where.sum()} of {want.size} differ: {got[where][:5]}, not {want[where][:5]}"
        else:
            continue
        return f"case {number}: {case.op} {_short(case.attrs)}: {name}: {fact}"
    return ""


def right_answer(case: Case) -> Sequence[np.ndarray]:
    """What ONNX Runtime, or ONNX's reference, makes of the node."""
    if case.want is not None:
        return case.want
    proto, feeds = case.model()
    if case.by == "onnxruntime":
        try:
            return by_onnxruntime(proto, feeds)
        except Exception:  # no kernel, or no such opset: its classes are not public
            pass
    with np.errstate(all="ignore"):
        found = ReferenceEvaluator(proto).run(None, dict(feeds))
    return [np.asarray(value) for value in found]


def _short(attrs: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attrs.items() if isinstance(value, int | float | str)}


def same(got: np.ndarray, want: np.ndarray, close: float) -> bool:
    """Integers are equal; floats are within `close` of the largest finite one."""
    if want.dtype.kind in "biu" or not want.size:
        return np.array_equal(got, want)
    bound = close * float(np.abs(want[np.isfinite(want)]).max(initial=0))
    return np.allclose(got, want, rtol=close, atol=bound, equal_nan=True)
