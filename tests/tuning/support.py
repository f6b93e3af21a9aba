"""A model to tune, and a measurer that looks costs up instead of building anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tvm_megcc import importers, pipeline, zoo
from tvm_megcc.codegen_c.emit.compiled import Compiled
from tvm_megcc.core.preference import DEFAULT, Preference
from tvm_megcc.core.program import Bundle, Call, Program, bundle_of
from tvm_megcc.errors import ToolError
from tvm_megcc.memory.variants import sizes_of, variant_for
from tvm_megcc.tuning.job import Job
from tvm_megcc.tuning.measuring import Run

Cost = Callable[[str], float]


def compiler(
    name: str = "tiny_cnn", arch: str = "arm64", preference: Preference = DEFAULT
) -> Callable[[], Program | Bundle]:
    """A function that compiles a model of the zoo, imported once."""
    imported = importers.import_model(zoo.build(name), None, None)

    def compiled() -> Program | Bundle:
        return pipeline.compile_module(
            imported.mod,
            arch,
            name=name,
            input_names=[port.name for port in imported.inputs],
            output_names=[port.name for port in imported.outputs],
            preference=preference,
        )

    return compiled


def kernels(program: Program | Bundle, inputs: Mapping[str, np.ndarray] | None = None) -> list[str]:
    """The symbols of a program's calls in order; of several programs, that for these inputs."""
    bundle = bundle_of(program)
    number = 0
    if inputs is not None:
        shapes = {name: array.shape for name, array in inputs.items()}
        number = bundle.variants.index(variant_for(bundle, sizes_of(bundle, shapes)))
    code = Compiled.of(bundle).codes[number].program
    return [code.kernels[s.kernel].symbol for s in code.calls if isinstance(s, Call)]


@dataclass
class Fake:
    """Costs by symbol; symbols with `broken` or `wrong` in them fail, or compute something else.

    Attributes
    ----------
    cost : callable
        A symbol -> what a call of it takes.
    broken, wrong : set of str
        Parts of symbols.
    around : callable
        The symbols of all calls -> what the whole model takes besides.
    runs : list
        The symbols of each build.
    """

    cost: Cost = len
    broken: set[str] = field(default_factory=set)
    wrong: set[str] = field(default_factory=set)
    around: Callable[[Sequence[str]], float] = lambda found: 0.0
    runs: list[list[str]] = field(default_factory=list)
    unit: str = "instructions"
    device: str = "qemu"
    slots: int = 1

    def run(
        self,
        program: Program | Bundle,
        cases: Sequence[Mapping[str, np.ndarray]],
        limit: float | None,
        folder: Path,
    ) -> list[Run]:
        return [self._run(kernels(program, inputs)) for inputs in cases]

    def _run(self, found: list[str]) -> Run:
        self.runs.append(found)
        if any(part in symbol for part in self.broken for symbol in found):
            raise ToolError("it ended with status 139")
        is_wrong = any(part in symbol for part in self.wrong for symbol in found)
        outputs = {"y": np.float32([2 if is_wrong else 1])}
        calls = {k: (float(self.cost(symbol)),) for k, symbol in enumerate(found)}
        whole = sum(row[0] for row in calls.values()) + self.around(found)
        return Run(whole, 0.0, calls, outputs)


def job(compile: Callable[[], Program | Bundle], measurer: Fake, records: Path, **more) -> Job:
    shape = {"input": np.zeros((1, 3, 32, 32), np.float32)}
    return Job(compile, [shape], DEFAULT, measurer, records, version="test", **more)
