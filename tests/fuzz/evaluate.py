"""Evaluate one ONNX node at a time: by ONNX Runtime, by `onnx.reference`, in f32 or in f64.

A graph is evaluated node by node, so that every value inside it is known, and a node that ONNX
Runtime has no kernel for can be evaluated by the reference alone.
"""

from __future__ import annotations

import contextlib
import re
import resource
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.fuzz import faults, runtime, texts
from tests.fuzz.bodies import BODIES, Endless, Unseen, has_lists

#: An array of more has no data: it is there to be refused.
MOST_BYTES = 1 << 24
#: Bytes that this process may have while the reference evaluates a node.
MOST_MEMORY = 6 << 30

Array = np.ndarray
Arrays = Mapping[str, Array]

#: ONNX Runtime takes an open dim for 0 there: Resize, and the rows of a loop that never ran.
_SIZED = ("Resize", "Loop", "Scan", "EmbedLayerNormalization", "MatMulNBits",
          "GatherBlockQuantized")  # fmt: skip

#: ONNX Runtime refuses models of later opsets than it knows.
NEWEST_OF_ORT = 26


class Refused(Exception):
    """An evaluator does not evaluate a node: it has no kernel, or calls the node an error.

    Attributes
    ----------
    missing : bool
        It has no kernel for the operator with these types, which says nothing about the node.
    """

    def __init__(self, text: str, missing: bool) -> None:
        super().__init__(text)
        self.missing = missing


def element(array: Array) -> int:
    """The ONNX element type of an array."""
    return int(helper.np_dtype_to_tensor_dtype(array.dtype))


def single(node: onnx.NodeProto, opsets: Mapping[str, int], arrays: Arrays) -> onnx.ModelProto:
    """A model of one node, whose operands are inputs of open shape."""
    names = dict.fromkeys(name for name in reads(node) if name)
    ports = [helper.make_tensor_value_info(n, element(arrays[n]), None) for n in names]
    for port, name in zip(ports, names, strict=True):
        for size in arrays[name].shape:
            dim = port.type.tensor_type.shape.dim.add()
            if node.op_type in _SIZED:
                dim.dim_value = size
        if not arrays[name].ndim:
            port.type.tensor_type.shape.SetInParent()
    outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
    graph = helper.make_graph([_live(node)], "node", ports, outputs)
    entries = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    return helper.make_model(graph, opset_imports=entries, ir_version=10)


def _live(node: onnx.NodeProto) -> onnx.NodeProto:
    """The node without what no result of its graphs needs: nobody has to compute that."""
    if not any(a.HasField("g") for a in node.attribute):
        return node
    made = onnx.NodeProto()
    made.CopyFrom(node)
    for graph in (a.g for a in made.attribute if a.HasField("g")):
        wanted, kept = {port.name for port in graph.output}, []
        for inner in map(_live, reversed(graph.node)):
            if wanted.intersection(inner.output):
                wanted.update(reads(inner))
                kept.append(inner)
        del graph.node[:]
        graph.node.extend(reversed(kept))
    return made


def reads(node: onnx.NodeProto) -> list[str]:
    """Names that a node reads, those that its graphs take from outside included."""
    found = list(node.input)
    for attr in node.attribute:
        if attr.type == onnx.AttributeProto.GRAPH:
            bound = {p.name for p in attr.g.input} | {w.name for w in attr.g.initializer}
            bound |= {name for inner in attr.g.node for name in inner.output}
            inside = [name for inner in attr.g.node for name in reads(inner)]
            inside += [port.name for port in attr.g.output]
            found += [name for name in inside if name not in bound]
    return found


