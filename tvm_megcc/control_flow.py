"""Branches and loops in Relax: private functions, and one that calls them.

Relax has no loop, and an ``If`` cannot stand in a dataflow block. So each branch and each body is a
function, and what the model calls is a function that holds the ``If``, or one that calls itself for
the next iteration: the module runs in ``relax.VirtualMachine`` as it is. An attribute of that
function says what it does (`region_of`), so that ``lower`` need not read it, and passes leave it
alone (`plain_functions`).

Example
-------
>>> region_of(mod["if_0"])                                              # doctest: +SKIP
Branches(then='if_0_then', other='if_0_else')
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

import tvm
from tvm import relax, tirx
from tvm.relax.expr_functor import PyExprMutator, mutator
from tvm.relax.utils import copy_with_new_vars

ATTRIBUTE = "tvm_megcc.region"

Exprs = Sequence[relax.Expr]


@dataclass(frozen=True, slots=True)
class Branches:
    """Call ``then`` or ``other`` with the operands behind the first, which says which."""

    then: str
    other: str


@dataclass(frozen=True, slots=True)
class Iterations:
    """Call ``body`` again and again.

    The function's parameters are the limit (``int64``), the condition (``bool``), each where there
    is one, the states, what is read by rows, and what stays. The body gets the number of the
    iteration, the states, a row of each, and what stays; it gives the condition, where there is
    one, the states, and a row for each output. The function gives the states, the outputs, and,
    where there are a condition and outputs, the number of iterations (``[1]``). Rows and outputs,
    in this order, of which ``backwards`` says so are counted from the end.
    """

    body: str
    limit: bool
    condition: bool
    states: int
    rows: int
    outputs: int
    backwards: tuple[bool, ...]


Region = Branches | Iterations


def region_of(func: object) -> Region | None:
    """What a function of this module's making does; None for any other."""
    if not isinstance(func, relax.Function) or not func.attrs or ATTRIBUTE not in func.attrs:
        return None
    found = json.loads(str(func.attrs[ATTRIBUTE]))
    if "then" in found:
        return Branches(**found)
    return Iterations(**{**found, "backwards": tuple(found["backwards"])})


def plain_functions(mod: tvm.IRModule) -> Iterator[tuple[relax.GlobalVar, relax.Function]]:
    """The Relax functions of a module that compute, without those that only choose or repeat."""
    for gvar, func in mod.functions_items():
        if isinstance(func, relax.Function) and region_of(func) is None:
            yield gvar, func


def with_region(func: relax.Function, region: Region) -> relax.Function:
    """The function with what it does in its attribute."""
    return func.with_attr(ATTRIBUTE, json.dumps(asdict(region), sort_keys=True))


class Functions:
    """Functions that wait for the module which they will be part of.

    They are public: of private ones TVM's DeadCodeElimination removes parameters and results.
    """

    def __init__(self) -> None:
        self._found: dict[relax.GlobalVar, relax.Function] = {}

    def add(self, name: str, func: relax.Function) -> relax.GlobalVar:
        """What to call the function by; its name is changed where it is taken."""
        taken = {gvar.name_hint for gvar in self._found} | {"main"}
        numbered = (f"{name}_{k}" if k else name for k in range(len(taken) + 1))
        gvar = relax.GlobalVar(next(n for n in numbered if n not in taken))
        relax.expr._update_type(gvar, func.ty)
        self.update(gvar, func)
        return gvar

    def update(self, gvar: relax.GlobalVar, func: relax.Function) -> None:
        """Another function for this variable, of the same type."""
        self._found[gvar] = func.with_attr("global_symbol", gvar.name_hint)

    def into(self, mod: tvm.IRModule) -> None:
        """Make the functions part of `mod`."""
        for gvar, func in self._found.items():
            mod[gvar] = func


# ---- functions that are called ------------------------------------------------------------------


