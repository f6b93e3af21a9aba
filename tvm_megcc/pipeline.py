"""Relax module -> planned `Program`: passes, lower, forward and memory in one call, with dumps
between.

Example
-------
>>> imported = frontend.from_onnx("model.onnx")                        # doctest: +SKIP
>>> program = compile_entry(imported.mod, "arm64", Entry.of(imported)) # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import tvm
from tvm import relax

from tvm_megcc import fitting, memory, passes
from tvm_megcc.core import board_table
from tvm_megcc.core.contents import Bytes
from tvm_megcc.core.preference import Preference
from tvm_megcc.core.program import Bundle, Call, Port, PortType, Program, Range, Variant
from tvm_megcc.core.state_pairs import matched
from tvm_megcc.dispatch.equal_dims import with_equal_dims
from tvm_megcc.dispatch.plan import DispatchPlan, plan_of
from tvm_megcc.errors import InputError
from tvm_megcc.forward import caller_ports, forward
from tvm_megcc.forward.states import check_states
from tvm_megcc.kernels.call_work import of_call
from tvm_megcc.lower import lower, symbols_in
from tvm_megcc.memory_options import MemoryOptions
from tvm_megcc.options import CACHE_DTYPES, DEFAULT, IO_DTYPES, CompileOptions
from tvm_megcc.passes.integer_ports import Steps, steps_of
from tvm_megcc.relax_tools import half
from tvm_megcc.relax_tools.control_flow import called_by
from tvm_megcc.relax_tools.declared_states import states_of, with_states
from tvm_megcc.relax_tools.exprs import dtype_name, dtype_of, shape_of
from tvm_megcc.relax_tools.largest import largest_needed
from tvm_megcc.relax_tools.names import named, names_of
from tvm_megcc.relax_tools.nodes import Node, attributed, nodes_of
from tvm_megcc.relax_tools.shape_exprs import symbols_of
from tvm_megcc.streaming import Stream, streamed

if TYPE_CHECKING:
    from tvm_megcc.frontend import ImportedModel

Dump = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class Entry:
    """The function of a module to compile, and the names that it has for a package's user."""

    name: str  # name of the model, for the package
    #: `input_names`, `output_names`: names of the function's parameters and results.
    input_names: Sequence[str]
    output_names: Sequence[str]
    #: `input_dtypes`, `output_dtypes`: our names of their element types, where the module has other
    #: types.
    input_dtypes: Sequence[str] = ()
    output_dtypes: Sequence[str] = ()
    function: str = "main"  # the function's name in the module
    #: `input_steps`, `output_steps`: what integers of the ports stand for.
    input_steps: Steps = ()
    output_steps: Steps = ()

    @classmethod
    def of(cls, imported: ImportedModel, name: str | None = None) -> Entry:
        """The main function of an imported model; `name` replaces the model's own name."""
        return cls(
            name or imported.name,
            [port.name for port in imported.inputs],
            [port.name for port in imported.outputs],
            [port.dtype for port in imported.inputs],
            [port.dtype for port in imported.outputs],
        )


def compile_module(
    mod: tvm.IRModule,
    arch: str,
    *,
    io: str = "caller",
    memory_options: MemoryOptions = DEFAULT.memory,
    dump_ir: Dump | None = None,
    preference: Preference = DEFAULT.preference,
    **names: Any,
) -> Program | Bundle:
    """`compile_entry` with the options as keyword arguments; `names` are the fields of `Entry`."""
    options = CompileOptions(io=io, memory=memory_options, preference=preference)
    return compile_entry(mod, arch, Entry(**names), options, dump_ir)


def compile_entry(
    mod: tvm.IRModule,
    arch: str,
    entry: Entry,
    options: CompileOptions = DEFAULT,
    dump_ir: Dump | None = None,
) -> Program | Bundle:
    """Compile a function for one architecture; a dispatched one to a program for each variant.

    Parameters
    ----------
    mod : IRModule
        A Relax module with constants bound; it is not changed. `IRModule.dispatch` or a list of
        shapes may have given it several functions (`tvm_megcc.dispatch`).
    arch : str
        ``portable``, ``arm64``, ``armv7`` or ``x86``.
    entry : Entry
    options : CompileOptions
        `board`, `io`, `memory` and `preference` are read.
    dump_ir : callable, optional
        Called with (stage name, text): the module before the first pass and after each stage, then
        the program before and after forwarding, and after memory planning.

    Raises
    ------
    InputError
        When a dispatched module's memory is to be several pools.
    UnsupportedError
        When an operator has no kernel and no TIR form, a shape follows from neither the inputs'
        shapes nor data that the VM can read, or the plan is larger than the memory there is, or the
        weights than the board's flash.
    """
    return compile_for_each(mod, (arch,), entry, options)(arch, dump_ir)


