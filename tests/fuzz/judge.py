"""Is an answer right? Within eight times what rounding may do, by evaluations that round otherwise.

A value is evaluated as ONNX Runtime does, in f64, and in f64 with every node's operands moved by a
few units of their last place, wherever the node rounds at all. What those evaluations differ in is
the spread; an integer that is not the same in all of them is anybody's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import onnx

from tests.fuzz import evaluate, rounding
from tests.fuzz.bodies import BODIES
from tests.fuzz.data import Random
from tests.fuzz.evaluate import Array, Refused, is_float
from tests.fuzz.sketch import Graph


@dataclass(frozen=True)
class Verdict:
    """What is wrong with an output; empty when nothing is."""

    output: str = ""
    text: str = ""

    def __bool__(self) -> bool:
        return bool(self.text)


def _alike(a: Array, b: Array) -> Array:
    """Where two arrays are the same, NaN and the sign of a zero included."""
    if not is_float(a.dtype):
        return np.asarray(a == b)
    with np.errstate(all="ignore"):
        equal = (a == b) & (np.signbit(a) == np.signbit(b))
    return np.asarray(equal | (np.isnan(a) & np.isnan(b)))


def same(found: Array, want: Array) -> bool:
    """Equal up to two units in the last place: no need to look closer."""
    if found.shape != want.shape or found.dtype != want.dtype:
        return False
    if not is_float(want.dtype):
        return bool((found == want).all())
    a, b = (np.asarray(v).astype(np.float64) for v in (found, want))
    with np.errstate(all="ignore"):
        # Nothing but itself is near an infinity.
        size = np.where(np.isfinite(b), np.abs(b), 0)
        near = np.abs(a - b) <= 2 * rounding.EPS[want.dtype.name] * size
    return bool((near | (a == b) | (np.isnan(a) & np.isnan(b))).all())


def _is_narrow(values: Array) -> bool:
    """Whether all of these doubles are f32 numbers."""
    with np.errstate(all="ignore"):
        narrow = values.astype(np.float32).astype(np.float64)
    return bool(((narrow == values) | np.isnan(values)).all())


def _huge(values: Array) -> Array:
    """Where finite numbers of f32 or less have squares that no f32 holds."""
    if values.dtype.name not in ("float32", "float16", "bfloat16"):
        return np.zeros(values.shape, bool)
    sizes = np.abs(np.asarray(values).astype(np.float64))
    return np.asarray(np.isfinite(sizes) & (sizes > 1e18))


def _narrowed(values: Array) -> Array:
    """f64 as f32."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32) if values.dtype == np.float64 else values


def _mirrored(values: Array, moved: Array) -> Array:
    """Values moved as far the other way."""
    if not is_float(values.dtype):
        return values
    with np.errstate(all="ignore"):
        return np.where(np.isfinite(values), 2 * values - moved, values)


