"""The fuzzer itself: seeds say everything, wrong answers are seen, rounding is not one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.fuzz import __main__ as main
from tests.fuzz import building, evaluate, findings, generate, operators, runtime
from tests.fuzz.data import Random
from tests.fuzz.evaluate import MOST_BYTES
from tests.fuzz.feeds import Run, runs
from tests.fuzz.judge import Judge
from tests.fuzz.minimise import minimise
from tests.fuzz.process import ROOT, Died, Process
from tests.fuzz.session import Case, Finding, sentence_class, shows, without
from tests.fuzz.sketch import Graph, Sketch
from tvm_megcc.core import file_lock


def graph(*nodes: tuple[str, list[str]], opset: int = 17, **inputs: np.ndarray) -> Graph:
    """A chain of nodes: operator and operands; results are ``v0``, ``v1``, ..."""
    protos = [
        helper.make_node(op, names, [f"v{k}"], name=f"n{k}") for k, (op, names) in enumerate(nodes)
    ]
    made = Graph(protos, {"": opset}, dict(inputs), {}, [f"v{len(nodes) - 1}"])
    made.values = evaluate.run(protos, made.opsets, inputs)
    return made


@pytest.mark.parametrize("seed", range(3))
def test_seed_decides_everything(seed: int) -> None:
    first, second = generate.graph(seed), generate.graph(seed)
    assert first.model() == second.model()
    for a, b in zip(runs(first, Random(1)), runs(second, Random(1)), strict=True):
        for name, x in a.feed.items():
            y = b.feed[name]
            assert (x.shape, x.dtype) == (y.shape, y.dtype)
            # Of what nobody has memory for all elements are one.
            assert x.nbytes >= MOST_BYTES or x.tobytes() == y.tobytes()


def test_table_has_every_family() -> None:
    names = {generator.__name__ for generator in operators.table()}
    assert {"arithmetic", "conv", "reduce", "qlinear_conv", "recurrent", "loop", "if_"} <= names


def test_sketch_refuses_an_invalid_node() -> None:
    sketch = Sketch(Random(0), 17)
    x, y = (sketch.give(np.ones(n, np.float32)) for n in (2, 3))
    assert sketch.node("Add", [x, y]) is None
    assert sketch.refusals


X = np.array([1e8, 1.0, -1e8, 0.5], np.float32)


def test_judge_sees_a_wrong_element() -> None:
    made = graph(("Exp", ["x"]), x=np.array([0.1, 0.2], np.float32))
    right = made.values["v0"]
    assert not Judge(made, made.values).wrong({"v0": right})
    verdict = Judge(made, made.values).wrong({"v0": right * np.float32([1, 1.00001])})
    assert "1 of 2 wrong, first at [1]" in verdict.text


def test_judge_grants_what_another_order_of_a_sum_gives() -> None:
    made = graph(("ReduceSum", ["x"]), x=X)
    for order in (X, X[[0, 2, 1, 3]]):
        total = np.float32(0)
        for value in order:
            total += value
        assert not Judge(made, made.values).wrong({"v0": total.reshape(1)})


def test_judge_grants_any_order_of_what_f64_cannot_hold() -> None:
    made = graph(("ReduceSum", ["x"]), x=np.array([4, 1e-40, 2, -3e38, 3, -3, 3e38, 1], np.float32))
    for value in (0, 1, 4, 8):
        assert not Judge(made, made.values).wrong({"v0": np.array([value], np.float32)})


def test_judge_wants_integers_that_no_rounding_decides() -> None:
    made = graph(("Round", ["x"]), x=np.array([0.5, 1.5], np.float32))
    assert Judge(made, made.values).wrong({"v0": np.array([1, 2], np.float32)})


def test_judge_leaves_a_tie_after_rounding_open() -> None:
    third = np.array([1 / 3], np.float32)
    nodes = ("Mul", ["x", "y"]), ("Floor", ["v0"])
    made = graph(*nodes, x=third, y=np.array([3], np.float32))
    for answer in (0, 1):
        assert not Judge(made, made.values).wrong({"v1": np.array([answer], np.float32)})


def test_judge_takes_any_integer_for_a_real_number_that_is_none() -> None:
    reals = np.array([np.nan, np.inf, 3e9, -3e9, -7.9, 7.9], np.float32)
    cast = helper.make_node("Cast", ["x"], ["v0"], name="n0", to=6)
    made = Graph([cast], {"": 17}, {"x": reals}, {}, ["v0"])
    made.values = evaluate.run([cast], made.opsets, made.inputs)
    judge = Judge(made, made.values)
    assert not judge.wrong({"v0": np.array([0, 1, 2, 3, -7, 7], np.int32)})
    assert "1 of 6" in judge.wrong({"v0": np.array([0, 1, 2, 3, -8, 7], np.int32)}).text


def test_judge_wants_the_low_bits_of_a_sum() -> None:
    made = graph(("ReduceSumSquare", ["x"]), opset=14, x=np.array([1 << 30, 9], np.int32))
    assert not Judge(made, made.values).wrong({"v0": np.array([81], np.int32)})
    assert Judge(made, made.values).wrong({"v0": np.array([82], np.int32)})


def test_judge_grants_what_a_sum_of_leaves_rounds_and_no_other_leaf() -> None:
    trees = helper.make_node(
        "TreeEnsembleRegressor", ["x"], ["v0"], name="n0", domain="ai.onnx.ml", n_targets=1,
        nodes_treeids=[0] * 3 + [1] * 3, nodes_nodeids=[0, 1, 2] * 2, nodes_featureids=[0] * 6,
        nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"] * 2, nodes_values=[0.5, 0.0, 0.0] * 2,
        nodes_truenodeids=[1, 0, 0] * 2, nodes_falsenodeids=[2, 0, 0] * 2,
        target_treeids=[0, 0, 1, 1],
        target_nodeids=[1, 2, 1, 2], target_ids=[0] * 4, target_weights=[1000.1, 7, -1000, 8.0],
    )  # fmt: skip
    made = Graph([trees], {"": 17, "ai.onnx.ml": 3}, {"x": np.array([[0.5]], "f4")}, {}, ["v0"])
    made.values = evaluate.run([trees], made.opsets, made.inputs)
    right = made.values["v0"]
    assert not Judge(made, made.values).wrong({"v0": right + np.float32(2e-4)})
    assert Judge(made, made.values).wrong({"v0": right + np.float32(2e-2)})
    assert Judge(made, made.values).wrong({"v0": np.full_like(right, 15)})


def test_judge_wants_the_elements_of_an_image_whose_scales_it_moves() -> None:
    """A scale that is a little less than 3 would make 14 of 5, and any element be right."""
    resize = helper.make_node("Resize", ["x", "", "s"], ["v0"], name="n0", mode="linear")
    feed = {"x": np.array([[0.1, 0.7, -0.4, 0.2, 1.3]], "f4"), "s": np.array([1.0, 3.0], "f4")}
    made = Graph([resize], {"": 19}, feed, {}, ["v0"])
    made.values = evaluate.run([resize], made.opsets, made.inputs)
    right = made.values["v0"]
    assert not Judge(made, made.values).wrong({"v0": right * np.float32(1 + 1e-6)})
    assert Judge(made, made.values).wrong({"v0": np.roll(right, 1)})


def test_judge_grants_an_overflow_where_a_number_is_huge_and_nowhere_else() -> None:
    x = np.array([1e30, np.inf, np.nan, 1], np.float32)
    made = graph(("Neg", ["x"]), ("ReduceSumSquare", ["x"]), x=x.reshape(2, 2).T, opset=17)
    made.outputs = ["v0"]
    huge, inf, nan, one = made.values["v0"].T.reshape(-1)
    for wrong in ([huge, 0, nan, one], [huge, inf, 0, one], [huge, inf, nan, np.nan]):
        found = np.array(wrong, np.float32).reshape(2, 2).T
        assert Judge(made, made.values).wrong({"v0": found})
    far = graph(("Exp", ["x"]), x=np.array([1e30, 1], np.float32), opset=17)
    assert Judge(far, far.values).wrong({"v0": np.array([np.inf, np.inf], np.float32)})


def test_judge_grants_a_product_that_overflows_before_its_zero() -> None:
    many, few = np.full(64, 9, np.float32), np.full(16, 9, np.float32)
    many[7] = few[7] = 0
    for x, is_granted in ((many, True), (few, False)):
        made = graph(("ReduceProd", ["x"]), x=x, opset=17)
        nothing, one = np.full(1, np.nan, np.float32), np.ones(1, np.float32)
        assert bool(Judge(made, made.values).wrong({"v0": nothing})) != is_granted
        assert Judge(made, made.values).wrong({"v0": one})


@pytest.mark.parametrize("far", [np.inf, -np.inf, np.nan, 3e38])
def test_judge_leaves_open_what_is_infinitely_far_away(far: float) -> None:
    """ONNX Runtime makes an integer of the position."""
    x, grid = np.ones((1, 1, 2, 2), np.float32), np.zeros((1, 1, 2, 2), np.float32)
    grid[0, 0, 1, 0] = far
    made = graph(("GridSample", ["x", "g"]), x=x, g=grid, opset=16)
    assert not Judge(made, made.values).wrong({"v0": np.array([[[[1, 0]]]], np.float32)})
    assert Judge(made, made.values).wrong({"v0": np.array([[[[0, 1]]]], np.float32)})


def test_judge_leaves_open_what_a_transform_makes_of_infinities() -> None:
    """An infinity times a cosine of a right angle, which is 0 or 6e-17."""
    x = np.zeros((2, 4, 1), np.float32)
    x[0, 1], x[1] = np.inf, [[1], [2], [3], [4]]
    made = graph(("DFT", ["x"]), x=x, opset=19)
    (right,) = (made.values[n] for n in made.outputs)
    other = np.where(np.isfinite(right), right, -np.inf).astype(np.float32)
    assert not Judge(made, made.values).wrong({made.outputs[0]: other})
    other[1, 1] = np.inf
    assert Judge(made, made.values).wrong({made.outputs[0]: other})


def resized(*operands: str, **attrs: object) -> onnx.NodeProto:
    return helper.make_node("Resize", ["x", "", *operands], ["y"], mode="linear", **attrs)


MOVED = {
    "integers": resized("s"),
    "antialiased": resized("s", antialias=1),
    "AffineGrid": helper.make_node("AffineGrid", ["t", "d"], ["y"]),
    "ReduceL1": helper.make_node("ReduceL1", ["i"], ["y"], keepdims=0),
}


@pytest.mark.parametrize("what", MOVED)
def test_a_body_leaves_open_what_a_graph_does(what: str) -> None:
    """The judge moves its nodes by the same rules."""
    rng = np.random.default_rng(3)
    given = {
        "x": rng.integers(0, 256, (1, 1, 6, 9)).astype(np.uint8),
        "s": np.array([1, 1, 0.7, 0.6], np.float32),
        "t": rng.normal(size=(1, 2, 3)).astype(np.float32), "d": np.array([1, 1, 3, 7]),
        "i": np.array([2**62, 2**62 + 1, 2**61]), "c": np.array(True),
    }  # fmt: skip
    node = MOVED[what]
    branch = helper.make_graph([node], "b", [], [helper.make_empty_tensor_value_info("y")])
    chosen = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    found = []
    for made in (node, chosen):
        read = {n: given[n] for n in evaluate.reads(made) if n}
        one = Graph([made], {"": 20}, read, {}, ["y"])
        one.values = evaluate.run([made], one.opsets, read)
        spread, loose = Judge(one, one.values).spreads["y"]
        found.append((spread > 0) | loose)
    assert (found[0] == found[1]).all()
    assert found[0].any() == (what != "ReduceL1")


def test_judge_rounds_antialiased_integers_by_sizes_too() -> None:
    """Axis by axis, as it does by scales."""
    x = np.random.default_rng(3).integers(0, 256, (1, 1, 6, 9)).astype(np.uint8)
    found = []
    for node, feed in (
        (resized("s", antialias=1), {"s": np.array([1, 1, 0.5, 1 / 3], np.float32)}),
        (resized("", "n", antialias=1, axes=[3, 2]), {"n": np.array([3, 3])}),
    ):
        made = Graph([node], {"": 20}, {"x": x, **feed}, {}, ["y"])
        made.values = evaluate.run([node], made.opsets, made.inputs)
        found.append(Judge(made, made.values).spreads["y"][1])
    assert found[0].any()
    assert (found[0] == found[1]).all()


def test_judge_leaves_open_what_any_integer_makes_of_itself() -> None:
    """NaN as an integer is any: divided by itself 1, or 0 by 0."""
    nan = np.array([np.nan], np.float32)
    cast = helper.make_node("Cast", ["x"], ["v"], to=TensorProto.INT32)
    divides = helper.make_node("Div", ["v", "v"], ["y"])
    made = Graph([cast, divides], {"": 17}, {"x": nan}, {}, ["y"])
    made.values = evaluate.run(made.nodes, made.opsets, made.inputs)
    assert not Judge(made, made.values).wrong({"y": np.array([0], np.int32)})
    assert not Judge(made, made.values).wrong({"y": np.array([1], np.int32)})


@pytest.mark.parametrize(
    ("terms", "is_exact"),
    [([0.5262581, -3.5650554, 5.000445, -1.8628651], False), ([3, -7, 9], True)],
)
def test_judge_sees_that_terms_cancel(terms: list[float], is_exact: bool) -> None:
    """A sum that no order rounds is exact; one that is right in f32 by luck is not."""
    made = graph(("ReduceSum", ["x"]), x=np.array(terms, np.float32))
    assert made.values["v0"] == made.inputs["x"].astype("f8").sum()
    assert (Judge(made, made.values).spreads["v0"][0].max() == 0) == is_exact


def test_judge_sees_shape_and_type() -> None:
    made = graph(("Relu", ["x"]), x=X)
    assert "shape" in Judge(made, made.values).wrong({"v0": X.reshape(2, 2)}).text
    assert "float64" in Judge(made, made.values).wrong({"v0": X.astype("f8")}).text


def test_judge_goes_on_where_an_evaluator_is_wrong() -> None:
    """The reference has no LinearRegressor without intercepts, and no evaluator binarises f64."""
    weights = [1.7, -0.9, 1.4, 0.6, -0.7, -0.4, -0.1, 0.5, -0.4, 1.0, 2.9, -0.4]
    ml = {"domain": "ai.onnx.ml"}
    protos = [
        helper.make_node("LinearRegressor", ["x"], ["v"], targets=3, coefficients=weights, **ml),
        helper.make_node("Binarizer", ["v"], ["b"], **ml),
        helper.make_node("MatMul", ["m", "m"], ["y"]),
    ]
    rng = np.random.default_rng(1)
    feed = {"x": rng.random((1, 4), np.float32), "m": rng.random((40, 40), np.float32)}
    made = Graph(protos, {"": 17, "ai.onnx.ml": 1}, feed, {}, ["y"])
    made.values = evaluate.run(protos, made.opsets, feed)
    assert Judge(made, made.values).spreads["y"][0].max() > 0


@pytest.mark.parametrize("like", [("EyeLike", ["v0"]), ("CastLike", ["x", "v0"])])
def test_what_only_lends_its_shape_or_type_shows_nothing(like: tuple[str, list[str]]) -> None:
    """Nobody has to compute it, and so nobody has to refuse its indices."""
    feed = {"x": X.reshape(2, 2), "i": np.array([0, 1])}
    output = {"v1": np.ones((2, 2), np.float32)}
    assert not shows(graph(("Gather", ["x", "i"]), like, **feed), "n0", output)
    assert shows(graph(("Gather", ["x", "i"]), ("Neg", ["v0"]), **feed), "n0", output)


def test_what_is_erased_again_or_not_taken_shows_nothing() -> None:
    """Nobody has to look at the position that it was inserted at."""
    value = helper.make_empty_tensor_value_info
    nodes = [
        helper.make_node("SequenceConstruct", ["x"], ["q0"]),
        helper.make_node("SequenceInsert", ["q0", "x", "i"], ["q1"]),
        helper.make_node("SequenceErase", ["q1", "j"], ["q2"]),
    ]
    feed = {"x": X, "i": np.array(0), "j": np.array(0), "c": np.array(True)}
    joins = ("ConcatFromSequence", [], {"axis": 0})
    takes = ("SequenceAt", ["j"], {})
    cases = ((nodes, joins, False), (nodes[:2], joins, True), (nodes[:2], takes, False))
    for kept, (op, more, attrs), shown in cases:
        last = helper.make_node(op, [kept[-1].output[0], *more], ["r"], **attrs)
        branch = helper.make_graph([*kept, last], "branch", [], [value("r")])
        node = helper.make_node("If", ["c"], ["y"], "n0", then_branch=branch, else_branch=branch)
        made = Graph([node], {"": 17}, feed, {}, ["y"])
        assert shows(made, "n0", {"y": X}) == shown


def test_minimise_keeps_what_shows() -> None:
    made = graph(("Exp", ["x"]), ("Neg", ["v0"]), ("Abs", ["v1"]), ("Log", ["v2"]), x=X[1:2])

    def still(graphs: list[Graph]) -> list[bool]:
        return [{"Neg", "Abs"} <= {n.op_type for n in g.nodes} for g in graphs]

    small = minimise(made, made.values, still)
    assert [n.op_type for n in small.nodes] == ["Neg", "Abs"]
    assert list(small.inputs) == ["v0"]


def test_without_a_node_goes_what_depends_on_it() -> None:
    made = graph(("Exp", ["x"]), ("Neg", ["v0"]), ("Abs", ["v0"]), x=X)
    made.outputs = ["v1", "v2"]
    assert without(made, {"n1"}).outputs == ["v2"]  # type: ignore[union-attr]
    assert without(made, {"n0"}) is None


def test_finding_survives_its_file(tmp_path: Path) -> None:
    made = generate.graph(4)
    case = Case(4, made, [Run(made.inputs, made.values)], ("host",))
    path = findings.write(Finding("wrong", "v0 is 1", "host", case), tmp_path)
    content, read, feeds = findings.read(path)
    assert content["kind"] == "wrong"
    assert [n.SerializeToString() for n in read.nodes] == [
        n.SerializeToString() for n in made.nodes
    ]
    assert all(feeds[0][n].tobytes() == a.tobytes() for n, a in made.inputs.items())


def test_findings_of_one_operator_are_files_of_their_own(tmp_path: Path) -> None:
    def write(row: list[float], operand: str = "x") -> Path:
        made = graph(("Exp", [operand]), **{operand: np.array(row, np.float32)})
        case = Case(1, made, [Run(made.inputs, made.values)], ("host",))
        return findings.write(Finding("wrong", "v0 is 1", "host", case), tmp_path)

    paths = [write([1]), write([2]), write([1, 1]), write([1], "z"), write([1])]
    assert len(set(paths)) == len(list(tmp_path.iterdir())) == 4 and paths[0] == paths[4]


def test_sentence_class_has_no_names() -> None:
    assert sentence_class("Add 'n12': 3 and 4; fix it") == "Add '_': N and N; fix it"


def test_a_process_that_dies_is_started_again(tmp_path: Path) -> None:
    asked = Process("import os; from tests.fuzz.process import serve; serve(os._exit)")
    for status in (3, 5):
        with pytest.raises(Died, match=f"status {status}"):
            asked.ask((status,), 60)
    asked.close()


def test_a_node_of_which_onnx_runtime_dies_is_not_evaluated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dying = Process("from tests.fuzz.process import serve; import os; serve(lambda *_: os.abort())")
    monkeypatch.setattr(runtime, "_PROCESS", dying)
    node = helper.make_node("Neg", ["x"], ["y"])
    arrays = {"x": np.ones(2, np.float32)}
    with pytest.raises(evaluate.Refused) as caught:
        evaluate.by_ort(node, {"": 17}, arrays)
    assert caught.value.missing
    assert (evaluate.either(node, {"": 17}, arrays)[0] == -1).all()


def test_any_integer_is_an_extreme_one_too() -> None:
    """The mean of numbers that are anything may have either sign, which random ones do not show."""
    x = np.full(50, 1.0, np.float32)
    x[:3] = np.nan
    made = graph(
        ("QuantizeLinear", ["x", "s", "z"]), ("DequantizeLinear", ["v0", "s", "z"]),
        ("ReduceMean", ["v1"]), ("Sign", ["v2"]), opset=19,
        x=x, s=np.array(0.25, np.float32), z=np.array(0, np.int8),
    )  # fmt: skip
    for sign in (-1, 1):
        found = {"v3": np.full((1,), sign, np.float32)}
        assert not Judge(made, made.values).wrong(found)


def test_a_subnormal_result_that_is_rounded_may_be_zero() -> None:
    """The exponential of -88.5 is 3.7e-39; a power of -1 by it is NaN, by 0 it is 1."""
    x = np.array([-1, 87.5], np.float32)
    made = graph(("Softmax", ["x"]), ("Pow", ["x", "v0"]), x=x)
    right = made.values["v1"]
    if not made.values["v0"][0]:
        pytest.skip("on this CPU ONNX Runtime's softmax has no subnormal results")
    assert np.isnan(right[0])
    assert not Judge(made, made.values).wrong({"v1": np.array([1, right[1]], np.float32)})
    assert Judge(made, made.values).wrong({"v1": np.array([1, 80], np.float32)})


def test_subnormal_numbers_are_zero_on_a_machine_that_has_none() -> None:
    made = graph(("Sign", ["x"]), x=np.array([1e-40, 1], np.float32))
    zero = {"v0": np.array([0, 1], np.float32)}
    assert Judge(made, made.values).wrong(zero)
    assert not Judge(made, made.values, flushes=True).wrong(zero)


def test_the_fuzzers_own_failures_do_not_end_it(capsys: pytest.CaptureFixture[str]) -> None:
    class Failing:
        def batch(self, seeds: list[int]) -> list[int]:
            if 3 in seeds:
                raise ValueError("too big")
            return seeds

    assert main._batch(Failing(), [1, 2, 3, 4]) == ([1, 2, 4], 1)
    assert "seed 3" in capsys.readouterr().out


@pytest.mark.parametrize("op", ["GroupNormalization", "LayerNormalization"])
def test_a_normalisation_in_f64_is_no_f32(op: str) -> None:
    attrs = {"num_groups": 1} if op.startswith("Group") else {}
    node = helper.make_node(op, ["x", "s", "b"], ["y"], **attrs)
    arrays = {"x": np.array([[3e38, 0, 1]]), "s": np.ones(3), "b": np.zeros(3)}
    (found,) = evaluate.by_reference(node, {"": 21}, arrays, double=True)
    np.testing.assert_allclose(found, [[2**0.5, -(0.5**0.5), -(0.5**0.5)]], rtol=1e-6)


def test_two_runs_do_not_share_a_folder(tmp_path, capsys) -> None:
    held = os.open(tmp_path, os.O_RDONLY)
    try:
        assert file_lock.hold(held, wait=True)
        with pytest.raises(SystemExit):
            main.main(["--seeds", "1..1", "--arch", "host", "--work", str(tmp_path)])
    finally:
        os.close(held)
    assert "in use by another run" in capsys.readouterr().err


def test_a_process_ends_with_the_one_that_asks() -> None:
    """The one in between dies while what it asked for computes, which takes a minute."""
    entry = "import time; from tests.fuzz.process import serve; serve(time.sleep)"
    asks = f"""
from tests.fuzz.process import Died, Process
process = Process({entry!r})
process.ask((0,), 60)
process.close = lambda: None
try:
    process.ask((60,), 0.1)
except Died:
    print(process._process.pid)
"""
    done = subprocess.run(
        [sys.executable, "-c", asks], stdout=subprocess.PIPE, cwd=ROOT, check=True
    )
    pid = int(done.stdout)
    for _ in range(100):
        if not _is_running(pid):
            return
        time.sleep(0.1)
    pytest.fail(f"process {pid} still computes")


def _is_running(pid: int) -> bool:
    """Whether there is such a process, and it is no zombie that nobody has waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_compiler_that_is_missing_is_said_once(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setitem(main.MODES, "arm64", building.Mode("arm64", "arm64"))  # nothing looked up
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit):
        main.main(["--seeds", "1..1", "--arch", "arm64", "--work", str(tmp_path / "work")])
    assert "--arch arm64: no C compiler for arm64" in capsys.readouterr().err
    assert not (tmp_path / "work").exists()
