"""Inputs for the runs of one graph: its own, others of other sizes, and hostile ones."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace

import numpy as np
import onnx

from tests.fuzz import evaluate, unsaid
from tests.fuzz.data import Random
from tests.fuzz.evaluate import MOST_BYTES, Array
from tests.fuzz.sketch import Graph

#: What makes tensors of a size that it reads; large numbers would only test the allocator.
_MAKES = {"Expand", "Tile", "ConstantOfShape", "Pad", "Resize", "Range", "OneHot", "Reshape",
          "AffineGrid", "Upsample", "Loop", "EyeLike"}  # fmt: skip

_HUGE = (3, 40_000, 46_341, 65_536, 1 << 20, 1 << 24, 1 << 30, (1 << 31) - 1)


@dataclass(frozen=True)
class Run:
    """One set of inputs.

    Attributes
    ----------
    values : dict or None
        Every value of the graph; None where the evaluators call these inputs an error.
    error : str
        What ONNX Runtime says then.
    certain : bool
        Whether `onnx.reference` calls them an error, too.
    node : str
        The node that is called an error.
    goes_on : bool
        Whether the states are what the run before left in their memory. Nobody knows their values
        before that run, so they and `values` are the feed's only until `continued`.
    """

    feed: dict[str, Array]
    values: dict[str, Array] | None
    error: str = ""
    certain: bool = False
    node: str = ""
    goes_on: bool = False


def runs(graph: Graph, rng: Random) -> list[Run]:
    """The graph's own inputs, then others."""
    found = [_of(graph, graph.inputs, graph.values)]
    if graph.states:
        found += _steps(graph, rng)
    if graph.open_dims:
        found += [_run(graph, _resized(graph, rng)) for _ in range(rng.between(1, 3))]
        if rng.chance(0.5):
            found.append(found[0])
        if rng.chance(0.15):
            found.append(Run(_huge(graph, rng), None, "too large"))
    if rng.chance(0.3) and (feed := _hostile(graph, rng)) is not None:
        found.append(_run(graph, feed))
    return found


def evaluated(graph: Graph, feed: dict[str, Array]) -> Run:
    """The run of a feed."""
    return _run(graph, feed)


def continued(graph: Graph, run: Run, before: dict[str, Array]) -> Run:
    """A run that goes on, with the states that the run before gave among its outputs."""
    given = {port: before[output] for port, output in graph.states.items() if output in before}
    return replace(_run(graph, {**run.feed, **given}), goes_on=run.goes_on)


def _steps(graph: Graph, rng: Random) -> list[Run]:
    """Runs after the first one, each with the states that the one before left."""
    count = min([rng.between(1, 4), *map(len, graph.later.values())])
    return [Run(_step(graph, rng, k), None, "not known", goes_on=True) for k in range(count)]


def _step(graph: Graph, rng: Random, number: int) -> dict[str, Array]:
    feed = dict(graph.inputs)
    for port, array in graph.inputs.items():
        if port in graph.later:
            feed[port] = graph.later[port][number]
        elif port not in graph.states and evaluate.is_float(array.dtype):
            feed[port] = rng.array(array.dtype, array.shape, tame=True)
    return feed


def partly(graph: Graph, feed: dict[str, Array]) -> dict[str, Array]:
    """The values of a graph up to the node that the evaluators call an error."""
    values = {**graph.weights, **feed}
    for node in graph.nodes:
        try:
            results = evaluate.either(node, graph.opsets, values)
        except evaluate.Refused:
            break
        values.update(zip((n for n in node.output if n), results, strict=True))
    return values


def _run(graph: Graph, feed: dict[str, Array]) -> Run:
    if any(a.nbytes >= MOST_BYTES for a in feed.values()):
        return Run(feed, None, "too large")
    values = {**graph.weights, **feed}
    for node in graph.nodes:
        try:
            results = _evaluated(node, graph.opsets, values)
        except evaluate.Refused as refusal:
            return Run(feed, None, str(refusal), _is_error(node, graph.opsets, values), node.name)
        values.update(zip((n for n in node.output if n), results, strict=True))
    return _of(graph, feed, values)


def _evaluated(
    node: onnx.NodeProto, opsets: dict[str, int], values: dict[str, Array]
) -> list[Array]:
    try:
        return evaluate.either(node, opsets, values)
    except evaluate.Refused:
        with contextlib.suppress(evaluate.Refused):
            return evaluate.without_elements(node, opsets, values)
        raise


