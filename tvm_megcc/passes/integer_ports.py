"""IntegerPorts: inputs that are quantised first and outputs that are dequantised last are integers.

    f(x: f32): y = quantize(x, s, z); ...      ->  f(x: i8): ...
    ...; return dequantize(v, s, z)            ->  ...; return v

so that a device without floats neither makes nor reads any. What a port's integers stand for is
noted in an attribute of the function (`steps_of`), and so is that of ports which the model has as
integers. Runs on a whole module, before anything else has changed it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import tvm
from tvm import relax

from tvm_megcc.core.dtypes import EIGHT_BITS
from tvm_megcc.core.program import Quantisation
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.relax_tools.attributes import read, written
from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.exprs import constant, dtype_of, use_counts
from tvm_megcc.relax_tools.rewriting import cleaned, module_pass, with_bindings, with_functions
from tvm_megcc.relax_tools.traits import COPIES

ATTRIBUTE = "tvm_megcc.port_steps"
_FLOATS = ("f16", "bf16", "f32", "f64")
_INSTEAD = "leave out --io-dtype"

Steps = tuple[Quantisation | None, ...]


@module_pass("tvm_megcc.IntegerPorts")
def IntegerPorts(
    mod: tvm.IRModule,
    dtype: str | None,
    functions: Sequence[str],
    inputs: Sequence[str],
    outputs: Sequence[str],
) -> tvm.IRModule:
    """Make integers of the ports of some functions, and note what these stand for.

    Parameters
    ----------
    dtype : {"i8", "u8"}, optional
        Type of the ports that have been floats; None keeps them.
    functions : sequence of str
        Names of the functions.
    inputs, outputs : sequence of str
        Names of their parameters and results, for errors.

    Raises
    ------
    UnsupportedError
        A port of floats is not quantised, by several scales, to another type, or read as it is.
    """
    if dtype is not None:
        mod = relax.transform.ToNonDataflow()(mod)
    made = {mod.get_global_var(f): _ported(mod[f], dtype, inputs, outputs) for f in functions}
    mod = with_functions(mod, made)
    return mod if dtype is None else cleaned(mod)


def steps_of(func: relax.Function) -> tuple[Steps, Steps]:
    """Steps of the parameters and of the results of a function, None for those without."""
    noted = read(func, ATTRIBUTE)
    if noted is None:
        return (), ()
    inputs, outputs = (tuple(None if s is None else Quantisation(*s) for s in n) for n in noted)
    return inputs, outputs


def _ported(
    func: relax.Function, dtype: str | None, inputs: Sequence[str], outputs: Sequence[str]
) -> relax.Function:
    taken: list[Quantisation | None] = []
    for k, name in enumerate(inputs):
        port = _Input(func, k, name)
        if dtype is not None and dtype_of(port.param) in _FLOATS:
            func, quantisation = port.as_integers(dtype)
            taken.append(quantisation)
        else:
            taken.append(port.step() if dtype_of(port.param) in EIGHT_BITS else None)
    func, given = _with_results(func, dtype, outputs)
    if not any((*taken, *given)):
        return func
    rows = [[s and [s.scale, s.zero_point] for s in side] for side in (taken, given)]
    return written(func, ATTRIBUTE, rows)


@dataclass(slots=True)
class _Input:
    """A parameter of a function."""

    func: relax.Function
    index: int
    name: str

    @property
    def param(self) -> relax.Var:
        return self.func.params[self.index]

    def readers(
        self, copies: Collection[str] = ()
    ) -> tuple[list[relax.Var], list[relax.Call | None]]:
        """The variables that are the parameter or a copy of it, and what else reads one.

        Copies are casts to its dims, and by operators of `copies`. A reader is a call of which it
        is the first operand, else None.
        """
        same: list[relax.Var] = [self.param]
        calls: list[relax.Call | None] = []
        copied = 0
        for binding in _bindings(self.func):
            value = binding.value
            if value in same:
                same.append(binding.var)
            elif isinstance(value, relax.Call) and value.args and value.args[0] in same:
                if op_name(value) in copies:
                    same.append(binding.var)
                    copied += 1
                else:
                    calls.append(value)
        counts = use_counts(self.func)
        others = sum(counts[var] for var in same) - copied - len(calls)
        return same, calls + [None] * others

    def step(self) -> Quantisation | None:
        """The step by which everything dequantises the parameter, of integers; else None."""
        _, calls = self.readers(COPIES)
        return _same([_step(c) if op_name(c) == "relax.dequantize" else None for c in calls])

    def as_integers(self, dtype: str) -> tuple[relax.Function, Quantisation]:
        """The function with the parameter as integers, and the step of these."""
        what = f"input '{self.name}'"
        same, calls = self.readers()
        quantised = [c for c in calls if c is not None and op_name(c) == "relax.quantize"]
        if not quantised:
            raise UnsupportedError(
                f"{what} is not quantised first, so it cannot be of integers; quantise the model"
                f" (tvmc quantize), or {_INSTEAD}"
            )
        if len(quantised) < len(calls):
            raise UnsupportedError(
                f"{what} is read as floats, too, not only by its QuantizeLinear; quantise its"
                f" other readers, or {_INSTEAD}"
            )
        step = _same([_step(call) for call in quantised])
        _check(what, dtype, [dtype_of(c) for c in quantised], step)
        assert step is not None
        held = str(quantised[0].ty.dtype)
        new = relax.Var(self.param.name, _of_type(self.param.ty, held))
        now: dict[relax.Var, relax.Var] = {self.param: new}

        def binding(given: relax.Binding) -> relax.Binding:
            value = given.value
            if value in now and given.var in same:
                var = relax.Var(given.var.name, _of_type(given.var.ty, held))
                now[given.var] = var
                if isinstance(given, relax.MatchCast):
                    return relax.MatchCast(var, now[value], _of_type(given.ty, held))
                return relax.VarBinding(var, now[value])
            if isinstance(value, relax.Call) and value.args and value.args[0] in now:
                return relax.VarBinding(given.var, now[value.args[0]])
            return given

        made = with_bindings(self.func, binding)
        params = [new if p.same_as(self.param) else p for p in self.func.params]
        return _function(self.func, params, made.body, self.func.ret_ty), step


def _with_results(
    func: relax.Function, dtype: str | None, names: Sequence[str]
) -> tuple[relax.Function, list[Quantisation | None]]:
    """A function whose results are integers, and the steps of these."""
    values = {binding.var: binding.value for binding in _bindings(func)}

    def found(expr: relax.Expr) -> relax.Expr:
        while expr in values and isinstance(values[expr], relax.Var | relax.Tuple):
            expr = values[expr]
        return expr

    whole = found(func.body.body)
    results = list(whole.fields) if isinstance(whole, relax.Tuple) else [whole]
    if len(results) != len(names):  # a call's tuple: its fields are none of ours to change
        return func, [None] * len(names)
    types = list(func.ret_ty.fields) if isinstance(func.ret_ty, relax.TupleType) else [func.ret_ty]
    steps: list[Quantisation | None] = []
    for k, name in enumerate(names):
        value = values.get(found(results[k]))
        if dtype_of(results[k]) in EIGHT_BITS:
            steps.append(_step(value) if op_name(value) == "relax.quantize" else None)
            continue
        steps.append(None)
        if dtype is None or dtype_of(results[k]) not in _FLOATS:
            continue
        if value is None or op_name(value) != "relax.dequantize":
            raise UnsupportedError(
                f"output '{name}' is not dequantised last, so it cannot be of integers; quantise"
                f" what computes it, or {_INSTEAD}"
            )
        steps[k] = _step(value)
        _check(f"output '{name}'", dtype, [dtype_of(value.args[0])], steps[k])
        results[k] = value.args[0]
        types[k] = _of_type(types[k], str(results[k].ty.dtype))
    if dtype is None:
        return func, steps
    one = not isinstance(whole, relax.Tuple)
    body = relax.SeqExpr(func.body.blocks, results[0] if one else relax.Tuple(results))
    return _function(func, func.params, body, types[0] if one else relax.TupleType(types)), steps


def _check(what: str, dtype: str, found: Sequence[str], step: Quantisation | None) -> None:
    """Raise UnsupportedError if a port's integers are of another type, or by several scales."""
    other = next((f for f in found if f != dtype), None)
    if other is not None:
        names = {"i8": "int8", "u8": "uint8"}
        instead = f"say --io-dtype {names[other]}" if other in names else _INSTEAD
        raise UnsupportedError(
            f"{what} is quantised to {names.get(other, other)}, not {names[dtype]}; {instead}"
        )
    if step is None:
        raise UnsupportedError(
            f"{what} is quantised by more than one scale, or by one that is no constant; give it"
            f" one scale and zero point, or {_INSTEAD}"
        )


def _step(call: relax.Call) -> Quantisation | None:
    """Scale and zero point of a ``quantize`` or ``dequantize``; None for several."""
    scale, zero = (constant(arg) for arg in call.args[1:])
    if scale is None or zero is None or scale.size != 1 or zero.size != 1 or not scale.item() > 0:
        return None
    return Quantisation(float(scale.item()), int(zero.item()))


def _same(steps: Sequence[Quantisation | None]) -> Quantisation | None:
    """The step that all are; None where they differ, or where there are none."""
    found = set(steps)
    return found.pop() if len(found) == 1 else None


def _of_type(ty: relax.TensorType, dtype: str) -> relax.TensorType:
    return relax.TensorType(ty.shape, dtype) if ty.shape else relax.TensorType(None, dtype, ty.ndim)


def _bindings(func: relax.Function) -> list[relax.Binding]:
    return [binding for block in func.body.blocks for binding in block.bindings]


def _function(
    like: relax.Function, params: Sequence[relax.Var], body: relax.Expr, ty: relax.Type
) -> relax.Function:
    return relax.Function(params, body, ty, like.is_pure, like.attrs)
