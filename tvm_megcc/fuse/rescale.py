"""Steps after a sum of integers within its kernel, which make a real number or 8 bits of it.

    astype(sum, f32) * scale [+ offset] [activation] [-> relax.quantize]

Each is a step (`tvm_megcc.fuse.epilogue`): a kernel returns the sum, the number or the 8 bits,
whichever is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from tvm import relax
from tvm.ir import GenericConst

from tvm_megcc.core.dtypes import EIGHT_BITS
from tvm_megcc.dims import Size
from tvm_megcc.fuse.epilogue import Grown, Tail, activation, extended, sums
from tvm_megcc.fuse.graph import Graph
from tvm_megcc.fuse.request import channel_vector
from tvm_megcc.kernels.contract import activation_codes, quantised_codes
from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.exprs import constant, dtype_of, step_of

_ACT = activation_codes()
_OUT = quantised_codes()


def integer_bias(graph: Graph, origin: relax.Var, grown: Grown) -> Iterator[Grown]:
    """A constant is added to the sum."""
    if grown.tail.bias is None and grown.tail.scale is None:
        for user, other, _ in sums(graph, grown.value):
            if isinstance(other, GenericConst):
                yield extended(grown, user, replace(grown.tail, bias=other))


def scale(graph: Graph, origin: relax.Var, grown: Grown) -> Iterator[Grown]:
    """The sum as f32, times a number or one number for each channel."""
    if grown.tail.scale is not None:
        return
    for cast in graph.users_of(grown.value):
        if op_name(graph.values[cast]) != "relax.astype" or dtype_of(cast) != "f32":
            continue
        for user in graph.users_of(cast):
            call = graph.values[user]
            if op_name(call) == "relax.multiply":
                (other,) = [a for a in call.args if a != cast][:1] or (None,)
                if other is not None:
                    inside = grown.inside | {cast, user}
                    yield Grown(user, inside, replace(grown.tail, scale=other))


def offset(graph: Graph, origin: relax.Var, grown: Grown) -> Iterator[Grown]:
    """A constant is added to the real number."""
    tail = grown.tail
    is_number = tail.scale is not None or tail.divisor is not None
    if not is_number or tail.offset is not None or tail.act or tail.stored is not None:
        return
    for user, other, _ in sums(graph, grown.value):
        if isinstance(other, GenericConst):
            yield extended(grown, user, replace(tail, offset=other))


def divided(graph: Graph, origin: relax.Var, grown: Grown) -> Iterator[Grown]:
    """A number is divided by a constant."""
    tail = grown.tail
    if tail.divisor is not None or tail.act or tail.stored is not None:
        return
    for user in graph.users_of(grown.value):
        call = graph.values[user]
        if op_name(call) == "relax.divide" and isinstance(call.args[1], GenericConst):
            yield extended(grown, user, replace(tail, divisor=call.args[1]))


def real_activation(graph: Graph, origin: relax.Var, grown: Grown) -> Iterator[Grown]:
    """An activation of the real number."""
    if grown.tail.scale is not None and grown.tail.stored is None:
        yield from activation(graph, origin, grown)


def stored(graph: Graph, origin: relax.Var, grown: Grown) -> Iterator[Grown]:
    """The real number is quantised to 8 bits by one constant scale and zero point."""
    if grown.tail.scale is not None:
        yield from quantised(graph, origin, grown)


def quantised(graph: Graph, origin: relax.Var, grown: Grown) -> Iterator[Grown]:
    """A value in f32 is quantised to 8 bits."""
    if grown.tail.stored is not None:
        return
    for user in graph.users_of(grown.value):
        call = graph.values[user]
        if op_name(call) == "relax.quantize" and dtype_of(user) in EIGHT_BITS:
            yield extended(grown, user, replace(grown.tail, stored=call))


#: Steps after a sum of integers.
STEPS = (integer_bias, scale, offset, real_activation, stored)
#: Steps after a real number from 8-bit tensors: to 8 bits as QuantizeLinear does, or as operators
#: of ONNX Runtime do, which add the zero point before they round.
NUMBER_STEPS = (activation, divided, offset, quantised)


@dataclass(frozen=True, slots=True)
class Rescaling:
    """Facts and operands of an epilogue of these steps."""

    facts: Mapping[str, int | float]
    operands: Mapping[str, relax.Expr | np.ndarray]


def rescaling(tail: Tail, channels: Size) -> Rescaling | None:
    """Facts and operands of ``qconv2d`` and ``qmatmul`` for an epilogue, without the bias.

    None if no kernel has it: a scale that is neither one number nor a constant for each channel, or
    an activation before 8 bits that is no limit.
    """
    if tail.scale is None:
        plain = {"channel_scales": 0, "offset": 0, **_LIMITS, **_NO_ACT}
        return Rescaling({"out": _OUT["SUMS"], **plain}, {})
    factor = channel_vector(tail.scale, channels)
    known = constant(tail.scale)
    if factor is None and (known is not None or not _is_one(tail.scale)):
        return None
    added = None if tail.offset is None else channel_vector(tail.offset, channels)
    if tail.offset is not None and added is None:
        return None
    facts: dict[str, int | float] = {"out": _OUT["REAL"], **_LIMITS, **tail.activation}
    if tail.stored is not None:
        if factor is None or (found := limits(tail)) is None:
            return None
        step, held = found
        with np.errstate(all="ignore"):
            factor = factor / step
            added = None if added is None else added / step
        facts = {"out": _OUT["STORED"], **held, **_NO_ACT}
        if not np.isfinite(factor).all():
            return None
    operands = {"scale": tail.scale if factor is None else factor}
    if added is not None:
        operands["offset"] = added
    facts |= {"channel_scales": int(factor is not None), "offset": int(added is not None)}
    return Rescaling(facts, operands)


#: Facts of results other than 8 bits.
_LIMITS = {"y_zero": 0, "low": 0, "high": 0}
_NO_ACT = {"act": 0, "act_a": 0.0, "act_b": 0.0}


def _is_one(expr: relax.Expr) -> bool:
    shape = getattr(expr.ty, "shape", None)
    dims = getattr(shape, "values", None)
    return dims is not None and all(getattr(d, "value", None) == 1 for d in dims)


def limits(tail: Tail) -> tuple[np.float32, dict[str, int]] | None:
    """Step of the 8 bits; their zero point and limits, which include the activation's."""
    assert tail.stored is not None
    step = step_of(tail.stored)
    if step is None or step[0] <= 0:
        return None
    (size, point), info = step, np.iinfo(str(tail.stored.attrs.out_dtype))
    if not info.min <= point <= info.max:
        return None
    ends = {
        _ACT["NONE"]: (-np.inf, np.inf),
        _ACT["RELU"]: (0.0, np.inf),
        _ACT["CLIP"]: (tail.act_a, tail.act_b),
    }.get(tail.act)
    if ends is None or ends[0] > ends[1]:
        return None
    with np.errstate(all="ignore"):
        steps = np.rint(np.array(ends, np.float32) / size).astype(np.float64) + point
    low, high = (int(v) for v in np.clip(steps, info.min, info.max))
    return size, {"y_zero": point, "low": low, "high": high}


@dataclass(frozen=True, slots=True)
class Stored:
    """Conversion of a real number to 8 bits: divide by `step`, add `offset`, round.

    The facts are the zero point, which is added last, and the limits.
    """

    step: np.float32
    offset: np.float32
    facts: Mapping[str, int]


def number_stored(tail: Tail) -> Stored | None:
    """Conversion that `NUMBER_STEPS` found; None unless it ends with 8 bits by constants."""
    held = None if tail.stored is None else limits(tail)
    if held is None:
        return None
    step, facts = held
    if tail.divisor is None:
        return Stored(step, np.float32(0), facts)
    divisor = constant(tail.divisor)
    added = np.zeros(1) if tail.offset is None else constant(tail.offset)
    if divisor is None or added is None or divisor.size != 1 or added.size != 1:
        return None
    size = np.float32(divisor.item())
    is_plain = tail.act == _ACT["NONE"] and step == 1 and size > 0
    return Stored(size, np.float32(added.item()), facts) if is_plain else None
