"""Advice on a model's sizes that would make it faster or smaller if known: at most two sentences.

Enters: an imported model and how its shapes are compiled. Leaves: sentences. The first one names
what is known of the inputs' dims, and gives shapes for all of them: a model that is compiled with
these shapes gets no such sentence any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from tvm_megcc.core.machine import machine
from tvm_megcc.core.program import Bundle, Program, data_symbols, programs_of
from tvm_megcc.dims import Symbol, effort, factor_of, json_symbols, symbols, to_json
from tvm_megcc.dims.many_values import json_over
from tvm_megcc.dynamic_options import DynamicOptions

#: The largest factor that a model's dims are tried for, of how many multiples each, and how many
#: sizes are tried.
_FACTORS, _MULTIPLES, _SIZES = 128, 3, 1 << 12
#: Dims whose text is longer are not tried: what they need, simpler ones before them need, too.
_LONG = 1000

#: Two sizes (`dims.to_json`) that a model needs to be equal.
Equal = tuple[object, object]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

if TYPE_CHECKING:
    from tvm_megcc.frontend import ImportedModel


class Output(Protocol):
    """Name and shape of an output; a dynamic dim is text."""

    @property
    def name(self) -> str: ...
    @property
    def shape(self) -> tuple[int | str, ...]: ...


class Input(Output, Protocol):
    """Name and shape of an input; ``symbols`` are those of its dims that have bounds."""

    @property
    def symbols(self) -> tuple[Symbol, ...]: ...


@dataclass(frozen=True, slots=True)
class Needs:
    """Requirements of a model on its sizes, as `dims.to_json` has them.

    ``equal`` are pairs that must be equal, ``sizes`` are none below 0.
    """

    equal: Sequence[Equal] = ()
    sizes: Sequence[object] = ()

    @staticmethod
    def of(program: Program) -> Needs:
        """The needs of a program: its requirements, and the dims of its tensors."""
        dims = {dim: None for t in program.tensors for dim in t.shape if not isinstance(dim, int)}
        alone = [to_json(dim) for dim in dims if len(symbols(dim)) == 1 and effort(dim)[0] < _LONG]
        return Needs([(to_json(r.a), to_json(r.b)) for r in program.requirements], alone)


@dataclass(frozen=True, slots=True)
class Fit:
    """The sizes of a dim that fit the model: multiples of `factor` from `least` to `most`.

    ``most`` is None where no size that was tried is too large.
    """

    factor: int
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class _Place:
    """First place of a symbol in the inputs: `known` times itself, in a shape of some rank."""

    text: str
    known: int
    axis: int
    rank: int
    bound: Symbol
    times: int


def advice(
    imported: ImportedModel, options: DynamicOptions, compiled: Program | Bundle
) -> Iterator[str]:
    """Sentences on the model's dims of which more knowledge would help.

    Of the inputs' that have no upper bound or may be multiples only, of the outputs' that data
    decides.
    """
    if not options.listed:
        program = programs_of(compiled)[-1]
        fixed = machine(program.arch).arch.name == "cortexm" and not data_symbols(program)
        yield from of_ports(imported.inputs, imported.outputs, Needs.of(program), fixed)


def of_ports(
    inputs: Sequence[Input],
    outputs: Sequence[Output],
    needs: Needs = Needs(),  # noqa: B008 - it is frozen
    fixed: bool = False,
) -> Iterator[str]:
    """`advice` for a model with these inputs, outputs and needs.

    ``fixed`` asks for one size of each dim, as on a Cortex-M: without sizes to be worked out the
    arena is no limit but what a run takes, and `examples/cortexm` is written.
    """
    places = _places(inputs)
    fits = {name: fit_of(name, needs, place.bound) for name, place in places.items()}
    found = {name: fit for name, fit in fits.items() if fit is not None}
    open_ended = [n for n, p in places.items() if p.bound.high is None]
    multiples = [n for n, f in found.items() if f.factor > 1]
    if (open_ended or multiples) and len(found) == len(fits):
        facts = _facts(places, found, multiples, open_ended)
        shapes = _shapes(inputs, places, found, fixed and bool(open_ended))
        gain = (
            f"for an arena of {'fixed' if fixed else 'known'} size" if open_ended else "to say so"
        )
        given = f'--input-shapes "{shapes}"' + (" --arena fixed" if open_ended else "")
        yield f"{facts}; give {given} {gain}"
    yield from _of_outputs(inputs, outputs, places)


def _places(inputs: Sequence[Input]) -> dict[str, _Place]:
    found: dict[str, _Place] = {}
    names = [factor_of(d)[1] for port in inputs for d in port.shape if isinstance(d, str)]
    for port in inputs:
        bounds = {s.name: s for s in port.symbols}
        for axis, dim in enumerate(port.shape):
            if isinstance(dim, str):
                known, name = factor_of(dim)
                bound = bounds.get(name, Symbol(name))
                place = _Place(dim, known, axis, len(port.shape), bound, names.count(name))
                found.setdefault(name, place)
    return found


def _facts(
    places: Mapping[str, _Place],
    fits: Mapping[str, Fit],
    multiples: Sequence[str],
    open_ended: Sequence[str],
) -> str:
    """Known facts of the dims, each dim named once."""
    facts = []
    for factor in dict.fromkeys(fits[name].factor for name in multiples):
        of = [f"of '{places[n].text}'" for n in multiples if fits[n].factor == factor]
        facts.append(f"multiples of {factor} {_joined(of)} fit the model, not all other sizes do")
    rest = [name for name in open_ended if name not in multiples]
    for name in rest:
        fit = fits[name]
        if fit.least == fit.most:
            facts.append(f"{fit.least} is the only size of '{places[name].text}' that fits")
    rest = [name for name in rest if fits[name].least != fits[name].most]
    if rest:
        verb, what = ("is", "it") if len(rest) == 1 else ("are", "them")
        named = _joined([f"'{places[name].text}'" for name in rest])
        facts.append(f"{named} {verb} unbounded: what depends on {what} is planned at run time")
    return "; ".join(facts)


def _joined(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _shapes(
    inputs: Sequence[Input], places: Mapping[str, _Place], fits: Mapping[str, Fit], fixed: bool
) -> str:
    """Shapes of all inputs with dynamic dims, as ``--input-shapes`` takes them."""
    told: set[str] = set()
    texts = []
    for port in inputs:
        dims = []
        for dim in port.shape:
            if isinstance(dim, int):
                dims.append(str(dim))
                continue
            known, name = factor_of(dim)
            dims.append(_dim(places[name], fits[name], fixed, known, name in told))
            told.add(name)
        if any(isinstance(dim, str) for dim in port.shape):
            texts.append(f"{port.name}:[{','.join(dims)}]")
    return " ".join(texts)


def _dim(place: _Place, fit: Fit, fixed: bool, known: int, again: bool) -> str:
    """A dim of the shapes: its size, or its bounds; with `again`, a dim that was written before."""
    low, high = _example(place, fit)
    if fixed:
        low = max(low, fit.least)
    if fixed or low == high:
        size = low if place.axis == 0 or place.rank == 4 else min(high, max(low, 64))
        return str(-(-size // fit.factor) * fit.factor * known)
    factor = fit.factor * known
    bounds = f"{low // fit.factor}..{high // fit.factor}"
    # A name says that dims are one; a dim of the model that stands alone keeps its own.
    shared = place.times > 1 and place.bound.name.isidentifier()
    name = place.bound.name if fit.factor == 1 else f"{place.bound.name}_by_{fit.factor}"
    if again:
        return (f"{factor}*{name}" if factor > 1 else name) if shared else "?"
    named = f"{name}=" if shared or (known > 1 and fit.factor == 1) else ""
    return f"{factor}*({named}{bounds})" if factor > 1 else f"{named}{bounds}"


def _example(place: _Place, fit: Fit) -> tuple[int, int]:
    """Likely bounds of a symbol at this place: its own, else usual ones that fit the model."""
    bound, factor = place.bound, fit.factor
    if bound.high is not None:
        low, high = max(bound.low, fit.least), bound.high
        if factor == 1:
            low = bound.low
    else:
        # A batch; pixels; steps of a sequence.
        low, high = (1, 8) if place.axis == 0 else (32, 640) if place.rank == 4 else (1, 256)
        low, high = -(-low // place.known), high // place.known
        low = max(low, bound.low, fit.least)
        high = max(high, 2 * low if low > high else high)
        if fit.most is not None:
            low, high = (low, high) if low <= fit.most else (fit.least, fit.most)
            high = min(high, fit.most)
    low = -(-low // factor) * factor
    return low, max(low, high // factor * factor)


def _of_outputs(
    inputs: Sequence[Input], outputs: Sequence[Output], places: Mapping[str, _Place]
) -> Iterator[str]:
    told = {*places, *(s.name for port in inputs for s in port.symbols)}
    for output in outputs:
        for dim in output.shape:
            if isinstance(dim, str) and dim.isidentifier() and dim not in told:
                told.add(dim)
                yield (
                    f"'{dim}' of output '{output.name}' depends on data: it is allocated in every"
                    " run that needs more; set an allocator"
                )


def fit_of(name: str, needs: Needs, bound: Symbol) -> Fit | None:
    """Sizes of a symbol that fit the model, as far as this symbol alone decides; None if none fits.

    Sizes of 0 are left out: that a model takes no empty tensors says nothing of its other sizes.
    The fewest words that are right: all sizes of an interval; multiples of the least factor; else
    the longest run of sizes.
    """
    low = max(1, bound.low)
    high = min(low + _SIZES, low + _SIZES if bound.high is None else bound.high)
    sizes = np.arange(low, high + 1, dtype=np.int64)
    fits, full = (np.ones(len(sizes), bool) for _ in range(2))
    for a, b in needs.equal:
        if json_symbols(a) | json_symbols(b) == {name}:
            (left, is_left), (right, is_right) = (json_over(v, name, sizes) for v in (a, b))
            fits &= is_left & is_right & (left == right)
    for size in needs.sizes:
        if json_symbols(size) == {name}:
            value, is_one = json_over(size, name, sizes)
            fits &= is_one & (value >= 0)
            full &= value > 0
    runs = _runs(fits)
    if not runs:
        return None if len(sizes) else Fit(1, low, low)
    if len(runs) > 1:
        for factor in range(2, _FACTORS + 1):
            own = sizes % factor == 0
            steps = _runs(fits[own])
            many = max(2, min(_MULTIPLES, int(own.sum())))
            if len(steps) == 1 and np.ptp(steps[0]) >= many - 1:
                return _fit(factor, sizes[own], full[own], steps[0], bound)
    return _fit(1, sizes, full, max(runs, key=lambda run: run[1] - run[0]), bound)


def _fit(factor: int, sizes: Integers, full: Booleans, run: tuple[int, int], bound: Symbol) -> Fit:
    """The sizes of a run of indices, from the first size for which no tensor is empty."""
    first, last = run
    most = int(sizes[last]) if sizes[last] < sizes[-1] or bound.high is not None else None
    return Fit(factor, int(sizes[first + int(full[first : last + 1].argmax())]), most)


def _runs(fits: Booleans) -> list[tuple[int, int]]:
    """First and last index of each run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], fits.astype(np.int8), [0]])))
    return [(int(a), int(b) - 1) for a, b in edges.reshape(-1, 2)]


def needs_of(equal: Iterable[Equal], sizes: Iterable[object]) -> Needs:
    """The needs of a package, from pairs and sizes of its manifest."""
    return Needs(list(equal), [s for s in sizes if len(json_symbols(s)) == 1])
