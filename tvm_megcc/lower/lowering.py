"""Lowering of a function's bindings to tensors and steps, in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatchmethod

import tvm
from tvm import relax
from tvm.ir import GenericConst

from tvm_megcc.core.contents import Bytes
from tvm_megcc.core.program import Call, Check, Draw, Kernel, Load, Location, Port, Program, Tensor
from tvm_megcc.dims import Size, Symbol, as_symbol, compare, of, stretch, symbols, typical
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.lower.branches_and_loops import lower_region
from tvm_megcc.lower.growing import Growing, ShapeOf, Sizes, Value, single
from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.checks import Checked, checked_of
from tvm_megcc.relax_tools.control_flow import region_of
from tvm_megcc.relax_tools.declared_states import states_of
from tvm_megcc.relax_tools.draws import Drawn, drawn_of
from tvm_megcc.relax_tools.exprs import dtype_name, known_shape, shape_of
from tvm_megcc.relax_tools.kernel_calls import KernelCall, kernel_call_of, kernels_of, spending_of
from tvm_megcc.relax_tools.shape_exprs import size_of, symbol_of
from tvm_megcc.relax_tools.size_reads import is_size_read
from tvm_megcc.relax_tools.stretching import parts_of
from tvm_megcc.relax_tools.work_attributes import work_of


def lower(
    mod: tvm.IRModule,
    arch: str,
    name: str,
    input_names: Sequence[str],
    output_names: Sequence[str],
    function: str = "main",
    shared: dict[Bytes, Bytes] | None = None,
    input_dtypes: Sequence[str] = (),
    output_dtypes: Sequence[str] = (),
) -> Program:
    """Flatten a function of a materialised module to a `Program`.

    Parameters
    ----------
    mod : IRModule
        Holds only calls of kernels, ``memory.view``, tuples and constants.
    arch : str
        Architecture for which it was materialised.
    name : str
        Name of the model.
    input_names, output_names : sequence of str
        Names of the ports, in the order of the function's parameters and results.
    function : str
        Name of the function.
    shared : dict, optional
        Weights of other functions of the module by their bytes: equal ones are kept once.
    input_dtypes, output_dtypes : sequence of str, optional
        Our names of the ports' types, where they are storage types that the module has as bytes.

    Raises
    ------
    UnsupportedError
        When a value's shape is known at run time only, or nothing computes an operator.
    """
    main = mod[function]
    lowering = Lowering(mod, {} if shared is None else shared)
    inputs = []
    with lowering.symbols_of(main):
        for k, (port_name, param) in enumerate(zip(input_names, main.params, strict=True)):
            dtype = input_dtypes[k] if input_dtypes else dtype_name(param.ty.dtype)
            inputs.append(Port(port_name, lowering.parameter(param, port_name, dtype)))
        lowering.symbols += symbols_in(lowering.tensors[p.tensor].shape for p in inputs)
        lowering.given = frozenset(lowering.symbols)
        for port in inputs:
            for axis, dim in enumerate(lowering.tensors[port.tensor].shape):
                for symbol in symbols(dim):
                    lowering.places.setdefault(symbol, f"input '{port.name}', dim {axis}")
        results = _flat(lowering.body(main))
    for tensor, dtype in zip(results, output_dtypes, strict=bool(output_dtypes)):
        lowering.tensors[tensor] = replace(lowering.tensors[tensor], dtype=dtype)
    outputs = [Port(n, t) for n, t in zip(output_names, results, strict=True)]
    return Program(
        name=name,
        arch=arch,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        tensors=tuple(lowering.tensors),
        kernels=tuple(lowering.kernels.values()),
        calls=tuple(lowering.calls),
        weights=tuple(lowering.weights),
        symbols=tuple(lowering.symbols),
        requirements=tuple(lowering.requirements.values()),
        spending=spending_of(mod),
        work=work_of(mod),
        states=states_of(mod),
    )


def symbols_in(shapes: Iterable[tuple[Size, ...]]) -> tuple[Symbol, ...]:
    """Symbols of shapes, in order of appearance."""
    found: dict[Symbol, None] = {}
    for shape in shapes:
        for dim in shape:
            found.update(dict.fromkeys(sorted(symbols(dim), key=str)))
    return tuple(found)


def _flat(value: Value) -> list[int]:
    assert not isinstance(value, ShapeOf | Sizes)
    return [value] if isinstance(value, int) else [t for field in value for t in _flat(field)]


@dataclass
class Lowering(Growing):
    """Lowers the bindings of functions."""

    #: The module's kernels by symbol.
    _known: dict[str, Kernel] = field(init=False)
    _values: dict[relax.Var, Value] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._known = kernels_of(self.mod)

    def parameter(self, param: relax.Var, name: str, dtype: str) -> int:
        tensor = self._new_tensor(name, param)
        self.tensors[tensor] = replace(self.tensors[tensor], dtype=dtype)
        self._values[param] = tensor
        return tensor

    def body(self, func: relax.Function) -> Value:
        """Add the steps of a function whose parameters have values; return its result."""
        for block in func.body.blocks:
            for binding in block.bindings:
                self.bind(binding)
        return self.value(func.body.body)

    def inlined(self, name: str, values: Sequence[Value]) -> Value:
        func = self.mod[name]
        self.regions += 1
        with self.symbols_of(func):
            for param, value in zip(func.params, values, strict=True):
                self._values[param] = value
            result = self.body(func)
        self.regions -= 1
        return result

    def bind(self, binding: relax.Binding) -> None:
        if isinstance(binding, relax.MatchCast):
            self._values[binding.var] = self._match_cast(binding)
        else:
            self._values[binding.var] = self._expr(binding.value, binding.var)

    def _match_cast(self, binding: relax.MatchCast) -> Value:
        """The same bytes under the shape that the model requires."""
        value, shape = self._expr(binding.value, binding.var), shape_of(binding.var, self.scope)
        if isinstance(value, ShapeOf):
            return self._load(value, binding)
        if isinstance(value, Sizes):
            for dim, known in zip(binding.ty.values, value.sizes, strict=True):
                self.name_size(symbol_of(str(dim.name), self.scope), known, binding.var.name)
            return value
        if not isinstance(value, int) or shape is None:
            return value
        tensor = self.tensors[value]
        if len(shape) != len(tensor.shape):
            raise UnsupportedError(
                f"{binding.var.name} has {len(tensor.shape)} dims where the model needs"
                f" {len(shape)}; fix the model"
            )
        found: list[Size] = []
        for a, b, prim in zip(tensor.shape, shape, binding.var.ty.shape.values, strict=True):
            new, old = as_symbol(b), as_symbol(a)
            if new is None or new in self.symbols:
                found.append(self.require(a, b, binding.var.name))
                continue
            if old is not None:
                self.rename(new.name, old)
            else:
                self.let([new], [a], binding.var.name)
            size = size_of(prim, self.scope)
            assert size is not None, prim
            found.append(size)
        tensor = self.tensors[self.movable(value, found, binding.var.name)]
        self.tensors.append(replace(tensor, name=binding.var.name, shape=tuple(found)))
        return len(self.tensors) - 1

    def _load(self, shape: ShapeOf, binding: relax.MatchCast) -> Value:
        """Add a step that reads dims from data."""
        numbers = []
        for k, dim in enumerate(binding.ty.values):
            symbol = symbol_of(str(dim.name), self.scope) if isinstance(dim, tvm.ir.Var) else None
            if symbol is None or symbol in self.symbols:
                # Not a new dim but a known size: read it, and see that it is the same.
                symbol = Symbol(f"{binding.var.name}.{k}")
                size = size_of(dim, self.scope)
                assert size is not None, dim
                self.requirement(of(symbol), size, binding.var.name)
            numbers.append(len(self.symbols))
            self.symbols.append(symbol)
        self.calls.append(Load(shape.tensor, tuple(numbers), binding.var.name))
        return shape

    def value(self, expr: relax.Expr) -> Value:
        """Value of a variable, a constant, or a tuple of these."""
        if isinstance(expr, relax.Var):
            return self._values[expr]
        if isinstance(expr, GenericConst):
            return self.constant_of(expr)
        if isinstance(expr, relax.Tuple):
            return tuple(self.value(f) for f in expr.fields)
        if isinstance(expr, relax.ShapeExpr):  # dims that a function would not know otherwise
            return ()
        raise UnsupportedError(f"a {type(expr).__name__} cannot stand where a tensor is expected")

    @singledispatchmethod
    def _expr(self, expr: relax.Expr, var: relax.Var) -> Value:
        return self.value(expr)

    @_expr.register
    def _(self, expr: relax.TupleGetItem, var: relax.Var) -> Value:
        value = self.value(expr.tuple_value)
        assert isinstance(value, tuple)
        element: Value = value[expr.index]
        return element

    @_expr.register
    def _(self, expr: relax.Call, var: relax.Var) -> Value:
        name = op_name(expr) or str(expr.op)
        if isinstance(expr.op, tvm.ir.GlobalVar):
            region = region_of(self.mod[expr.op])
            assert region is not None, name
            return lower_region(self, region, [self.value(a) for a in expr.args], var)
        if name == "relax.null_value":  # an argument of memory.view that was left out
            return ()
        if is_size_read(expr):
            return ShapeOf(single(self.value(expr.args[-1])))
        met = parts_of(expr)
        if met is not None:
            a, b = (size_of(part, self.scope) for part in met)
            assert a is not None and b is not None, met
            return Sizes((stretch(a, b),))
        check = checked_of(expr)
        if check is not None:
            return self._checked(check, var)
        drawn = drawn_of(expr)
        if drawn is not None:
            return self._drawn(drawn, var)
        if name == "relax.memory.ensure_zero_offset":  # a tensor is where its program says
            return self.value(expr.args[0])
        if name == "relax.memory.view":
            return self._view(expr, var)
        kernel = kernel_call_of(expr, self.scope)
        if kernel is not None:
            return self._kernel_call(kernel, expr.ty_args[0], var)
        types = ", ".join(str(a.ty) for a in expr.args if isinstance(a, relax.Expr))
        raise UnsupportedError(
            f"{var.name}: nothing computes {name.removeprefix('relax.')} of ({types}); give every"
            " tensor of the module its dims, or cut the model before it"
        )

    def _view(self, call: relax.Call, var: relax.Var) -> int:
        start = call.args[3] if len(call.args) > 3 else None
        found = size_of(start, self.scope) if start is not None else None
        offset = 0 if found is None else found
        shape = shape_of(call, self.scope)
        assert shape is not None
        given = single(self.value(call.args[0]))
        source = self.tensors[self.movable(given, [*shape, offset], var.name)]
        at = Location(source.location.space, source.location.index, source.location.offset + offset)
        view = Tensor(var.name, source.dtype, shape, at)
        self.check_read([*shape, offset], var.name)
        self.require(compare("lt", source.nbytes, offset + view.nbytes), 0, var.name)
        self.tensors.append(view)
        return len(self.tensors) - 1

    def _checked(self, check: Checked, var: relax.Var) -> Value:
        """The value as another tensor, whose readers come after the check."""
        value, condition = self.value(check.value), single(self.value(check.holds))
        assert self.tensors[condition].nbytes == 1, check
        self.calls.append(Check(condition, check.node))
        self.tensors.append(replace(self.tensors[single(value)], name=var.name))
        return len(self.tensors) - 1

    def _drawn(self, drawn: Drawn, var: relax.Var) -> Value:
        tensor = self._new_tensor(var.name, var)
        self.calls.append(Draw(tensor, drawn.seed, drawn.node))
        return tensor

    def _kernel_call(self, found: KernelCall, ty: relax.Type, var: relax.Var) -> Value:
        kernel = self.kernels.setdefault(found.symbol, self._known[found.symbol])
        reads = [t for o in found.operands for t in _flat(self.value(o))]
        result = self._outputs(ty, var)
        writes = _flat(result)
        dims = [d for t in writes for d in self.tensors[t].shape]
        self.check_read([*dims, *found.attrs, found.work, found.workspace], var.name)
        scratch = None
        if found.workspace != 0:
            scratch = self.new_tensor(f"{var.name}.workspace", "u8", (found.workspace,))
        self.calls.append(
            Call(
                kernel=list(self.kernels).index(kernel.symbol),
                operands=(*reads, *writes),
                n_outputs=len(writes),
                attrs=found.attrs,
                work=found.work,
                workspace=scratch,
                name=var.name,
                overlap=found.overlap,
                cost=max(1, typical(found.cost)),
            )
        )
        return result

    def _outputs(self, ty: relax.Type, var: relax.Var) -> Value:
        if isinstance(ty, relax.TupleType):
            return tuple(self._outputs(f, var) for f in ty.fields)
        return self._new_tensor(var.name, relax.Var(var.name, ty))

    def _new_tensor(self, name: str, like: relax.Expr) -> int:
        return self.new_tensor(name, dtype_name(like.ty.dtype), known_shape(like, name, self.scope))
