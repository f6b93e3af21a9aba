"""The loops that the passes share: every function that computes, by a mutator or by its blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tvm
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

from tvm_megcc.relax_tools.control_flow import plain_functions
from tvm_megcc.relax_tools.shape_exprs import Symbols, symbols_of, variables_of


def rewritten(mod: tvm.IRModule, rewriter: PyExprMutator) -> tvm.IRModule:
    """`mod` with every function that computes as `rewriter`, made for `mod`, leaves it.

    Meanwhile the rewriter has the function's symbolic dims by name in ``variables``, and what the
    function says of them in ``symbols``.
    """
    for gvar, func in plain_functions(mod):
        rewriter.variables = variables_of(func)
        rewriter.symbols = symbols_of(func)
        rewriter.builder_.update_func(gvar, rewriter.visit_expr(func))
    return rewriter.builder_.get()


class Rewriter(PyExprMutator):
    """A mutator that rewrites one call at a time, after the operands of the call."""

    variables: dict[str, tvm.tirx.Var]
    symbols: Symbols

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        return self.rewrite(self.visit_expr_post_order(call))

    def rewrite(self, call: relax.Call) -> relax.Expr:
        """The expression in place of a call; the call itself where the pass leaves it."""
        raise NotImplementedError


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

        class Pass:
            def transform_module(
                self, mod: tvm.IRModule, ctx: tvm.transform.PassContext
            ) -> tvm.IRModule:
                if not where(mod):
                    return mod
                mod = rewritten(mod, rewriter(mod))
                return cleaned(mod) if clean else mod

        Pass.__name__, Pass.__doc__, Pass.__module__ = cls.__name__, cls.__doc__, cls.__module__
        return tvm.transform.module_pass(opt_level=0, name=name)(Pass)

    return decorate


def cleaned(mod: tvm.IRModule) -> tvm.IRModule:
    """`mod` without copies of variables and without dead code."""
    mod = relax.transform.CanonicalizeBindings()(mod)
    return relax.transform.DeadCodeElimination()(mod)


def bound(rewriter: PyExprMutator, expr: relax.Expr) -> relax.Expr:
    """What a variable is bound to, as far as the rewriter has come; any other expression itself."""
    found = rewriter.lookup_binding(expr) if isinstance(expr, relax.Var) else expr
    return expr if found is None else found


def with_blocks(
    mod: tvm.IRModule, change: Callable[[relax.BindingBlock], relax.BindingBlock]
) -> tvm.IRModule:
    """`mod` with every block of the functions that compute as `change` leaves it.

    A block that stays is given back itself; where all of them stay, so is the module.
    """
    return with_functions(mod, {gvar: changed(func, change) for gvar, func in plain_functions(mod)})


def changed(
    func: relax.Function, change: Callable[[relax.BindingBlock], relax.BindingBlock]
) -> relax.Function:
    """A function with every block as `change` leaves it; itself where all of them stay."""
    given = list(func.body.blocks)
    blocks = [change(block) for block in given]
    if all(new is old for new, old in zip(blocks, given, strict=True)):
        return func
    body = relax.SeqExpr(blocks, func.body.body)
    return relax.Function(func.params, body, func.ret_ty, func.is_pure, func.attrs)


def with_calls(
    mod: tvm.IRModule,
    block: relax.BindingBlock,
    change: Callable[[relax.Call, str], relax.Call | None],
) -> relax.BindingBlock:
    """A block of `mod` with what `change` gives for a call and its variable's name in its place.

    Where it gives None the call stays; a block in which all stay is given back itself.
    """
    given = list(block.bindings)
    bindings = [_with_call(mod, binding, change) for binding in given]
    stays = all(new is old for new, old in zip(bindings, given, strict=True))
    return block if stays else type(block)(bindings)


def _with_call(
    mod: tvm.IRModule,
    binding: relax.Binding,
    change: Callable[[relax.Call, str], relax.Call | None],
) -> relax.Binding:
    value = binding.value
    made = change(value, binding.var.name) if isinstance(value, relax.Call) else None
    if made is None:
        return binding
    call = relax.BlockBuilder(mod).normalize(made)
    if isinstance(binding, relax.MatchCast):
        return relax.MatchCast(binding.var, call, binding.ty)
    return relax.VarBinding(binding.var, call)


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
