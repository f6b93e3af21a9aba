"""Which calls become one kernel call: every anchor and step, and where they must not fire.

A row is a function, and the kernel calls that are made of it: ``operator:calls`` with the facts
that say what follows the operator. What no kernel takes is not in the list.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tvm import relax

from tests.passes.support import build
from tvm_megcc.fuse import catalogue
from tvm_megcc.fuse.epilogue import grow
from tvm_megcc.fuse.graph import Graph
from tvm_megcc.fuse.match import Match, find_matches
from tvm_megcc.fuse.request import Request
from tvm_megcc.kernels.contract import activation_codes, codes, contract
from tvm_megcc.relax_tools.calls import op_name

op = relax.op
RNG = np.random.default_rng(0)
X = (1, 6, 6, 4)  # NHWC
FACTS = ("bias", "residual", "act", "func")


def const(*shape: int) -> relax.Expr:
    return relax.const(RNG.standard_normal(shape).astype("float32"))


def conv(x: relax.Expr, oc: int = 4, **attrs: object) -> relax.Expr:
    given = {"padding": 1, "data_layout": "NHWC", "kernel_layout": "OHWI", **attrs}
    return op.nn.conv2d(x, const(oc, 3, 3, 4), **given)


def hard_sigmoid(x: relax.Expr) -> relax.Expr:
    line = op.add(op.multiply(x, relax.const(0.2)), relax.const(0.5))
    return op.clip(line, 0.0, 1.0)


def hard_swish(x: relax.Expr) -> relax.Expr:
    line = op.add(op.multiply(x, relax.const(1 / 6)), relax.const(0.5))
    return op.multiply(x, op.clip(line, 0.0, 1.0))


def relu6_swish(x: relax.Expr) -> relax.Expr:
    relu6 = op.clip(op.add(x, relax.const(3.0)), 0.0, 6.0)
    return op.divide(op.multiply(x, relu6), relax.const(6.0))


def relu6_swish_times(x: relax.Expr) -> relax.Expr:
    relu6 = op.clip(op.add(x, relax.const(3.0)), 0.0, 6.0)
    return op.multiply(op.multiply(relu6, x), relax.const(1 / 6))


def relu6_swish_inner(x: relax.Expr) -> relax.Expr:
    relu6 = op.clip(op.add(x, relax.const(3.0)), 0.0, 6.0)
    return op.multiply(op.divide(relu6, relax.const(6.0)), x)


def silu(x: relax.Expr) -> relax.Expr:
    return op.multiply(op.sigmoid(x), x)


def elu(x: relax.Expr, *alpha: relax.Expr) -> relax.Expr:
    zero, one = relax.const(0.0), relax.const(1.0)
    curve = op.subtract(op.exp(op.minimum(x, zero)), one)
    curve = op.multiply(*alpha, curve) if alpha else curve
    return op.where(op.greater(x, zero), x, curve)


#: What follows an operator as an activation, its code and how many calls it is.
ACTIVATIONS: dict[str, tuple[Callable[[relax.Expr], relax.Expr], str, int]] = {
    "relu": (op.nn.relu, "RELU", 1),
    "clip": (lambda x: op.clip(x, 0.0, 6.0), "CLIP", 1),
    "sigmoid": (op.sigmoid, "SIGMOID", 1),
    "tanh": (op.tanh, "TANH", 1),
    "silu": (op.nn.silu, "SILU", 1),
    "silu_product": (silu, "SILU", 2),
    "hard_sigmoid": (hard_sigmoid, "HARDSIGMOID", 3),
    "hard_swish": (hard_swish, "HARDSWISH", 4),
    "hard_swish_divide": (relu6_swish, "HARDSWISH", 4),
    "hard_swish_multiply": (relu6_swish_times, "HARDSWISH", 4),
    "hard_swish_inner": (relu6_swish_inner, "HARDSWISH", 4),
    "leaky_relu": (lambda x: op.nn.leakyrelu(x, 0.1), "LEAKY_RELU", 1),
    "gelu": (op.nn.gelu, "GELU", 1),
    "gelu_tanh": (op.nn.gelu_tanh, "GELU_TANH", 1),
    "elu": (lambda x: elu(x, relax.const(0.7)), "ELU", 6),
    "elu_of_1": (elu, "ELU", 5),
}


def matches(body: Callable[..., relax.Expr], *shapes: tuple[int, ...]) -> dict[relax.Var, Match]:
    return find_matches(build(body, *shapes)["main"], "arm64")


def said(match: Match) -> str:
    op, facts = match.request.op, match.request.facts
    return " ".join([op, *(f"{k}={named(op, k, facts[k])}" for k in FACTS if facts.get(k))])


def named(op: str, fact: str, value: object) -> object:
    """A code by its name, another value as it is."""
    activations = activation_codes() if fact == "act" or op == "unary" else {}
    table = {**activations, **(codes(op) if fact == "func" else {})}
    return next((name for name, code in table.items() if code == value), value)


def test_every_activation_is_a_row() -> None:
    names = {name.removeprefix("unary.") for name in catalogue.anchors()}
    assert set(ACTIVATIONS) <= names


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation_alone_and_behind_operators(name: str) -> None:
    """One activation in each of the places that it can have, and where it has not."""
    act, code, calls = ACTIVATIONS[name]
    (alone,) = matches(act, X).values()
    assert said(alone) == f"unary func={code}"
    (behind,) = matches(lambda x: act(conv(x)), X).values()
    assert said(behind) == f"conv2d act={code}"
    (sums,) = matches(lambda x, y: act(op.add(x, y)), X, X).values()
    assert said(sums) == f"binary act={code}"
    (both,) = matches(lambda x, y: act(op.add(op.add(conv(x), const(4)), y)), X, X).values()
    assert said(both) == f"conv2d residual=1 act={code}"
    (after,) = matches(lambda x, y: op.add(act(op.add(conv(x), const(4))), y), X, X).values()
    assert said(after) == f"conv2d residual=2 act={code}"
    # Somebody else wants the value before the activation: the operator keeps what it has.
    found = matches(lambda x: op.concat([act(c := op.nn.relu(conv(x))), c], 3), X)
    assert "conv2d act=RELU" in map(said, found.values())
    # A chain of elementwise operators that is longer than an activation stays in one piece.
    assert not matches(lambda x: act(op.exp(op.exp(x))), X)


LINES = (3, 32)
#: Name -> function, its inputs' shapes, what is made of it.
ROWS: dict[str, tuple[Callable[..., relax.Expr], list[tuple[int, ...]], list[str]]] = {
    "conv2d": (conv, [X], ["conv2d"]),
    "a bias on the left": (lambda x: op.add(const(4), conv(x)), [X], ["conv2d"]),
    "a bias of one number": (lambda x: op.add(conv(x), const(1)), [X], ["conv2d"]),
    "two sums": (lambda x: op.add(op.add(conv(x), const(4)), const(4)), [X],
                 ["binary", "conv2d"]),
    "a residual": (lambda x, y: op.add(conv(x), y), [X, X], ["conv2d residual=1"]),
    "a constant of the whole shape": (lambda x: op.add(conv(x), const(*X)), [X],
                                      ["conv2d residual=1"]),
    "a residual of another shape": (lambda x, y: op.add(conv(x), y), [X, (1, 1, 6, 4)],
                                    ["binary", "conv2d"]),
    "a sum with itself": (lambda x: op.add(c := conv(x), c), [X], ["binary", "conv2d"]),
    "two activations": (lambda x: op.tanh(op.nn.relu(conv(x))), [X],
                        ["conv2d act=RELU", "unary func=TANH"]),
    "two residuals": (lambda x, y: op.add(op.add(conv(x), y), y), [X, X],
                      ["binary", "conv2d residual=1"]),
    "channels first": (lambda x: op.nn.conv2d(x, const(4, 6, 3, 3)), [X], []),
    "weights that are computed": (
        lambda x, w: op.nn.conv2d(x, w, data_layout="NHWC", kernel_layout="OHWI"),
        [X, (4, 3, 3, 4)], ["conv2d_computed"]),
    "weights that are computed, and what follows": (
        lambda x, w: op.nn.relu(op.add(
            op.nn.conv2d(x, w, data_layout="NHWC", kernel_layout="OHWI"), const(4))),
        [X, (4, 3, 3, 4)], ["conv2d_computed act=RELU"]),
    "matmul": (op.matmul, [(5, 3), (3, 2)], ["matmul"]),
    "matmul with everything": (
        lambda a, y: op.nn.relu(op.add(op.add(op.matmul(a, const(3, 2)), const(2)), y)),
        [(5, 3), (5, 2)], ["matmul bias=1 residual=1 act=RELU"]),
    "a transposed operand": (lambda a, b: op.matmul(a, op.permute_dims(b)), [(5, 3), (2, 3)],
                             ["matmul"]),
    "axes that are not the last": (
        lambda a, b: op.matmul(a, op.permute_dims(b, [1, 0, 2])), [(2, 5, 3), (3, 2, 4)],
        ["matmul", "transpose"]),
    "batches of both that differ": (op.matmul, [(2, 1, 5, 3), (1, 2, 3, 4)], []),
    "vectors": (op.matmul, [(3,), (3,)], []),
    "max pool": (lambda x: op.nn.max_pool2d(x, [2, 2], layout="NHWC"), [X], ["pool2d"]),
    "mean pool": (lambda x: op.nn.avg_pool2d(x, [2, 2], layout="NHWC"), [X], ["pool2d func=AVG"]),
    "pool channels first": (lambda x: op.nn.max_pool2d(x, [2, 2]), [X], []),
    "adaptive": (lambda x: op.nn.adaptive_avg_pool2d(x, [1, 1], layout="NHWC"), [X],
                 ["global_pool func=AVG"]),
    "adaptive to more": (lambda x: op.nn.adaptive_avg_pool2d(x, [2, 2], layout="NHWC"), [X], []),
    "mean of planes": (lambda x: op.mean(x, [1, 2]), [X], ["global_pool func=AVG"]),
    "mean of rows": (lambda x: op.mean(x, [3]), [X], ["reduce func=MEAN"]),
    "axes apart": (lambda x: op.sum(x, [1, 3]), [X], []),
    "softmax": (lambda x: op.nn.softmax(x, -1), [X], ["softmax"]),
    "log softmax": (lambda x: op.nn.log_softmax(x, 1), [X], ["softmax"]),
    "layer norm": (lambda x: op.nn.layer_norm(x, const(4), const(4), -1), [X],
                   ["layer_norm bias=1"]),
    "layer norm of the middle": (lambda x: op.nn.layer_norm(x, const(6), const(6), 1), [X], []),
    "layer norm without scale and bias": (
        lambda x: op.nn.layer_norm(x, const(4), const(4), -1, center=False, scale=False), [X],
        ["layer_norm"]),
    "root mean square": (lambda x: op.nn.rms_norm(x, const(4), -1), [X], ["layer_norm"]),
    "root mean square of the middle": (lambda x: op.nn.rms_norm(x, const(6), 1), [X], []),
    "resize": (lambda x: op.image.resize2d(x, (12, 12), layout="NHWC", method="linear"), [X],
               ["resize2d"]),
    "resize by cubes": (lambda x: op.image.resize2d(x, (12, 12), layout="NHWC", method="cubic"),
                        [X], []),
    "transpose": (lambda x: op.permute_dims(x, [0, 3, 1, 2]), [X], ["transpose"]),
    "concat": (lambda x, y: op.concat([x, y], 3), [X, X], ["concat"]),
    "pad": (lambda x: op.nn.pad(x, [0, 0, 1, 1, 1, 1, 0, 0]), [X], ["pad"]),
    "pad with the edge": (
        lambda x: op.nn.pad(x, [0, 0, 1, 1, 1, 1, 0, 0], "replicate"), [X], ["pad"]),
    "a slice": (lambda x: op.strided_slice(x, [1], [1], [3]), [X], ["slice"]),
    "a slice that a chain reads": (lambda x: op.exp(op.exp(op.strided_slice(x, [1], [1], [3]))),
                                   [X], []),
    "gather": (lambda x: op.take(x, relax.const(np.array([1, 0])), 1), [X], ["gather"]),
    "a slope for each channel": (lambda x: op.nn.prelu(x, const(4), 3), [X], ["binary func=PRELU"]),
    "slopes of the second axis": (lambda x: op.nn.prelu(x, const(6), 1), [X],
                                  ["binary func=PRELU"]),
    "a slope behind a convolution": (lambda x: op.nn.prelu(conv(x), const(4), 3), [X],
                                     ["binary func=PRELU", "conv2d"]),
    "no elu": (lambda x: op.where(op.greater(x, relax.const(1.0)), x, elu(x)), [X], []),
    "a difference": (op.subtract, [X, X], ["binary func=SUB"]),
    "exp": (op.exp, [X], ["unary func=EXP"]),
    "a chain": (lambda x, y: op.exp(op.add(x, y)), [X, X], []),
    "a sum of a line behind a product": (lambda x: op.sum(op.multiply(x, x), [1]), [LINES], []),
    "an extreme behind a product": (lambda x: op.max(op.multiply(x, x), [1]), [LINES],
                                    ["binary func=MUL", "reduce func=MAX"]),
    "a mean behind a product": (lambda x: op.mean(op.multiply(x, x), [1]), [LINES],
                                ["binary func=MUL", "reduce func=MEAN"]),
    "a sum of columns behind a product": (lambda x: op.sum(op.multiply(x, x), [0]), [LINES],
                                          ["binary func=MUL", "reduce"]),
    "a sum of a short line": (lambda x: op.sum(op.multiply(x, x), [3]), [X],
                              ["binary func=MUL", "reduce"]),
    "a sum behind a product that others read": (
        lambda x: op.add(y := op.multiply(x, x), op.sum(y, [1], keepdims=True)), [LINES],
        ["reduce"]),
    "lines in another order before a sum": (
        lambda x, y: op.add(op.permute_dims(x, [1, 0, 2]), y), [(2, 3, 16), (3, 2, 16)], []),
    "lines in another order for two": (
        lambda x, y: op.subtract(op.add(z := op.permute_dims(x, [1, 0, 2]), y), z),
        [(2, 3, 16), (3, 2, 16)], ["transpose"]),
    "columns before a sum": (
        lambda x, y: op.add(op.permute_dims(x, [0, 2, 1]), y), [(2, 16, 9), (2, 9, 16)],
        ["binary", "transpose"]),
    "parts of lines before a sum": (
        lambda x, y: op.add(op.concat([x, x], 1), y), [LINES, (3, 64)], []),
    "lines behind lines before a sum": (
        lambda x, y: op.add(op.concat([x, x], 0), y), [LINES, (6, 32)], ["binary", "concat"]),
    "a broadcast to short runs": (op.add, [(6, 1, 4), (1, 5, 4)], []),
    "a broadcast to long runs": (op.add, [(6, 1, 16), (1, 5, 16)], ["binary"]),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_match(name: str) -> None:
    body, shapes, wanted = ROWS[name]
    assert sorted(map(said, matches(body, *shapes).values())) == sorted(wanted)


def test_without_vectors_reductions_and_moves_are_kernels() -> None:
    mod = build(lambda x: op.sum(op.multiply(x, x), [1]), LINES)
    found = find_matches(mod["main"], "portable").values()
    assert sorted(map(said, found)) == ["binary func=MUL", "reduce"]


def test_both_operands_are_convolutions() -> None:
    """The left one takes the sum; the other one is the residual."""
    found = matches(lambda x, y: op.add(conv(x), conv(y)), X, X)
    (total,) = (m for m in found.values() if m.request.facts["residual"])
    other = total.request.operands["residual"]
    assert said(total) == "conv2d residual=1" and said(found[other]) == "conv2d"
    assert total.request.operands["x"].name == "x0"


def test_steps_are_taken_one_after_another() -> None:
    """From the operator on, each value that a kernel could give instead, each once."""
    mod = build(lambda x, y: op.nn.relu(op.add(op.add(conv(x), const(4)), y)), X, X)
    graph = Graph(mod["main"])
    origin = next(v for v, e in graph.values.items() if op_name(e) == "relax.nn.conv2d")
    anchor = catalogue.anchors()["conv2d"]
    grown = list(grow(graph, origin, frozenset({origin}), anchor.steps))
    assert [len(g.inside) for g in grown] == [1, 2, 3, 4]
    last = grown[-1].tail
    assert (last.act, last.after, last.bias is None, last.residual) == (
        1, False, False, mod["main"].params[1],
    )  # fmt: skip


def test_requests_are_calls_by_the_operators_header() -> None:
    """Facts, the types of the operands among them, and the operands in the order of kernels."""
    (found,) = matches(lambda x, y: op.add(conv(x), y), X, X).values()
    request, value = found.request, found.var
    known = contract("conv2d")
    assert request.facts.keys() == {*known.facts, *known.variables}
    assert list(request.operands) == ["x", "w", "bias", "residual"]
    facts = {name: fact for name, fact in request.facts.items() if name in known.facts}
    for left_out in ("bias", "residual"):
        rest = {name: o for name, o in request.operands.items() if name != left_out}
        with pytest.raises(ValueError, match=f"conv2d: operand '{left_out}' is missing"):
            Request("conv2d", facts, rest).checked(value, {})
    with pytest.raises(ValueError, match="conv2d: operand 'w' has 144 elements, of the shape"):
        Request("conv2d", {**facts, "kh": 2}, request.operands).checked(value, {})
    typed = {**request.operands, "residual": np.zeros(X, np.int8)}
    with pytest.raises(ValueError, match="'y' is f32, not i8, as operand 'residual' is"):
        Request("conv2d", facts, typed).checked(value, {})


def image_conv(x: relax.Expr, ic: int = 3, k: int = 3, oc: int = 8, **attrs: object) -> relax.Expr:
    """A convolution of channels that are last."""
    given = {"padding": k // 2, "data_layout": "NHWC", "kernel_layout": "OHWI", **attrs}
    return op.nn.conv2d(x, const(oc, k, k, ic), **given)


def last(x: relax.Expr) -> relax.Expr:
    return op.permute_dims(x, [0, 2, 3, 1])


def test_an_image_is_not_transposed_for_its_convolution() -> None:
    def body(x: relax.Var) -> relax.Expr:
        return op.nn.relu(image_conv(last(x), strides=2))

    (found,) = matches(body, (1, 3, 32, 32)).values()
    assert said(found) == "conv2d_planes act=RELU"
    facts = found.request.facts
    assert [facts[name] for name in ("h", "w", "ic", "oh", "ow", "oc")] == [32, 32, 3, 16, 16, 8]
    assert not np.any(found.request.operands["pad"])


def test_a_shift_of_channels_is_read_with_the_image() -> None:
    shift = RNG.standard_normal((1, 3, 1, 1)).astype("float32")

    def body(x: relax.Var) -> relax.Expr:
        y = image_conv(last(op.add(x, relax.const(shift))), strides=2)
        return op.nn.relu(op.add(y, const(8)))

    (found,) = matches(body, (1, 3, 32, 32)).values()
    assert said(found) == "conv2d_planes act=RELU"
    np.testing.assert_array_equal(found.request.operands["pad"], -shift.reshape(3))


def test_one_plane_has_no_layout() -> None:
    (found,) = matches(lambda x: image_conv(x, ic=1), (1, 40, 33, 1)).values()
    assert found.request.op == "conv2d_planes"


def test_planes_are_transposed_where_that_costs_less() -> None:
    """Many channels, a large kernel, another use of the transposed image, a shift by pixels."""

    def ops(body: Callable[[relax.Var], relax.Expr], *shape: int) -> list[str]:
        return sorted(match.request.op for match in matches(body, shape).values())

    def used_twice(x: relax.Var) -> relax.Expr:
        y = last(x)
        return op.concat([y, image_conv(y)], 3)

    moved = ["conv2d", "transpose"]
    assert ops(lambda x: image_conv(last(x), ic=32, oc=64), 1, 32, 24, 24) == moved
    assert ops(lambda x: image_conv(last(x), k=7, oc=64, strides=2), 1, 3, 64, 64) == moved
    assert ops(used_twice, 1, 3, 16, 16) == ["concat", *moved]
    by_pixel = ops(lambda x: image_conv(last(op.add(x, const(32, 32))), strides=2), 1, 3, 32, 32)
    assert "conv2d_planes" in by_pixel and len(by_pixel) == 2
