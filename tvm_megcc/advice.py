"""Where more knowledge of the model's sizes would make it faster or smaller: a line for each dim.

Enters: an imported model and how its shapes are compiled. Leaves: sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from tvm_megcc.core.program import Bundle, Program, programs_of
from tvm_megcc.dims import Symbol, factor_of, json_at, json_symbols, to_json
from tvm_megcc.dynamic_options import DynamicOptions

#: The largest factor that a model's dims are tried for, and of how many multiples of it.
_FACTORS, _MULTIPLES = 128, 8

#: Two sizes (`dims.to_json`) that a model needs to be equal.
Equal = tuple[object, object]

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


def advice(
    imported: ImportedModel, options: DynamicOptions, compiled: Program | Bundle
) -> Iterator[str]:
    """What more could be said of the model's dims, a line each.

    Of the inputs' that have no upper bound or may be multiples only, of the outputs' that data
    decides.
    """
    if not options.listed:
        program = programs_of(compiled)[-1]
        equal = [(to_json(r.a), to_json(r.b)) for r in program.requirements]
        yield from of_ports(imported.inputs, imported.outputs, equal)


def of_ports(
    inputs: Sequence[Input], outputs: Sequence[Output], equal: Iterable[Equal] = ()
) -> Iterator[str]:
    """`advice` for a model with these inputs and outputs, which needs these sizes to be equal."""
    told: set[str] = set()
    pairs = list(equal)
    for port in inputs:
        bounds = {s.name: s for s in port.symbols}
        for axis, dim in enumerate(port.shape):
            if isinstance(dim, int) or dim in told:
                continue
            told.add(dim)
            factor, name = factor_of(dim)
            bound = bounds.get(name, Symbol(name))
            needed = _factor(name, pairs, bound)
            if needed > 1:
                facts = f"multiples of {needed} of '{dim}' fit the model, not all other sizes do"
            elif bound.high is None:
                facts = f"'{dim}' is unbounded: what depends on it is planned at run time"
            else:
                continue
            example = _example(axis, len(port.shape), factor * needed, bound, factor)
            shape = [str(d) if isinstance(d, int) else "?" for d in port.shape]
            shape[axis] = example
            given = f'--input-shapes "{port.name}:[{",".join(shape)}]"'
            gain = "for an arena of known size" if bound.high is None else "to say so"
            yield f"{facts}; give {given} {gain}"
    names = {dim for port in inputs for dim in port.shape if isinstance(dim, str)}
    for output in outputs:
        for dim in output.shape:
            if isinstance(dim, str) and dim.isidentifier() and dim not in names | told:
                told.add(dim)
                yield (
                    f"'{dim}' of output '{output.name}' depends on data: it is allocated in every"
                    " run that needs more; set an allocator"
                )


def _factor(name: str, equal: Sequence[Equal], bound: Symbol) -> int:
    """The least factor of whose multiples each makes sizes equal that this symbol alone decides.

    1 where they are equal anyway, or there is no factor.
    """
    alone = [pair for pair in equal if _follows(pair, name)]

    def fit(values: Iterable[int]) -> bool:
        return all(_are_equal(pair, {name: v}) for pair in alone for v in values)

    high = bound.low + _FACTORS if bound.high is None else bound.high
    if fit(range(bound.low, min(high, bound.low + _FACTORS) + 1)):
        return 1
    most = range(2, min(_FACTORS, high) + 1)
    return next((f for f in most if fit(range(f, f * (_MULTIPLES + 1), f))), 1)


def _follows(pair: Equal, name: str) -> bool:
    """Whether two sizes follow from one symbol alone."""
    return json_symbols(pair[0]) | json_symbols(pair[1]) <= {name}


def _are_equal(pair: Equal, values: Mapping[str, int]) -> bool:
    try:
        return json_at(pair[0], values) == json_at(pair[1], values)
    except ZeroDivisionError:
        return False


def _example(axis: int, rank: int, factor: int, bound: Symbol, known: int) -> str:
    """Bounds that a dim of this place may well have; its own, for `known` times its symbol."""
    # A batch; pixels; steps of a sequence.
    low, high = (1, 8) if axis == 0 else (32, 640) if rank == 4 else (1, 256)
    if bound.high is not None:
        low, high = bound.low * known, bound.high * known
    if factor == 1:
        return f"{low}..{high}"
    name = f"{bound.name}=" if known > 1 and factor == known else ""
    least, most = -(-low // factor), high // factor
    return f"{factor}*({name}{least}..{max(least, most)})"