def called_by(mod: tvm.IRModule, names: Iterable[str]) -> list[str]:
    """The Relax functions that these call, and those that they call, in a fixed order."""
    found: dict[str, None] = {}
    waiting = list(names)
    while waiting:
        for gvar in _callees(mod, mod[waiting.pop(0)]):
            if gvar.name_hint not in found:
                found[gvar.name_hint] = None
                waiting.append(gvar.name_hint)
    return [name for name in found if name not in set(names)]


def _callees(mod: tvm.IRModule, func: relax.Function) -> list[relax.GlobalVar]:
    found = {g.name_hint: g for g in relax.analysis.all_global_vars(func)}
    return [found[n] for n in sorted(found) if isinstance(mod[n], relax.Function)]


def with_own_callees(
    mod: tvm.IRModule,
    func: relax.Function,
    suffix: str,
    change: Callable[[relax.Function], relax.Function],
) -> relax.Function:
    """`func`, calling copies, each changed by `change`, of all that it called.

    The copies are added to `mod`; their names end in `suffix`. What is chosen or repeated in a
    function for some sizes is so for these sizes.
    """
    callees: dict[str, relax.GlobalVar] = {}
    waiting = [g.name_hint for g in _callees(mod, func)]
    while waiting:
        name = waiting.pop()
        if name not in callees:
            callees[name] = relax.GlobalVar(name + suffix)
            waiting += [g.name_hint for g in _callees(mod, mod[name])]
    if not callees:
        return func
    changed = {name: change(copy_with_new_vars(mod[name])) for name in callees}
    for name, gvar in callees.items():
        relax.expr._update_type(gvar, changed[name].ty)
    renaming = _Renaming(callees)
    for name, gvar in callees.items():
        made = renaming.visit_expr(changed[name])
        region = region_of(made)
        if region is not None:
            names = [key for key, value in asdict(region).items() if isinstance(value, str)]
            new = {key: callees[getattr(region, key)].name_hint for key in names}
            made = with_region(made, replace(region, **new))
        mod[gvar] = made.with_attr("global_symbol", gvar.name_hint)
    return renaming.visit_expr(func)


def taken_out(mod: tvm.IRModule, name: str, builder: relax.BlockBuilder) -> relax.Function:
    """A function of `mod`; the TIR functions that it calls become part of what `builder` makes."""
    callees = {
        gvar.name_hint: builder.add_func(func, gvar.name_hint)
        for gvar, func in mod.functions_items()
        if isinstance(func, tirx.PrimFunc)
    }
    return _Renaming(callees).visit_expr(mod[name]) if callees else mod[name]


@mutator
class _Renaming(PyExprMutator):
    """Replaces what is called."""

    def __init__(self, callees: Mapping[str, relax.GlobalVar]) -> None:
        super().__init__()
        self.callees = callees

    def visit_global_var_(self, op: relax.GlobalVar) -> relax.GlobalVar:
        return self.callees.get(op.name_hint, op)


# ---- branches ---------------------------------------------------------------------------------


def branches(
    builder: relax.BlockBuilder,
    functions: Functions,
    name: str,
    condition: relax.Expr,
    then: relax.Function,
    other: relax.Function,
) -> relax.Expr:
    """The value of one of two functions without parameters, chosen during the run.

    Parameters
    ----------
    builder : relax.BlockBuilder
        Where the call is emitted.
    functions : Functions
        Where what it calls is added.
    name : str
        What that is called.
    condition : relax.Expr
        ``bool``, of rank 0.
    then, other : relax.Function
        They may use variables and symbolic dims of the function that is being built.
    """
    around = captured(then, other)
    callees = [
        functions.add(f"{name}_{word}", closed(func, around))
        for word, func in (("then", then), ("else", other))
    ]

    def body(inner: relax.BlockBuilder, params: Exprs) -> relax.Expr:
        choice, *rest = params

        def called(callee: relax.GlobalVar, builder: relax.BlockBuilder) -> relax.Expr:
            return builder.emit(relax.Call(callee, rest))

        then, other = (_sequence(inner, partial(called, callee)) for callee in callees)
        return inner.emit(relax.If(choice, then, other))

    arguments = [condition, *around.arguments]
    chooser = _function([a.ty for a in arguments], body)
    region = Branches(*(callee.name_hint for callee in callees))
    callee = functions.add(name, with_region(chooser, region))
    return builder.emit(relax.Call(callee, arguments), name)


