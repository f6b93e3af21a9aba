"""The ways an answer is obtained: the package on the host, on Arm under qemu, and through TVM.

A debug build is a way of its own: it fills each tensor's memory with NaN patterns when the tensor
dies, so that a value read too late shows.

Enters: a corpus `Model`. Leaves: outputs per case and route, from one compilation per shape set.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from corpus import Case, Difference, Model, Shapes, compare, same_bits

from tvm_megcc import driver
from tvm_megcc.host import package, toolchain
from tvm_megcc.memory_options import MemoryOptions

Arrays = dict[str, np.ndarray]

#: Routes through the package's own ``main.c``.
ARCHS = ("host", "arm64", "armv7")
#: The TVM library, loaded with ``tvm.runtime.load_module``. Its calls run in bands of rows where
#: that lowers the arena, those of the packages do not: the answers are those of the host's package.
TVM = "tvm"
#: The host's package with ``MEGCC_DEBUG``.
POISON = "poison"
ROUTES = (*ARCHS, POISON, TVM)
DEBUG = ("-DMEGCC_DEBUG",)
#: On the host, as objects of the TVM library: the routes of a package for the host alone then
#: compile a kernel once. (In one for other machines, too, its text asks for the machine.)
SHARED = ("-fPIC", "-fvisibility=hidden")

#: Weights of a quantised model's package may be so much larger than the model's file.
GROWTH = 1.1

#: Of a model with more multiply-adds the first stored case alone runs in an emulator, where each
#: takes up to a minute; all run on the host, and the last one of open sizes in test_dynamic.py.
LIGHT_MACS = 100_000_000

#: For one run of one case; the largest model takes a tenth of it under qemu.
TIMEOUT_S = 300

_NEEDS = {
    "host": ("make",),
    "arm64": ("make", "aarch64-linux-gnu-gcc", "qemu-aarch64"),
    "armv7": ("make", "arm-linux-gnueabihf-gcc", "qemu-arm"),
    POISON: ("make",),
    TVM: (),
}


def missing_tools(route: str) -> list[str]:
    """Programs that `route` needs and this machine has not."""
    return [tool for tool in _NEEDS[route] if not shutil.which(tool)]


@dataclass(slots=True)
class ShapeSet:
    """One compilation: its package, or why there is none."""

    shapes: Shapes
    cases: list[Case]
    package: Path
    error: Exception | None = None
    seconds: float = 0.0
    #: Answers of the host's package, by the case's name.
    answers: dict[str, Arrays] = field(default_factory=dict)


class Compiled:
    """All shape sets of one model, compiled on first use into `folder`."""

    def __init__(self, model: Model, folder: Path, archs: tuple[str, ...] = ARCHS) -> None:
        self.model, self.folder, self.archs = model, folder, archs
        self._sets: list[ShapeSet] | None = None

    @property
    def sets(self) -> list[ShapeSet]:
        if self._sets is None:
            self._sets = []
            for i, (shapes, cases) in enumerate(self.model.shape_sets()):
                entry = ShapeSet(shapes, cases, self.folder / f"package{i}")
                start = time.perf_counter()
                try:
                    driver.compile_model(
                        self.model.path, entry.package, archs=self.archs, input_shapes=shapes
                    )
                except Exception as error:  # kept: every route of this model reports it
                    entry.error = error
                entry.seconds = time.perf_counter() - start
                self._sets.append(entry)
                if entry.error:
                    break  # the model is lost on every route; do not try its other shapes
        return self._sets

    def check(self, route: str) -> list[Difference]:
        """Compare the answers by `route` with the stored ones, and TVM's with the host's."""
        found = []
        alone = route not in ("host", POISON, TVM) and self.model.macs > LIGHT_MACS
        for entry in self.sets[:1] if alone else self.sets:
            if entry.error:
                raise entry.error
            run = self._through_tvm(entry) if route == TVM else self._through_main(entry, route)
            for case in entry.cases[:1] if alone else entry.cases:
                answer = run(case.inputs())
                found += compare(answer, case)
                if route == "host":
                    entry.answers[case.name] = answer
                elif route == TVM:
                    found += same_bits(answer, self._answer(entry, case), case)
        return found

    def _answer(self, entry: ShapeSet, case: Case) -> Arrays:
        """The answer of the host's package."""
        if case.name not in entry.answers:  # its test was not selected
            run = self._through_main(entry, "host")
            entry.answers[case.name] = run(case.inputs())
        return entry.answers[case.name]

    def heavy(self) -> list[str]:
        """The machines on which a quantised model's weights take more than its file's bytes."""
        found = []
        for entry in self.sets if self.model.is_quantised else ():
            manifest = package.load(entry.package).manifest
            limit = GROWTH * self.model.path.stat().st_size
            bytes_of = {arch: row["weight_bytes"] for arch, row in manifest["per_arch"].items()}
            found += [f"{arch}: {n} bytes of weights" for arch, n in bytes_of.items() if n > limit]
        return found

    def _through_main(self, entry: ShapeSet, route: str):
        opened = package.load(entry.package)
        arch = opened.choose("host" if route == POISON else route)
        where = entry.package.with_name(f"{entry.package.name}_{route}")
        flags = {"host": SHARED, POISON: (*SHARED, *DEBUG)}.get(route, ())
        runner = toolchain.build(entry.package, arch, build_dir=where, extra_cflags=flags)
        return lambda inputs: (
            toolchain.run_package(runner, arch, inputs, opened.manifest, timeout=TIMEOUT_S).outputs
        )

    def _through_tvm(self, entry: ShapeSet):
        import tvm

        from tvm_megcc import relay

        library = entry.package.with_suffix(".so")
        # The search for the best number of rows takes up to 8 s of a large model.
        stream = 8 if self.model.macs > LIGHT_MACS else "auto"
        driver.compile_model(
            self.model.path,
            library,
            input_shapes=entry.shapes,
            memory=MemoryOptions(stream=stream),
        )
        loaded = tvm.runtime.load_module(str(library))
        module = relay.GraphModule(loaded["default"](tvm.cpu()))
        names = list(entry.cases[0].expected())

        def run(inputs: Arrays) -> Arrays:
            for name, value in inputs.items():
                module.set_input(name, value)
            module.run()
            return {name: module.get_output(i).numpy() for i, name in enumerate(names)}

        return run
