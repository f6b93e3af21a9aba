"""``relay.build``: a Relax module to a compiled library.

Enters: an ``IRModule`` from anywhere, with or without its weights as parameters. Leaves: a
`tvm_megcc.relay.library.Library`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import tvm
from tvm import relax

from tvm_megcc.core.preference import Preference
from tvm_megcc.dispatch.plan import plan_of
from tvm_megcc.errors import InputError
from tvm_megcc.importers.parameters import bound
from tvm_megcc.importers.self_contained import self_contained
from tvm_megcc.importers.tuples import flat_values, input_count, result_names
from tvm_megcc.options import DEFAULT, WRITING, AnyPath, CompileOptions, given
from tvm_megcc.relay.frontend import (
    INPUT_DTYPES,
    INPUT_NAMES,
    MODEL_NAME,
    OUTPUT_DTYPES,
    OUTPUT_NAMES,
)
from tvm_megcc.relay.library import Library
from tvm_megcc.target import TAG, architecture, resolve_for
from tvm_megcc.tuning import records

#: What the target, the module and the library's methods say.
ELSEWHERE = (*(f for f in WRITING if f != "externs"), "archs", "input_shapes", "dynamic", "name")


def build(
    mod: tvm.IRModule,
    target: Any = "tvm_megcc",
    options: CompileOptions = DEFAULT,
    *,
    entry: str = "main",
    mod_name: str | None = None,
    tuning_records: AnyPath | Sequence[AnyPath] = (),
    **fields: Any,
) -> Library:
    """Compile a function of a Relax module, with what it calls.

    Parameters
    ----------
    mod : tvm.IRModule
        From `tvm_megcc.relay.frontend.from_onnx`, or any other Relax module; it is not modified.
    target : tvm.target.Target, str or dict
        ``"tvm_megcc"`` is this machine; ``{"tag": "tvm_megcc", "mcpu": "cortex-a76"}`` or the name
        of an architecture (``"arm64"``) is another.
    options : CompileOptions
        Of its `params`, a tuple ``p`` is inputs ``p.0``, ``p.1``, ...; its value is a list.
        Parameters without a value are the model's inputs.
    entry : str
        The function's name; other functions of the module are none of the model's.
    mod_name : str, optional
        The model's name in the package, instead of the `name` of `options`.
    tuning_records : path or sequence of path
        Further files of records. Records that are of no use are a warning.
        ``tvm_megcc.tuning.apply_best(path)`` is the same for everything that is compiled in a
        ``with`` block.
    **fields
        Instead of those of `options`: ``params``, ``board`` (whose machine then is the default
        target), ``io``, ``memory``, ``preference`` and ``externs`` of
        `tvm_megcc.options.CompileOptions`; ``optimize``, ``exact``, ``precision`` and ``softmax``
        of `tvm_megcc.core.preference.Preference`.

    Returns
    -------
    Library
        ``graph, lib, params = build(...)`` works too.

    Raises
    ------
    tvm_megcc.errors.MegccError
        When the module has no such function, a value does not fit its parameter, a weight of
        ``from_onnx`` has no value, or the module cannot be compiled.
    """
    from tvm_megcc import pipeline

    mode = {key: fields.pop(key) for key in Preference.__slots__ if key in fields}
    options = given("build", options, fields, ELSEWHERE)
    options = replace(options, preference=replace(options.preference, **mode))
    own = options.board is not None and target == TAG
    (arch,) = resolve_for(options.board, ["host" if own else architecture(target)])
    if mod_name is not None:
        options = replace(options, name=mod_name)
    func = _entry(mod, entry)
    attrs = dict(func.attrs or {})
    count = input_count(func, int(attrs.get("num_input", len(func.params))))
    values = flat_values(func, options.params or {})
    names = result_names(func)
    plan = plan_of(mod, entry)
    variants = plan.functions if plan else ()
    mod = self_contained(mod, entry, variants)
    for function in (entry, *variants):
        mod = bound(mod, function, values, count)
    func = mod[entry]
    inputs = [str(n) for n in attrs.get(INPUT_NAMES, [])]
    outputs = [str(n) for n in attrs.get(OUTPUT_NAMES, [])]
    if len(inputs) != len(func.params):
        inputs = [param.name for param in func.params]
    count = len(names)
    if len(outputs) != count:
        outputs = names
    dtypes = [[str(n) for n in attrs.get(key, [])] for key in (INPUT_DTYPES, OUTPUT_DTYPES)]
    found = pipeline.Entry(
        options.name or str(attrs.get(MODEL_NAME, "model")),
        inputs,
        outputs,
        dtypes[0] if len(dtypes[0]) == len(inputs) else (),
        dtypes[1] if len(dtypes[1]) == count else (),
        function=entry,
    )
    options.check()
    paths = [tuning_records] if isinstance(tuning_records, str | os.PathLike) else tuning_records
    paths = [*options.tuning_records, *paths]
    with records.applied_from(paths, lambda line: warnings.warn(line, stacklevel=3)):
        program = pipeline.compile_entry(mod, arch, found, options)
    return Library(program, replace(options, params=None))  # the program has the values


def _entry(mod: tvm.IRModule, name: str) -> relax.Function:
    names = [gv.name_hint for gv, func in mod.functions.items() if isinstance(func, relax.Function)]
    if name not in names:
        raise InputError(
            f"the module has no Relax function '{name}', only {sorted(names)}; say entry= one of"
            " these"
        )
    return mod[name]