def by_ort(node: onnx.NodeProto, opsets: Mapping[str, int], arrays: Arrays) -> list[Array]:
    """The node's outputs by ONNX Runtime without its optimisations.

    Raises
    ------
    Refused
    """
    if opsets[""] > NEWEST_OF_ORT:
        raise Refused("ONNX Runtime does not know this opset", missing=True)
    if text := faults.of_ort(node, arrays):
        raise Refused(text, missing=True)
    node = faults.for_ort(node, arrays)
    feeds = {name: arrays[name] for name in dict.fromkeys(reads(node)) if name}
    operands = {
        n: (a.view(np.uint16) if a.dtype == _BF16 else a, element(a)) for n, a in feeds.items()
    }
    model = single(node, opsets, arrays)
    answer, more = runtime.run(model.SerializeToString(), operands)
    if isinstance(answer, str):
        raise Refused(answer, bool(more))
    if text := faults.of_answer(node, model, arrays, answer):
        raise Refused(text, missing=True)
    found = [
        r.view(_BF16) if t == "tensor(bfloat16)" else r for r, t in zip(answer, more, strict=True)
    ]
    return texts.with_nan(node, arrays, found, lambda n, a: by_ort(n, opsets, a))


#: (a node of a body, the values that are there, its results) -> others in their place.
After = Callable[[onnx.NodeProto, Arrays, list[Array]], list[Array]]
#: In words of the reference: it lacks something.
_MISSING = re.compile(r"(not|No) (yet )?(implement|support)", re.IGNORECASE)

_BF16 = helper.tensor_dtype_to_np_dtype(TensorProto.BFLOAT16)


def by_reference(
    node: onnx.NodeProto,
    opsets: Mapping[str, int],
    arrays: Arrays,
    double: bool = False,
    inside: After | None = None,
) -> list[Array]:
    """The node's outputs by `onnx.reference`; with ``double``, every float is computed in f64.

    What ``inside`` makes of the results of a body's nodes takes their place.

    Raises
    ------
    Refused
    """
    if text := faults.of_reference(node, arrays):
        raise Refused(text, missing=True)
    if resize := faults.resized(node):
        return by_reference(resize, {**opsets, "": 13}, arrays, double)
    if align := faults.half_pixel(node, opsets):
        return by_reference(align, {**opsets, "": 16}, arrays, double)
    if flat := faults.flattened(node, opsets, arrays):
        shape = arrays[node.input[0]].shape
        return [rows.reshape(shape) for rows in by_reference(flat[0], opsets, flat[1], double)]
    node, arrays = faults.for_reference(node, arrays)
    feeds = {name: arrays[name] for name in dict.fromkeys(reads(node)) if name}
    if double and node.op_type == "Cast":
        (to,) = (a.i for a in node.attribute if a.name == "to")
        dtype = helper.tensor_dtype_to_np_dtype(to)
        if is_float(dtype):
            return [feeds[node.input[0]].astype(np.float64)]
    if is_cut(node, arrays):
        with np.errstate(all="ignore"):
            return [real(node, opsets, arrays).astype(arrays[node.input[0]].dtype)]
    if node.op_type in BODIES and opsets[""] >= 9 and not has_lists(node):
        return _by_text(node, opsets, arrays, double, inside)
    if texts.has(node, arrays):
        try:
            return texts.run(node, arrays)
        except (ValueError, IndexError, KeyError) as error:  # shapes that do not go together
            raise Refused(f"{type(error).__name__}: {error}", missing=False) from None
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            made = _wide(node) if double and opsets[""] >= 21 else node
            evaluator, kinds = _evaluator(single(made, opsets, arrays).SerializeToString())
            with contextlib.redirect_stdout(None), _limited():
                results = evaluator.run(None, feeds)
    except Exception as error:  # the reference asserts, indexes and divides as it comes
        lacks = isinstance(error, NotImplementedError | MemoryError)
        missing = lacks or bool(_MISSING.search(str(error)))
        raise Refused(f"{type(error).__name__}: {error}", missing) from None
    if text := faults.of_reference_answer(node, results):
        raise Refused(text, missing=True)
    found = []
    for result, kind in zip(results, kinds, strict=True):
        if not isinstance(result, np.ndarray | np.generic):
            raise Refused("an output is no tensor", missing=True)
        array = np.asarray(result)
        if kind is not None and array.dtype.kind in "iu" and kind.kind in "iu":
            # NumPy's sums of i32 are i64: what ONNX's type does not hold is cut off.
            array = array.astype(kind, copy=False)
        found.append(array.astype(np.float64) if double and is_float(array.dtype) else array)
    found = faults.counted_in_all(node, arrays, found)

    def again(node: onnx.NodeProto, arrays: Arrays) -> list[Array]:
        return by_reference(node, opsets, arrays, double)

    return texts.without_unread(node, arrays, texts.with_nan(node, arrays, found, again), again)


