"""Frames of passes: a pass is a function of a module, or the rewrites of calls by operator."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import tvm
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

from tvm_megcc.dims import Size
from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.control_flow import plain_functions
from tvm_megcc.relax_tools.shape_exprs import Symbols, prim_of, symbols_of, variables_of

Method = TypeVar("Method", bound=Callable[..., relax.Expr])
ChangeBlock = Callable[[relax.BindingBlock], relax.BindingBlock]
#: A call and its variable's name -> the call in its place; None where the call stays.
ChangeCall = Callable[[relax.Call, str], relax.Call | None]


def module_pass(name: str) -> Callable[[Callable[..., tvm.IRModule]], Any]:
    """Decorate a function ``f(mod, *parameters) -> mod``: it becomes the pass ``f(*parameters)``.

    Parameters
    ----------
    name : str
        The registered name.
    """

    def decorate(function: Callable[..., tvm.IRModule]) -> Any:
        module, *parameters = inspect.signature(function).parameters.values()
        signature = inspect.Signature([module.replace(name="self"), *parameters])

        class Pass:
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                self.given = signature.bind(self, *args, **kwargs)

            def transform_module(
                self, mod: tvm.IRModule, ctx: tvm.transform.PassContext
            ) -> tvm.IRModule:
                return function(mod, *self.given.args[1:], **self.given.kwargs)

        Pass.__init__.__signature__ = signature  # type: ignore[attr-defined]
        return tvm.transform.module_pass(opt_level=0, name=name)(_known_as(function, Pass))

    return decorate


def _known_as(given: Any, made: Any) -> Any:
    """`made` with the name, the docstring and the module of `given`."""
    for attribute in ("__name__", "__qualname__", "__doc__", "__module__"):
        setattr(made, attribute, getattr(given, attribute))
    return made


def on(*operators: str) -> Callable[[Method], Method]:
    """Mark a method of a `Rewriter`: it gives the expression in place of a call of these operators.

    The operands of the call have been rewritten; the call itself stays where the method returns it.
    """

    def mark(method: Method) -> Method:
        method.operators = operators  # type: ignore[attr-defined]
        return method

    return mark


class Rewriter(PyExprMutator):
    """A mutator whose methods, marked by `on`, rewrite one call at a time.

    Attributes
    ----------
    variables : dict
        The symbolic dims of the function at hand, by name.
    symbols : Symbols
        What that function says of them.
    given : Call
        The call at hand before its operands were rewritten.
    changed : bool
        Whether any call has been rewritten.
    """

    variables: dict[str, tvm.tirx.Var]
    symbols: Symbols
    given: relax.Call
    changed = False
    rules: Mapping[str, Callable[..., relax.Expr]] = {}

    def __init_subclass__(cls) -> None:
        rows = [(names, m) for m in vars(cls).values() if (names := getattr(m, "operators", None))]
        cls.rules = {name: method for names, method in rows for name in names}

    def enter(self, func: relax.Function) -> None:
        """Prepare for the calls of a function."""
        self.variables, self.symbols = variables_of(func), symbols_of(func)

    def leave(self, mod: tvm.IRModule) -> tvm.IRModule:
        """Finish the module in which all functions have been rewritten."""
        return mod

    def emit(self, value: relax.Expr) -> relax.Var:
        """Bind an expression to a new variable in front of the binding at hand."""
        return self.builder_.emit(value)

    def shape(self, sizes: Iterable[Size]) -> relax.ShapeExpr:
        """Shape of these sizes, over the variables of the function at hand."""
        return relax.ShapeExpr([prim_of(size, self.variables) for size in sizes])

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        visited = self.visit_expr_post_order(call)
        rule = self.rules.get(op_name(visited))
        self.given = call
        made = visited if rule is None else rule(self, visited)
        self.changed |= made is not visited
        return made


class Keeping(Rewriter):
    """A rewriter that leaves the values of the variables in ``kept`` as they are."""

    kept: Collection[relax.Var] = ()

    def visit_var_binding_(self, binding: relax.VarBinding) -> None:
        if binding.var in self.kept:
            self.builder_.emit_normalized(binding)
        else:
            super().visit_var_binding_(binding)


class Noting(Rewriter):
    """A rewriter whose rules may set `note` to what later rules need to know of a new value.

    Attributes
    ----------
    note : object
        That of the variable being bound; None for none.
    notes : dict
        The notes by new variable.
    """

    note: Any = None

    def __init__(self, *given: tvm.IRModule) -> None:
        super().__init__(*given)
        self.notes: dict[relax.Var, Any] = {}

    def visit_var_binding_(self, binding: relax.VarBinding) -> None:
        self.note = None
        super().visit_var_binding_(binding)
        if self.note is not None:
            self.notes[self.get_var_remap(binding.var)] = self.note


def rewriting_pass(
    name: str,
    *,
    clean: bool = False,
    where: Callable[[tvm.IRModule], bool] = lambda mod: True,
) -> Callable[[type[Rewriter]], Any]:
    """Decorate a `Rewriter`: it becomes the pass that rewrites every function that computes.

    Parameters
    ----------
    name : str
        The registered name.
    clean : bool
        Drop copies of variables and dead code afterwards (`cleaned`).
    where : callable
        Whether a module is rewritten at all; others are returned unchanged.
    """

    def decorate(cls: type[Rewriter]) -> Any:
        rewriter = mutator(cls)

        def run(mod: tvm.IRModule) -> tvm.IRModule:
            if not where(mod):
                return mod
            made = rewritten(mod, rewriter(mod))
            return cleaned(made) if clean else made

        return module_pass(name)(_known_as(cls, run))

    return decorate


def rewritten(mod: tvm.IRModule, rewriter: Rewriter) -> tvm.IRModule:
    """Rewrite every function that computes by a rewriter that was made for `mod`.

    NumPy says nothing of infinities and NaN meanwhile.
    """
    with np.errstate(all="ignore"):
        for gvar, func in plain_functions(mod):
            rewriter.enter(func)
            rewriter.builder_.update_func(gvar, rewriter.visit_expr(func))
    return rewriter.leave(rewriter.builder_.get())


def cleaned(mod: tvm.IRModule) -> tvm.IRModule:
    """`mod` without copies of variables and without dead code."""
    mod = relax.transform.CanonicalizeBindings()(mod)
    return relax.transform.DeadCodeElimination()(mod)


def bound(rewriter: PyExprMutator, expr: relax.Expr) -> relax.Expr:
    """The value of a variable that `rewriter` has bound already; any other expression itself."""
    found = rewriter.lookup_binding(expr) if isinstance(expr, relax.Var) else expr
    return expr if found is None else found


def with_blocks(mod: tvm.IRModule, change: ChangeBlock) -> tvm.IRModule:
    """`mod` with every block of the functions that compute replaced by ``change(block)``.

    Where `change` returns every block itself, the result is `mod` itself.
    """
    return with_functions(mod, {gvar: _changed(f, change) for gvar, f in plain_functions(mod)})


def with_calls(mod: tvm.IRModule, func: relax.Function, change: ChangeCall) -> relax.Function:
    """A function of `mod` with `change` applied to its calls; itself where all of them stay."""

    def binding(given: relax.Binding) -> relax.Binding:
        value = given.value
        made = change(value, given.var.name) if isinstance(value, relax.Call) else None
        if made is None:
            return given
        call = relax.BlockBuilder(mod).normalize(made)
        if isinstance(given, relax.MatchCast):
            return relax.MatchCast(given.var, call, given.ty)
        return relax.VarBinding(given.var, call)

    return with_bindings(func, binding)


def with_bindings(
    func: relax.Function, change: Callable[[relax.Binding], relax.Binding]
) -> relax.Function:
    """A function with `change` applied to its bindings in order; itself where all of them stay."""

    def block(given: relax.BindingBlock) -> relax.BindingBlock:
        bindings = list(map(change, given.bindings))
        return given if _are_same(bindings, given.bindings) else type(given)(bindings)

    return _changed(func, block)


def _changed(func: relax.Function, change: ChangeBlock) -> relax.Function:
    blocks = list(map(change, func.body.blocks))
    if _are_same(blocks, func.body.blocks):
        return func
    body = relax.SeqExpr(blocks, func.body.body)
    return relax.Function(func.params, body, func.ret_ty, func.is_pure, func.attrs)


def _are_same(new: Sequence[Any], old: Sequence[Any]) -> bool:
    return all(a.same_as(b) for a, b in zip(new, old, strict=True))


def with_functions(
    mod: tvm.IRModule, functions: Mapping[relax.GlobalVar, relax.Function]
) -> tvm.IRModule:
    """`mod` with these functions; itself where it has them."""
    new = {gvar: func for gvar, func in functions.items() if not func.same_as(mod[gvar])}
    if not new:
        return mod
    mod = mod.clone()
    for gvar, func in new.items():
        mod.update_func(gvar, func)
    return mod