def compile_for_each(
    mod: tvm.IRModule, archs: Sequence[str], entry: Entry, options: CompileOptions = DEFAULT
) -> Callable[[str, Dump | None], Program | Bundle]:
    """`compile_entry` for several architectures: what is the same for all is done once.

    Returns
    -------
    callable
        Takes one of `archs`, and what `dump_ir` of `compile_entry` is.
    """
    found = plan_of(mod, entry.function) or DispatchPlan((), entry.function)
    mod, entry = _with_ports(mod, entry, found.functions, options)
    mod = _with_states(mod, entry, options.states)
    mod, entry = _with_cache_dtype(mod, entry, found, options.cache_dtype)
    divided, equal = with_equal_dims(mod, found.functions)
    functions = [f for one in found.functions for f in (equal.get(one), one) if f]
    whole = functions == [entry.function]
    divided = divided if whole else _only(divided, functions)
    shared = _Shared(divided, entry, options, functions, keep=len(archs) > 1)

    def compiled(arch: str, dump_ir: Dump | None = None) -> Program | Bundle:
        _check_limit(mod, arch, entry, options)
        compiler = _Compiler(arch, shared, dump_ir)
        if whole:
            return compiler.programs()[entry.function]
        return _bundle(compiler, mod[entry.function], found, equal)

    return compiled


def _with_ports(
    mod: tvm.IRModule, entry: Entry, functions: Sequence[str], options: CompileOptions
) -> tuple[tvm.IRModule, Entry]:
    """The module with the ports that the options ask for, and the entry with their steps."""
    dtype = None if options.io_dtype is None else IO_DTYPES[options.io_dtype]
    wanted = options.logits
    if wanted is None and options.generate is not None and "logits" in entry.output_names:
        wanted = "last"  # the loop reads no others
    if wanted == "last":
        mod = passes.LastPosition(functions, entry.output_names, "logits")(mod)
    # Of a dispatched function nothing but its parameters' dims is read from here on.
    ports = passes.IntegerPorts(dtype, functions, entry.input_names, entry.output_names)
    mod = ports(mod)
    func = mod[functions[0]]
    inputs, outputs = steps_of(func)
    if not inputs:
        return mod, entry

    def types(said: Sequence[str], steps: Steps, exprs: Sequence[relax.Type]) -> list[str]:
        named = said or [dtype_name(ty.dtype) for ty in exprs]
        rows = zip(named, steps, exprs, strict=True)
        return [old if step is None else dtype_name(ty.dtype) for old, step, ty in rows]

    results = func.ret_ty.fields if isinstance(func.ret_ty, relax.TupleType) else [func.ret_ty]
    return mod, replace(
        entry,
        input_dtypes=types(entry.input_dtypes, inputs, [param.ty for param in func.params]),
        output_dtypes=types(entry.output_dtypes, outputs, results),
        input_steps=inputs,
        output_steps=outputs,
    )


def _with_states(mod: tvm.IRModule, entry: Entry, patterns: Sequence[str]) -> tvm.IRModule:
    """The module with the pairs of ports that share memory."""
    pairs = matched(patterns, entry.input_names, entry.output_names)
    numbers = [
        (list(entry.input_names).index(name), list(entry.output_names).index(output))
        for output, name in pairs.items()
    ]
    return with_states(mod, numbers)


def _with_cache_dtype(
    mod: tvm.IRModule, entry: Entry, found: DispatchPlan, dtype: str | None
) -> tuple[tvm.IRModule, Entry]:
    """The module with caches of the type that the options ask for, and the entry with its ports."""
    if dtype is None:
        return mod, entry
    if list(found.functions) != [entry.function]:
        raise InputError(
            f"--cache-dtype: model '{entry.name}' has a program for each of several shapes; compile"
            " it for all sizes, or leave out --cache-dtype"
        )
    before = mod[entry.function]
    pairs = states_of(mod)
    mod = passes.CacheDtype(CACHE_DTYPES[dtype], entry.function, pairs, entry.input_names)(mod)
    after = mod[entry.function]
    changed = {
        k for k, (a, b) in enumerate(zip(before.params, after.params, strict=True))
        if str(a.ty.dtype) != str(b.ty.dtype)
    }  # fmt: skip

    def types(said: Sequence[str], numbers: Collection[int]) -> list[str]:
        name = dtype_name(CACHE_DTYPES[dtype])
        return [name if k in numbers else old for k, old in enumerate(said)]

    outputs = {b for a, b in pairs if a in changed}
    return mod, replace(
        entry,
        input_dtypes=types(entry.input_dtypes, changed),
        output_dtypes=types(entry.output_dtypes, outputs),
    )


