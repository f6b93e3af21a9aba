"""The corpus of trained models: what is stored, and when an answer counts as right.

Enters: the folder with ``INDEX.json``. Leaves: `Model`s with their `Case`s, and `Difference`s
between an answer and the stored one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

#: Largest difference over largest magnitude that is always accepted.
RELATIVE = 1e-4
#: The same for an output in f16, which the reference rounds as well: its last bit.
RELATIVE_HALF = 2.0**-10
#: The references differ by the noise floor between two modes of one runtime: accept five times it.
NOISE = 5.0
#: A reference that is zero everywhere has no magnitude to be relative to.
ABSOLUTE_FOR_ZERO = 1e-7
#: Outputs of ONNX Runtime that are themselves off by more than the tolerance. All are a sigmoid far
#: from 0, which it approximates to 1e-7 of 1: for -13.69 it stored 1.103e-06, exact is 1.133e-06.
#: With AVX2, but without AVX-512, it is off by up to 1.2e-7; ours is off by 1e-12 there.
INEXACT = {
    ("ppocr_v3_det", "sigmoid_0.tmp_0"): 2e-7,
    ("hand_landmark_mp", "Identity_1"): 1e-7,
    ("hand_landmark_mp", "Identity_2"): 1e-7,
}

Shapes = dict[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Case:
    """One stored input with the outputs that belong to it."""

    name: str
    folder: Path
    shapes: Shapes
    noise: Mapping[str, float]

    def inputs(self) -> dict[str, np.ndarray]:
        return self._tensors("input")

    def expected(self) -> dict[str, np.ndarray]:
        return self._tensors("output")

    def _tensors(self, stem: str) -> dict[str, np.ndarray]:
        paths = sorted(self.folder.glob(f"{stem}_*.pb"), key=lambda p: int(p.stem.split("_")[1]))
        protos = [onnx.load_tensor(p) for p in paths]
        return {t.name: numpy_helper.to_array(t) for t in protos}


@dataclass(frozen=True, slots=True)
class Model:
    name: str
    path: Path
    cases: tuple[Case, ...]
    macs: int

    @property
    def is_quantised(self) -> bool:
        """Whether some of it is in integers of 8 bits."""
        nodes = onnx.load(self.path, load_external_data=False).graph.node
        return any("Quantize" in n.op_type or "Integer" in n.op_type for n in nodes)

    def shape_sets(self) -> list[tuple[Shapes, list[Case]]]:
        """The cases grouped by their input shapes: one compilation each."""
        groups: list[tuple[Shapes, list[Case]]] = []
        for case in self.cases:
            for shapes, cases in groups:
                if shapes == case.shapes:
                    cases.append(case)
                    break
            else:
                groups.append((case.shapes, [case]))
        return groups


@dataclass(frozen=True, slots=True)
class Difference:
    """How far one output is from its reference; ``problem`` says what cannot be measured."""

    case: str
    output: str
    largest: float = 0.0
    allowed: float = 0.0
    magnitude: float = 0.0
    problem: str = ""

    @property
    def ok(self) -> bool:
        return not self.problem and self.largest <= self.allowed

    @property
    def relative(self) -> float:
        return self.largest / self.magnitude if self.magnitude else self.largest

    def __str__(self) -> str:
        said = self.problem or (
            f"largest difference {self.largest:.3g}, allowed {self.allowed:.3g}, "
            f"largest magnitude {self.magnitude:.3g}"
        )
        return f"case {self.case!r}, output {self.output!r}: {said}"


def load(folder: Path) -> dict[str, Model]:
    """Every model of ``folder/INDEX.json`` whose file is there, by name."""
    models = {}
    for entry in json.loads((folder / "INDEX.json").read_text()):
        name = entry["name"]
        cases = tuple(
            Case(
                case["name"],
                folder / name / case["dir"],
                {k: tuple(v) for k, v in case["input_shapes"].items()},
                {o["name"]: o["ort_opt_vs_noopt_max_abs_diff"] for o in case["outputs"]},
            )
            for case in entry["cases"]
        )
        path = folder / name / "model.onnx"
        if path.is_file():
            models[name] = Model(name, path, cases, entry.get("macs_case0") or 0)
    return models


def compare(got: Mapping[str, np.ndarray], case: Case) -> list[Difference]:
    """One `Difference` per output of `case`, and one per output that should not be there."""
    expected = case.expected()
    found = [
        Difference(case.name, name, problem="is not an output of the model")
        for name in got
        if name not in expected
    ]
    for name, want in expected.items():
        found.append(_compare(case, name, got.get(name), want))
    return found


def same_bits(
    got: Mapping[str, np.ndarray], want: Mapping[str, np.ndarray], case: Case
) -> list[Difference]:
    """A `Difference` per output whose bytes are not those of another way to the same answer."""
    return [
        Difference(case.name, name, problem="has other bits than by the package of the host")
        for name, array in want.items()
        if got[name].tobytes() != array.tobytes()
    ]


def _compare(case: Case, name: str, got: np.ndarray | None, want: np.ndarray) -> Difference:
    if got is None:
        return Difference(case.name, name, problem="is missing")
    if got.shape != want.shape or got.dtype != want.dtype:
        problem = f"is {got.dtype}{list(got.shape)}, not {want.dtype}{list(want.shape)}"
        return Difference(case.name, name, problem=problem)
    a, b = got.astype(np.float64), want.astype(np.float64)
    if not np.array_equal(np.isnan(a), np.isnan(b)) or not np.array_equal(
        np.where(np.isinf(a), a, 0), np.where(np.isinf(b), b, 0)
    ):
        return Difference(case.name, name, problem="has NaN or infinity in other places")
    finite = np.isfinite(b)
    largest = float(np.abs(a[finite] - b[finite]).max(initial=0.0))
    magnitude = float(np.abs(b[finite]).max(initial=0.0))
    allowed = NOISE * case.noise.get(name, 0.0)
    if np.issubdtype(want.dtype, np.floating):
        limit = RELATIVE_HALF if want.dtype == np.float16 else RELATIVE
        relative = limit * magnitude if magnitude else ABSOLUTE_FOR_ZERO
        inexact = INEXACT.get((case.folder.parent.name, name), 0.0)
        allowed = max(allowed, relative, inexact)
    return Difference(case.name, name, largest, allowed, magnitude)
