"""Tuning of a model in a file: what `tvmc tune` does, for Python, too.

Example
-------
>>> tune_model("model.onnx", "records.json", arch="arm64")         # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tvm_megcc.core.program import Bundle, Program, bundle_of
from tvm_megcc.core.this_machine import is_native
from tvm_megcc.core.version import VERSION
from tvm_megcc.dims import at, samples
from tvm_megcc.errors import InputError
from tvm_megcc.host import arrays, files
from tvm_megcc.host.package import Port, shapes_of
from tvm_megcc.memory.variants import sizes_of, variant_for
from tvm_megcc.options import DEFAULT, WRITING, AnyPath, CompileOptions, given
from tvm_megcc.target import resolve_for
from tvm_megcc.tuning.boards import Boards
from tvm_megcc.tuning.findings import Report
from tvm_megcc.tuning.job import Job
from tvm_megcc.tuning.measuring import Local, Measurer
from tvm_megcc.tuning.records import read
from tvm_megcc.tuning.search import tune

Sizes = Mapping[str, Sequence[Any]]

#: What is measured -> the unit of its records.
MEASURES = {"instructions": "instructions", "time": "ns"}


def tune_model(
    model: Any,
    records: AnyPath,
    options: CompileOptions = DEFAULT,
    *,
    arch: str | None = None,
    measure: str | None = None,
    tracker: tuple[str, int] | None = None,
    key: str | None = None,
    trials: int | None = None,
    seconds: float | None = None,
    earlier: Sequence[AnyPath] = (),
    inputs: Path | None = None,
    sizes: Sequence[Sizes] = (),
    tell: Callable[[str], None] = lambda line: None,
    **fields: Any,
) -> Report:
    """Measure what there is to choose of a model.

    Parameters
    ----------
    model : path or onnx.ModelProto
        As `driver.compile_model` takes it.
    records : path
        Records are appended to it after every build.
    options : CompileOptions
        For one machine. Candidates in its `tuning_records` are not measured again.
    arch : str, optional
        The machine, instead of that of `options`.
    measure : {"instructions", "time"}, optional
        By default time where this machine is of the architecture, and on boards.
    tracker : (host, port), optional
        Of TVM's RPC: its boards with the `key` measure.
    key : str, optional
    trials : int, optional
        Builds at most.
    seconds : float, optional
        After so many no new build begins.
    earlier : sequence of path
        Another word for `tuning_records`.
    inputs : path, optional
        An ``.npz``; by default inputs are made up.
    sizes : sequence of shapes
        Where dims are dynamic, the shapes to measure with; by default those of each bucket.
    tell : callable
        Called with a line about how far it is.
    **fields
        Fields of `tvm_megcc.options.CompileOptions`, instead of those of `options`.

    Raises
    ------
    tvm_megcc.errors.MegccError
        When the model cannot be compiled, or cannot be measured here.
    """
    options = given("tune_model", options, fields, (*WRITING, "name"))
    archs = resolve_for(options.board, options.archs if arch is None else [arch])
    if len(archs) != 1:
        raise InputError(f"a model is tuned for one machine at a time, not {', '.join(archs)}")
    arch = archs[0]
    earlier = [*options.tuning_records, *earlier]
    files.check_file(Path(records))
    for path in [*earlier, *([records] if Path(records).exists() else [])]:
        read(path)
    if inputs is not None:
        arrays.names_of_npz(inputs)
    options.check(model)
    options = _of_whole_calls(options)
    measurer = measurer_for(arch, measure, tracker, key)
    from tvm_megcc import pipeline

    imported = options.dynamic.imported(model, options.input_shapes, options.params)
    entry = pipeline.Entry.of(imported)
    compiled = partial(pipeline.compile_entry, imported.mod, arch, entry, options)
    return tune(
        Job(
            compiled,
            cases(compiled(), inputs, sizes),
            options.preference,
            measurer,
            Path(records),
            [Path(path) for path in earlier],
            trials,
            seconds,
            VERSION,
            tell,
        )
    )


def _of_whole_calls(options: CompileOptions) -> CompileOptions:
    """Turn streaming off: kernels are compared by the cost of a whole call, not of a band.

    The bounds of the arena are dropped too, as the model may fit them only when it is streamed.
    """
    memory = replace(options.memory, stream="off", limit=None, pools=())
    return replace(options, memory=memory)


def measurer_for(
    arch: str, measure: str | None, tracker: tuple[str, int] | None = None, key: str | None = None
) -> Measurer:
    """This machine, an emulator, or boards, to measure with; MegccError if that is impossible."""
    if (tracker is None) != (key is None):
        raise InputError("a tracker and a key belong together: give --rpc-tracker and --rpc-key")
    if tracker is not None and key is not None:
        if measure not in (None, "time"):
            raise InputError("boards measure time: leave out --measure, or the tracker")
        return Boards(arch, *tracker, key)
    if measure is None:
        measure = "time" if is_native(arch) else "instructions"
    if measure not in MEASURES:
        raise InputError(f"measure {measure!r} is not known; choose from {', '.join(MEASURES)}")
    return Local(arch, MEASURES[measure])


def cases(
    program: Program | Bundle, inputs: Path | None, sizes: Sequence[Sizes]
) -> tuple[arrays.Arrays, ...]:
    """The inputs that a program is measured with: several sets for dynamic sizes.

    Raises InputError if the inputs or sizes do not fit the model.
    """
    bundle = bundle_of(program)
    ports = tuple(
        Port(port.name, port.dtype, tuple(d if isinstance(d, int) else str(d) for d in port.dims))
        for port in bundle.inputs
    )
    if inputs is not None:
        return (arrays.check(ports, arrays.read_npz(inputs), f"'{inputs}'"),)
    rows = sizes or [{}] if sizes or not bundle.symbols else bucket_sizes(bundle)
    found = [arrays.sized(ports, given) for given in rows]
    for row in found:  # before anything is made for them
        variant_for(bundle, sizes_of(bundle, shapes_of(row)))
    return tuple(arrays.fill(row, "random") for row in found)


def bucket_sizes(bundle: Bundle) -> list[dict[str, tuple[int, ...]]]:
    """Shapes of the inputs for each program of a bundle: the largest of a bucket that has an end.

    A program that none of the sizes that we can think of reaches has none.
    """
    found = []
    for variant in bundle.variants:
        ends = {
            bundle.symbols[r.symbol].name: r.low if r.high is None else r.high - 1
            for r in variant.guard
        }
        for row in samples(bundle.symbols):
            values = {**row, **ends}
            shapes = {p.name: tuple(at(d, values) for d in p.dims) for p in bundle.inputs}
            try:
                if variant_for(bundle, sizes_of(bundle, shapes)) is variant:
                    found.append(shapes)
                    break
            except InputError:
                continue
    return found
