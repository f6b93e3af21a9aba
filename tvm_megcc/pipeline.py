"""Relax module -> planned `Program`: passes, lower, forward and memory in one call, with dumps
between.

Example
-------
>>> imported = frontend.from_onnx("model.onnx")                        # doctest: +SKIP
>>> program = to_program(imported.mod, "arm64", name="model",          # doctest: +SKIP
...                      input_names=["x"], output_names=["y"])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tvm

from tvm_megcc import memory, passes
from tvm_megcc.forward import forward
from tvm_megcc.lower import lower
from tvm_megcc.memory_options import DEFAULT, MemoryOptions
from tvm_megcc.program import Program

Dump = Callable[[str, str], None]


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

    Raises
    ------
    UnsupportedError
        When an operator has no kernel and no TIR form, a shape is not static, or the plan is larger
        than the memory there is.
    """
    emit: Dump = dump_ir or (lambda stage, text: None)
    wants_text = dump_ir is not None
    if wants_text:
        emit("imported", mod.script(show_meta=False))
    for stage, transform in passes.stages(arch).items():
        mod = transform(mod)
        if wants_text:
            emit(stage, mod.script(show_meta=False))
    program = lower(mod, arch, name, input_names, output_names)
    if wants_text:
        emit("lowered", str(program))
    program = forward(program, io)
    if wants_text:
        emit("forwarded", str(program))
    options = memory_options
    program = memory.place(
        program,
        planner=options.planner,
        time_limit=options.time_limit,
        limit=options.limit,
        pools=options.pools or None,
        clobber_inputs=options.clobber_inputs,
    )
    if wants_text:
        emit("planned", str(program))
    return program