# ---- loops ------------------------------------------------------------------------------------


def loop(
    builder: relax.BlockBuilder,
    functions: Functions,
    name: str,
    body: relax.Function,
    *,
    limit: relax.Expr | None,
    condition: relax.Expr | None,
    states: Exprs,
    rows: Exprs,
    outputs: Sequence[relax.TensorType],
    backwards: Sequence[bool] = (),
) -> relax.Expr:
    """Call a function again and again: see `Iterations` for what it is given and what it gives.

    Parameters
    ----------
    builder : relax.BlockBuilder
        Where the call is emitted.
    functions : Functions
        Where what it calls is added.
    name : str
        What that is called.
    body : relax.Function
        Its parameters are those of `Iterations`, but for what stays: it may use variables and
        symbolic dims of the function that is being built.
    limit, condition : relax.Expr, optional
        ``int64`` and ``bool``, of rank 0.
    states : sequence of relax.Expr
    rows : sequence of relax.Expr
        The number of iterations is at most the number of rows.
    outputs : sequence of TensorType
        Types of the outputs as wholes, ``[length, ...]``.
    backwards : sequence of bool, optional
        For each of `rows` and `outputs` whether it is counted from the end.

    Returns
    -------
    relax.Expr
        A tuple.
    """
    around = captured(body)
    callee = functions.add(f"{name}_body", closed(body, around))
    region = Iterations(
        callee.name_hint, limit is not None, condition is not None, len(states), len(rows),
        len(outputs), tuple(backwards) or (False,) * (len(rows) + len(outputs)),
    )  # fmt: skip
    heads = [e for e in (limit, condition) if e is not None]
    arguments = [*heads, *states, *rows, *around.arguments]
    lengths = Captured((), _undefined(arguments, outputs))
    arguments += lengths.arguments
    driver = _Driver(region, callee, tuple(outputs), len(lengths.arguments))
    counter = relax.const(0, "int64")
    wholes = [relax.op.zeros(ty.shape, ty.dtype) for ty in outputs]
    params = [counter, *(builder.normalize(w) for w in wholes), *arguments]
    types = [p.ty for p in params]
    first = 1 + len(wholes) + len(heads)
    types[first : first + len(states)] = driver.state_types
    # A function that calls itself must be there, with its type, before it can be written.
    following = functions.add(f"{name}_next", _function(types, driver.stop))
    again = _function(types, lambda inner, p: driver.again(inner, p, following))
    functions.update(following, with_region(again, region))

    def start(inner: relax.BlockBuilder, given: Exprs) -> relax.Expr:
        made = [inner.emit(relax.op.zeros(ty.shape, ty.dtype)) for ty in outputs]
        return inner.emit(relax.Call(following, [counter, *made, *given]))

    entry = _function([a.ty for a in arguments], start)
    gvar = functions.add(name, with_region(entry, region))
    return builder.emit(relax.Call(gvar, arguments), name)


