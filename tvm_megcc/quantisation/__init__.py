"""A float ONNX model as an int8 one: ONNX Runtime's quantiser, and a report on what it costs.

Enters: a model, and samples of its inputs that are like those it will see. Leaves: a model in QDQ
form (QuantizeLinear and DequantizeLinear around each operator), and a `Report`: the range of every
tensor, and how far every layer is from the float model.

Example
-------
>>> quantise("net.onnx", "net_int8.onnx", "samples.npz").worst(1)          # doctest: +SKIP
(Layer(name='Conv_7', operator='Conv', output='c7', snr_db=18.2),)
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path

from tvm_megcc.core import model_file
from tvm_megcc.errors import InputError
from tvm_megcc.host import files
from tvm_megcc.quantisation import calibration, onnx_ports, quantiser
from tvm_megcc.quantisation.accuracy import Layer, Range, Report, measured

__all__ = ["ACTIVATIONS", "FORMATS", "Layer", "Range", "Report", "quantise"]

ACTIVATIONS = quantiser.ACTIVATIONS
FORMATS = ("qdq",)


def quantise(
    model: str | os.PathLike[str],
    output: str | os.PathLike[str],
    samples: str | os.PathLike[str],
    *,
    per_channel: bool = False,
    activations: str = "s8",
    keep_float: Collection[str] = (),
    io: str | None = None,
    report: str | os.PathLike[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Quantise a model after training and write it, whole or not at all.

    Weights become s8, symmetric; the ranges of activations are those that the samples have.

    Parameters
    ----------
    model : path
        An ONNX file in float.
    output : path
        The ONNX file to write.
    samples : path
        A ``.npz`` of one array per input with a leading axis over the samples, or a directory of
        ``.npz`` files, one per sample, with arrays as the model takes them.
    per_channel : bool
        A scale for every output channel of a weight instead of one for all.
    activations : {"s8", "u8"}
        What activations become; both with a zero point.
    keep_float : collection of str
        Nodes that are not quantised: their names, or of a node without one its first output's.
    io : {"int8", "uint8"}, optional
        Type of the inputs and outputs in place of float: that of the activations.
    report : path, optional
        Where the report goes as JSON.
    progress : callable, optional
        Called with what is being done.

    Returns
    -------
    Report

    Raises
    ------
    InputError
        For a model that is quantised already or has nothing to quantise, samples that do not fit
        its inputs or that are none, a node of `keep_float` that is not there, and a port that
        cannot be of integers.
    ToolError
        When ONNX Runtime is not installed, or cannot run or quantise the model.
    """
    if io is not None and onnx_ports.IO.get(io) != activations:
        activation = onnx_ports.IO.get(io)
        if activation is None:
            raise InputError(f"io {io!r} is not known; choose from {', '.join(onnx_ports.IO)}")
        raise InputError(
            f"--io {io}: activations are {activations}; say --activations {activation}, too"
        )
    tell = progress or (lambda stage: None)
    quantiser.require()
    for path in [output, *([] if report is None else [report])]:
        files.check_file(Path(path))
    model_file.require_onnx(model, "give the float model as ONNX")
    model_file.check(model)
    calibration.check(Path(samples))
    tell("load")
    from tvm_megcc.frontend.load import load

    proto, _ = load(model)
    quantiser.check_float(proto)
    quantiser.name_nodes(proto)
    excluded = quantiser.nodes(proto, keep_float)
    data = calibration.read(Path(samples), calibration.ports(proto))
    with tempfile.TemporaryDirectory(prefix="tvm_megcc.") as directory:
        tell("prepare")
        plain = quantiser.prepared(proto, Path(directory), excluded)
        tell("calibrate")
        made = quantiser.quantised(
            plain, data, Path(directory),
            per_channel=per_channel, activations=activations, keep_float=excluded,
        )  # fmt: skip
    tell("measure")
    found = measured(plain, made, data)
    if io is not None:
        onnx_ports.make_integer(made)
    files.write_file(made.SerializeToString(deterministic=True), Path(output))
    if report is not None:
        files.write_file(found.json().encode(), Path(report))
    return found
