"""Many nodes in one model that is built once, each compared with ONNX Runtime.

What ONNX Runtime has no kernel for is answered by ``onnx.reference``.

Example
-------
>>> case("Neg", [np.ones(3, "float32")])  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import compose, helper
from onnx.reference import ReferenceEvaluator

from tests.frontend.running import by_onnxruntime
from tests.ops.cases import Weight, node_model
from tests.ops.packages import runner


@dataclass(frozen=True)
class Case:
    """A model of one node, its inputs, and what it must give.

    Attributes
    ----------
    model : ModelProto
    feeds : dict
    wants : list of ndarray, or None
        None: what ONNX Runtime gives.
    relative : float
        How far a float may be off, relative to the largest of the output.
    """

    model: onnx.ModelProto
    feeds: dict[str, np.ndarray]
    wants: list[np.ndarray] | None = None
    relative: float = 1e-5

    @property
    def label(self) -> str:
        node = self.model.graph.node[0]
        shapes = [f"{v.dtype}{list(v.shape)}" for v in self.feeds.values()]
        attrs = [f"{a.name}={helper.get_attribute_value(a)}" for a in node.attribute]
        return " ".join([node.op_type, *shapes, *attrs])


def case(
    op: str,
    operands: Sequence[np.ndarray | Weight | None],
    opset: int = 18,
    wants: Sequence[np.ndarray] | None = None,
    relative: float = 1e-5,
    **kwargs: Any,
) -> Case:
    """One node; see `node_model`. All operands but a `Weight` are given at run time."""
    model, feeds = node_model(op, operands, opset, **kwargs)
    return Case(model, feeds, None if wants is None else list(wants), relative)


def answers(one: Case) -> list[np.ndarray]:
    """What ONNX Runtime gives, or where it has no kernel the reference."""
    if one.wants is not None:
        return one.wants
    try:
        return by_onnxruntime(one.model, one.feeds)
    except Exception:  # its classes are not public
        with np.errstate(all="ignore"):
            found = ReferenceEvaluator(one.model).run(None, one.feeds)
        return [np.asarray(v) for v in found]


def check_joined(cases: Iterable[Case], folder: Path) -> None:
    """Every case gives its answer; cases of one opset are one package."""
    found: dict[tuple[tuple[str, int], ...], list[Case]] = {}
    for one in cases:
        opsets = tuple(sorted((e.domain, e.version) for e in one.model.opset_import))
        found.setdefault(opsets, []).append(one)
    wrong = []
    for number, (opsets, together) in enumerate(found.items()):
        (folder / str(number)).mkdir()
        wrong += _wrong(together, opsets, folder / str(number))
    assert not wrong, "\n".join(wrong)


def _wrong(cases: list[Case], opsets: Sequence[tuple[str, int]], folder: Path) -> list[str]:
    graph = onnx.GraphProto(name="g")
    feeds: dict[str, np.ndarray] = {}
    rows = []
    for number, one in enumerate(cases):
        own = compose.add_prefix(one.model, f"c{number}_").graph
        graph.node.extend(own.node)
        graph.input.extend(own.input)
        graph.initializer.extend(own.initializer)
        feeds |= {f"c{number}_{name}": v for name, v in one.feeds.items()}
        wants = answers(one)
        for port, want in zip(own.output, wants, strict=True):
            kind = helper.np_dtype_to_tensor_dtype(want.dtype)
            graph.output.append(helper.make_tensor_value_info(port.name, kind, None))
            rows.append((one, port.name, want))
    imports = [helper.make_opsetid(*entry) for entry in opsets]
    got = runner(helper.make_model(graph, opset_imports=imports, ir_version=10), folder)(feeds)
    return [
        f"{one.label}: {name} is {said(got[name])}, not {said(want)}"
        for one, name, want in rows
        if not same(got[name], want, one.relative)
    ]


def said(value: np.ndarray) -> str:
    return f"{value.dtype}{list(value.shape)} {value.reshape(-1)[:20].tolist()}"


def same(got: np.ndarray, want: np.ndarray, relative: float) -> bool:
    """Equal shapes and dtypes; integers equal, floats within ``relative`` of the largest."""
    if (got.shape, got.dtype) != (want.shape, want.dtype):
        return False
    if got.dtype.kind in "biu" or not got.size:
        return np.array_equal(got, want)
    bound = relative * max(1.0, float(np.abs(want[np.isfinite(want)]).max(initial=0)))
    return np.allclose(got, want, rtol=relative, atol=bound, equal_nan=True)
