"""ONNX's backend interface: ``onnx.backend.test.BackendTest(tvm_megcc.backend, __name__)`` runs us.

Enters: an ONNX model, later its inputs. Leaves: its outputs, computed by the C package that the
model was compiled to. Compiling never sees the inputs, and running does nothing but feed them.

Example
-------
>>> prepared = prepare(model)                                # doctest: +SKIP
>>> (y,) = prepared.run([x])                                 # doctest: +SKIP
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx.backend.base import Backend, BackendRep

from tvm_megcc import driver
from tvm_megcc.core.contents import Content, to_bytes
from tvm_megcc.core.this_machine import host_arch
from tvm_megcc.dynamic_options import DynamicOptions, Shapes
from tvm_megcc.errors import InputError
from tvm_megcc.host import files, toolchain
from tvm_megcc.options import CompileOptions

#: The programs are built to be run once or twice: compile quickly.
CFLAGS = ("-O1",)


@dataclass(frozen=True, slots=True)
class Output:
    """An output of the model: the ports that make it up, several for a sequence."""

    ports: tuple[str, ...]
    is_sequence: bool


@dataclass(frozen=True, slots=True)
class Compiled:
    """A package in memory, and how the model's inputs and outputs map to its ports."""

    package: Mapping[str, Content]
    manifest: Mapping[str, Any]
    inputs: tuple[str, ...]  # the model's inputs that are no initialisers, in order
    outputs: tuple[Output, ...]

    def run(
        self, program: Path, inputs: Any, args: Sequence[str] = (), timeout: float | None = None
    ) -> tuple[Any, ...]:
        """Outputs of the built program for arrays in the model's order, or by name.

        `args` and `timeout` are those of `tvm_megcc.host.toolchain.run_package`. Raises MegccError
        if the inputs are not the model's, or the run ends with a status.
        """
        arch = next(iter(self.manifest["archs"]))
        feeds = self._feeds(inputs)
        found = toolchain.run_package(
            program, arch, feeds, self.manifest, args=args, timeout=timeout
        )
        outputs = found.outputs
        return tuple(
            [outputs[name] for name in output.ports]
            if output.is_sequence
            else outputs[output.ports[0]]
            for output in self.outputs
        )

    def _feeds(self, inputs: Any) -> dict[str, np.ndarray]:
        if not isinstance(inputs, Mapping):
            inputs = [inputs] if isinstance(inputs, np.ndarray) else list(inputs)
            if len(inputs) != len(self.inputs):
                raise InputError(
                    f"{len(inputs)} inputs are given, the model takes {len(self.inputs)}"
                    f" ({', '.join(self.inputs)}); give one for each"
                )
            inputs = dict(zip(self.inputs, inputs, strict=True))
        missing = [name for name in self.inputs if inputs.get(name) is None]
        if missing:
            raise InputError(f"no value for input '{missing[0]}'; give all inputs of the model")
        ports = {port["name"] for port in self.manifest["inputs"]}
        feeds: dict[str, np.ndarray] = {}
        for name, value in inputs.items():
            feeds |= _arrays(name, value, ports)
        return feeds


def _arrays(name: str, value: Any, ports: Set[str]) -> dict[str, np.ndarray]:
    """Arrays of one input by port: itself, or ``name[0]``, ``name[1]``, ... of a sequence.

    InputError where the value is no array, or no list of as many as the sequence has.
    """
    if name in ports or isinstance(value, np.ndarray):
        if isinstance(value, list | tuple | Mapping):
            raise InputError(f"input '{name}' is a {type(value).__name__}; give an array")
        return {name: np.asarray(value)}
    known = [port for port in ports if port.startswith(f"{name}[")]
    if not isinstance(value, list | tuple) or len(value) != len(known):
        raise InputError(f"input '{name}' is a sequence of {len(known)}; give a list of as many")
    return {f"{name}[{k}]": np.asarray(element) for k, element in enumerate(value)}


