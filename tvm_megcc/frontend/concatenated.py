"""Attention over caches that Concat makes longer, as optimum writes it: found in a graph.

    present = Concat(past, new, axis=2)        [batch, shared heads, rows, size]
    scores  = MatMul(query, keys)              keys: the present, repeated by heads and transposed
    y       = MatMul(Softmax(mask(scale * scores)), values)

Enters: a model, and the names of a past and its present. Leaves: `Attention`, or the reason why
the cache is not read by such an attention alone. How heads are repeated, the factors on the way,
and that the mask hides what comes later are not read from operators: they are tried out with
numbers (`trial`), so all that exporters write for them is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx

from . import mapped
from .trial import Nodes, Trial, Unknown, is_of
from .values import Array, attributes, label, tensor_type

#: What a mask puts in place of a score, or adds to it, where it hides a row: at most this.
HIDDEN = -9999.0

#: Batch, new rows and rows of the past of which each mask is tried out.
SIZES = ((1, 1, 5), (2, 3, 4), (1, 7, 0), (2, 2, 1))

#: Numbers in a mask's graph up to which lengths around them are tried out, and how many.
LARGEST, MOST = 1 << 16, 16

#: The first opset in which all has the form that is written here.
OLDEST = 13

_MASK, _POSITIONS = "attention_mask", "position_ids"
_TOKENS = ("input_ids", "inputs_embeds", _POSITIONS)


#: Names of dims: the batch, new rows, rows of the past, and all.
_LENGTHS = ("batch", "new", "past", "total")


class Unlike(Exception):
    """The reason why a cache is not read by attention alone."""


@dataclass(frozen=True, slots=True)
class Term:
    """A part of a mask: added to scores; or with a condition, scores stay where that is true."""

    name: str
    condition: str = ""
    inverted: bool = False  # scores stay where the condition is false

    @property
    def names(self) -> list[str]:
        return [name for name in (self.name, self.condition) if name]


@dataclass(frozen=True, slots=True)
class Cache:
    """A past, what is put behind it, and the present that is made of both."""

    past: str
    new: str
    present: str
    concat: onnx.NodeProto
    heads: int  # that queries share
    size: int


@dataclass(slots=True)
class Attention:
    """Attention that reads two caches, which nothing else reads."""

    keys: Cache
    values: Cache = None  # type: ignore[assignment]
    query: str = ""
    heads: int = 0
    scale: float = 1.0
    cap: float = 0.0
    terms: list[Term] = field(default_factory=list)
    result: str = ""  # [batch, heads, new rows, size]
    way: list[str] = field(default_factory=list)  # values that are no more


def ports_of_lengths(graph: onnx.GraphProto) -> tuple[str, str]:
    """Inputs whose axis 1 is as long as past and new rows, and as new rows. Raises Unlike."""
    ranks = {port.name: len(tensor_type(port.type).shape.dim) for port in graph.input}
    tokens = next((name for name in _TOKENS if ranks.get(name, 0) >= 2), None)
    if ranks.get(_MASK) != 2 or tokens is None:
        raise Unlike(
            f"the model has no inputs '{_MASK}' and '{_TOKENS[0]}' of two dims, which say how many"
            " rows a cache has"
        )
    return _MASK, tokens


class Finder:
    """Attention over caches of a model."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.graph, self.nodes = model.graph, Nodes(model)
        self.ports = {port.name: port for port in model.graph.input}
        self.lengths = ports_of_lengths(model.graph)
        opset = self.nodes.opsets.get("", 1)
        if opset < OLDEST:
            raise Unlike(f"the model is of opset {opset}, {OLDEST} is needed")
        self.caches: Sequence[Cache] = ()
        self._trials: dict[tuple[int, int, int, bool], Trial] = {}
        self._causal: dict[tuple[Term, ...], int] = {}

    def cache(self, past: str, present: str) -> Cache | None:
        """The cache that a Concat makes of these ports, None where another node makes it."""
        node = self.nodes.maker(present, "Concat")
        if node is None or len(node.input) != 2 or node.input[0] != past:
            return None
        dims = self._dims(past)
        if len(dims) != 4 or attributes(node)["axis"] % 4 != 2:
            return None
        if dims[2] is not None or None in (dims[1], dims[3]):
            raise Unlike(
                f"'{past}' needs fixed numbers of heads and elements, and an open number of rows"
            )
        for reader in self.nodes.readers[past]:
            if reader is not node and not is_of(reader, "Shape"):
                raise Unlike(f"{label(reader)} reads '{past}', too")
        return Cache(past, node.input[1], present, node, int(dims[1] or 0), int(dims[3] or 0))

    def attentions(self, caches: Sequence[Cache]) -> list[Attention]:
        """The attention that reads these caches, two at a time. Raises Unlike."""
        self.caches = caches
        products = {cache.present: self._product(cache) for cache in caches}
        by_result = {products[cache.present][0].output[0]: cache for cache in caches}
        found, values = [], set()
        for cache in caches:
            product, _ = products[cache.present]
            if self._reads_weights(product):
                continue
            attention = Attention(cache)
            second = self._scores(attention, product)
            if second.output[0] not in by_result:
                raise Unlike(f"{label(second)} reads no values of another cache")
            attention.values = by_result[second.output[0]]
            values.add(attention.values.present)
            self._complete(attention, products)
            found.append(attention)
        alone = [c.present for c in caches if c.present not in values]
        alone = [name for name in alone if all(name != a.keys.present for a in found)]
        if alone:
            raise Unlike(f"'{alone[0]}' has the values of attention whose keys are no pair")
        return found

    def _complete(
        self, found: Attention, products: Mapping[str, tuple[onnx.NodeProto, str]]
    ) -> None:
        """Find the queries, factors and heads, and try out the mask."""
        product, across = products[found.keys.present]
        second, apart = products[found.values.present]
        query = product.input[0]
        while self._is_alone(query):  # a factor of the queries
            node = self.nodes.maker(query, "Mul", "Div")
            factor = None if node is None else self._factor(node, query, found)
            if node is None or factor is None:
                break
            found.scale *= factor
            query = node.input[0]
        found.query = query
        heads, factor = self._repeated(found.keys, across, found, transposed=True)
        others, one = self._repeated(found.values, apart, found, transposed=False)
        if heads != others or one != 1:
            raise Unlike(f"{label(second)}: its values are not those of its cache alone")
        found.heads, found.scale = heads, found.scale * factor
        found.result = second.output[0]
        found.way += [*self._way(found.keys), *self._way(found.values)]
        self._check_mask(found, second)

    def _reads_weights(self, product: onnx.NodeProto) -> bool:
        """Whether a product's left operand is what a Softmax makes."""
        name = product.input[0]
        while (node := self.nodes.maker(name, "Cast", "Identity", "Dropout", "Where")) is not None:
            name = node.input[2 if is_of(node, "Where") else 0]
        return self.nodes.maker(name, "Softmax") is not None

    # ---- the way of a cache --------------------------------------------------------------------

    def _dims(self, name: str) -> list[int | None]:
        dims = tensor_type(self.ports[name].type).shape.dim
        return [dim.dim_value if dim.HasField("dim_value") else None for dim in dims]

    def _reader(self, name: str) -> onnx.NodeProto:
        """The one node that reads a value; nodes that read its dims alone do not count."""
        readers = [n for n in self.nodes.readers.get(name, ()) if not is_of(n, "Shape")]
        if len(readers) != 1:
            listed = ", ".join(label(reader) for reader in readers) or "nothing"
            raise Unlike(f"'{name}' is read by {listed}, and one node is to read it")
        return readers[0]

    def _is_alone(self, name: str) -> bool:
        readers = [n for n in self.nodes.readers.get(name, ()) if not is_of(n, "Shape")]
        return len(readers) == 1 and name not in self.nodes.outputs

    def _way(self, cache: Cache) -> Iterator[str]:
        """What is made of a present alone, up to the product that reads it."""
        name = cache.present
        while not is_of(node := self._reader(name), "MatMul"):
            yield name
            if len(node.output) != 1 or node.input[0] != name:
                raise Unlike(f"{label(node)} reads '{name}', and is no part of attention")
            name = node.output[0]
            if name in self.nodes.outputs:
                raise Unlike(f"'{name}' of a cache is an output, too")
        yield name

    def _product(self, cache: Cache) -> tuple[onnx.NodeProto, str]:
        """The product that reads a cache, and its right operand."""
        *_, name = self._way(cache)
        node = self._reader(name)
        if node.input[1] != name or node.input[0] == name:
            raise Unlike(f"{label(node)}: '{name}' is not its right operand")
        return node, name

    def _repeated(
        self, cache: Cache, name: str, found: Attention, *, transposed: bool
    ) -> tuple[int, float]:
        """How many heads a product reads of a cache, and the factor with which."""
        batch, rows = 2, 3
        shape = (batch, cache.heads, rows, cache.size)
        present = np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape)
        present = present.astype(_floats(self.ports[cache.past]))
        given = {**self._given(batch, 2, 1), cache.present: present}
        given |= _queries(found, (batch, cache.heads, 2, cache.size))
        trial = Trial(self.nodes, given)
        try:
            read = trial.value(name).astype(np.float64)
        except Unknown as unknown:
            raise Unlike(f"how '{name}' follows from '{cache.present}' is not known") from unknown
        read = np.swapaxes(read, -1, -2) if transposed and read.ndim == 4 else read
        if read.ndim != 4 or (read.shape[0], *read.shape[2:]) != (batch, rows, cache.size):
            raise Unlike(f"'{name}' has other rows than '{cache.present}'")
        heads = read.shape[1]
        wide = np.repeat(present.astype(np.float64), max(heads // cache.heads, 1), axis=1)
        if wide.shape != read.shape:
            raise Unlike(f"'{name}' has {heads} heads, '{cache.present}' {cache.heads}")
        factor = float(read.flat[-1] / wide.flat[-1])
        if not np.allclose(read, wide * factor, rtol=1e-3 if present.itemsize == 2 else 1e-6):
            raise Unlike(f"'{name}' has not the rows of '{cache.present}'")
        return heads, factor

    # ---- from scores to weights ----------------------------------------------------------------

    def _factor(self, node: onnx.NodeProto, name: str, found: Attention) -> float | None:
        """What a Mul or Div multiplies its first operand with, None for more than a number."""
        given = self._given(2, 2, 1)
        given |= _queries(found, (2, found.keys.heads, 2, found.keys.size), node.input[0])
        try:
            number = Trial(self.nodes, given).value(node.input[1])
        except Unknown:
            return None
        if number.size != 1:
            return None
        factor = float(number.reshape(-1)[0])
        return factor if node.op_type == "Mul" else 1 / factor if factor else None

    def _scores(self, found: Attention, product: onnx.NodeProto) -> onnx.NodeProto:
        """Follow the scores from a product to the next one, which is returned."""
        name, is_weights = product.output[0], False
        while True:
            if name in self.nodes.outputs:
                raise Unlike(f"the scores '{name}' are an output, too")
            found.way.append(name)
            node = self._weights_reader(name) if is_weights else self._reader(name)
            if is_of(node, "Cast", "Identity", "Dropout"):
                name = node.output[0]
            elif is_weights and is_of(node, "MatMul") and node.input[0] == name:
                return node
            elif is_weights and is_of(node, "Where"):
                name = node.output[0]
            elif is_weights:
                raise Unlike(f"{label(node)} reads the weights '{name}'")
            elif is_of(node, "Softmax"):
                if attributes(node).get("axis", -1) not in (-1, 3):
                    raise Unlike(f"{label(node)} is along another axis than that of the rows")
                name, is_weights = node.output[0], True
            else:
                name = self._masked(found, node, name)

    def _weights_reader(self, name: str) -> onnx.NodeProto:
        """The node that reads weights, also where it is a Where that makes NaNs 0."""
        readers = self.nodes.readers.get(name, ())
        test = next((n for n in readers if is_of(n, "IsNaN")), None)
        if test is None or len(readers) != 2:
            return self._reader(name)
        (other,) = (n for n in readers if n is not test)
        if not is_of(other, "Where") or [other.input[0], other.input[2]] != [test.output[0], name]:
            raise Unlike(f"{label(other)} reads the weights '{name}'")
        return other

    def _masked(self, found: Attention, node: onnx.NodeProto, name: str) -> str:
        """One step from products to what the softmax reads; returns the name of its result."""
        made: str = node.output[0]
        given: list[str] = list(node.input)
        if is_of(node, "Mul", "Div") and not found.terms:
            number = self._factor(node, name, found)
            if is_of(node, "Mul") and given[1] == name:
                flipped = onnx.helper.make_node("Mul", given[::-1], [made])
                number = self._factor(flipped, name, found)
            if number is not None:
                found.scale *= number
                if found.cap:
                    found.cap *= number
                return made
        elif is_of(node, "Tanh") and not found.terms and not found.cap:
            # Scores are CAP * tanh(scale * products / CAP); what follows scales both.
            found.cap = 1.0
            return made
        elif is_of(node, "Add"):
            found.terms.append(Term(given[0] if given[1] == name else given[1]))
            return made
        elif is_of(node, "Where") and given[0] != name:
            inverted = given[2] == name
            found.terms.append(Term(given[1 if inverted else 2], given[0], inverted))
            return made
        elif is_of(node, "Max") and len(given) == 2:
            low = given[0] if given[1] == name else given[1]
            if self._is_low(low):  # keeps sums of two masks finite
                return made
        raise Unlike(f"{label(node)} reads the scores '{name}', and is no part of attention")

    def _is_low(self, name: str) -> bool:
        try:
            return bool((Trial(self.nodes, {}).value(name) <= HIDDEN).all())
        except Unknown:
            return False

    # ---- the mask ------------------------------------------------------------------------------

    def tried(self, attention: Attention) -> Mapping[str, Array]:
        """The values that make the mask, in one run of those that were tried out."""
        trial = self._trial(attention, *self._sizes()[0])
        return {n: trial.value(n) for term in attention.terms for n in term.names}

    def dims_of(self, found: Attention, name: str) -> list[int | str]:
        """Dims of a value: numbers, or what `_LENGTHS` calls them. Raises Unlike."""
        rows = []
        for batch, new, past in self._sizes(((5, 7, 11), (3, 13, 4))):
            trial = self._trial(found, batch, new, past)
            try:
                dims = trial.dims(name)
            except Unknown:
                raise Unlike(f"the dims of '{name}' do not follow from lengths alone") from None
            known = dict(zip(_LENGTHS, (batch, new, past, past + new), strict=True))
            rows.append([{dim, *(n for n, v in known.items() if v == dim)} for dim in dims])
        both = [a & b for a, b in zip(*rows, strict=True)]
        # A dim that the model fixes is a number, though it may be the batch as well.
        fixed = [{dim for dim in one if isinstance(dim, int)} or one for one in both]
        if not all(len(one) == 1 for one in fixed):
            raise Unlike(f"the dims of '{name}' do not follow from lengths alone")
        return [one.pop() for one in fixed]

    def _check_mask(self, found: Attention, node: onnx.NodeProto) -> None:
        """Raise Unlike unless the mask hides rows behind that of each query."""
        known = (*found.terms,)
        if self._causal.get(known) == found.heads:
            return
        for k, sizes in enumerate(self._sizes()):
            self._try_mask(found, node, *sizes, holes=k % 2 == 1)
        numbers = sorted(self._numbers(found))
        if len(numbers) > MOST:
            raise Unlike(f"{label(node)}: its mask depends on too many numbers")
        for number in numbers:
            for sizes in self._sizes(((1, 3, max(number - 2, 0)), (1, 3, number + 1))):
                self._try_mask(found, node, *sizes, holes=False, must=False)
        self._causal[known] = found.heads

    def _sizes(
        self, sizes: Sequence[tuple[int, int, int]] = SIZES
    ) -> Sequence[tuple[int, int, int]]:
        """Sizes, with the dims that the model fixes."""
        batch, rows = self._dims(self.lengths[1])[:2]
        return [(batch or b, r if rows is None else rows, past) for b, r, past in sizes]

    def _numbers(self, found: Attention) -> Iterator[int]:
        """Numbers in the graph of a mask at which it may change."""
        given = {*self._trial(found, *self._sizes()[0]).given, found.query}
        names = {n for term in found.terms for name in term.names
                 for n in self.nodes.leading_to(name, given)}  # fmt: skip
        seen: set[int] = set()
        for name in sorted(names):
            tensor = self.nodes.constants.get(name)
            node = self.nodes.maker(name, "Constant")
            if tensor is None and node is not None and "value" in attributes(node):
                values = attributes(node)["value"]
            elif tensor is None:
                continue
            else:
                seen |= set(tensor.dims)
                small = max(tensor.dims, default=1) <= 64
                values = mapped.to_array(tensor) if small else np.empty(0)
            if values.dtype.kind in "iu" and values.size <= 64:
                seen |= {int(v) for v in values.reshape(-1)}
        yield from (v for v in seen if 2 < abs(v) <= LARGEST)

    def _try_mask(
        self, found: Attention, node: onnx.NodeProto, batch: int, rows: int, past: int, *,
        holes: bool, must: bool = True,
    ) -> None:  # fmt: skip
        shape = (batch, found.heads, rows, past + rows)
        trial = self._trial(found, batch, rows, past, holes)
        total = np.zeros(shape)
        try:
            for term in found.terms:
                added = trial.value(term.name).astype(np.float64)
                if term.condition:
                    stays = trial.value(term.condition) != term.inverted
                    added = np.where(stays, 0, added)
                    if (added > HIDDEN)[np.broadcast_to(~stays, added.shape)].any():
                        raise Unlike(f"{label(node)}: scores are replaced by others")
                total += np.broadcast_to(added, shape)
        except (Unknown, ValueError):
            if not must:  # as the model itself, it has no such length
                return
            raise Unlike(f"{label(node)}: its mask does not follow from lengths alone") from None
        later = np.arange(past + rows) > past + np.arange(rows)[:, None]
        if not (total[..., later] <= HIDDEN).all():
            raise Unlike(f"{label(node)}: its mask does not hide what comes later")

    def _trial(
        self, found: Attention, batch: int, rows: int, past: int, holes: bool = False
    ) -> Trial:
        """A run of tokens behind a past, in which queries and caches are 0."""
        key = (batch, rows, past, holes)
        if key not in self._trials:
            self._trials[key] = Trial(self.nodes, self._given(*key))
        trial = self._trials[key]
        trial.found |= _queries(found, (batch, found.heads, rows, found.keys.size))
        return trial

    def _given(self, batch: int, rows: int, past: int, holes: bool = False) -> dict[str, Array]:
        """Inputs of a run: tokens behind a past, of which with `holes` the first ones are none."""
        given: dict[str, Array] = {}
        real = np.ones((batch, past + rows), np.int64)
        if holes:
            for b in range(batch):
                real[b, : min(b + 1, past)] = 0
        places = np.maximum(np.cumsum(real, 1) - 1, 0)[:, past:]
        for name, port in self.ports.items():
            dims, kind = self._dims(name), _floats(port)
            if name == _MASK:
                given[name] = real.astype(kind)
            elif name == _POSITIONS:
                given[name] = places.astype(kind)
            elif name == self.lengths[1]:
                width = [dim or 1 for dim in dims[2:]]
                given[name] = np.broadcast_to(np.zeros((), kind), (batch, rows, *width))
            elif len(dims) == 4:
                whole = (batch, dims[1] or 1, past, dims[3] or 1)
                given[name] = np.broadcast_to(np.zeros((), kind), whole)
        for cache in self.caches:
            kind = _floats(self.ports[cache.past])
            for name, count in ((cache.new, rows), (cache.present, past + rows)):
                whole = (batch, cache.heads, count, cache.size)
                given[name] = np.broadcast_to(np.zeros((), kind), whole)
        return given


def _floats(port: onnx.ValueInfoProto) -> np.dtype[np.generic]:
    return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor_type(port.type).elem_type))


def _queries(found: Attention, shape: tuple[int, ...], name: str = "") -> dict[str, Array]:
    """Queries, of which a factor may read the dims."""
    name = name or found.query
    return {name: np.broadcast_to(np.float32(0), shape)} if name else {}
