"""ONNX Runtime's quantiser, as functions from model to model.

Enters: a float model and samples. Leaves: the float model as the quantiser sees it (constants and
batch normalisation folded, shapes inferred), and the quantised one.
"""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import onnx
import onnx.version_converter

from tvm_megcc.errors import InputError, ToolError
from tvm_megcc.quantisation.calibration import Samples

#: What activations may become -> ONNX Runtime's name of it.
ACTIVATIONS = {"s8": "QInt8", "u8": "QUInt8"}

#: From this version on DequantizeLinear has scales per channel.
_OPSET = 13


def require() -> None:
    """Raise ToolError if the quantiser is not installed."""
    if importlib.util.find_spec("onnxruntime") is None:
        raise ToolError(
            "quantize needs ONNX Runtime, which is not installed; pip install onnxruntime"
        )


def check_float(model: onnx.ModelProto) -> None:
    """Raise InputError for a model that is quantised already; it names the first such node."""
    node = quantised_node(model)
    if node is not None:
        raise InputError(
            f"the model is quantised already: node '{node.name or node.output[0]}' is a"
            f" {node.op_type}; give the float model"
        )


def quantised_node(model: onnx.ModelProto) -> onnx.NodeProto | None:
    """The first node of a model that quantises or computes with quantised values, or None."""
    return next(filter(_is_quantised, model.graph.node), None)


def _is_quantised(node: onnx.NodeProto) -> bool:
    started = ("QLinear", "DynamicQuantize")
    return node.op_type in _QUANTISED or bool(node.op_type.startswith(started))


_QUANTISED = (
    "QuantizeLinear", "DequantizeLinear", "ConvInteger", "MatMulInteger", "MatMulIntegerToFloat",
    "MatMulNBits", "QGemm", "QAttention",
)  # fmt: skip


def name_nodes(model: onnx.ModelProto) -> None:
    """Give nodes without a name that of their first output: the quantiser knows nodes by names."""
    for node in model.graph.node:
        node.name = node.name or next(filter(None, node.output), "")


def nodes(model: onnx.ModelProto, names: Collection[str]) -> list[str]:
    """Check that names are nodes of the model; return them sorted."""
    known = {node.name for node in model.graph.node}
    for name in names:
        if name not in known:
            raise InputError(
                f"--keep-float: the model has no node '{name}'; take a name that a viewer or the"
                " report shows, of a node without one its first output's"
            )
    return sorted(names)


def prepared(model: onnx.ModelProto, folder: Path, keep_float: Collection[str]) -> onnx.ModelProto:
    """Copy of the model with constants and batch normalisation folded and shapes inferred.

    Intermediate files go into `folder`. InputError where folding removed a node of `keep_float`.
    """
    from onnxruntime.quantization.shape_inference import quant_pre_process

    version = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), _OPSET)
    source, out = folder / "float.onnx", folder / "prepared.onnx"
    with _quantising("prepare"):
        if version < _OPSET:
            model = onnx.version_converter.convert_version(model, _OPSET)
        onnx.save(model, source)
        # Symbolic shapes would need sympy, and matter to operators that are not quantised.
        quant_pre_process(str(source), str(out), skip_symbolic_shape=True)
        found = onnx.load(out)
    left = {node.name for node in found.graph.node}
    for name in keep_float:
        if name not in left:
            raise InputError(
                f"--keep-float: node '{name}' is folded into another one before anything is"
                " quantised; name the node that computes with its constants"
            )
    return found


def quantised(
    model: onnx.ModelProto,
    samples: Samples,
    folder: Path,
    *,
    per_channel: bool,
    activations: str,
    keep_float: Collection[str],
) -> onnx.ModelProto:
    """A prepared model in QDQ form; InputError if nothing of it can be quantised."""
    from onnxruntime import quantization

    class Reader(quantization.CalibrationDataReader):
        def __init__(self) -> None:
            self.rows = iter(samples)

        def get_next(self) -> object:
            return next(self.rows, None)

    source, out = folder / "prepared.onnx", folder / "quantised.onnx"
    onnx.save(model, source)
    with _quantising("quantise"):
        quantization.quantize_static(
            str(source),
            str(out),
            Reader(),
            quant_format=quantization.QuantFormat.QDQ,
            per_channel=per_channel,
            activation_type=getattr(quantization.QuantType, ACTIVATIONS[activations]),
            weight_type=quantization.QuantType.QInt8,
            nodes_to_exclude=list(keep_float),
        )
        found = onnx.load(out)
    if not any(node.op_type == "QuantizeLinear" for node in found.graph.node):
        raise InputError(
            "no node of the model can be quantised; compile it as it is, or keep fewer in float"
        )
    return found


@contextmanager
def _quantising(what: str) -> Iterator[None]:
    """Turn the quantiser's errors into one sentence; silence its remarks to the root logger."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # of ONNX, of ONNX Runtime, and of plain Python
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ToolError(f"ONNX Runtime cannot {what} the model ({reason})") from error
    finally:
        logging.disable(before)
