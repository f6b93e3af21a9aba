"""Caches that a Concat makes longer become caches of one capacity, which GroupQueryAttention fills.

Enters: a model, and its pairs of past and present. Leaves: the model with the attention that reads
them (`concatenated`) as GroupQueryAttention of com.microsoft: past and present have one number of
rows, new ones are written behind those that are filled, and the mask is its bias. How many are
filled is the length of ``attention_mask`` without that of ``input_ids``; where the model reads the
dims of a past, it reads that number.

Example
-------
>>> with_capacity(model, {"present.0.key": "past_key_values.0.key",           # doctest: +SKIP
...                       "present.0.value": "past_key_values.0.value"})
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tvm_megcc.core.state_pairs import OPTION

from ..errors import InputError
from .concatenated import Attention, Finder, Term, Unlike
from .graphs import graphs, node_reads
from .load import sort
from .trial import is_of
from .values import Array, attributes

#: The name of the dim that is the capacity, as onnxruntime-genai writes it.
CAPACITY = "max_sequence_length"

_MICROSOFT = "com.microsoft"


def concatenated_pairs(model: onnx.ModelProto) -> dict[str, str]:
    """Presents and pasts of a model whose caches all are read by attention alone; else nothing."""
    makers = {name: node for node in model.graph.node for name in node.output}
    inputs = {port.name for port in model.graph.input}
    pairs = {
        port.name: node.input[0]
        for port in model.graph.output
        if (node := makers.get(port.name)) is not None
        and is_of(node, "Concat")
        and node.input[0] in inputs
    }
    try:
        _, found = _found(model, pairs)
    except Unlike:
        return {}
    return pairs if 2 * len(found) == len(pairs) else {}


def with_capacity(model: onnx.ModelProto, pairs: Mapping[str, str]) -> onnx.ModelProto:
    """The model in which these pairs (present -> past) have one capacity, where Concat makes them.

    `model` is changed.

    Raises
    ------
    InputError
        A Concat makes one of them, and something else than causal attention reads it.
    """
    try:
        finder, found = _found(model, pairs)
    except Unlike as reason:
        raise InputError(
            f"{OPTION}: {reason}; so the cache is not one to append to, leave this pair out"
        ) from None
    if finder is not None:
        _Rewriter(model, finder).rewrite(found)
    return model


def _found(
    model: onnx.ModelProto, pairs: Mapping[str, str]
) -> tuple[Finder | None, list[Attention]]:
    """The attention of all pairs that a Concat makes. Raises Unlike."""
    makers = {name: node for node in model.graph.node for name in node.output}
    if not any(is_of(makers[name], "Concat") for name in pairs if name in makers):
        return None, []
    finder = Finder(model)
    found = [finder.cache(past, present) for present, past in pairs.items()]
    return finder, finder.attentions([cache for cache in found if cache is not None])


class _Rewriter:
    """A model that changes: the nodes that are added, and names for them."""

    def __init__(self, model: onnx.ModelProto, finder: Finder) -> None:
        self.graph = model.graph
        self.finder = finder
        self.made: list[onnx.NodeProto] = []
        self.taken = {
            name
            for graph in graphs(model.graph)
            for node in graph.node
            for name in (node.name, *node.input, *node.output)
        }
        self.held: dict[tuple[int, ...], str] = {}
        self.biases: dict[tuple[Term, ...], str] = {}
        if all(entry.domain != _MICROSOFT for entry in model.opset_import):
            model.opset_import.append(helper.make_opsetid(_MICROSOFT, 1))

    def rewrite(self, found: list[Attention]) -> None:
        caches = [cache for one in found for cache in (one.keys, one.values)]
        read = self._read_dims(found)
        tried = [self.finder.tried(one) for one in found]
        self._lengths()
        for one, values in zip(found, tried, strict=True):
            self._attention(one, values)
        for node, dims in read:
            self._set_dims(node, dims)
        self._without({cache.present for cache in caches} | {one.result for one in found})
        self.graph.node.extend(self.made)
        self._drop_unread()
        sort(self.graph)
        capacities = {cache.past for cache in caches} | {cache.present for cache in caches}
        for port in (*self.graph.input, *self.graph.output):
            if port.name in capacities and len(port.type.tensor_type.shape.dim) == 4:
                port.type.tensor_type.shape.dim[2].dim_param = CAPACITY
        known = [v for v in self.graph.value_info if v.name not in capacities]
        del self.graph.value_info[:]
        self.graph.value_info.extend(known)

    # ---- what is added -------------------------------------------------------------------------

    def _name(self, text: str) -> str:
        name, number = text, 0
        while name in self.taken:
            number += 1
            name = f"{text}_{number}"
        self.taken.add(name)
        return name

    def _add(self, kind: str, *given: str, domain: str = "", **attrs: Any) -> str:
        made = self._name(f"cache_{kind.lower()}")
        self.made.append(helper.make_node(kind, given, [made], made, domain=domain, **attrs))
        return made

    def _constant(self, array: np.ndarray) -> str:
        name = self._name("cache_constant")
        self.graph.initializer.append(numpy_helper.from_array(array, name))
        return name

    def _ints(self, *values: int) -> str:
        if values not in self.held:
            self.held[values] = self._constant(np.array(values, np.int64))
        return self.held[values]

    def _unsqueezed(self, name: str, axes: range) -> str:
        return self._add("Unsqueeze", name, self._ints(*axes))

    def _cut(self, shape: str, start: int, end: int) -> str:
        return self._add("Slice", shape, self._ints(start), self._ints(end), self._ints(0))

    def _lengths(self) -> None:
        """How many rows there are, were before, and are last for each of a batch."""
        mask, tokens = (self._add("Shape", name) for name in self.finder.lengths)
        total = self._cut(mask, 1, 2)
        batch, new = self._cut(tokens, 0, 1), self._cut(tokens, 1, 2)
        past = self._add("Sub", total, new)
        self.lengths = {"batch": batch, "new": new, "past": past, "total": total}
        last = self._add("Sub", total, self._ints(1))
        wide = self._add("Expand", last, batch)
        self.last = self._add("Cast", wide, to=TensorProto.INT32)
        single = self._add("Reshape", total, self._constant(np.empty(0, np.int64)))
        self.total = self._add("Cast", single, to=TensorProto.INT32)

    def _rows(self, name: str, width: int) -> str:
        """``[batch, heads, rows, size]`` as ``[batch, rows, heads * size]``."""
        maker = self.finder.nodes.maker(name, "Transpose")
        if maker is not None and list(attributes(maker).get("perm", ())) == [0, 2, 1, 3]:
            rows = maker.input[0]
        else:
            rows = self._add("Transpose", name, perm=[0, 2, 1, 3])
        return self._add("Reshape", rows, self._ints(0, 0, width))

    def _attention(self, one: Attention, tried: Mapping[str, Array]) -> None:
        heads, shared, size = one.heads, one.keys.heads, one.keys.size
        parts = [
            self._rows(one.query, heads * size),
            self._rows(one.keys.new, shared * size),
            self._rows(one.values.new, shared * size),
        ]
        given = [*parts, one.keys.past, one.values.past, self.last, self.total]
        bias = self._bias(one, tried)
        if bias:
            given += ["", "", "", bias]
        y = self._name("cache_attention")
        outputs = [y, one.keys.present, one.values.present]
        self.made.append(
            helper.make_node(
                "GroupQueryAttention",
                given,
                outputs,
                y,
                domain=_MICROSOFT,
                num_heads=heads,
                kv_num_heads=shared,
                scale=one.scale,
                softcap=one.cap,
            )  # fmt: skip
        )
        apart = self._add("Reshape", y, self._ints(0, 0, heads, size))
        self.made.append(
            helper.make_node("Transpose", [apart], [one.result], f"{y}_heads", perm=[0, 2, 1, 3])
        )

    def _bias(self, one: Attention, tried: Mapping[str, Array]) -> str:
        """The sum of all parts of a mask, ``[batch or 1, heads or 1, rows, all rows]``."""
        key = (*one.terms,)
        if key not in self.biases:
            total = ""
            for term in one.terms:
                part = self._wide(term.name, tried)
                if term.condition:
                    stays = self._wide(term.condition, tried)
                    zero = self._constant(np.zeros((), tried[term.name].dtype))
                    both = (part, zero) if term.inverted else (zero, part)
                    part = self._add("Where", stays, *both)
                total = self._add("Add", total, part) if total else part
            self.biases[key] = total
        return self.biases[key]

    def _wide(self, name: str, tried: Mapping[str, Array]) -> str:
        rank = tried[name].ndim
        return name if rank == 4 else self._unsqueezed(name, range(4 - rank))

    # ---- what goes, and what others read -------------------------------------------------------

    def _without(self, results: set[str]) -> None:
        """Take away the nodes that made what GroupQueryAttention makes."""
        kept = [node for node in self.graph.node if not results & set(node.output)]
        del self.graph.node[:]
        self.graph.node.extend(kept)

    def _read_dims(self, found: list[Attention]) -> list[tuple[onnx.NodeProto, list[int | str]]]:
        """Nodes that read dims of a past, or of what will be no more, and those dims."""
        of = {name: one for one in found for name in (one.keys.past, one.values.past, *one.way)}
        return [
            (node, self.finder.dims_of(of[node.input[0]], node.input[0]))
            for node in self.graph.node
            if is_of(node, "Shape") and node.input[0] in of
        ]

    def _set_dims(self, node: onnx.NodeProto, dims: list[int | str]) -> None:
        """Let a node give dims that follow from how many rows there are."""
        given = attributes(node)
        parts = [self._ints(dim) if isinstance(dim, int) else self.lengths[dim] for dim in dims]
        shape = self._add("Concat", *parts, axis=0)
        begin, end = given.get("start", 0), given.get("end", len(dims))
        del node.input[:], node.attribute[:]
        node.op_type = "Slice"
        node.input.extend([shape, self._ints(begin), self._ints(end), self._ints(0)])

    def _drop_unread(self) -> None:
        """Take away nodes that nothing reads any more."""
        read = {port.name for port in self.graph.output}
        kept: list[onnx.NodeProto] = []
        sort(self.graph)
        for node in reversed(self.graph.node):
            if read & set(node.output):
                kept.append(node)
                read |= node_reads(node)
        del self.graph.node[:]
        self.graph.node.extend(reversed(kept))
