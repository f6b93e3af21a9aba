"""Accuracy of a quantised model: the range of each tensor, and each layer beside the float model's.

Enters: the float model, the quantised one, and samples. Leaves: a `Report`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import onnx
from onnx import numpy_helper

from tvm_megcc import reference
from tvm_megcc.quantisation.calibration import Samples

#: What the quantiser appends to the name of a tensor, and to that of one of the model's outputs.
_DEQUANTISED, _OUTPUT = "_DequantizeLinear_Output", "_QuantizeLinear_Input"


@dataclass(frozen=True, slots=True)
class Range:
    """The range of a tensor's values, and the range that its integers can represent."""

    name: str
    #: `smallest`, `largest`: over all samples, of the float model.
    smallest: float
    largest: float
    scale: float
    zero_point: int
    #: `low`, `high`: values of the smallest and the largest integer.
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Layer:
    """A node of the float model, and how far the quantised model's output is from its own.

    `snr_db` is 10 log10 of the output's squares over those of the difference, over all samples;
    None where there is no difference. The difference has that of all layers before in it.
    """

    name: str
    operator: str
    output: str
    snr_db: float | None


@dataclass(frozen=True, slots=True)
class Report:
    """Number of samples, the ranges of the quantised tensors, the layers in the model's order."""

    samples: int
    ranges: tuple[Range, ...]
    layers: tuple[Layer, ...]

    def worst(self, count: int = 10) -> tuple[Layer, ...]:
        """The layers with the lowest signal-to-noise, lowest first."""
        noisy = [layer for layer in self.layers if layer.snr_db is not None]
        return tuple(sorted(noisy, key=lambda layer: layer.snr_db or 0.0)[:count])

    def json(self) -> str:
        """``samples``, ``ranges``, ``layers`` and ``worst``, the names of the ten worst layers."""
        worst = [layer.name for layer in self.worst()]
        found = {**asdict(self), "worst": worst}
        return json.dumps(_strict(found), indent=1, allow_nan=False) + "\n"


def _strict(value: object) -> object:
    """The value with null for numbers that are not finite (a tensor that never had elements)."""
    if isinstance(value, dict):
        return {key: _strict(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(slots=True)
class _Sums:
    """Extremes and sums of squares of one tensor, over the samples so far."""

    smallest: float = math.inf
    largest: float = -math.inf
    signal: float = 0.0
    noise: float = 0.0

    def add(self, plain: np.ndarray, made: np.ndarray | None) -> None:
        """Infinities, as in a mask, and NaNs count for nothing."""
        finite = np.isfinite(plain)
        wide = plain[finite].astype(np.float64)
        self.smallest = min(self.smallest, float(wide.min(initial=math.inf)))
        self.largest = max(self.largest, float(wide.max(initial=-math.inf)))
        if made is not None:
            difference = wide - made[finite]
            self.signal += float(np.square(wide).sum())
            self.noise += float(np.square(difference[np.isfinite(difference)]).sum())

    @property
    def snr_db(self) -> float | None:
        if not self.noise:
            return None
        return 10 * math.log10(max(self.signal, np.finfo(np.float64).tiny) / self.noise)


def measured(plain: onnx.ModelProto, made: onnx.ModelProto, samples: Samples) -> Report:
    """Both models over all samples, and every value that both have."""
    outputs = _outputs(plain, made)
    pairs = dict(outputs.values())
    scales = dict(_scales(made))
    known = {name for node in plain.graph.node for name in node.output}
    wanted = [name for name in dict.fromkeys([*scales, *pairs]) if name in known]
    ours, theirs = _Session(plain, wanted), _Session(made, list(pairs.values()))
    sums: dict[str, _Sums] = {}
    for sample in samples:
        values = {**sample, **ours.run(sample)}
        others = theirs.run(sample)
        for name, value in values.items():
            if value.dtype.kind == "f":
                other = others[pairs[name]] if name in pairs else None
                sums.setdefault(name, _Sums()).add(value, other)
    ranges = tuple(
        Range(name, sums[name].smallest, sums[name].largest, *scales[name])
        for name in scales
        if name in sums
    )
    layers = tuple(
        Layer(node.name, node.op_type, outputs[node.name][0], sums[outputs[node.name][0]].snr_db)
        for node in plain.graph.node
        if node.name in outputs and outputs[node.name][0] in sums
    )
    return Report(samples.count, ranges, layers)


def _outputs(plain: onnx.ModelProto, made: onnx.ModelProto) -> dict[str, tuple[str, str]]:
    """Node of both models -> name of its value in the float model, and in the quantised model."""
    there = {name for node in made.graph.node for name in node.output}
    left = {node.name for node in made.graph.node}
    # An activation that the bounds of integers are is gone; what it gave, its input gives now.
    renamed = {n.input[0]: n.output[0] for n in plain.graph.node if n.name not in left}
    found = {}
    for node in plain.graph.node:
        name = node.output[0]
        while name not in there and name in renamed:
            name = renamed[name]
        other = next((n for n in (name + _DEQUANTISED, name) if n in there), None)
        if node.name in left and other is not None:
            found[node.name] = (name, other)
    return found


def _scales(made: onnx.ModelProto) -> Iterator[tuple[str, tuple[float, int, float, float]]]:
    """Quantised tensor -> its scale, zero point, and the numbers of its extreme integers."""
    constants: Mapping[str, onnx.TensorProto] = {t.name: t for t in made.graph.initializer}
    for node in made.graph.node:
        if node.op_type != "QuantizeLinear" or len(node.input) < 3:
            continue
        if not all(name in constants for name in node.input[1:3]):
            continue
        scale, zero = (numpy_helper.to_array(constants[name]) for name in node.input[1:3])
        if scale.size == 1 and zero.dtype.kind in "iu":
            limits, step, middle = np.iinfo(zero.dtype), float(scale.item()), int(zero.item())
            low, high = (step * (int(end) - middle) for end in (limits.min, limits.max))
            yield node.input[0].removesuffix(_OUTPUT), (step, middle, low, high)


class _Session:
    """A model in ONNX Runtime that returns any of its values, intermediate ones included."""

    def __init__(self, model: onnx.ModelProto, names: Sequence[str]) -> None:
        self.names = list(dict.fromkeys(names))
        self.session = reference.session(model, self.names)

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        if not self.names:
            return {}
        found = zip(self.names, self.session.run(self.names, dict(inputs)), strict=True)
        return {name: value for name, value in found if isinstance(value, np.ndarray)}
