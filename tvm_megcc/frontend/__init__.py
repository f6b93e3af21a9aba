"""ONNX in, Relax out.

Enters: a path, or an ``onnx.ModelProto``, and optionally shapes for its inputs. Leaves: an
`ImportedModel`, a Relax module with the weights bound as constants and the model's own names beside
it.

Example
-------
>>> imported = from_onnx("model.onnx", {"x": (1, 3, "height", 224)})   # doctest: +SKIP
>>> [(port.name, port.dtype, port.shape) for port in imported.inputs]  # doctest: +SKIP
[('x', 'f32', (1, 3, 'height', 224))]

The stages, one file each: ``load`` (read, check with ``text`` and ``wellformed``, sort),
``capacity`` (caches that Concat makes longer, where they are states), ``shapes`` (apply the user's
shapes), ``importer`` (parameters and results), ``walk`` (the nodes: fold what is known with
``fold`` and ``symbolic``, convert the rest with `tvm_megcc.ops` or TVM's converters, branches and
loops with ``subgraphs``, or by its definition in ``functions``).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import onnx

from tvm_megcc.core.state_pairs import matched

from ..dims import GivenDim
from .capacity import with_capacity
from .importer import KnownDims, import_graph
from .input_shapes import bind_inputs
from .load import load
from .model import ImportedModel, InputInfo, OutputInfo
from .sequences import spread

__all__ = ["ImportedModel", "InputInfo", "OutputInfo", "from_onnx"]


def from_onnx(
    model: str | os.PathLike[str] | onnx.ModelProto,
    shapes: Mapping[str, Sequence[GivenDim]] | None = None,
    distinct_dims: Sequence[str] = (),
    states: Sequence[str] = (),
) -> ImportedModel:
    """Import an ONNX model as a Relax module.

    Parameters
    ----------
    model : path or onnx.ModelProto
        The model; a ``ModelProto`` is not modified.
    shapes : mapping of input name to dims, optional
        An int fixes a dim, a string names it (dims of one name are one symbolic dim), None (or -1)
        keeps what the model says, and a `tvm_megcc.dims.Symbol` or a string like "n=1..64" gives
        it bounds (and a name, unless that is empty). "32*h", "32*(h=1..20)" (or a
        `tvm_megcc.dims.Multiple`) makes it a multiple of a name that has bounds of its own. A dim
        fixed in one input is fixed wherever the model uses its name. An input ``x`` that is a
        sequence has a row for each element, ``x[0]`` and so on; None in place of the dims keeps
        what the model says.
    distinct_dims : sequence of str
        Names of dims, or patterns such as "unk__*", that say nothing: each dim of such a name is a
        dim of its own, called by its input and axis (``x_dim0``).
    states : sequence of str
        ``IN=OUT``: an input and an output that will share memory, see `CompileOptions.states`. Dims
        in which they differ are checked when the model runs.

    Returns
    -------
    ImportedModel
        ``mod["main"]`` has one parameter per real input (an initialiser listed as an input is a
        weight) and returns a tensor, or a tuple when the model has several outputs. Bounds of
        its dims are in its attributes ``tir_var_lower_bound`` and ``tir_var_upper_bound``.

    Raises
    ------
    tvm_megcc.errors.InputError
        The model cannot be read or is not valid, or ``shapes`` or ``distinct_dims`` does not
        fit it.
    tvm_megcc.errors.UnsupportedError
        The model is valid, but uses something that cannot be compiled yet.
    """
    proto, name = load(model, keep_data=False)
    elements = spread(proto.graph, shapes or {})
    if states:
        held = {tensor.name for tensor in proto.graph.initializer}
        names = [port.name for port in proto.graph.input if port.name not in held]
        pairs = matched(states, names, [port.name for port in proto.graph.output])
        proto = with_capacity(proto, pairs)
    inputs = bind_inputs(proto.graph, shapes or {}, distinct_dims)
    while True:
        try:
            return import_graph(proto, inputs, name, elements, states)
        except KnownDims as known:  # fewer are open each time
            inputs = tuple(port.fixed(known.sizes) for port in inputs)
