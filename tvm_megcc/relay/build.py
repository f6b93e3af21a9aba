"""``relay.build``: a Relax module to a compiled library.

Enters: an ``IRModule`` from anywhere, with or without its weights as parameters. Leaves: a
`tvm_megcc.relay.library.Library`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import tvm
from tvm import relax

from tvm_megcc.codegen_c import emit
from tvm_megcc.core.preference import Preference
from tvm_megcc.dispatch.plan import plan_of
from tvm_megcc.errors import InputError
from tvm_megcc.importers.flat import flat_values, input_count, result_names
from tvm_megcc.importers.self_contained import self_contained
from tvm_megcc.importers.values import bound
from tvm_megcc.memory_options import DEFAULT, MemoryOptions
from tvm_megcc.relay.frontend import (
    INPUT_DTYPES,
    INPUT_NAMES,
    MODEL_NAME,
    OUTPUT_DTYPES,
    OUTPUT_NAMES,
)
from tvm_megcc.relay.library import Library
from tvm_megcc.target import architecture
from tvm_megcc.tuning import records


def build(
    mod: tvm.IRModule,
    target: Any = "tvm_megcc",
    *,
    params: Mapping[str, Any] | None = None,
    entry: str = "main",
    mod_name: str | None = None,
    io: str = "caller",
    memory: MemoryOptions = DEFAULT,
    externs: Sequence[str | os.PathLike[str]] = (),
    optimize: str = "balanced",
    exact: bool = False,
    precision: str = "model",
    tuning_records: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
) -> Library:
    """Compile a function of a Relax module, with what it calls.

    Parameters
    ----------
    mod : tvm.IRModule
        From `tvm_megcc.relay.frontend.from_onnx`, or any other Relax module; it is not modified.
    target : tvm.target.Target, str or dict
        ``"tvm_megcc"`` is this machine; ``{"tag": "tvm_megcc", "mcpu": "cortex-a76"}`` or the name
        of an architecture (``"arm64"``) is another.
    params : mapping of str to tensor or list of tensors, optional
        Values of parameters of the entry, by name; the other parameters are the model's inputs. A
        tuple ``p`` is inputs ``p.0``, ``p.1``, ...; its value is a list.
    entry : str
        The function's name; other functions of the module are none of the model's.
    mod_name : str, optional
        The model's name in the package: an identifier, with which its symbols, header and library
        begin.
    io : {"caller", "arena"}
        Whether inputs and outputs live in buffers of the caller or in the arena.
    memory : MemoryOptions
        How the arena is planned, and how large it may be.
    externs : sequence of path
        C files with the functions that the module calls with ``R.call_dps_packed``.
    optimize : {"balanced", "speed", "size"}
        How much weights may grow for speed: see `core.preference.Preference`.
    exact : bool
        Only kernels that add and multiply what an operator's definition does.
    precision : {"model", "fp32", "fp16", "mixed"}
        In what floats are stored and computed with: see `core.preference.Preference`.
    tuning_records : path or sequence of path
        What ``tvmc tune`` measured: each call gets the best kernel that is known for it. Records
        that are of no use are a warning. ``tvm_megcc.tuning.apply_best(path)`` is the same for
        everything that is compiled in a ``with`` block.

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

    arch = architecture(target)
    preference = Preference(optimize, exact, precision)
    func = _entry(mod, entry)
    attrs = dict(func.attrs or {})
    count = input_count(func, int(attrs.get("num_input", len(func.params))))
    values = flat_values(func, params or {})
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
    if mod_name is not None:
        emit.module_name(mod_name)
    name = mod_name or str(attrs.get(MODEL_NAME, "model"))
    paths = [tuning_records] if isinstance(tuning_records, str | os.PathLike) else tuning_records
    with records.applied_from(paths, lambda line: warnings.warn(line, stacklevel=3)):
        program = pipeline.compile_module(
            mod,
            arch,
            name=name,
            input_names=inputs,
            output_names=outputs,
            input_dtypes=dtypes[0] if len(dtypes[0]) == len(inputs) else (),
            output_dtypes=dtypes[1] if len(dtypes[1]) == count else (),
            io=io,
            memory_options=memory,
            function=entry,
            preference=preference,
        )
    return Library(program, externs)


def _entry(mod: tvm.IRModule, name: str) -> relax.Function:
    names = [gv.name_hint for gv, func in mod.functions.items() if isinstance(func, relax.Function)]
    if name not in names:
        raise InputError(
            f"the module has no Relax function '{name}', only {sorted(names)}; say entry= one of"
            " these"
        )
    return mod[name]
