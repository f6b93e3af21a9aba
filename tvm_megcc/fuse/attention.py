"""attention: the products, scaling, mask and softmax of heads, whose scores need not exist whole.

softmax(scale * q x k + mask) x v, with the permutations that split and join heads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tvm import relax
from tvm.relax.dpl import DFPattern, is_const, is_op, wildcard

from tvm_megcc.dims import Size, product
from tvm_megcc.fuse.epilogue import Grown, Tail, extended
from tvm_megcc.fuse.graph import Graph
from tvm_megcc.fuse.request import Anchor, Parts, Request
from tvm_megcc.kernels.expression import Fact
from tvm_megcc.relax_tools.calls import op_name, permutation_of
from tvm_megcc.relax_tools.exprs import constant

#: Fewest keys: a few scores cost less as products and a softmax of several rows in a vector.
FEWEST = 8
_MULTIPLY, _DIVIDE, _ADD = "relax.multiply", "relax.divide", "relax.add"
_PERMUTE = "relax.permute_dims"


def anchors() -> Iterator[Anchor]:
    operands = {name: wildcard() for name in "qkv"}
    moved = {f"{name}_moved": is_op(_PERMUTE)(operand) for name, operand in operands.items()}
    q, k, v = (moved[f"{name}_moved"] | operand for name, operand in operands.items())
    scores = is_op("relax.matmul")(q, k)
    factor, divisor, mask = is_const(), is_const(), wildcard()
    scaled = _either(_MULTIPLY, scores, factor) | is_op(_DIVIDE)(scores, divisor) | scores
    weights = is_op("relax.nn.softmax")(_either(_ADD, scaled, mask) | scaled)
    parts = {
        **operands, **moved, "factor": factor, "divisor": divisor, "mask": mask, "scores": scores,
        "weights": weights,
    }  # fmt: skip
    pattern = is_op("relax.matmul")(weights, v)
    yield Anchor("attention", pattern, parts, _request, (_moved,), tuple(moved.values()))


def _either(op: str, a: DFPattern, b: DFPattern) -> DFPattern:
    """A call of an operator that commutes."""
    return is_op(op)(a, b) | is_op(op)(b, a)


def _moved(graph: Graph, origin: relax.Var, grown: Grown) -> Iterator[Grown]:
    """Extend `grown` by a permutation that leaves the last axis, if that comes next."""
    users = graph.users_of(grown.value)
    if grown.tail.axes or len(users) != 1 or op_name(graph.values[users[0]]) != _PERMUTE:
        return
    axes = permutation_of(graph.values[users[0]])
    if axes[-1] == len(axes) - 1:
        yield extended(grown, users[0], replace(grown.tail, axes=tuple(axes)))


@dataclass(frozen=True, slots=True)
class _View:
    """A tensor as heads see it: its dims, at least two, and elements from one to the next."""

    tensor: relax.Expr
    dims: tuple[Size, ...]
    steps: tuple[Size, ...]

    def of_heads(self, batches: Sequence[Size], whole: bool) -> tuple[Size, Size] | None:
        """Steps from batch to batch and from head to head; None if dims do not broadcast.

        `whole`: nor may they, then.
        """
        dims, steps = self.dims[:-2], self.steps[:-2]
        found: list[Size] = [0] * (2 - len(dims))
        for wanted, dim, step in zip(batches[2 - len(dims) :], dims, steps, strict=True):
            if dim != wanted and (whole or dim != 1):
                return None
            found.append(0 if dim == 1 else step)
        return found[0], found[1]


def _steps(dims: Sequence[Size]) -> list[Size]:
    return [product(dims[k + 1 :]) for k in range(len(dims))]


def _view(parts: Parts, name: str) -> _View | None:
    """An operand, before its permutation; None if its dims are not known, or too many."""
    tensor, call = parts[name], parts.get(f"{name}_moved")
    dims = parts.shape_of(tensor)
    if dims is None or not 2 <= len(dims) <= 4:
        return None
    axes = list(range(len(dims))) if call is None else permutation_of(call)
    steps = _steps(dims)
    return _View(tensor, tuple(dims[a] for a in axes), tuple(steps[a] for a in axes))


def _output(parts: Parts, axes: Sequence[int]) -> _View | None:
    """The result as heads write it: `axes` is the permutation behind it, if any."""
    dims = parts.shape_of(parts["root"])
    if dims is None:
        return None
    axes = axes or range(len(dims))
    steps = dict(zip(axes, _steps([dims[a] for a in axes]), strict=True))
    return _View(parts["root"], dims, tuple(steps[a] for a in range(len(dims))))


def _request(parts: Parts, tail: Tail) -> Request | None:
    q, k, v = (_view(parts, name) for name in "qkv")
    y, shape = _output(parts, tail.axes), parts.shape_of(parts["scores"])
    if q is None or k is None or v is None or y is None or not shape:
        return None
    batches: list[Size] = [*[1] * (4 - len(shape)), *shape[:-2]]
    (m, n), d, e = shape[-2:], k.dims[-2], v.dims[-1]
    axis = int(parts["weights"].attrs.axis) % len(shape)
    if len(batches) != 2 or axis != len(shape) - 1 or not isinstance(d, int):
        return None
    if isinstance(n, int) and n < FEWEST:
        return None
    trans_k = int(k.steps[-2] == 1)
    if [q.steps[-1], k.steps[-2 if trans_k else -1], v.steps[-1]] != [1, 1, 1]:
        return None
    facts: dict[str, Fact] = {
        "b": batches[0], "h": batches[1], "m": m, "n": n, "d": d, "e": e, "trans_k": trans_k,
    }  # fmt: skip
    rows = {"q": q.steps[-2], "k": k.steps[-1 if trans_k else -2], "v": v.steps[-2]}
    for name, view in {"q": q, "k": k, "v": v, "y": y}.items():
        heads = view.of_heads(batches, whole=name in "qy")
        if heads is None:
            return None
        row = rows.get(name, view.steps[-2])
        facts |= {f"{name}_b": heads[0], f"{name}_h": heads[1], f"{name}_row": row}
    scale, mask = _scale(parts), _mask(parts, (*batches, m, n))
    if scale is None or mask is None:
        return None
    held = {"mask": parts["mask"]} if "mask" in parts else {}
    operands = {"q": q.tensor, "k": k.tensor, "v": v.tensor, **held}
    return Request("attention", {**facts, **mask, "scale": scale}, operands)


def _scale(parts: Parts) -> float | None:
    """The factor of scores; None for several factors."""
    for name in ("factor", "divisor"):
        if name in parts:
            array = constant(parts[name])
            if array is None or array.size != 1:
                return None
            value = float(array.reshape(-1)[0])
            if name == "factor":
                return value
            return 1 / value if value else None
    return 1.0


def _mask(parts: Parts, scores: Sequence[Size]) -> dict[str, Fact] | None:
    """Facts of the mask; None if one does not broadcast to whole lines of the scores."""
    names = ("mask_b", "mask_h", "mask_m")
    if "mask" not in parts:
        return {"mask": 0, **dict.fromkeys(names, 0)}
    dims = parts.shape_of(parts["mask"])
    if not dims or len(dims) > len(scores) or dims[-1] != scores[-1]:
        return None
    padded = [*[1] * (len(scores) - len(dims)), *dims]
    if any(dim not in (1, whole) for dim, whole in zip(padded, scores, strict=True)):
        return None
    steps = zip(names, padded, _steps(padded), strict=False)
    return {"mask": 1, **{name: 0 if dim == 1 else step for name, dim, step in steps}}