def _wide(node: onnx.NodeProto) -> onnx.NodeProto:
    """The node for f64: the function of a GroupNormalization computes in f32 where it says nothing.

    The squares of large numbers would be infinite in f64, too.
    """
    if node.op_type != "GroupNormalization":
        return node
    made = onnx.NodeProto()
    made.CopyFrom(node)
    kept = [a for a in node.attribute if a.name != "stash_type"]
    del made.attribute[:]
    made.attribute.extend([*kept, helper.make_attribute("stash_type", TensorProto.DOUBLE)])
    return made


def is_cut(node: onnx.NodeProto, arrays: Arrays) -> bool:
    """Whether a node is a real function of integers, whose result is cut to one."""
    return node.op_type in faults.REAL and arrays[node.input[0]].dtype.kind in "iu"


def real(node: onnx.NodeProto, opsets: Mapping[str, int], arrays: Arrays) -> Array:
    """The real number that is cut."""
    name = node.input[0]
    (result,) = by_reference(node, opsets, {**arrays, name: arrays[name].astype(np.float64)})
    return result


def in_f64(node: onnx.NodeProto, opsets: Mapping[str, int], values: Arrays) -> list[Array]:
    """A node in f64 by the reference; an operator of ONNX Runtime's own in f32.

    Raises
    ------
    Refused
        None takes it.
    """
    try:
        return by_reference(node, opsets, values, double=True)
    except Refused as refusal:
        if not refusal.missing or not node.domain:
            raise
    return _in_f32(node, opsets, values)


def _in_f32(node: onnx.NodeProto, opsets: Mapping[str, int], values: Arrays) -> list[Array]:
    """By ONNX Runtime: what is in f64 becomes f32 before, and is f64 again after."""
    read = {n: values[n] for n in reads(node) if n}
    narrow = {n: a.astype("f4") if a.dtype == "f8" else a for n, a in read.items()}
    found = by_ort(node, opsets, narrow)
    return [a.astype("f8") if is_float(a.dtype) else a for a in found]


def _by_text(
    node: onnx.NodeProto,
    opsets: Mapping[str, int],
    arrays: Arrays,
    double: bool,
    inside: After | None,
) -> list[Array]:
    """An If, a Loop or a Scan, of whose body each node is evaluated by the reference."""

    def once(node: onnx.NodeProto, opsets: Mapping[str, int], values: Arrays) -> list[Array]:
        try:
            return by_reference(node, opsets, values, double, inside)
        except Refused as refusal:
            # Who asks for the difference that something inside makes takes f32 for f64.
            if not refusal.missing or (double and not node.domain and inside is None):
                raise
        return _in_f32(node, opsets, values) if double else by_ort(node, opsets, values)

    def inner(node: onnx.NodeProto, opsets: Mapping[str, int], values: Arrays) -> list[Array]:
        results = once(node, opsets, values)
        return inside(node, values, results) if inside else results

    def enter(array: Array) -> Array:
        return array.astype(np.float64) if double and is_float(array.dtype) else array

    try:
        return BODIES[node.op_type](_live(node), opsets, arrays, inner, enter)
    except Endless:
        raise Refused("it does not end", missing=True) from None
    except Unseen as error:
        raise Refused(f"its body never runs: {error}", missing=True) from None
    except (ValueError, IndexError) as error:  # rows of several shapes, lengths that differ
        raise Refused(f"{type(error).__name__}: {error}", missing=False) from None


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """No more memory than `MOST_MEMORY` for what is computed in this process."""
    before, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, most))


