"""A loaded model -> a Relax module: inputs and outputs; `walk` is the import loop between them.

Half precision (f16, bf16) is a storage type here: such inputs are widened to f32 on entry, outputs
narrowed on exit, and everything between is f32, as ONNX Runtime has it on a CPU. A Cast to half
precision still rounds. A module of a model in f16 is marked as one, with what the model has in f32
(`relax_tools.half`); a pass makes it f16 again. So is one of a model in bf16, whose weights passes
make bf16 again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx
import tvm
from tvm import relax

from tvm_megcc.core.dtypes import DType, of, of_numpy, of_onnx
from tvm_megcc.core.state_pairs import OPTION, matched
from tvm_megcc.relax_tools import half
from tvm_megcc.relax_tools.exprs import shape_of
from tvm_megcc.relax_tools.names import with_names
from tvm_megcc.relax_tools.nodes import with_nodes
from tvm_megcc.relax_tools.shape_exprs import (
    Symbols,
    base_of,
    name_of_multiple,
    prim_of,
    size_of,
    sizes_of,
    symbol_of,
    with_bounds,
    with_multiples,
)

from ..dims import Dim, Size, Symbol, as_symbol, compare, stretch
from ..dims import of as of_symbol
from ..errors import InputError, UnsupportedError
from ..ops.common.context import expr_dtype
from ..ops.common.stored import packed, restored, unpacked
from . import sequences
from .half import names_by_type
from .import_loop import Walk
from .model import ImportedModel, InputInfo, OutputInfo
from .nodes import nodes
from .sequences import TensorList, Value
from .state import Scope
from .values import HALVES, empty, fits, identifier, is_empty, refuse_unheld, tensor_type

#: The types that are widened, and how a module says that its model has them.
_HALVES = ((onnx.TensorProto.FLOAT16, half.F16), (onnx.TensorProto.BFLOAT16, half.BF16))


def import_graph(
    model: onnx.ModelProto,
    inputs: tuple[InputInfo, ...],
    name: str,
    elements: Mapping[str, Sequence[str]],
    states: Sequence[str] = (),
) -> ImportedModel:
    """Convert a loaded model whose inputs have been given shapes.

    ``elements`` are the names of the inputs that are the elements of a sequence, by its name;
    ``states`` says which inputs and outputs will share memory, as in `from_onnx`.

    Raises
    ------
    UnsupportedError
        Operators without a converter, all at once; or a node that cannot be converted.
    """
    importer = Model(model)
    ports = [port.name for port in inputs], [port.name for port in model.graph.output]
    importer.states = matched(states, *ports)
    params = importer.parameters(inputs)
    output_names: list[str] = []
    builder = importer.builder
    error: Exception | None = None
    with builder.function("main", params):
        with builder.dataflow():
            try:
                scope: Scope = {
                    port.name: importer.entered(param, of(port.dtype))
                    for port, param in zip(inputs, params, strict=True)
                }
                for port, names in elements.items():
                    scope[port] = TensorList(tuple(scope[element] for element in names))
                importer.run(model.graph, scope)
                importer.raise_missing()
                results = []
                for port in model.graph.output:
                    found = sequences.ports(port, scope[port.name])
                    output_names += [name for name, _ in found]
                    declared = tensor_type(port.type).elem_type
                    for output, value in found:
                        expr = importer.result(output, value, declared, params)
                        if output in importer.states:
                            kept = params[ports[0].index(importer.states[output])]
                            expr = importer.state_result(output, expr, kept)
                        results.append(expr)
            except Exception as err:  # raised below: a builder left open prints a warning
                error, results = err, [relax.Tuple([])]
        # The same variable may stand in the tuple several times, or be a parameter.
        builder.emit_func_output(results[0] if len(results) == 1 else relax.Tuple(results))
    if error is not None:
        raise error
    mod = builder.get()
    importer.functions.into(mod)
    for kind, attribute in _HALVES:
        by_type = names_by_type(model, kind)
        if by_type is not None:
            mod = half.marked(mod, importer.said(*by_type), attribute)
    mod = relax.transform.CanonicalizeBindings()(mod)
    mod = relax.transform.DeadCodeElimination()(mod)
    bounds = [found for found in importer.symbols.values() if isinstance(found, Symbol)]
    if importer.symbols:
        for gvar, func in mod.functions_items():
            if isinstance(func, relax.Function):
                func = with_multiples(func, importer.multiples)
                mod.update_func(gvar, with_bounds(func, bounds) if bounds else func)
    mod = with_names(mod, {v: n for v, n in importer.names.items() if v != n and n.isprintable()})
    mod = with_nodes(mod, nodes(model.graph, importer.computed))
    outputs = output_infos(mod, output_names, importer.stored_ports, importer.sizes())
    return ImportedModel(mod, inputs, outputs, name)


def output_infos(
    mod: tvm.IRModule, names: list[str], stored: Mapping[str, str], symbols: Symbols
) -> tuple[OutputInfo, ...]:
    """Names, types and dims of what ``main`` returns; `stored` has types other than the module's.

    Raises
    ------
    UnsupportedError
        An output is no tensor, or has no shape before the run.
    """
    # Of the value, not of the function: that one forgets sizes which no parameter has.
    returned = mod["main"].body.body.ty
    types = returned.fields if isinstance(returned, relax.TupleType) else [returned]
    infos = []
    for name, ty in zip(names, types, strict=True):
        if not isinstance(ty, relax.TensorType):
            raise UnsupportedError(f"output '{name}' is no tensor; cut the model at its tensors")
        dims = shape_of(relax.Var("_", ty), symbols)
        if dims is None:
            raise UnsupportedError(
                f"output '{name}': its shape is known only at run time; cut the model before it"
            )
        shape = tuple(str(d) if isinstance(d, Dim) else d for d in dims)
        row = of_numpy(stored.get(name, str(ty.dtype)))
        assert row is not None, ty
        infos.append(OutputInfo(name, row.name, shape))
    return tuple(infos)


class KnownDims(Exception):
    """Dims of an input, by name, that are fixed as its memory is that of an output."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        super().__init__(sizes)
        self.sizes = sizes


