"""``relay.frontend.from_onnx``: a Relax module and its parameters by name.

Enters: an ONNX model. Leaves: ``(mod, params)``, where the weights are the last parameters of
``mod["main"]`` under the names of the ONNX initialisers, and ``params`` has their values.
"""

from __future__ import annotations

import os
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import tvm
from tvm import relax
from tvm.ir import GenericConst

from tvm_megcc.core import dtypes
from tvm_megcc.errors import InputError
from tvm_megcc.relay.dims import to_frontend

if TYPE_CHECKING:
    import numpy as np
    import onnx

    from tvm_megcc.frontend import InputInfo

#: Function attributes that keep the model's own ports, whatever Relax calls and has its variables.
INPUT_NAMES, OUTPUT_NAMES, INPUT_DTYPES, OUTPUT_DTYPES, MODEL_NAME = (
    "tvm_megcc.input_names",
    "tvm_megcc.output_names",
    "tvm_megcc.input_dtypes",
    "tvm_megcc.output_dtypes",
    "tvm_megcc.model_name",
)

#: dtype and bytes of a constant.
Contents = tuple[str, bytes]


def from_onnx(
    model: str | os.PathLike[str] | onnx.ModelProto,
    shape: Mapping[str, Sequence[object]] | None = None,
    dtype: str | Mapping[str, str] | None = None,
    opset: int | None = None,
    freeze_params: bool = False,
    distinct_dims: Sequence[str] = (),
) -> tuple[tvm.IRModule, dict[str, tvm.runtime.Tensor]]:
    """Import an ONNX model.

    Parameters
    ----------
    model : path or onnx.ModelProto
    shape : mapping of input name to dims, optional
        A dim is an int, a name, or `Any` (None), which keeps the model's own.
    dtype : str or mapping of input name to str, optional
        Checked against the model, which alone decides; Relay's default "float32" is never needed.
    opset : int, optional
        Accepted for Relay's sake; the model says its own opset.
    freeze_params : bool
        Keep the weights as constants of the module; ``params`` is empty then.
    distinct_dims : sequence of str
        Names of dims that say nothing; see `tvm_megcc.frontend.from_onnx`.

    Returns
    -------
    mod : tvm.IRModule
    params : dict of str to tvm.runtime.Tensor
        Weights by the name of their ONNX initialiser, to give to `tvm_megcc.relay.build`.

    Raises
    ------
    tvm_megcc.errors.MegccError
        See `tvm_megcc.frontend.from_onnx`; also when `dtype` contradicts the model.
    """
    import onnx

    from tvm_megcc import frontend

    dims = {name: to_frontend(given) for name, given in (shape or {}).items()}
    imported = frontend.from_onnx(model, dims, distinct_dims)
    _check_dtypes(imported.inputs, dtype)
    main = imported.mod["main"].with_attrs(
        {
            "num_input": len(imported.inputs),
            INPUT_NAMES: [port.name for port in imported.inputs],
            OUTPUT_NAMES: [port.name for port in imported.outputs],
            INPUT_DTYPES: [port.dtype for port in imported.inputs],
            OUTPUT_DTYPES: [port.dtype for port in imported.outputs],
            MODEL_NAME: imported.name,
        }
    )
    weights: list[tuple[str, np.ndarray]] = []
    if not freeze_params:
        proto = model if isinstance(model, onnx.ModelProto) else onnx.load(os.fspath(model))
        weights = [(w.name, onnx.numpy_helper.to_array(w)) for w in proto.graph.initializer]
    main, params = lift_constants(main, weights)
    mod = imported.mod.clone()
    mod.update_func(mod.get_global_var("main"), main)
    return mod, params


def lift_constants(
    func: relax.Function, weights: Sequence[tuple[str, np.ndarray]]
) -> tuple[relax.Function, dict[str, tvm.runtime.Tensor]]:
    """Make parameters of the constants whose contents are among `weights`.

    Constants that the importer computed (a folded transpose, a shape) have no name in the model and
    stay constants; a reshaped weight keeps its name. Weights of equal contents are told apart by
    the order of their use.

    Returns the function with the weights behind its own parameters, in the order of their use, and
    their values by name.
    """
    names: dict[Contents, deque[str]] = defaultdict(deque)
    taken = {param.name for param in func.params}
    for name, value in weights:
        if name not in taken:
            names[_contents(value)].append(name)
    lifter = _Lifter(names)
    body = lifter.visit_expr(func.body)
    if not lifter.params:
        return func, {}
    lifted = relax.Function(
        [*func.params, *lifter.variables], body, func.ret_ty, func.is_pure, func.attrs
    )
    return lifted, lifter.params


@relax.expr_functor.mutator
class _Lifter(relax.PyExprMutator):
    """Replaces constants by variables; `params` collects their values by name."""

    def __init__(self, names: Mapping[Contents, deque[str]]) -> None:
        super().__init__()
        self.names = names
        self.seen: list[tuple[GenericConst, relax.Var]] = []
        self.params: dict[str, tvm.runtime.Tensor] = {}

    @property
    def variables(self) -> list[relax.Var]:
        return [variable for _, variable in self.seen]

    def visit_generic_const_(self, constant: GenericConst) -> relax.Expr:
        for known, variable in self.seen:
            if known.same_as(constant):
                return variable
        left = self.names.get(_contents(constant.value.numpy()))
        if not left:
            return constant
        variable = relax.Var(left.popleft(), constant.ty)
        self.seen.append((constant, variable))
        self.params[variable.name] = constant.value
        return variable


def _contents(value: np.ndarray) -> Contents:
    return str(value.dtype), value.tobytes()


def _check_dtypes(inputs: Sequence[InputInfo], dtype: str | Mapping[str, str] | None) -> None:
    given = dtype if isinstance(dtype, Mapping) else {p.name: dtype for p in inputs if dtype}
    known = {port.name: dtypes.of(port.dtype).numpy for port in inputs}
    for name, want in given.items():
        if name not in known:
            raise InputError(f"'{name}' is no input of the model; its inputs are {sorted(known)}")
        if want != known[name]:
            raise InputError(f"input '{name}': the model has {known[name]}; not {want!r}")