def _is_error(node: onnx.NodeProto, opsets: dict[str, int], values: dict[str, Array]) -> bool:
    """Whether `onnx.reference`, too, calls a node an error that ONNX Runtime calls one."""
    try:
        evaluate.by_reference(node, opsets, values)
    except evaluate.Refused as refusal:
        return not refusal.missing
    return False


def _of(graph: Graph, feed: dict[str, Array], values: dict[str, Array]) -> Run:
    for node in graph.nodes:
        if text := unsaid.undefined(node, values):
            return Run(feed, None, text)
    if any(values[a].shape != values[b].shape for a, b in graph.states.items()):
        return Run(feed, None, "a state would have other dims than its memory")
    return Run(feed, values)


def open_some(graph: Graph, rng: Random) -> None:
    """Leave some dims of the inputs open."""
    apart = rng.chance(0.3)
    dims = {d for array in graph.inputs.values() for d in array.shape}
    chosen = {d for d in sorted(dims) if rng.chance(0.5)}
    for port, array in graph.inputs.items():
        names: list[str | None] = []
        for axis, size in enumerate(array.shape):
            if size not in chosen or rng.chance(0.15):
                names.append(None)
            else:
                names.append(f"{port}_{axis}" if apart else f"d{size}")
        if any(names):
            graph.open_dims[port] = names


def _resized(graph: Graph, rng: Random) -> dict[str, Array]:
    sizes: dict[str, int] = {}
    # Dims that met when the graph was made meet again, some of them as 1: broadcasting takes both.
    alike: dict[int, int] | None = {} if rng.chance(0.5) else None
    feed = {}
    for port, array in graph.inputs.items():
        names = graph.open_dims.get(port) or [None] * array.ndim
        shape = []
        for name, size in zip(names, array.shape, strict=True):
            if name is None:
                shape.append(size)
                continue
            if name not in sizes:
                other = rng.one(
                    (size, size + 1, size + 1, size + 3, 2 * size, 1, 0, max(size - 1, 0))
                )
                if alike is not None:
                    other = 1 if rng.chance(0.3) else alike.setdefault(size, other)
                sizes[name] = other
            shape.append(sizes[name])
        if tuple(shape) == array.shape:
            feed[port] = array
        elif array.dtype.kind in "iub" and array.size:
            feed[port] = np.resize(array, shape)
        else:
            feed[port] = rng.array(array.dtype, shape)
    if sum(a.size for a in feed.values()) > 50_000:
        return dict(graph.inputs)
    return feed


def _huge(graph: Graph, rng: Random) -> dict[str, Array]:
    """Inputs whose elements nobody could count in 32 bits, all of them one element in memory."""
    # A body that runs a million times takes an emulated machine minutes.
    most = 65_536 if any(node.op_type == "Scan" for node in graph.nodes) else max(_HUGE)
    rows = graph.open_dims.values()
    sizes = {n: min(rng.one(_HUGE), most) for row in rows for n in row if n}
    feed = {}
    for port, array in graph.inputs.items():
        names = graph.open_dims.get(port) or [None] * array.ndim
        pairs = zip(names, array.shape, strict=True)
        shape = tuple(size if name is None else sizes[name] for name, size in pairs)
        # numpy has no array of so many bytes, not even of an empty one's other sizes.
        if np.prod(np.maximum(shape, 1), dtype=float) * 8 >= 2.0**63:
            shape = array.shape
        feed[port] = array if shape == array.shape else np.broadcast_to(array.dtype.type(0), shape)
    return feed


def _hostile(graph: Graph, rng: Random) -> dict[str, Array] | None:
    """Inputs that are positions or sizes get values that they should not have."""
    ports = [
        n
        for n, a in graph.inputs.items()
        if a.dtype.kind == "i" and a.size and a.dtype.itemsize > 2
    ]
    if not ports:
        return None
    feed = dict(graph.inputs)
    makes = any(node.op_type in _MAKES for node in graph.nodes)
    for port in rng.some(ports, 1):
        array = graph.inputs[port]
        choices = (
            (-7, -2, -1, 0, 1, 3, 9) if makes else (-1_000_000, -100, -7, 0, 7, 100, 1_000_000)
        )
        mask = rng.bits.random(array.shape) < 0.6
        feed[port] = np.where(mask, rng.bits.choice(choices, array.shape), array).astype(
            array.dtype
        )
    return feed