@dataclass(frozen=True, slots=True)
class _Driver:
    """What the functions of a loop do, in terms of their parameters.

    These are: the number of the iteration, the outputs, limit, condition, states, rows, what stays,
    and, where an output's length is said by no other, a shape that says it.
    """

    region: Iterations
    body: relax.GlobalVar
    outputs: tuple[relax.TensorType, ...]
    lengths: int

    @property
    def state_types(self) -> list[relax.Type]:
        """A state's type at any iteration: what the body's parameter and its result both are."""
        found = self.region
        given = self.body.ty.params[1 : 1 + found.states]
        return [_general(ty) for ty in given]

    def _split(self, params: Exprs) -> list[list[relax.Expr]]:
        r = self.region
        rest = iter(params)
        counts = [1, r.outputs, int(r.limit), int(r.condition), r.states, r.rows]
        return [[next(rest) for _ in range(n)] for n in counts] + [list(rest)]

    def stop(self, inner: relax.BlockBuilder, params: Exprs) -> relax.Expr:
        """The results, when there is no further iteration."""
        (counter,), outputs, _, condition, states, _, _ = self._split(params)
        results = [*states, *outputs]
        if condition and outputs:
            results.append(inner.emit(relax.op.reshape(counter, [1])))
        return relax.Tuple(results)

    def again(
        self, inner: relax.BlockBuilder, params: Exprs, following: relax.GlobalVar
    ) -> relax.Expr:
        """One iteration and the call for the next one, or the results."""
        (counter,), _, limit, condition, _, _, _ = self._split(params)
        tests = list(condition)
        if limit:
            tests.append(inner.emit(relax.op.less(counter, limit[0])))
        both = tests[0] if len(tests) == 1 else inner.emit(relax.op.logical_and(*tests))
        then = _sequence(inner, lambda b: self._step(b, params, following))
        other = _sequence(inner, lambda b: self.stop(b, params))
        return inner.emit(relax.If(both, then, other))

    def _step(self, b: relax.BlockBuilder, params: Exprs, following: relax.GlobalVar) -> relax.Expr:
        (counter,), outputs, limit, condition, states, rows, rest = self._split(params)
        wholes = [*rows, *outputs]
        pairs = zip(wholes, self.region.backwards, strict=True)
        numbers = [self._number(b, counter, whole) if back else counter for whole, back in pairs]
        parts = [
            b.emit(relax.op.take(whole, number, axis=0, mode="clip"))
            for whole, number in zip(rows, numbers, strict=False)
        ]
        stays = rest[: len(rest) - self.lengths]
        found = b.emit(relax.Call(self.body, [counter, *states, *parts, *stays]))
        results = [found]
        if isinstance(found.ty, relax.TupleType):
            results = [b.emit(relax.TupleGetItem(found, k)) for k in range(len(found.ty.fields))]
        condition = [results.pop(0)] if condition else []
        states, made = results[: len(states)], results[len(states) :]
        one = relax.const(1, "int64")
        filled = zip(outputs, made, numbers[len(rows) :], strict=True)
        outputs = [self._with_row(b, *row) for row in filled]
        after = b.emit(relax.op.add(counter, one))
        return b.emit(
            relax.Call(following, [after, *outputs, *limit, *condition, *states, *rows, *rest])
        )

    @staticmethod
    def _number(b: relax.BlockBuilder, counter: relax.Expr, whole: relax.Expr) -> relax.Expr:
        """The number of the row that is as far from the end as `counter` from the start."""
        length = whole.ty.shape.values[0]
        last = b.emit(relax.op.arange(length - 1, length, tirx.IntImm("int64", 1), "int64"))
        return b.emit(relax.op.subtract(b.emit(relax.op.reshape(last, [])), counter))

    @staticmethod
    def _with_row(
        b: relax.BlockBuilder, whole: relax.Expr, row: relax.Expr, counter: relax.Expr
    ) -> relax.Expr:
        """The output with one row replaced, as a new value: Relax has no other."""
        length, *others = whole.ty.shape.values
        numbers = b.emit(relax.op.arange(tirx.IntImm("int64", 0), length, tirx.IntImm("int64", 1)))
        here = b.emit(relax.op.equal(numbers, counter))
        here = b.emit(relax.op.reshape(here, [length, *(1 for _ in others)]))
        return b.emit(relax.op.where(here, b.emit(relax.op.expand_dims(row, 0)), whole))


