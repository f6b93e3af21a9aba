"""One node, one case: built into a model, run here and by ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper

from tests.frontend.running import check, make_model
from tvm_megcc.frontend import ImportedModel


class Weight:
    """An operand that the model holds as an initialiser."""

    def __init__(self, value: Any, dtype: str | None = None) -> None:
        self.value = np.asarray(value, dtype=dtype)


def node_model(
    op: str,
    operands: Sequence[np.ndarray | Weight | None],
    opset: int,
    outputs: int | Sequence[str] = 1,
    domain: str = "",
    **attrs: Any,
) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """A model of one node, and its inputs."""
    names = ["" if v is None else f"x{i}" for i, v in enumerate(operands)]
    results = [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else list(outputs)
    node = helper.make_node(op, names, results, name="node", domain=domain, **attrs)
    pairs = [(n, v) for n, v in zip(names, operands, strict=True) if v is not None]
    feeds = {n: v for n, v in pairs if not isinstance(v, Weight)}
    weights = {n: v.value for n, v in pairs if isinstance(v, Weight)}
    ports = {n: (str(v.dtype), v.shape) for n, v in feeds.items()}
    domains = {domain: 1} if domain else None
    wanted = [r for r in results if r]
    return make_model([node], ports, wanted, weights, opset, domains), feeds


def check_node(
    op: str,
    operands: Sequence[np.ndarray | Weight | None],
    opset: int = 17,
    relative: float = 1e-5,
    **kwargs: Any,
) -> ImportedModel:
    """Compare a node's conversion with ONNX Runtime."""
    model, feeds = node_model(op, operands, opset, **kwargs)
    return check(model, feeds, relative)


def rand(*shape: int, seed: int = 0, dtype: str = "float32") -> np.ndarray:
    """Normal numbers, or small integers for integer types."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    low = -100 if np.dtype(dtype).kind == "i" else 0
    return rng.integers(low, 100, shape).astype(dtype)