class Model(Walk):
    """The import of a model: its nodes, and its ports as parameters and results."""

    def parameters(self, inputs: tuple[InputInfo, ...]) -> list[relax.Var]:
        """One variable per input; dims of one name are one symbolic dim."""
        dims = self.variables
        self.symbols.update({s.name: s for port in inputs for s in port.symbols})
        multiples = {str(m): m for port in inputs for m in port.multiples}
        named = {dim: name_of_multiple(m) for dim, m in multiples.items()}
        self.multiples = {named[dim]: m for dim, m in multiples.items()}
        params = []
        for port in inputs:
            fits(f"input '{port.name}'", [0 if isinstance(d, str) else d for d in port.shape])
            shape = [
                dims.setdefault(d, tvm.tirx.Var(d, "int64")) if isinstance(d, str) else d
                for d in (named.get(d, d) if isinstance(d, str) else d for d in port.shape)
            ]
            ty = relax.TensorType(shape, of(port.dtype).held_numpy)
            params.append(relax.Var(identifier(port.name), ty))
        for dim, multiple in self.multiples.items():
            base = multiple.of.name
            known = of_symbol(symbol_of(base, self.symbols))
            self.variables.setdefault(base, base_of(multiple, self.variables[dim]))
            self.symbols[dim] = known * multiple.factor
        return params

    def sizes(self) -> dict[str, Symbol | Size]:
        """The symbolic dims by name; those made by broadcasting in terms of the inputs' dims."""
        found: dict[str, Symbol | Size] = {**self.symbols}
        for size, parts in self.met.items():
            a, b = (size_of(prim_of(part, self.variables), found) for part in parts)
            assert a is not None and b is not None, parts
            found[str(size)] = stretch(a, b)
        return found

    def _values_of(self, variable: str) -> set[str]:
        """Names of the model's values that a variable holds, directly or through others."""
        found: set[str] = set()
        waiting = [variable]
        while waiting:
            new = self.aliases.get(waiting.pop(), set()) - found
            found |= new
            waiting += {*map(identifier, new)} - self.of_functions
        return found

    def said(self, full: frozenset[str], others: frozenset[str]) -> half.Said:
        """Names of the variables that have another float type in the model, and of all others.

        An f16 value that is cast to another float is the same variable, and counts as f16.
        """
        found = {v: self._values_of(v) for v in self.aliases}
        apart = {v for v, names in found.items() if names & full}
        alike = {v for v, names in found.items() if names & others}
        # A variable of a function may be called as a value of the model is.
        named = ({*map(identifier, others)} - self.of_functions) | alike
        wide = ({*map(identifier, full)} - self.of_functions) | (apart - named)
        return half.Said(frozenset(wide), frozenset(named))

    def raise_missing(self) -> None:
        """Report every operator that nothing converts in one error."""
        if self.missing:
            raise UnsupportedError(
                "no converter for "
                + "; ".join(self.missing)
                + ": add one under tvm_megcc/ops (docs/adding-an-op.md) or export without them"
            )

    def result(
        self, name: str, value: Value, elem_type: int, params: list[relax.Var]
    ) -> relax.Expr:
        """A value as the function returns it: a parameter, a constant or an output of the block."""
        refuse_unheld(f"output '{name}': it", value)
        expr = self.expr(value)
        declared = of_onnx(elem_type)
        row = self.storage(value)
        if row is not None or (declared is not None and declared.is_storage):
            expr = self._stored_result(name, expr, row, declared)
        elif declared is not None and declared.numpy in HALVES and expr_dtype(expr) == "float32":
            original = [p for p in params if self._widened.get(p) is expr]
            narrow = relax.op.astype(expr, declared.numpy)
            expr = original[0] if original else self.emit(narrow)
        return expr if any(expr.same_as(param) for param in params) else self.returned(expr)

    def state_result(self, name: str, expr: relax.Expr, kept: relax.Var) -> relax.Expr:
        """A result that takes the memory of the input `kept`, with that input's dims."""
        source, have, wanted = self.states[name], self.shape_of(expr), self.shape_of(kept)
        if have == wanted:
            return expr
        if have is not None and wanted is not None and len(have) == len(wanted):
            rows = [(as_symbol(w), h) for w, h in zip(wanted, have, strict=True)]
            if known := {s.name: h for s, h in rows if s is not None and isinstance(h, int)}:
                raise KnownDims(known)
        place = self.place(name)
        differ = (
            have is not None
            and wanted is not None
            and (
                len(have) != len(wanted)
                or any(compare("eq", a, b) == 0 for a, b in zip(have, wanted, strict=True))
            )
        )
        if have is None or wanted is None or differ:
            dims = (", ".join(map(str, shape or "?")) for shape in (wanted, have))
            raise InputError(
                "{} '{}={}': the input is [{}], the output [{}]; they need equal dims".format(
                    OPTION, source, name, *dims
                )
            )
        return self.returned(place.emit(place.reshape(place.match_cast(expr, wanted), wanted)))

    def entered(self, param: relax.Var, dtype: DType) -> Value:
        """A parameter as the nodes see it."""
        if is_empty(param, self.symbols):
            array = empty(param, self.symbols)
            return restored(array, dtype) if dtype.is_storage else array
        expr = self._cast_to_multiples(param)
        if dtype.is_packed:
            return unpacked(self.place("unpack"), expr, dtype)
        if dtype.is_storage:
            self.stored[expr] = dtype.numpy
        return self.widen(expr)

    def _cast_to_multiples(self, param: relax.Var) -> relax.Expr:
        """Cast a parameter so that dims such as ``32*h`` are written in terms of ``h``."""
        names = [str(dim) for dim in param.ty.shape.values]
        if not any(name in self.multiples for name in names):
            return param
        shape = [
            prim_of(size, self.variables) for size in sizes_of(param.ty.shape, self.symbols) or ()
        ]
        return self.builder.match_cast(param, relax.TensorType(shape, param.ty.dtype), param.name)

    def _stored_result(
        self, name: str, expr: relax.Expr, row: DType | None, declared: DType | None
    ) -> relax.Expr:
        if row is None or (declared is not None and declared is not row):
            have = expr_dtype(expr) if row is None else row.numpy
            raise UnsupportedError(
                f"output '{name}' is declared {declared.numpy if declared else 'nothing'} and is"
                f" {have}; correct the model"
            )
        self.stored_ports[name] = row.numpy
        return packed(self.place("pack"), expr, row) if row.is_packed else expr
