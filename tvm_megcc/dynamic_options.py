"""Options for dynamic shapes: listed shapes, buckets, or one program for all.

Example
-------
>>> DynamicOptions(listed=({"x": (1, 3)}, {"x": (4, 3)})).import_shapes(None)
{'x': (None, 3)}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tvm_megcc.core.program import Bundle, Program, programs_of
from tvm_megcc.dims import GivenDim
from tvm_megcc.errors import InputError

if TYPE_CHECKING:
    from tvm_megcc.dispatch.dispatchers import Buckets
    from tvm_megcc.frontend import ImportedModel, InputInfo

Shapes = Mapping[str, Sequence[GivenDim]]

#: As `tvm_megcc.dispatch` has them (repeated, as that room imports TVM).
MAX_BUCKETS = 256
FALLBACKS = ("symbolic", "none")
ARENAS = ("exact", "fixed")


@dataclass(frozen=True, slots=True)
class DynamicOptions:
    """Listed shapes, or buckets; neither is one program, for all sizes of dynamic dims.

    Attributes
    ----------
    listed : tuple of shapes
        Each set is served by a program of its own, and no others are.
    buckets : {input: {axis: [(low, high or None), ...]}}
        Half-open; each combination is served by a program of its own.
    fallback : {"symbolic", "none"}
        Whether a program for all sizes takes what no bucket takes.
    max_buckets : int
        More programs than this are refused.
    arena : {"exact", "fixed"}
        ``fixed``: one arena does for all shapes (``<NAME>_ARENA_BYTES``), so every dim has bounds.
    distinct_dims : tuple of str
        Names of dims that say nothing; see `tvm_megcc.frontend.from_onnx`.
    """

    listed: tuple[Shapes, ...] = ()
    buckets: Buckets = field(default_factory=dict)
    fallback: str = "symbolic"
    max_buckets: int = MAX_BUCKETS
    arena: str = "exact"
    distinct_dims: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.listed and self.buckets:
            raise InputError("listed shapes and buckets cannot be combined; give one of them")
        if self.arena not in ARENAS:
            raise InputError(f"arena {self.arena!r} is not known; choose from {', '.join(ARENAS)}")
        if self.fallback not in FALLBACKS:
            raise InputError(
                f"fallback {self.fallback!r} is not known; choose from {', '.join(FALLBACKS)}"
            )

    def import_shapes(self, shapes: Shapes | None) -> Shapes | None:
        """Shapes for the frontend: for listed shapes, the dims that all of them share."""
        if not self.listed:
            return shapes
        if shapes:
            raise InputError("give listed shapes or input shapes, not both")
        names = list(dict.fromkeys(name for given in self.listed for name in given))
        return {name: _common(name, [g[name] for g in self.listed if name in g]) for name in names}

    def imported(
        self,
        model: Any,
        shapes: Shapes | None,
        params: Mapping[str, Any] | None,
        states: Sequence[str] = (),
    ) -> ImportedModel:
        """Import a model, with a function for each of the shapes that have their own program."""
        from tvm_megcc import importers

        found = importers.import_model(
            model, self.import_shapes(shapes), params, self.distinct_dims, states
        )
        self.apply(found)
        return found

    def apply(self, imported: ImportedModel) -> None:
        """Give the imported module its functions."""
        from tvm_megcc import dispatch

        if self.listed and any(isinstance(d, str) for p in imported.inputs for d in p.shape):
            dispatch.list_shapes(imported.mod, "main", _by_param(imported, self.listed))
        if self.buckets:
            names = {port.name: param.name for port, param in _ports(imported)}
            for name in self.buckets:
                if name not in names:
                    known = ", ".join(f"'{n}'" for n in names)
                    raise InputError(f"--dispatch: '{name}' is no input; they are {known}")
            shapes = {param.name: port.shape for port, param in _ports(imported)}
            chosen = {names[name]: axes for name, axes in self.buckets.items()}
            dispatch.dispatch(
                imported.mod, "main", shapes, lambda given: chosen,
                fallback=self.fallback, max_buckets=self.max_buckets,
            )  # fmt: skip


def check_arena(options: DynamicOptions, compiled: Iterable[Program | Bundle]) -> None:
    """Raise InputError for a fixed arena if a dim has no bounds; the message names the dim."""
    if options.arena != "fixed":
        return
    for program in (p for found in compiled for p in programs_of(found)):
        open_ended = [s.name for s in program.symbols if s.high is None]
        if program.symbols and program.arena_limit is None:
            name = open_ended[0] if open_ended else program.symbols[0].name
            raise InputError(
                f"--arena fixed: the dim '{name}' has no bound; give one with --input-shapes, as in"
                ' "x:[1..8,...]"'
            )


def _common(name: str, given: Sequence[Sequence[GivenDim]]) -> tuple[GivenDim, ...]:
    if len({len(dims) for dims in given}) > 1:
        raise InputError(
            f"input '{name}': the listed shapes have different ranks; compile one package for each"
        )
    rows = zip(*given, strict=True)
    return tuple(row[0] if all(d == row[0] for d in row) else None for row in rows)


def _ports(imported: ImportedModel) -> Iterator[tuple[InputInfo, Any]]:
    """The inputs with the variables (of Relax) that stand for them."""
    return zip(imported.inputs, imported.mod["main"].params, strict=True)


def _by_param(
    imported: ImportedModel, listed: Sequence[Shapes]
) -> list[dict[str, Sequence[GivenDim]]]:
    """Shapes by the names of the function's parameters."""
    names = {port.name: param.name for port, param in _ports(imported)}
    return [{names[name]: dims for name, dims in given.items()} for given in listed]