def _bundle(
    compiler: _Compiler, signature: relax.Function, found: DispatchPlan, equal: Mapping[str, str]
) -> Bundle:
    """The program of each variant; `equal`: functions -> those for when their dims are equal."""
    entry, options = compiler.shared.entry, compiler.shared.options
    name = entry.name
    if len(options.memory.pools) > 1:
        raise InputError(
            f"model '{name}': memory pools need fixed shapes, and it is compiled for those that are"
            " listed or in buckets; compile a package for each, or leave out --memory-pools"
        )
    programs = compiler.programs()
    bounds = symbols_of(signature)
    inputs = tuple(
        PortType(port, dtype, shape_of(param, bounds) or (), step)
        for port, dtype, param, step in zip(
            entry.input_names,
            entry.input_dtypes or map(dtype_of, signature.params),
            signature.params,
            entry.input_steps or [None] * len(entry.input_names),
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
    return Bundle(name, compiler.arch, symbols, inputs, tuple(variants))


def _check_limit(mod: tvm.IRModule, arch: str, entry: Entry, options: CompileOptions) -> None:
    """Raise DoesNotFit, before kernels are chosen, if one value needs more than all memory.

    Only values that no kernel does without count.
    """
    sizes = [size for _, size in options.memory.pools]
    pools = [sum(s for s in sizes if s is not None)] if sizes and None not in sizes else []
    board = _bounding(options)
    known = [*pools, options.memory.limit, None if board is None else board.ram]
    limit = min((size for size in known if size is not None), default=None)
    if limit is None:
        return
    wide = {"fp32": True, "model": half.said(mod) is None}.get(options.preference.precision, False)
    images = options.memory.stream == "off"
    needed = largest_needed(mod[entry.function], 4 if wide else 2, images=images)
    if needed is not None and needed.bytes > limit:
        missing = needed.bytes - limit
        value = names_of(mod).get(needed.name, needed.name)
        raise memory.DoesNotFit(
            f"model '{entry.name}' for {arch}: {missing} bytes are missing at least,"
            f" '{value}' alone takes {needed.bytes} and there are {limit}{_on(board, limit)}; give"
            " it more memory or a smaller input",
            missing,
            0,
            (value,),
        )


def _bounding(options: CompileOptions) -> board_table.Board | None:
    """The board whose RAM is all memory there is; None where pools say which memory there is."""
    return (
        None if options.board is None or options.memory.pools else board_table.board(options.board)
    )


def _on(board: board_table.Board | None, limit: int) -> str:
    return f" of RAM on {board}" if board is not None and board.ram == limit else ""


def _arena(io: str, program: Program) -> int:
    """Bytes of a forwarded program's arena by the planners that take no time."""
    ported = caller_ports(program, io) if io == "caller" or program.states else program
    return cast(int, memory.place(ported, time_limit=0).arena_bytes)


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


@dataclass(frozen=True, slots=True)
class _Origin:
    """Names of the model for the module's variables, and the model's nodes."""

    names: Mapping[str, str]
    nodes: tuple[Node, ...]


def _with_steps(ports: Sequence[Port], steps: Steps) -> tuple[Port, ...]:
    rows = zip(ports, steps or [None] * len(ports), strict=True)
    return tuple(replace(port, quantisation=step) for port, step in rows)


def _with_multiply_adds(program: Program) -> Program:
    """The program with the number of multiply-adds in each call."""
    steps = (
        replace(step, multiply_adds=of_call(program.kernels[step.kernel], step.attrs))
        if isinstance(step, Call)
        else step
        for step in program.calls
    )
    return replace(program, calls=tuple(steps))


@dataclass(slots=True)
class _Shared:
    """What every architecture begins with: the module of these functions, and its first stages."""

    mod: tvm.IRModule
    entry: Entry
    options: CompileOptions
    functions: Sequence[str]
    keep: bool  # whether there is another architecture to come: a module holds its weights
    _begun: tvm.IRModule | None = None

    def begun(self, dump: Callable[[str, tvm.IRModule], None] | None) -> tvm.IRModule:
        """The module after the stages that are the same everywhere; they run again for a dump."""
        if self._begun is not None and dump is None:
            return self._begun
        mod = self.mod
        for stage, transform in passes.shared_stages(self.options.preference).items():
            mod = transform(mod)
            if dump is not None:
                dump(stage, mod)
        self._begun = mod if self.keep else None
        return mod


@dataclass(frozen=True, slots=True)
class _Compiler:
    """The stages, for one architecture and one set of options."""

    arch: str
    shared: _Shared
    dump_ir: Dump | None

    def _dump(self, stage: str, what: tvm.IRModule | Program) -> None:
        if self.dump_ir is not None:
            text = what.script(show_meta=False) if isinstance(what, tvm.IRModule) else str(what)
            self.dump_ir(stage, text)

    def programs(self) -> dict[str, Program]:
        """The program of each function."""
        mod, functions = self.shared.mod, self.shared.functions
        self._dump("imported", mod)
        origin = _Origin(names_of(mod), nodes_of(mod))
        mod = self.shared.begun(self._dump if self.dump_ir is not None else None)
        preference = self.shared.options.preference
        for stage, transform in passes.machine_stages(self.arch, functions, preference).items():
            mod = transform(mod)
            self._dump(stage, mod)
        # Functions of one model have the same weights: their bytes are kept once.
        held: dict[Bytes, Bytes] = {}
        return {f: self._program(mod, f, held, origin, len(functions) > 1) for f in functions}

    def _program(
        self,
        mod: tvm.IRModule,
        function: str,
        held: dict[Bytes, Bytes],
        origin: _Origin,
        several: bool,
    ) -> Program:
        suffix = f"_{function}" if several else ""
        entry = self.shared.entry
        program = lower(
            mod,
            self.arch,
            entry.name,
            entry.input_names,
            entry.output_names,
            function,
            held,
            entry.input_dtypes,
            entry.output_dtypes,
        )
        options = self.shared.options
        if options.board is not None:
            fitting.check_weights(entry.name, held, board_table.board(options.board))
        program = replace(
            program,
            inputs=_with_steps(program.inputs, entry.input_steps),
            outputs=_with_steps(program.outputs, entry.output_steps),
        )
        check_states(program)
        program = attributed(named(program, origin.names), origin.nodes)
        program = _with_multiply_adds(program)
        self._dump(f"lowered{suffix}", program)
        program = self._planned(program, suffix)
        self._dump(f"planned{suffix}", program)
        return program

    def _planned(self, lowered: Program, suffix: str) -> Program:
        """The program with addresses: by bands of rows where that is asked for, or needed."""
        stream = self.shared.options.memory.stream
        if stream is None and self.shared.options.io == "stream":
            stream = "auto"
        if stream not in (None, "auto") or lowered.symbols:
            return self._placed(lowered, "off" if stream is None else stream, suffix)
        missing: list[memory.DoesNotFit] = []
        # Layer by layer, or as asked for; in as few bands as fit; with the least arena.
        ways: list[tuple[Stream, int | None]]
        ways = [(stream or "off", None), ("auto", self._room()), ("auto", 0)]
        for way, goal in dict.fromkeys(ways):  # without a limit the last two are one
            try:
                return self._placed(lowered, way, suffix, goal)
            except memory.DoesNotFit as error:
                missing.append(error)
        raise min(missing, key=lambda error: error.missing_bytes)

    def _room(self) -> int:
        """Bytes that an arena may take at most, 0 where that is not one number."""
        limit, board = self.shared.options.memory.limit, _bounding(self.shared.options)
        known = [size for size in (limit, None if board is None else board.ram) if size is not None]
        return min(known, default=0)

    def _placed(
        self, lowered: Program, stream: Stream, suffix: str, goal: int | None = None
    ) -> Program:
        options = self.shared.options
        memory_options = options.memory
        is_fed = options.io == "stream"
        io = "caller" if is_fed else options.io
        arena = None if memory_options.pools else partial(_arena, io)
        change = partial(streamed, stream, goal=goal, is_fed=is_fed, arena=arena)
        program = forward(lowered, io, memory_options.threads, change)
        self._dump(f"forwarded{suffix}", program)
        program = memory.place(
            program,
            planner=memory_options.planner,
            time_limit=memory_options.time_limit,
            limit=memory_options.limit,
            pools=memory_options.pools or None,
            clobber_inputs=memory_options.clobber_inputs,
        )
        if (board := _bounding(options)) is not None:
            fitting.check_arena(program, board)
        return program
