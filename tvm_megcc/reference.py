"""Values of a model as ONNX defines them, by ONNX Runtime if installed, else onnx.reference.

Enters: a model, its inputs, names of values. Leaves: these values, outputs or not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import onnx
import onnx.version_converter

from tvm_megcc.errors import InputError

Arrays = dict[str, np.ndarray]


def values(
    model: onnx.ModelProto, inputs: Mapping[str, np.ndarray], names: Collection[str]
) -> tuple[str, Arrays]:
    """Name of the runtime, and the values of these names, without those that are no tensors.

    ONNX Runtime computes node by node, without its own fusions, so that every value is there.
    Raises InputError if no runtime can run the model.
    """
    known = {name for node in model.graph.node for name in node.output}
    wanted = [name for name in dict.fromkeys(names) if name in known]
    try:
        import onnxruntime
    except ImportError:
        return _by_onnx(model, inputs, wanted)
    try:
        who = f"ONNX Runtime {onnxruntime.__version__}, optimisations off"
        return who, _tensors(wanted, _by_runtime(model, inputs, wanted))
    except Exception as error:  # of its own kinds, that have no common base
        try:
            return _by_onnx(model, inputs, wanted)
        except InputError:
            raise InputError(f"ONNX Runtime cannot run the model ({_short(error)})") from error


def optimised(model: onnx.ModelProto, inputs: Mapping[str, np.ndarray]) -> Arrays:
    """The outputs by ONNX Runtime with its optimisations; empty where it cannot run the model.

    Its distance from `values` is how far ONNX Runtime's own answers are apart.
    """
    wanted = [port.name for port in model.graph.output]
    try:
        return _tensors(wanted, _by_runtime(model, inputs, wanted, optimise=True))
    except Exception:  # of its own kinds, that have no common base; or it is not installed
        return {}


def _by_runtime(
    model: onnx.ModelProto,
    inputs: Mapping[str, np.ndarray],
    wanted: list[str],
    *,
    optimise: bool = False,
) -> list[object]:
    runtime = session(model, wanted, optimise=optimise)
    taken = {port.name for port in runtime.get_inputs()}
    feeds = {name: array for name, array in inputs.items() if name in taken}
    return list(runtime.run(wanted, feeds))


def session(model: onnx.ModelProto, names: Collection[str], *, optimise: bool = False) -> Any:
    """An ``onnxruntime.InferenceSession`` that can return values of these names of the model."""
    import onnxruntime

    asked = onnx.ModelProto()
    asked.CopyFrom(model)
    outputs = {port.name for port in asked.graph.output}
    # Without a type: the runtime infers it.
    missing = [name for name in names if name not in outputs]
    asked.graph.output.extend(onnx.ValueInfoProto(name=name) for name in missing)
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    if not optimise:
        settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(
        asked.SerializeToString(), settings, providers=["CPUExecutionProvider"]
    )


def _by_onnx(
    model: onnx.ModelProto, inputs: Mapping[str, np.ndarray], wanted: list[str]
) -> tuple[str, Arrays]:
    from onnx.reference import ReferenceEvaluator

    try:
        evaluator = ReferenceEvaluator(_modern(model))
        found = evaluator.run(None, dict(inputs), intermediate=True)
    except Exception as error:  # whatever an operator of the reference raises
        raise InputError(
            f"onnx.reference cannot run the model ({_short(error)}); pip install onnxruntime"
        ) from error
    assert isinstance(found, dict)
    return f"onnx.reference {onnx.__version__}", _tensors(wanted, [found.get(n) for n in wanted])


def _modern(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model at opset 15 or later, where onnx.reference takes BatchNormalization's statistics
    from the model; before, it mixes in those of the batch."""
    version = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 15)
    if version >= 15 or not any(n.op_type == "BatchNormalization" for n in model.graph.node):
        return model
    return onnx.version_converter.convert_version(model, 15)


def _tensors(names: list[str], found: list[object]) -> Arrays:
    rows = zip(names, found, strict=True)
    return {name: value for name, value in rows if isinstance(value, np.ndarray)}


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