class Judge:
    """Judges the outputs of one graph at one set of inputs.

    Parameters
    ----------
    graph : Graph
    feeds : dict
        Inputs and weights.
    values : dict
        Every value of the graph, as ONNX Runtime computes it.
    flushes : bool
        Whether the machine may take subnormal numbers of f32 for 0, as NEON of Armv7 does.
    """

    def __init__(self, graph: Graph, values: Mapping[str, Array], flushes: bool = False) -> None:
        self.graph, self.values, self.flushes = graph, values, flushes
        self._spreads: dict[str, tuple[Array, Array]] | None = None
        self._reference: Mapping[str, Array] | None = None
        self._exact: dict[str, Array] | None = None
        self._overflowing: Mapping[str, Array] | None = None

    def wrong(self, found: Mapping[str, Array]) -> Verdict:
        """The first output with an element with which no evaluator agrees.

        That is ONNX Runtime, then `onnx.reference`, then the evaluation in f64: ONNX Runtime's
        own approximations are worse than f32 has to be here and there.
        """
        for name in self.graph.outputs:
            if name not in found:
                return Verdict(name, "is missing")
            text = self._wrong(name, found[name])
            if text:
                return Verdict(name, text)
        return Verdict()

    def _wrong(self, name: str, found: Array) -> str:
        want = self.values[name]
        if same(found, want):
            return ""
        right = self._right(name, found, want)
        for values in (lambda: self.reference, lambda: self.precise):
            if right is not None and right.all():
                return ""
            other = values().get(name)
            if other is not None:
                more = self._right(name, found, other)
                right = more if right is None else right if more is None else right | more
        if right is None:
            if found.dtype != want.dtype:
                return f"is {found.dtype}, not {want.dtype}"
            return f"has shape {list(found.shape)}, not {list(want.shape)}"
        if right.all():
            return ""
        where = np.argwhere(~right)
        first = tuple(int(k) for k in where[0])
        expected = want[first] if want.shape == found.shape else "another"
        spread = self.spreads[name][0]
        size = spread[first] if spread.shape == found.shape else 0
        return (
            f"{len(where)} of {right.size} wrong, first at {list(first)}: "
            f"{found[first]} for {expected} (spread {size:.2g})"
        )

    def _right(self, name: str, found: Array, want: Array) -> Array | None:
        """Which elements are what an evaluator has; None where it has another type or shape."""
        if found.dtype != want.dtype or found.shape != want.shape:
            return None
        spread, loose = self.spreads[name]
        if spread.shape != want.shape:
            return np.ones(want.shape, bool)  # the reference has another size
        a, b = (np.asarray(v).astype(np.float64) for v in (found, want))
        if is_float(want.dtype):
            # What few evaluations happen to agree in may still be as uncertain as its neighbours.
            spread = np.maximum(spread, np.quantile(spread, 0.75))
            eps = rounding.EPS[want.dtype.name]
            if want.dtype.name == "float64" and _is_narrow(b):
                eps = rounding.EPS["float32"]  # some kernels for f64 compute in f32
            with np.errstate(all="ignore"):
                floor = 4 * eps * np.where(np.isfinite(b), np.abs(b), 0) + 1e-37
                if want.dtype.name == "float16":
                    floor = np.maximum(floor, 2.0**-23)
                near = np.abs(a - b) <= rounding.FACTOR * spread + floor
            right = near | (a == b) | (np.isnan(a) & np.isnan(b)) | loose
            right |= self.overflowing[name] & (~np.isfinite(a) | ~np.isfinite(b))
        else:
            right = np.asarray(found == want) | loose
        return np.asarray(right)

    @property
    def overflowing(self) -> Mapping[str, Array]:
        """Which elements depend on numbers whose squares no f32 holds: any of them may overflow.

        Those that are computed from an operand's element in their own place depend on that one.
        """
        if self._overflowing is not None:
            return self._overflowing
        huge = {n: _huge(array) for n, array in self.values.items()}
        # What f16 does not hold may stay in f32 until it is an output.
        for name in {name for node in self.graph.nodes for name in node.output if name in huge}:
            if self.values[name].dtype == np.float16:
                huge[name] |= np.isinf(self.values[name])
        found = {n: np.zeros(array.shape, bool) for n, array in self.values.items()}
        for node in self.graph.nodes:
            is_moved = node.op_type in rounding.MOVES
            read = [n for n in evaluate.reads(node) if n in found]
            rows = [found[n] if is_moved else found[n] | huge[n] for n in read]
            for name in found.keys() & set(node.output):
                mask, shape = found[name], found[name].shape
                if node.op_type in rounding.ELEMENTWISE:
                    for row in rows:
                        mask |= np.broadcast_to(row, shape)
                elif any(row.any() for row in rows) or rounding.outgrows(node, self.values):
                    mask[...] = True
                if not is_moved:
                    mask |= huge[name]
        self._overflowing = found
        return found

    # ---- what rounding may do ----------------------------------------------------------------

    @property
    def reference(self) -> Mapping[str, Array]:
        """Values by `onnx.reference`, with ONNX Runtime for what it does not evaluate."""
        if self._reference is None:
            values = {**self.graph.weights, **{n: self.values[n] for n in self.graph.inputs}}
            for node in self.graph.nodes:
                names = [n for n in node.output if n]
                try:
                    results = evaluate.by_reference(node, self.graph.opsets, values)
                    if any(
                        r.dtype != self.values[n].dtype for n, r in zip(names, results, strict=True)
                    ):
                        raise Refused("another type", missing=True)
                except Refused:
                    try:
                        results = evaluate.by_ort(node, self.graph.opsets, values)
                    except Refused:
                        if not self._is_empty(names):
                            break
                        results = [self.values[n] for n in names]
                values.update(zip(names, results, strict=True))
            self._reference = values
        return self._reference

    @property
    def precise(self) -> Mapping[str, Array]:
        """Floats by the evaluation in f64, in their own types."""
        if self._exact is None:
            self._exact = self._doubles(None)
        found = {}
        for name in self.graph.outputs:
            if name in self._exact:
                want = self.values[name]
                with np.errstate(all="ignore"):
                    found[name] = self._exact[name].astype(want.dtype)
        return found

    @property
    def spreads(self) -> dict[str, tuple[Array, Array]]:
        """For each output: the spread of each element, and whether any value is as good."""
        if self._spreads is None:
            self._exact = exact = self._doubles(None)
            shaken = [self._doubles(k) for k in range(len(rounding.ANY))]
            if self.flushes:
                shaken.append(self._doubles(None, flushed=True))
            self._spreads = {n: self._spread(n, [exact, *shaken]) for n in self.graph.outputs}
        return self._spreads

    def _spread(self, name: str, runs: list[dict[str, Array]]) -> tuple[Array, Array]:
        want = self.values[name]
        rows = [run[name] for run in runs if name in run]
        if any(row.shape != want.shape for row in rows):
            # A size that rounding decides.
            return np.zeros(want.shape), np.ones(want.shape, bool)
        if not is_float(want.dtype):
            loose = np.zeros(want.shape, bool)
            for row in rows:
                loose |= row != want
            return np.zeros(want.shape), loose
        b = np.asarray(want).astype(np.float64)
        spread, loose = np.zeros(want.shape), np.zeros(want.shape, bool)
        for row in rows:
            with np.errstate(all="ignore"):
                gap = np.abs(row.astype(np.float64) - b)
            finite = np.isfinite(gap)
            spread = np.where(finite, np.maximum(spread, gap), spread)
            # Infinite in f32 and finite in f64, or the other way round.
            equal = (row == b) | (np.isnan(row) & np.isnan(b))
            loose |= ~finite & ~equal
        return spread, loose

    def _doubles(self, number: int | None, flushed: bool = False) -> dict[str, Array]:
        """Every value with floats in f64; by a number, with operands moved where nodes round."""
        kept = self._flushed if flushed else lambda name, array: array
        shake = None if number is None else Random(17, number)
        values: dict[str, Array] = {}
        feeds = {**self.graph.weights, **{n: self.values[n] for n in self.graph.inputs}}
        for name, array in feeds.items():
            values[name] = kept(name, self._wide(array))
        for node in self.graph.nodes:
            names = [n for n in node.output if n]
            if self._is_empty(names):  # the evaluators refuse some of those
                values.update((n, self.values[n]) for n in names)
                continue
            results = self._results(node, values, names, number, shake)
            values.update((n, kept(n, r)) for n, r in zip(names, results, strict=True))
        return values

    def _results(
        self, node: onnx.NodeProto, values: Mapping[str, Array], names: list[str],
        number: int | None, shake: Random | None,
    ) -> list[Array]:  # fmt: skip
        """A node's results in f64; by a number, as rounding and what no text says may have them."""
        results, exactly = self._double(node, values, names)
        if results is None:  # no evaluator takes what the others made: from here as f32 has it
            results = [self._wide(self.values[n]) for n in names]
        if number is None or shake is None:
            return results
        if rounding.cuts(node, values):
            results = self._cut(node, values, results, -1 if number % 2 else 1)
        elif node.op_type in rounding.LEAVES:
            again, _ = self._double(rounding.weighed(shake, node), values, names)
            results = results if again is None else again
        elif not (exactly and self._is_exact(node, names, results)):
            again = self._moved_operands(shake, node, values, names, results)
            results = results if again is None else again
            results = [self._rounded(shake, n, r) for n, r in zip(names, results, strict=True)]
            results = [rounding.astray(number, node, values, r) for r in results]
        if rounding.is_transformed(node, values):
            results = [rounding.transformed(shake, values[node.input[0]], r) for r in results]
        if node.op_type in BODIES:
            results = self._loose_inside(node, values, results, self._inside(number, shake))
        return self._loosened(node, values, results, number, shake)

    def _loosened(
        self, node: onnx.NodeProto, values: Mapping[str, Array], results: list[Array],
        number: int, shake: Random,
    ) -> list[Array]:  # fmt: skip
        """Any number in place of the elements of which a text says nothing."""
        any_, opsets = rounding.ANY[number], self.graph.opsets
        results = [rounding.anyhow(shake, any_, node, opsets, values, r) for r in results]
        return [rounding.nowhere(node, values, rounding.signed(shake, node, r)) for r in results]

    def _inside(self, number: int, shake: Random) -> evaluate.After:
        """What gives a body's nodes the results that they have as nodes of a graph of their own."""

        def again(
            node: onnx.NodeProto, values: Mapping[str, Array], results: list[Array]
        ) -> list[Array]:
            if node.op_type in BODIES:
                return self._loosened(node, values, results, number, shake)
            alone = self._alone(node, values, results)
            found = alone._results(node, values, alone.graph.outputs, number, shake)
            fits = [a.shape for a in found] == [r.shape for r in results]
            return found if fits else results

        return again

    def _alone(
        self, node: onnx.NodeProto, values: Mapping[str, Array], results: list[Array]
    ) -> Judge:
        """The judge of one node of a body, whose floats count as f32: nobody says what they are."""
        names = [n for n in node.output if n]
        given = {n: _narrowed(values[n]) for n in evaluate.reads(node) if n}
        try:
            found = evaluate.either(node, self.graph.opsets, given)
        except Refused:
            found = results
        made = dict(zip(names, map(_narrowed, found), strict=True))
        graph = Graph([node], self.graph.opsets, given, {}, names)
        return Judge(graph, {**given, **made}, self.flushes)

    def _moved_operands(
        self, shake: Random, node: onnx.NodeProto, values: Mapping[str, Array], names: list[str],
        results: list[Array],
    ) -> list[Array] | None:  # fmt: skip
        """A node's results of operands that are moved; of as many elements, if one way gives so.

        A scale of a Resize, a step of a Range is where the size is decided: 5 * 3 is no 14.
        """
        read = {n: values[n] for n in evaluate.reads(node) if n}
        moved = {n: self._moved(shake, n, a) for n, a in read.items()}
        if (name := rounding.scales_of(node)) and is_float(values[name].dtype):
            moved[name] = np.maximum(moved[name], _mirrored(values[name], moved[name]))
        first, _ = self._double(node, moved, names)
        shapes = [r.shape for r in results]
        if first is None or [a.shape for a in first] == shapes:
            return first
        other = {n: _mirrored(values[n], a) for n, a in moved.items()}
        again, _ = self._double(node, other, names)
        return again if again and [a.shape for a in again] == shapes else first

    def _loose_inside(
        self,
        node: onnx.NodeProto,
        values: Mapping[str, Array],
        results: list[Array],
        loosen: evaluate.After,
    ) -> list[Array]:
        """A body's results, those of them other that depend on what is rounded, or may be any."""
        opsets = self.graph.opsets
        try:
            plain, loose = (
                evaluate.by_reference(node, opsets, values, double=True, inside=inside)
                for inside in (lambda node, values, results: results, loosen)
            )
        except Refused:
            return results
        triples = list(zip(results, plain, loose, strict=True))
        if any(len({a.shape for a in rows}) > 1 for rows in triples):
            return results
        return [np.where(_alike(b, c), a, c) for a, b, c in triples]

    def _is_empty(self, names: list[str]) -> bool:
        return all(not self.values[name].size for name in names)

    def _is_exact(self, node: onnx.NodeProto, names: list[str], results: list[Array]) -> bool:
        """Whether a node's results are in f64 what they are in f32: nothing was rounded."""
        if node.op_type in rounding.SUMS and any(
            rounding.is_wide(self.values[n]) for n in node.input if n
        ):
            return False  # f64 rounds, too
        if node.op_type == "AffineGrid":
            return False  # so do places in between, which the sum may be rid of again
        for name, result in zip(names, results, strict=True):
            want = self.values[name]
            if want.shape != result.shape:
                return False
            if want.dtype == np.float64:
                return False  # nothing to compare with
            if is_float(want.dtype):
                b = np.asarray(want).astype(np.float64)
                if not (((b == result) | (np.isnan(b) & np.isnan(result))).all()):
                    return False
        if node.op_type.startswith(("Q", "DynamicQ")):
            scales = [self.values[n] for n in node.input if n and is_float(self.values[n].dtype)]
            # By a power of two nothing is rounded: then a tie is a tie.
            return all((np.frexp(v.astype(np.float64))[0] == 0.5).all() for v in scales[-3:])
        return node.op_type not in rounding.ADDS or self._is_exact_in_any_order(node)

    def _is_exact_in_any_order(self, node: onnx.NodeProto) -> bool:
        """Whether a node's terms are added up exactly when none takes away what others added."""
        sizes = {
            n: np.abs(self.values[n]) if is_float(self.values[n].dtype) else self.values[n]
            for n in node.input
            if n
        }
        wide = {n: self._wide(array) for n, array in sizes.items()}
        try:
            narrow = evaluate.either(node, self.graph.opsets, sizes)
            exact = evaluate.by_reference(node, self.graph.opsets, wide, double=True)
        except Refused:
            return True
        pairs = zip(map(self._wide, narrow), exact, strict=True)
        return all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)

    def _cut(
        self, node: onnx.NodeProto, values: Mapping[str, Array], results: list[Array], sign: int
    ) -> list[Array]:
        """Integers that are cut from reals, moved by what f32 may round on the way to them.

        Where the real number is an integer, the last bit of a sum decides on the integer that is
        below it; where it is rounded, of a half. That all evaluators agree on it says only that
        they round alike; unless the real numbers themselves agree, in f32 and in f64: then nothing
        is rounded, and one is right. With antialias ONNX Runtime rounds after every axis.
        """
        name = node.input[0]
        whole = values[name]
        given = {**values, name: whole.astype(np.float32)}
        try:
            (narrow,) = evaluate.by_ort(node, self.graph.opsets, self._narrow(node, given))
            given[name] = whole.astype(np.float64)
            (real,) = evaluate.by_reference(node, self.graph.opsets, given, double=True)
        except Refused:
            return results
        if (narrow == real).all() or real.shape != results[0].shape:
            return results
        if rounding.rounds(node):
            return [self._rounded_by_axis(node, values, results[0], sign)]
        # Sums of products, and the coordinates, whose error grows with the dims.
        most = float(np.abs(given[name]).max(initial=0))
        reach = 4 * (4 + max(real.shape)) * rounding.EPS["float32"] * most
        info = np.iinfo(whole.dtype)
        moved = np.clip(np.trunc(real + sign * reach), info.min, info.max).astype(whole.dtype)
        near = np.trunc(real - reach) != np.trunc(real + reach)
        return [np.where(near, moved, results[0])]

    def _rounded_by_axis(
        self, node: onnx.NodeProto, values: Mapping[str, Array], result: Array, sign: int
    ) -> Array:
        """The same, one axis after the other; as it is where that is not known."""
        whole = values[node.input[0]]
        info, found = np.iinfo(whole.dtype), whole.astype(np.float64)
        try:
            for single, number in rounding.single_axes(node, values):
                feed = {"x": found, "n": number}
                (real,) = evaluate.by_reference(single, self.graph.opsets, feed, double=True)
                most = float(np.abs(found).max(initial=0))
                reach = 4 * (4 + max(real.shape)) * rounding.EPS["float32"] * most
                found = np.clip(np.floor(real + 0.5 + sign * reach), info.min, info.max)
        except Refused:
            return result
        return found.astype(whole.dtype) if found.shape == result.shape else result

    def _moved(self, shake: Random, name: str, array: Array) -> Array:
        if not is_float(array.dtype):
            return array
        dtype = self.values[name].dtype if name in self.values else np.dtype("f4")
        eps = rounding.EPS.get(dtype.name, 2.0**-23)
        return array * (1 + 2 * eps * shake.bits.uniform(-1, 1, array.shape))

    def _rounded(self, shake: Random, name: str, array: Array) -> Array:
        """A result, moved; or 0 where f32 has subnormal numbers, which approximations leave out."""
        array = self._moved(shake, name, array)
        return array if shake.bits.random() < 0.5 else self._flushed(name, array)

    def _flushed(self, name: str, array: Array) -> Array:
        """0 in place of what f32 has as subnormal numbers."""
        dtype = self.values[name].dtype if name in self.values else np.dtype("f4")
        if not is_float(array.dtype) or dtype != np.float32:
            return array
        return np.where(np.abs(array) < np.finfo(dtype).tiny, np.copysign(0.0, array), array)

    def _double(
        self, node: onnx.NodeProto, values: Mapping[str, Array], names: list[str]
    ) -> tuple[list[Array] | None, bool]:
        """A node in f64 by the reference; in f32 by ONNX Runtime where that goes astray.

        Also whether it is in f64. What ONNX Runtime refuses (an integer by 0) the reference has.
        """
        results = None
        try:
            results = evaluate.by_reference(node, self.graph.opsets, values, double=True)
            if all(self._plausible(r, self.values[n]) for n, r in zip(names, results, strict=True)):
                return results, True
        except Refused:
            pass
        try:
            results = evaluate.either(node, self.graph.opsets, self._narrow(node, values))
        except Refused:
            fits = results is not None and all(
                r.shape == self.values[n].shape for n, r in zip(names, results, strict=True)
            )
            return (results, True) if fits else (None, False)
        return [self._wide(r) for r in results], False

    @staticmethod
    def _wide(array: Array) -> Array:
        return array.astype(np.float64) if is_float(array.dtype) else array

    def _narrow(self, node: onnx.NodeProto, values: Mapping[str, Array]) -> dict[str, Array]:
        """What a node reads, as the model has it."""
        narrow = {}
        for name in filter(None, evaluate.reads(node)):
            array = values[name]
            if array.dtype == np.float64 and name in self.values:
                wanted = self.values[name].dtype
                with np.errstate(over="ignore"):
                    array = array.astype(wanted) if is_float(wanted) else array
            narrow[name] = array
        return narrow

    @staticmethod
    def _plausible(result: Array, want: Array) -> bool:
        """Whether a result may be the same number, computed more exactly."""
        if result.shape != want.shape:
            return False
        if not is_float(want.dtype):
            return result.dtype == want.dtype and bool(
                np.mean(result != want) <= 0.5 if result.size else True
            )
        b = np.asarray(want).astype(np.float64)
        if not np.isfinite(result[np.isfinite(b)]).all():
            return False  # in f64 nothing overflows that is finite in f32
        with np.errstate(all="ignore"):
            finite = np.isfinite(b) & np.isfinite(result)
            gap = np.where(finite, np.abs(result - b), 0)
            size = np.where(finite, np.abs(b), 0).max(initial=0)
        return bool(gap.max(initial=0) <= 1e-2 * size + 1e-6)