def _general(ty: relax.TensorType) -> relax.TensorType:
    """The type itself where its shape is fixed, else without dims, which are another function's."""
    fixed = all(isinstance(d, tirx.IntImm) for d in ty.shape.values)
    return ty if fixed else relax.TensorType(dtype=ty.dtype, ndim=ty.ndim)


# ---- functions --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Captured:
    """What functions use of the one around them: variables, and dims that no variable says."""

    variables: tuple[relax.Var, ...]
    dims: tuple[tirx.Var, ...]

    @property
    def arguments(self) -> list[relax.Expr]:
        return [*self.variables, *([relax.ShapeExpr(list(self.dims))] if self.dims else [])]


_VALUES = (relax.TensorType, relax.TupleType, relax.ShapeType)


def captured(*funcs: relax.Function) -> Captured:
    variables: dict[relax.Var, None] = {}
    for func in funcs:
        free = relax.analysis.free_vars(func)  # dims among them
        variables.update(dict.fromkeys(v for v in free if isinstance(v.ty, _VALUES)))
    said = {d for v in variables for d in _defined_by(v.ty)}
    dims: dict[tirx.Var, None] = {}
    for func in funcs:
        own = relax.Function([*func.params, *variables], func.body, func.ret_ty)
        free = relax.analysis.free_symbolic_vars(own)
        dims.update(dict.fromkeys(d for d in free if d not in said))
    return Captured(tuple(variables), tuple(dims))


def _defined_by(ty: relax.Type) -> list[tirx.Var]:
    """Dims that are a whole extent of a tensor's or a shape's type."""
    values = getattr(getattr(ty, "shape", None), "values", None) or getattr(ty, "values", None)
    return [d for d in values or () if isinstance(d, tvm.ir.Var)]


def _undefined(arguments: Exprs, types: Sequence[relax.TensorType]) -> tuple[tirx.Var, ...]:
    """Dims of some types that no argument's type says."""
    said = {d for a in arguments for d in _defined_by(a.ty)}
    wanted: dict[tirx.Var, None] = {}
    for ty in types:
        for dim in ty.shape.values:
            wanted.update(dict.fromkeys(tirx.analysis.undefined_vars(tirx.Evaluate(dim))))
    return tuple(d for d in wanted if d not in said)


def closed(func: relax.Function, around: Captured) -> relax.Function:
    """The function with what it captures as further parameters."""
    given = [relax.Var(v.name, v.ty) for v in around.variables]
    # A dataflow variable is no parameter: in the function it becomes a name for one.
    named = [relax.VarBinding(v, p) for v, p in zip(around.variables, given, strict=True)]
    blocks = list(func.body.blocks) or [relax.DataflowBlock([])]
    blocks[0] = relax.DataflowBlock([*named, *blocks[0].bindings])
    if around.dims:
        given.append(relax.Var("sizes", relax.ShapeType(list(around.dims))))
    body = relax.SeqExpr(blocks, func.body.body)
    return copy_with_new_vars(relax.Function([*func.params, *given], body, func.ret_ty))


def _function(
    types: Sequence[relax.Type],
    body: Callable[[relax.BlockBuilder, Exprs], relax.Expr],
) -> relax.Function:
    """A function with parameters of these types; symbolic dims are its own."""
    params = [relax.Var(f"p{k}", ty) for k, ty in enumerate(types)]
    inner = relax.BlockBuilder()
    with inner.function("made", params):
        inner.emit_func_output(inner.normalize(body(inner, params)))
    return copy_with_new_vars(inner.get()["made"].without_attr("global_symbol"))


def _sequence(
    builder: relax.BlockBuilder, body: Callable[[relax.BlockBuilder], relax.Expr]
) -> relax.SeqExpr:
    """What `body` emits, as an expression of its own."""
    builder._begin_binding_block()
    result = builder.normalize(body(builder))
    if not isinstance(result, relax.Var):
        result = builder.emit(result)
    return relax.SeqExpr([builder._end_block()], result)
