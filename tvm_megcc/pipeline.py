"""Relax module -> planned `Program`: passes, lower, forward and memory in one call, with dumps
between.

Example
-------
>>> imported = frontend.from_onnx("model.onnx")                        # doctest: +SKIP
>>> program = to_program(imported.mod, "arm64", name="model",          # doctest: +SKIP
...                      input_names=["x"], output_names=["y"])
>>> compiled = compile_module(dispatched, "arm64", name="model", ...)  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import tvm
from tvm import relax

from tvm_megcc import memory, passes
from tvm_megcc.core.contents import Bytes
from tvm_megcc.core.preference import DEFAULT as BALANCED
from tvm_megcc.core.preference import Preference
from tvm_megcc.core.program import Bundle, Call, PortType, Program, Range, Variant
from tvm_megcc.dispatch.equal_dims import with_equal_dims
from tvm_megcc.dispatch.plan import DispatchPlan, plan_of
from tvm_megcc.errors import InputError
from tvm_megcc.forward import forward
from tvm_megcc.kernels.work import of_call
from tvm_megcc.lower import lower, symbols_in
from tvm_megcc.memory_options import DEFAULT, MemoryOptions
from tvm_megcc.relax_tools import half
from tvm_megcc.relax_tools.control_flow import called_by
from tvm_megcc.relax_tools.exprs import dtype_of, shape_of
from tvm_megcc.relax_tools.largest import largest_needed
from tvm_megcc.relax_tools.names import named, names_of
from tvm_megcc.relax_tools.nodes import Node, attributed, nodes_of
from tvm_megcc.relax_tools.shape_exprs import symbols_of

Dump = Callable[[str, str], None]


def compile_module(
    mod: tvm.IRModule,
    arch: str,
    *,
    name: str,
    input_names: Sequence[str],
    output_names: Sequence[str],
    io: str = "caller",
    memory_options: MemoryOptions = DEFAULT,
    dump_ir: Dump | None = None,
    input_dtypes: Sequence[str] = (),
    output_dtypes: Sequence[str] = (),
    function: str = "main",
    preference: Preference = BALANCED,
) -> Program | Bundle:
    """`to_program`, or for a dispatched module a program for each of its functions.

    Parameters are those of `to_program`; a dispatched module is one that `IRModule.dispatch` or a
    list of shapes has given several functions (`tvm_megcc.dispatch`). `input_dtypes` and
    `output_dtypes` are our names of the ports' types, where they are not the module's. `function`
    is the one that is compiled.

    Raises
    ------
    InputError
        When a dispatched module's memory is to be several pools.
    UnsupportedError
        As `to_program`.
    """
    ports = _Ports(input_names, output_names, input_dtypes, output_dtypes)
    _check_limit(mod, arch, name, function, memory_options, preference)
    compiler = _Compiler(arch, name, ports, io, memory_options, dump_ir, preference)
    found = plan_of(mod, function) or DispatchPlan((), function)
    signature = mod[function]
    mod, equal = with_equal_dims(mod, found.functions)
    functions = [f for one in found.functions for f in (equal.get(one), one) if f]
    if functions == [function]:
        return compiler.programs(mod, functions)[function]
    if len(memory_options.pools) > 1:
        raise InputError(
            f"model '{name}': memory pools need fixed shapes, and it is compiled for those that are"
            " listed or in buckets; compile a package for each, or leave out --memory-pools"
        )
    programs = compiler.programs(_only(mod, functions), functions)
    bounds = symbols_of(signature)
    inputs = tuple(
        PortType(port, dtype, shape_of(param, bounds) or ())
        for port, dtype, param in zip(
            input_names,
            input_dtypes or map(dtype_of, signature.params),
            signature.params,
            strict=True,
        )
    )
    symbols = symbols_in(port.dims for port in inputs)
    number = {symbol.name: k for k, symbol in enumerate(symbols)}
    # What the program for all other sizes takes is no row of its own.
    rows = [row for row in found.variants if row[0] != found.fallback]
    rows += [(found.fallback, {})] if found.fallback else []
    variants = []
    for variant, ranges in rows:
        guard = tuple(Range(number[dim], low, high) for dim, (low, high) in ranges.items())
        first = programs[equal[variant]] if variant in equal else None
        if first is not None:
            variants.append(Variant(guard, first))
        if first is None or first.requirements:
            variants.append(Variant(guard, programs[variant]))
    return Bundle(name, arch, symbols, inputs, tuple(variants))


def _check_limit(
    mod: tvm.IRModule,
    arch: str,
    name: str,
    function: str,
    options: MemoryOptions,
    preference: Preference,
) -> None:
    """Refuse, before kernels are chosen, memory that is less than one value takes.

    Raises
    ------
    DoesNotFit
        The largest value that no kernel does without is larger than all memory there is.
    """
    sizes = [size for _, size in options.pools]
    pools = [sum(s for s in sizes if s is not None)] if sizes and None not in sizes else []
    limit = min([*pools, *([] if options.limit is None else [options.limit])], default=None)
    if limit is None:
        return
    wide = {"fp32": True, "model": half.said(mod) is None}.get(preference.precision, False)
    needed = largest_needed(mod[function], 4 if wide else 2)
    if needed is not None and needed.bytes > limit:
        missing = needed.bytes - limit
        value = names_of(mod).get(needed.name, needed.name)
        raise memory.DoesNotFit(
            f"model '{name}' for {arch}: {missing} bytes are missing at least, '{value}' alone"
            f" takes {needed.bytes} and there are {limit}; give it more memory or a smaller input",
            missing,
            0,
            (value,),
        )


def _only(mod: tvm.IRModule, names: Sequence[str]) -> tvm.IRModule:
    """The module of these functions, each an entry, of what they call, and of what is no Relax."""
    kept = {}
    called = set(called_by(mod, names))
    for gvar, func in mod.functions_items():
        name = gvar.name_hint
        if not isinstance(func, relax.Function):
            kept[gvar] = func
        elif name in called:
            kept[gvar] = func
        elif name in names:
            kept[gvar] = func.with_attr("global_symbol", name)
    return tvm.IRModule(kept, attrs=mod.attrs, global_infos=mod.global_infos)


def to_program(
    mod: tvm.IRModule,
    arch: str,
    *,
    name: str,
    input_names: Sequence[str],
    output_names: Sequence[str],
    io: str = "caller",
    memory_options: MemoryOptions = DEFAULT,
    dump_ir: Dump | None = None,
    preference: Preference = BALANCED,
) -> Program:
    """Compile ``main`` of `mod` for one architecture.

    Parameters
    ----------
    mod : IRModule
        A Relax module with constants bound; it is not changed.
    arch : str
        ``portable``, ``arm64``, ``armv7`` or ``x86``.
    name : str
        Name of the model, for the package.
    input_names, output_names : sequence of str
        Names of ``main``'s parameters and results.
    io : {"caller", "arena"}
        Whether inputs and outputs live in buffers of the caller or in the arena.
    memory_options : MemoryOptions
        How addresses are planned.
    dump_ir : callable, optional
        Called with (stage name, text): the module before the first pass and after each stage, then
        the program before and after forwarding, and after memory planning.
    preference : Preference
        What decides between kernels that differ in speed and size.

    Raises
    ------
    UnsupportedError
        When an operator has no kernel and no TIR form, a shape follows from neither the inputs'
        shapes nor data that the VM can read, or the plan is larger than the memory there is.
    """
    ports = _Ports(input_names, output_names)
    compiler = _Compiler(arch, name, ports, io, memory_options, dump_ir, preference)
    return compiler.programs(mod, ["main"])["main"]


@dataclass(frozen=True, slots=True)
class _Ports:
    """Names of inputs and outputs, and our names of their types where the module has others."""

    input_names: Sequence[str]
    output_names: Sequence[str]
    input_dtypes: Sequence[str] = ()
    output_dtypes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _Origin:
    """What the module's variables stand for in the model, and the model's nodes."""

    names: Mapping[str, str]
    nodes: tuple[Node, ...]


def _with_multiply_adds(program: Program) -> Program:
    """A program whose calls say how many multiply-adds they do."""
    steps = (
        replace(step, multiply_adds=of_call(program.kernels[step.kernel], step.attrs))
        if isinstance(step, Call)
        else step
        for step in program.calls
    )
    return replace(program, calls=tuple(steps))


@dataclass(frozen=True, slots=True)
class _Compiler:
    """The stages, for one architecture and one set of options."""

    arch: str
    name: str
    ports: _Ports
    io: str
    options: MemoryOptions
    dump_ir: Dump | None
    preference: Preference

    def _dump(self, stage: str, what: tvm.IRModule | Program) -> None:
        if self.dump_ir is not None:
            text = what.script(show_meta=False) if isinstance(what, tvm.IRModule) else str(what)
            self.dump_ir(stage, text)

    def programs(self, mod: tvm.IRModule, functions: Sequence[str]) -> dict[str, Program]:
        """The program of each of these functions of `mod`."""
        self._dump("imported", mod)
        origin = _Origin(names_of(mod), nodes_of(mod))
        for stage, transform in passes.stages(self.arch, functions, self.preference).items():
            mod = transform(mod)
            self._dump(stage, mod)
        # Functions of one model have the same weights: their bytes are kept once.
        shared: dict[Bytes, Bytes] = {}
        return {f: self._program(mod, f, shared, origin, len(functions) > 1) for f in functions}

    def _program(
        self,
        mod: tvm.IRModule,
        function: str,
        shared: dict[Bytes, Bytes],
        origin: _Origin,
        several: bool,
    ) -> Program:
        suffix = f"_{function}" if several else ""
        ports = self.ports
        program = lower(
            mod,
            self.arch,
            self.name,
            ports.input_names,
            ports.output_names,
            function,
            shared,
            ports.input_dtypes,
            ports.output_dtypes,
        )
        program = attributed(named(program, origin.names), origin.nodes)
        program = _with_multiply_adds(program)
        self._dump(f"lowered{suffix}", program)
        program = forward(program, self.io, self.options.threads)
        self._dump(f"forwarded{suffix}", program)
        options = self.options
        program = memory.place(
            program,
            planner=options.planner,
            time_limit=options.time_limit,
            limit=options.limit,
            pools=options.pools or None,
            clobber_inputs=options.clobber_inputs,
        )
        self._dump(f"planned{suffix}", program)
        return program
