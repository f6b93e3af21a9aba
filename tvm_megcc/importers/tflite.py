"""``.tflite`` -> Relax, with TVM's importer.

TFLite computes quantised operators in fixed point; TVM's importer makes dequantise, the operator in
f32, and quantise of them. Results of each may differ by one step of the output's scale.
`tflite_converter` says what TVM's importer gets wrong, and corrects it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tvm_megcc.core.model_file import read_bytes

from ..dims import GivenDim
from ..errors import InputError, ToolError, UnsupportedError
from ..frontend import ImportedModel
from .failures import importing
from .relax_module import from_module

if TYPE_CHECKING:
    from tflite import Model

_WHOSE, _KIND = "TVM's TFLite importer", "a TFLite model"
_REMEDY = "convert the model again, or export it to ONNX"

#: The bytes of a flatbuffer that hold its kind, and those of TFLite.
_MARK, _MARKED = slice(4, 8), b"TFL3"


def import_tflite(path: Path, shapes: Mapping[str, Sequence[GivenDim]] | None) -> ImportedModel:
    """Import a TFLite model; its sizes are those in the file.

    Raises
    ------
    tvm_megcc.errors.MegccError
        The file is none, TVM's importer has no converter for an operator, a module is missing.
    """
    data = read_bytes(path, _KIND)
    if data[_MARK] != _MARKED:
        raise InputError(f"'{path}': not a TFLite model ({len(data)} bytes); give the path of one")
    try:
        import tflite
    except ImportError:
        raise ToolError(
            f"'{path}': TFLite models need the module tflite; pip install tflite"
        ) from None
    from tvm.relax.frontend.tflite import from_tflite

    from .tflite_converter import Converter

    with importing(path, _WHOSE, _REMEDY):
        model = tflite.Model.GetRootAsModel(data, 0)
        inputs, outputs = _port_names(path, model)
        _check_custom(path, model)
        mod = from_tflite(model, op_converter=Converter)
    return from_module(
        mod, shapes, name=path.stem, input_names=inputs, output_names=outputs, where=f"'{path}'"
    )


#: The one custom operator that TVM's importer has a converter for.
_CONVERTED = "TFLite_Detection_PostProcess"


def _check_custom(path: Path, model: Model) -> None:
    """Refuse operators that are no part of TFLite; TVM's importer does not name them."""
    from tflite import BuiltinOperator

    codes = [model.OperatorCodes(k) for k in range(model.OperatorCodesLength())]
    custom = {
        (code.CustomCode() or b"").decode()
        for code in codes
        if max(code.BuiltinCode(), code.DeprecatedBuiltinCode()) == BuiltinOperator.CUSTOM
    }
    if found := sorted(custom - {_CONVERTED}):
        raise UnsupportedError(
            f"'{path}': no converter for the custom operators {', '.join(found)}; convert the"
            " model without them, or export it to ONNX"
        )


def _port_names(path: Path, model: Model) -> tuple[list[str], list[str]]:
    """Names of the inputs and outputs of the first subgraph, which is the model."""
    graph = model.Subgraphs(0)
    if graph is None:
        raise InputError(f"'{path}': the model has no subgraph; {_REMEDY}")
    names = [
        (graph.Tensors(k).Name() or f"tensor_{k}".encode()).decode()
        for k in range(graph.TensorsLength())
    ]
    named = [graph.Tensors(k).Name() for k in range(graph.TensorsLength())]
    # TVM's importer finds tensors by their names.
    twice = [name for name, count in Counter(named).items() if count > 1 and name is not None]
    if twice:
        raise InputError(
            f"'{path}': {named.count(twice[0])} tensors are called '{twice[0].decode()}', which"
            f" TVM's importer takes for one; {_REMEDY}"
        )
    ports = [
        [names[graph.Inputs(k)] for k in range(graph.InputsLength())],
        [names[graph.Outputs(k)] for k in range(graph.OutputsLength())],
    ]
    return ports[0], ports[1]
