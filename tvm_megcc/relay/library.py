"""The result of ``relay.build``: a compiled model that can be run, written, and looked into."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import tvm

from tvm_megcc import driver
from tvm_megcc.core.program import Bundle, Program, bundle_of, programs_of
from tvm_megcc.errors import InputError
from tvm_megcc.host.graph_form import constants, graph_json
from tvm_megcc.memory.variants import bundle_arena_bytes, sizes_of
from tvm_megcc.options import DEFAULT, CompileOptions
from tvm_megcc.relay.memory_plan import MemoryPlan, memory_plan


class Library:
    """A compiled model.

    Unpacks into three, as Relay's does: ``graph, lib, params = relay.build(...)``.

    Attributes
    ----------
    program : Program or Bundle
        What was compiled: several programs where the module was dispatched.
    """

    def __init__(self, program: Program | Bundle, options: CompileOptions = DEFAULT) -> None:
        self.program = program
        self._options = options

    @property
    def _largest(self) -> Program:
        """The last program, which accepts more sizes than the others."""
        return programs_of(self.program)[-1]

    def __iter__(self) -> Iterator[Any]:
        return iter((self.get_graph_json(), self, self.get_params()))

    def __getitem__(self, name: str) -> Any:
        """The library's function `name`; ``lib["default"](tvm.cpu())`` is for `GraphModule`.

        Raises
        ------
        MegccError
            When there is no such function, or this machine cannot build or run the library.
        """
        return self.get_function(name)

    def get_function(self, name: str) -> Any:
        """See `__getitem__`."""
        if name != "default":
            raise InputError(f"the library has no function '{name}'; its only one is 'default'")
        return self._module["default"]

    @cached_property
    def _module(self) -> tvm.runtime.Module:
        """The library built for this machine and loaded."""
        with tempfile.TemporaryDirectory(prefix="tvm_megcc.") as directory:
            path = Path(directory) / "model.so"
            self.export_library(path)
            return tvm.runtime.load_module(str(path))

    def export_library(self, path: str | os.PathLike[str], *, cc: str | None = None) -> None:
        """Write a TVM library for ``tvm.runtime.load_module``.

        Parameters
        ----------
        path : path
            Ends in ``.so``; an earlier file is replaced when all went well.
        cc : str, optional
            The C compiler; by default one for the library's architecture.
        """
        out = Path(path)
        driver.check_output(out, driver.output_format(out, "so"))
        options = replace(self._options, fmt="so", weights="incbin", compiler=cc)
        driver.check_writing(out, options)
        driver.write_output({self.program.arch: self.program}, out, options)

    def save(self, path: str | os.PathLike[str], *, weights: str = "incbin") -> None:
        """Write the C package to a directory or a ``.tar``, as `driver.compile_model` does."""
        out = Path(path)
        driver.check_output(out, driver.output_format(out, "c"))
        options = replace(self._options, fmt="c", weights=weights)
        driver.write_output({self.program.arch: self.program}, out, options)

    def get_source(self, fmt: str = "c") -> str:
        """The package's C sources but the weights, one after another, each after its path."""
        if fmt not in ("", "c"):
            raise InputError(f"source format {fmt!r} is not known; it is 'c'")
        options = replace(self._options, weights="bin")
        package = driver.package_files({self.program.arch: self.program}, options)
        return "\n".join(
            f"// ==== {path}\n{text}"
            for path, text in sorted(package.items())
            if path.endswith((".c", ".h", ".def")) and isinstance(text, str)
        )

    def get_graph_json(self) -> str:
        """The calls as a graph in the graph executor's JSON (nodes, arg_nodes, heads, attrs).

        Of a dispatched module, that of the program for the most sizes.

        Raises
        ------
        InputError
            The model has sizes that change, branches or loops.
        """
        return json.dumps(graph_json(self._largest), indent=2)

    def get_params(self) -> dict[str, tvm.runtime.Tensor]:
        """The constants as the kernels read them (packed), by name."""
        return {n: tvm.runtime.tensor(a) for n, a in constants(self.program).items()}

    def arena_bytes(self, shapes: Mapping[str, Sequence[int]] | None = None) -> int:
        """Bytes of arena that these input shapes take, as ``megcc_arena_bytes`` answers in C.

        Raises
        ------
        InputError
            For a shape that the model does not accept, or one that is missing.
        """
        found = bundle_of(self.program)
        return bundle_arena_bytes(found, sizes_of(found, shapes or {}))

    def memory_plan(self) -> MemoryPlan:
        """Where each tensor of the arena lies and when, and how good the plan is.

        Raises
        ------
        InputError
            Where shapes can change there is no one plan; ask `arena_bytes`.
        """
        if isinstance(self.program, Bundle) or self.program.symbols:
            raise InputError(
                "the shapes of this model can change, and its memory with them; ask"
                " arena_bytes(shapes), or fix the shapes"
            )
        return memory_plan(self.program)