def compiled(
    model: onnx.ModelProto,
    name: str | None = None,
    input_shapes: Shapes | None = None,
    distinct_dims: Sequence[str] = (),
) -> Compiled:
    """Compile a model for this machine, without building it.

    See `tvm_megcc.frontend.from_onnx` for `input_shapes`, `distinct_dims` and the errors.
    """
    dynamic = DynamicOptions(distinct_dims=tuple(distinct_dims))
    options = CompileOptions(name=name, input_shapes=input_shapes, dynamic=dynamic)
    programs = driver.compile_programs(model, (host_arch(),), options)
    package = driver.package_files(programs)
    manifest = json.loads(to_bytes(package["manifest.json"]))
    weights = {w.name for w in model.graph.initializer}
    weights |= {w.values.name for w in model.graph.sparse_initializer}
    ports = [port["name"] for port in manifest["outputs"]]
    return Compiled(
        package,
        manifest,
        tuple(p.name for p in model.graph.input if p.name not in weights),
        tuple(_output(p, ports) for p in model.graph.output),
    )


def _output(port: onnx.ValueInfoProto, ports: Sequence[str]) -> Output:
    if port.name in ports:
        return Output((port.name,), False)
    elements = [name for name in ports if name.startswith(f"{port.name}[")]
    return Output(tuple(elements), True)


class Prepared(BackendRep):
    """A compiled and built model."""

    def __init__(self, found: Compiled) -> None:
        self._found = found
        # The folder lives as long as this object.
        self._folder = tempfile.TemporaryDirectory(prefix="tvm_megcc.")
        folder = Path(self._folder.name)
        files.write_tree(found.package, folder)
        (arch,) = found.manifest["archs"]
        self._program = toolchain.build(
            folder, arch, build_dir=folder / "build", extra_cflags=CFLAGS
        )

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs in the model's order, a list for each that is a sequence."""
        return self._found.run(self._program, inputs)


class TvmMegccBackend(Backend):
    """Models run as the C packages that they are compiled to, on this machine."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> Prepared:
        """Compile and build a model; its shapes are those that the model says.

        Parameters
        ----------
        model : onnx.ModelProto
        device : str
            ``CPU``.
        input_shapes : mapping, optional
            See `tvm_megcc.frontend.from_onnx`: an input that is a sequence needs a row for each of
            its elements.
        distinct_dims : sequence of str, optional
            Names of dims that say nothing, as above. Other keywords are not looked at.
        """
        _check_device(device)
        return Prepared(
            compiled(
                model,
                input_shapes=kwargs.get("input_shapes"),
                distinct_dims=kwargs.get("distinct_dims", ()),
            )
        )

    @classmethod
    def run_model(
        cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any
    ) -> tuple[Any, ...]:
        """Compile, build and run a model once."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype, tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Run one node with all its operands given at run time.

        Parameters
        ----------
        node : onnx.NodeProto
        inputs : sequence of arrays
            One for each operand that the node has.
        outputs_info : sequence of (dtype, shape), optional
            Not needed: they follow from the operands.
        opset_version : int, optional
            Of the node's domain; by default the newest that onnx knows.
        """
        names = list(dict.fromkeys(filter(None, node.input)))
        given = inputs if isinstance(inputs, Mapping) else dict(zip(names, inputs, strict=True))
        ports = [_port(name, np.asarray(given[name])) for name in names]
        results = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        graph = helper.make_graph([node], node.op_type, ports, results)
        opsets = {"": onnx.defs.onnx_opset_version()}
        if node.domain:
            opsets[node.domain] = 1
        if kwargs.get("opset_version"):
            opsets[node.domain] = kwargs["opset_version"]
        imports = [helper.make_opsetid(*row) for row in opsets.items()]
        return cls.run_model(helper.make_model(graph, opset_imports=imports), given, device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether a model can be prepared for a device: for the CPU only."""
        return device.partition(":")[0] == "CPU"


def _port(name: str, value: np.ndarray) -> onnx.ValueInfoProto:
    elem_type = helper.np_dtype_to_tensor_dtype(value.dtype)
    return helper.make_tensor_value_info(name, elem_type, value.shape)


def _check_device(device: str) -> None:
    if not TvmMegccBackend.supports_device(device):
        raise InputError(f"device '{device}' is not supported; prepare the model for 'CPU'")


is_compatible = TvmMegccBackend.is_compatible
prepare = TvmMegccBackend.prepare
run_model = TvmMegccBackend.run_model
run_node = TvmMegccBackend.run_node
supports_device = TvmMegccBackend.supports_device
