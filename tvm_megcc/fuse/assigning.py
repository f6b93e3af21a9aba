"""Assignment of kernels to the calls of a module: matches, then choices over all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import tvm
from tvm import relax

from tvm_megcc.core.preference import DEFAULT, Preference, Spending
from tvm_megcc.fuse.choosing import chosen
from tvm_megcc.fuse.match import Match, find_matches
from tvm_megcc.fuse.sharing import with_shared_activations
from tvm_megcc.fuse.tied_tables import with_tied_tables
from tvm_megcc.kernels import tuned
from tvm_megcc.kernels.kernel_file import KernelFile
from tvm_megcc.relax_tools.control_flow import plain_functions
from tvm_megcc.relax_tools.names import names_of


@dataclass(frozen=True, slots=True)
class Assigned:
    """The kernels of a module's calls, before weights are packed.

    Attributes
    ----------
    functions : sequence of (GlobalVar, Function, matches)
    kernels : mapping
        The kernel of each match, by the match's variable.
    spending : Spending
        What the choice between kernels cost.
    tables : mapping
        How tables that are weights of a product, too, are stored: see `tied_tables`.
    """

    functions: Sequence[tuple[relax.GlobalVar, relax.Function, Mapping[relax.Var, Match]]]
    kernels: Mapping[relax.Var, KernelFile]
    spending: Spending
    tables: Mapping[str, str]


def assigned(mod: tvm.IRModule, arch: str, preference: Preference = DEFAULT) -> Assigned:
    """Assign kernels of `arch` to the functions of `mod` that compute."""
    functions = list(plain_functions(mod))
    matches = [find_matches(func, arch, preference) for _, func in functions]
    funcs = [func for _, func in functions]
    kernels, spending = chosen(list(zip(funcs, matches, strict=True)), arch, preference)
    known = tuned.current()
    if preference.wants_little_code and not (known and known.is_trial):
        matches = with_shared_activations(matches, kernels)
    rows = list(zip(funcs, matches, strict=True))
    matches, tables = with_tied_tables(rows, kernels, arch, names_of(mod))
    found = [(gvar, f, m) for (gvar, f), m in zip(functions, matches, strict=True)]
    return Assigned(found, kernels, spending, tables)
