"""Where more knowledge of the model's sizes would make it faster or smaller: a line for each dim.

Enters: an imported model and how its shapes are compiled. Leaves: sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from tvm_megcc.dims import Symbol
from tvm_megcc.dynamic_options import DynamicOptions

if TYPE_CHECKING:
    from tvm_megcc.frontend import ImportedModel


class Input(Protocol):
    """What is known of an input; ``symbols`` are those of its dims that have bounds."""

    @property
    def name(self) -> str: ...
    @property
    def shape(self) -> tuple[int | str, ...]: ...
    @property
    def symbols(self) -> tuple[Symbol, ...]: ...


class Output(Protocol):
    """What is known of an output."""

    @property
    def name(self) -> str: ...
    @property
    def shape(self) -> tuple[int | str, ...]: ...


def advice(imported: ImportedModel, options: DynamicOptions) -> Iterator[str]:
    """One line per dim of the inputs that has no upper bound, and per size that data decides."""
    if not options.listed:
        yield from of_ports(imported.inputs, imported.outputs)


def of_ports(inputs: Sequence[Input], outputs: Sequence[Output]) -> Iterator[str]:
    """`advice` for a model with these inputs and outputs."""
    told: set[str] = set()
    for port in inputs:
        bounded = {s.name for s in port.symbols if s.high is not None}
        for axis, dim in enumerate(port.shape):
            if isinstance(dim, int) or dim in told or dim in bounded:
                continue
            told.add(dim)
            yield (
                f"'{dim}' is unbounded: what depends on it is planned at run time; give"
                f' --input-shapes "{_bounded(port, axis)}" for an arena of known size'
            )
    names = {dim for port in inputs for dim in port.shape if isinstance(dim, str)}
    for output in outputs:
        for dim in output.shape:
            if isinstance(dim, str) and dim.isidentifier() and dim not in names | told:
                told.add(dim)
                yield (
                    f"'{dim}' of output '{output.name}' depends on data: it is allocated in every"
                    " run that needs more; set an allocator"
                )


def _bounded(port: Input, axis: int) -> str:
    """The input's shape with bounds at one axis, as the user would write it."""
    dims = [str(d) if isinstance(d, int) else "?" for d in port.shape]
    dims[axis] = _example(axis, len(dims))
    return f"{port.name}:[{','.join(dims)}]"


def _example(axis: int, rank: int) -> str:
    """Bounds that a dim of this place may well have."""
    if axis == 0:
        return "1..8"  # a batch
    return "32..640" if rank == 4 else "1..256"  # pixels; steps of a sequence