@lru_cache(maxsize=1024)
def _evaluator(model: bytes) -> tuple[ReferenceEvaluator, list[np.dtype | None]]:
    """The reference's evaluator of a model, and the types that ONNX's inference gives it."""
    proto = onnx.load_model_from_string(model)
    try:
        ports = onnx.shape_inference.infer_shapes(proto).graph.output
    except onnx.shape_inference.InferenceError:
        ports = proto.graph.output
    kinds = [port.type.tensor_type.elem_type for port in ports]
    return ReferenceEvaluator(proto), [
        helper.tensor_dtype_to_np_dtype(kind) if kind else None for kind in kinds
    ]


def is_float(dtype: np.dtype) -> bool:
    """Whether a dtype is a floating point type, bfloat16 included."""
    return dtype.kind == "f" or dtype == _BF16


def tensor(name: str, array: Array) -> TensorProto:
    """An initialiser."""
    return numpy_helper.from_array(array, name)


def either(node: onnx.NodeProto, opsets: Mapping[str, int], arrays: Arrays) -> list[Array]:
    """By ONNX Runtime; by the reference where ONNX Runtime has no kernel.

    Raises
    ------
    Refused
    """
    try:
        return by_ort(node, opsets, arrays)
    except Refused as refusal:
        if not refusal.missing:
            raise
    return by_reference(node, opsets, arrays)


def without_elements(
    node: onnx.NodeProto, opsets: Mapping[str, int], arrays: Arrays
) -> list[Array]:
    """The outputs of a node, none of which has an element by ONNX's own shape inference.

    The evaluators refuse many empty operands of which ONNX says well what comes of them.

    Raises
    ------
    Refused
    """
    if all(arrays[name].size for name in reads(node) if name):
        raise Refused("no operand is empty", missing=False)
    if node.op_type == "GroupNormalization":
        # A function, whose Reshape takes a dim of 0 for the operand's; the text has X's dims for Y.
        data = arrays[node.input[0]]
        if data.size == 0:
            return [data]
    model = single(faults.for_ort(node, arrays), opsets, arrays)
    for port in model.graph.input:
        for dim, size in zip(port.type.tensor_type.shape.dim, arrays[port.name].shape, strict=True):
            dim.dim_value = size
    small = {n: a for n, a in arrays.items() if a.size < 64 and n in reads(node)}
    model.graph.initializer.extend(tensor(n, a) for n, a in small.items())
    try:
        inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    except Exception as error:
        raise Refused(str(error), missing=False) from None
    found = []
    for port in inferred.graph.output:
        kind = port.type.tensor_type
        dims = [d.dim_value if d.HasField("dim_value") else -1 for d in kind.shape.dim]
        if not kind.HasField("shape") or min(dims, default=-1) < 0 or 0 not in dims:
            raise Refused("ONNX does not say that it has no elements", missing=False)
        found.append(np.empty(dims, helper.tensor_dtype_to_np_dtype(kind.elem_type)))
    return found


def run(
    nodes: Sequence[onnx.NodeProto],
    opsets: Mapping[str, int],
    feeds: Arrays,
    evaluate: Callable[[onnx.NodeProto, Mapping[str, int], Arrays], list[Array]] = either,
) -> dict[str, Array]:
    """Every value of a graph, by name.

    Raises
    ------
    Refused
    """
    values = dict(feeds)
    for node in nodes:
        results = evaluate(node, opsets, values)
        values.update(zip((n for n in node.output if n), results, strict=True))
    return values
