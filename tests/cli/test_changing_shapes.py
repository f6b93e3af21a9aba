"""Shapes that change, from the command line: compile, run, inspect, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.dispatch.support import scales, scales_expected, two_expected, two_inputs
from tvm_megcc.cli import dynamic, main, options
from tvm_megcc.dims import Multiple, Symbol
from tvm_megcc.errors import InputError
from tvm_megcc.host import arrays


@pytest.fixture
def two(tmp_path: Path) -> str:
    onnx.save(two_inputs(), tmp_path / "two.onnx")
    return str(tmp_path / "two.onnx")


@pytest.mark.slow
def test_any_size_runs(tvmc, two: str, tmp_path: Path) -> None:
    tvmc("compile", two, "-o", str(tmp_path / "pkg"))
    for n in (1, 3):
        arrays = {
            "a": np.random.default_rng(n).standard_normal((n, n + 1, 3)).astype("float32"),
            "b": np.ones((n, 2, 3), "float32"),
        }
        np.savez(tmp_path / "in.npz", **arrays)
        out = tmp_path / "out.npz"
        tvmc(
            "run",
            str(tmp_path / "pkg"),
            "--inputs",
            str(tmp_path / "in.npz"),
            "--outputs",
            str(out),
        )
        np.testing.assert_allclose(np.load(out)["y"], two_expected(**arrays), rtol=1e-6)
    text = tvmc("inspect", str(tmp_path / "pkg")).out
    assert "dim 'batch': 0 to any" in text
    assert "all other sizes: arena by shape" in text
    assert "instructions: END, CALL_SIZED" in text


def test_made_up_inputs_need_sizes(tvmc, two: str, tmp_path: Path) -> None:
    tvmc("compile", two, "-o", str(tmp_path / "pkg"))
    failed = tvmc("run", str(tmp_path / "pkg"))
    assert (
        "input 'a' is ['batch', 'wa', 3] and 'batch' has no size; give one with --shapes"
        in failed.sentence()
    )
    run = ("run", tmp_path / "pkg", "--shapes")
    shown = tvmc(*run, "a:[2,1,3] b:[2,4,3]", "--print-top", "1")
    assert "y: float32[2, 5, 3]" in shown.out
    failed = tvmc(*run, "a:[2,1,3] b:[1,4,3]")
    assert "dim 'batch' is 2 elsewhere, not 1" in failed.sentence()
    assert "or compile with --distinct-dims 'batch'" in failed.sentence()


@pytest.mark.slow
def test_dims_of_one_name_that_differ(tvmc, tmp_path: Path) -> None:
    """As tf2onnx names dims that it does not know: ONNX Runtime warns, and computes."""
    dims = ["unk__1", "unk__2"]
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, dims) for n in "xyz"]
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "y"], ["z"])], "g", ports[:2], ports[2:]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=9)
    onnx.save(model, tmp_path / "unk.onnx")
    compile_ = ("compile", tmp_path / "unk.onnx", "--quiet", "-o")
    run = ("--inputs", tmp_path / "in.npz", "--outputs", tmp_path / "out.npz")
    assert tvmc(*compile_, tmp_path / "one").status == 0
    assert tvmc(*compile_, tmp_path / "two", "--distinct-dims", "unk__*").status == 0
    x = np.arange(6, dtype="float32").reshape(2, 3)
    for y in (x, x[:1], x[:, :1], x[:1, :1]):
        np.savez(tmp_path / "in.npz", x=x, y=y)
        assert tvmc("run", tmp_path / "two", *run).status == 0
        np.testing.assert_array_equal(np.load(tmp_path / "out.npz")["z"], x + y)
    np.savez(tmp_path / "in.npz", x=x, y=x[:1])
    assert (
        tvmc("run", tmp_path / "one", *run)
        .sentence()
        .endswith(
            "input 'y', dim 0 ('unk__1'): the dim of the same name has another size: 1 and 2; "
            "tvmc compile --distinct-dims 'unk__1' makes them two dims"
        )
    )
    np.savez(tmp_path / "in.npz", x=x, y=np.ones((4, 3), "float32"))
    assert "4 and 2" in tvmc("run", tmp_path / "two", *run).sentence()
    refused = tvmc(*compile_, tmp_path / "three", "--distinct-dims", "n,unk__*").sentence()
    assert "--distinct-dims: no input has a dim 'n'; the names are 'unk__1', 'unk__2'" in refused
    (tmp_path / "m.py").write_text("# a module\n")
    refused = tvmc("compile", tmp_path / "m.py", "-o", tmp_path / "x", "--distinct-dims", "n")
    assert "is a Relax module; leave out --distinct-dims" in refused.sentence()


@pytest.mark.slow
def test_sizes_that_do_not_fit_name_the_dim_they_come_from(tvmc, tmp_path: Path) -> None:
    onnx.save(scales(), tmp_path / "scales.onnx")
    compile_ = ("compile", tmp_path / "scales.onnx", "-o", tmp_path / "pkg", "--input-shapes")
    told = tvmc(*compile_, "x:[1,2,h,w=4..32]").err.splitlines()
    assert told == [
        "tvmc: hint: multiples of 4 of 'h' and of 'w' fit the model, not all other sizes do; give"
        ' --input-shapes "x:[1,2,4*(8..160),4*(1..8)]" --arena fixed for an arena of known size',
    ]
    for shape, problem in {
        "8,13": "8 and 7; from input 'x', dim 3 = 13",
        "5,16": "4 and 3; from input 'x', dim 2 = 5",
    }.items():
        sentence = tvmc("run", tmp_path / "pkg", "--shapes", f"x:[1,2,{shape}]").sentence()
        assert "two sizes inside the model are not equal, as they must be: " in sentence
        assert problem in sentence


@pytest.mark.slow
def test_sizes_inside_a_model_that_cannot_be_are_named(tvmc, tmp_path: Path) -> None:
    ones = numpy_helper.from_array(np.ones((1, 1, 5, 5), np.float32), "w")
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], "first"),
        helper.make_node("Concat", ["c"] * 4, ["y"], "joined", axis=3),
    ]
    ports = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, *dims])
        for name, dims in (("x", ["h", "w"]), ("y", ["a", "b"]))
    ]
    graph = helper.make_graph(nodes, "cut", ports[:1], ports[1:], [ones])
    opset = helper.make_opsetid("", 13)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), tmp_path / "m.onnx")
    compile_ = ("compile", tmp_path / "m.onnx", "-o", tmp_path / "pkg", "--input-shapes")
    for shape, dim in {"3,8": "2 = -1", "8,4": None, "h,3": "3 = -1", "0..2,8": "2 = h"}.items():
        done = tvmc(*compile_, f"x:[1,1,{shape}]")
        assert (done.status == 0) == (dim is None)
        if dim is not None:
            assert f"Conv 'first': its output 'c' would have dim {dim}" in done.sentence()
    assert tvmc(*compile_, "x:[1,1,h,w]").status == 0
    for shape, problem in {
        "8,3": "': a dim inside the model would be negative: -1; from input 'x', dim 3 = 3",
        "2,8": "': a dim inside the model would be negative: -2; from input 'x', dim 2 = 2",
        "5,2000000000": "a size inside the model is too large; from input 'x', dim 3 = 2000000000",
        "1000000,2000000000": "a size inside the model is too large",
    }.items():
        run = ("run", tmp_path / "pkg", "--shapes", f"x:[1,1,{shape}]")
        assert problem in tvmc(*run).sentence()


#: Commands that make up inputs, of a package and of a library, without the shapes.
FILLING = {
    "run": ("run", "{pkg}"),
    "run a library": ("run", "{so}"),
    "bench": ("bench", "{pkg}"),
    "bench both": ("bench", "{pkg}", "{so}"),
    "dump": ("run", "{pkg}", "--dump", "{folder}/dump"),
    "profile": ("run", "{pkg}", "--profile"),
    "compare": ("compare", "{model}", "{pkg}"),
    "compare a library": ("compare", "{model}", "{so}"),
    "per layer": ("compare", "{model}", "{pkg}", "--per-layer"),
    "measure": ("inspect", "{pkg}", "--html", "{folder}/page.html", "--measure", "1"),
}


@pytest.fixture(scope="module")
def bounded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A model with a bounded and an unbounded dim, its package and its library."""
    folder = tmp_path_factory.mktemp("bounded")
    paths = {n: str(folder / f) for n, f in (("model", "m.onnx"), ("pkg", "p"), ("so", "m.so"))}
    onnx.save(two_inputs(), paths["model"])
    for out in (paths["pkg"], paths["so"]):
        shapes = ["--input-shapes", "a:[1..4,?,3]", "--quiet"]
        assert main(["compile", paths["model"], "-o", out, *shapes]) == 0
    return paths


@pytest.mark.slow
@pytest.mark.parametrize("case", FILLING)
def test_shapes_are_refused_before_inputs_are_made(
    tvmc, bounded: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    def never(*args: object) -> None:
        raise AssertionError("inputs were made")

    words = [w.format(**bounded, folder=tmp_path) for w in FILLING[case]]
    monkeypatch.setattr(arrays, "fill", never)
    # Inputs of 2 GB; the second is within the bounds, but what becomes of it is not.
    for shapes, problem in {
        "a:[5,30000000,3] b:[5,1,3]": "1 to 4",
        "a:[2,500000000,3] b:[2,400000000,3]": "a size inside the model is too large",
    }.items():
        assert re.search(problem, tvmc(*words, "--shapes", shapes).sentence())


def test_shapes_to_tune_with_are_refused_before_inputs_are_made(
    tvmc, bounded: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "fill", lambda *args: pytest.fail("inputs were made"))
    words = ["tune", bounded["model"], "-o", tmp_path / "r.json", "--input-shapes", "a:[1..4,?,3]"]
    tuned = tvmc(*words, "--shapes", "a:[5,30000000,3] b:[5,1,3]")
    assert "give 1 to 4" in tuned.sentence()


@pytest.mark.slow
def test_multiples(tvmc, tmp_path: Path) -> None:
    onnx.save(scales(), tmp_path / "scales.onnx")
    words = ("--input-shapes", "x:[1,2,4*(h=1..8),4*w]", "--dispatch", "x:2=[4,8..16]")
    told = tvmc("compile", tmp_path / "scales.onnx", "-o", tmp_path / "pkg", *words).err
    assert told == (
        "tvmc: hint: '4*w' is unbounded: what depends on it is planned at run time; give"
        ' --input-shapes "x:[1,2,4*(h=1..8),4*(w=8..160)]" --arena fixed for an arena of known'
        " size\n"
    )
    facts = json.loads(tvmc("inspect", tmp_path / "pkg", "--json").out)
    (entry,) = facts["archs"].values()
    assert [f["sizes"] for f in entry["functions"]] == [{"h": [1, 2]}, {"h": [2, 5]}, {}]
    assert not any(f["equal"] for f in entry["functions"])  # nothing is left to compare
    assert facts["outputs"][0]["shape"] == [1, 2, "2*h", "2*w"]
    for sizes, program in (((4, 8), 0), ((8, 4), 1), ((32, 4), 2)):
        x = np.random.default_rng(1).standard_normal((1, 2, *sizes)).astype("float32")
        np.savez(tmp_path / "in.npz", x=x)
        arrays = ("--inputs", tmp_path / "in.npz", "--outputs", tmp_path / "out.npz")
        tvmc("run", tmp_path / "pkg", *arrays)
        np.testing.assert_array_equal(np.load(tmp_path / "out.npz")["y"], scales_expected(x))
        asked = ("--json", "--shapes", f"x:[1,2,{sizes[0]},{sizes[1]}]")
        (at,) = json.loads(tvmc("inspect", tmp_path / "pkg", *asked).out)["at"].values()
        assert at["function"] == program
    for sizes, words in {
        (6, 4): "input 'x', dim 2 ('h'): the dim is no multiple of what it must be: it is 6, the"
        " model takes multiples of 4",
        (36, 4): "input 'x', dim 2 ('h'): the dim is out of its bounds: it is 36, the model takes"
        " 4 to 32",
    }.items():
        np.savez(tmp_path / "in.npz", x=np.zeros((1, 2, *sizes), "float32"))
        sentence = tvmc("run", tmp_path / "pkg", "--inputs", tmp_path / "in.npz").sentence()
        assert words in sentence
    sentence = tvmc("run", tmp_path / "pkg", "--shapes", "x:[1,2,4,7]").sentence()
    assert "'x': dim 3 is 7, which is no multiple of 4; give 4 or 8" in sentence


def test_buckets_and_inspect(tvmc, two: str, tmp_path: Path) -> None:
    words = ("--dispatch", "a:0=log(1,4),1=[2,4..8]")
    tvmc("compile", two, "-o", str(tmp_path / "pkg"), *words)
    facts = json.loads(tvmc("inspect", str(tmp_path / "pkg"), "--json").out)
    (entry,) = facts["archs"].values()
    assert [f["sizes"] for f in entry["functions"]] == [
        {"batch": batch, "wa": wa}
        for batch in ([1, 2], [2, 4], [4, None])
        for wa in ([2, 3], [4, 9])
    ] + [{}]
    asked = ("--json", "--shapes", "a:[5,4,3] b:[5,1,3]")
    (at,) = json.loads(tvmc("inspect", str(tmp_path / "pkg"), *asked).out)["at"].values()
    assert at["function"] == 5
    shown = tvmc("inspect", str(tmp_path / "pkg")).out
    assert "batch == 1 and 4 <= wa < 9" in shown
    failed = tvmc("inspect", str(tmp_path / "pkg"), "--plot", str(tmp_path / "p.svg"))
    assert "the shapes of this model can change" in failed.sentence()


def test_listed_shapes(tvmc, two: str, tmp_path: Path) -> None:
    listed = [
        w for s in ("a:[1,2,3] b:[1,1,3]", "a:[2,1,3] b:[2,2,3]") for w in ("--input-shapes", s)
    ]
    tvmc("compile", two, "-o", str(tmp_path / "pkg"), *listed)
    run = ("run", str(tmp_path / "pkg"), "--shapes")
    assert "y: float32[2, 3, 3]" in tvmc(*run, "a:[2,1,3] b:[2,2,3]", "--print-top", "1").out
    assert "not compiled for these sizes" in tvmc(*run, "a:[2,2,3] b:[2,1,3]").sentence()
    asked = ("inspect", str(tmp_path / "pkg"), "--shapes", "a:[9,2,3] b:[9,1,3]")
    assert "was not compiled for batch = 9" in tvmc(*asked).sentence()


def test_bounds(tvmc, two: str, tmp_path: Path) -> None:
    tvmc("compile", two, "-o", str(tmp_path / "pkg"), "--input-shapes", "a:[1..4,?,3]")
    assert "dim 'batch': 1 to 4" in tvmc("inspect", str(tmp_path / "pkg")).out
    run = ("run", str(tmp_path / "pkg"), "--shapes", "a:[5,1,3] b:[5,1,3]")
    assert "it is 5, the model takes 1 to 4" in tvmc(*run).sentence()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--dispatch", "a:0"], "cannot read"),
        (["--dispatch", "a:0=log(1)"], "log.low,high. or uniform"),
        (["--dispatch", "a:0=[1,x]"], "cannot read 'x'"),
        (["--dispatch", "a:0=[1],0=[2]"], "given twice"),
        (["--dispatch", "z:0=log"], "'z' is no input; they are 'a', 'b'"),
        (["--dispatch", "a:2=log"], "is 3, which is not symbolic"),
        (["--dispatch", "a:0=[1..4,2]"], "overlap"),
        (["--dispatch", "a:0=log,1=log", "--max-buckets", "80"], "81 programs and the limit is 80"),
        (["--input-shapes", "a:[4..2,2,3]"], "hold no size"),
        (["--input-shapes", "a:[?,?,4..9]"], "is 3 in the model, which is not within 4 to 9"),
        (["--input-shapes", "a:[1..2,?,3] b:[3..4,?,3]"], "no size in common"),
        (["--input-shapes", "a:[1,2,3]", "--input-shapes", "a:[1,2]"], "different ranks"),
    ],
)
def test_what_is_refused(tvmc, two: str, tmp_path: Path, arguments: list[str], words: str) -> None:
    failed = tvmc("compile", two, "-o", str(tmp_path / "pkg"), *arguments)
    assert re.search(words, failed.sentence())
    assert not (tmp_path / "pkg").exists()


def test_words_of_dispatch() -> None:
    assert dynamic.buckets("a/b:c:0=log,2=uniform(2,8,3)")["a/b:c"][2] == [
        (2, 5),
        (5, 8),
        (8, None),
    ]
    assert dynamic.buckets("x:-1=[0,2..]") == {"x": {-1: [(0, 1), (2, None)]}}


def test_words_of_bounds() -> None:
    found = options.shapes("x:[1..64,3,?,n=2..,w]")
    assert found == {"x": (Symbol("", 1, 64), 3, -1, Symbol("n", 2, None), "w")}
    with pytest.raises(InputError, match="nor bounds like 1..64, nor a multiple like 32.h"):
        options.shapes("x:[1...3]")


def test_words_of_multiples() -> None:
    found = options.shapes("x:[32*h, 16*(w=1..20), 8*(2..), 4*?]")
    assert found == {
        "x": (
            Multiple(32, Symbol("h")),
            Multiple(16, Symbol("w", 1, 20)),
            Multiple(8, Symbol("", 2)),
            Multiple(4, Symbol("")),
        )
    }
    for wrong in ("h*32", "0*h", "1*h", "32*", "32*(h)", "32*3"):
        with pytest.raises(InputError, match="nor a multiple like"):
            options.shapes(f"x:[{wrong}]")


def test_advice(tvmc, two: str, tmp_path: Path) -> None:
    (told,) = tvmc("compile", two, "-o", tmp_path / "pkg").err.splitlines()
    given = "a:[batch=1..8,1..256,3] b:[batch,1..256,3]"
    assert told == (
        "tvmc: hint: 'batch', 'wa' and 'wb' are unbounded: what depends on them is planned at run"
        f' time; give --input-shapes "{given}" --arena fixed for an arena of known size'
    )
    followed = tvmc(
        "compile", two, "-o", tmp_path / "pkg", "--input-shapes", given, "--arena", "fixed"
    )
    assert followed.err == "" and re.search(r"arena by shape, at most [\d,]+ bytes", followed.out)
    bounded = ("--input-shapes", "a:[1..2,1..3,3] b:[?,1..4,3]")
    assert tvmc("compile", two, "-o", tmp_path / "pkg", *bounded).err == ""
    assert tvmc("compile", two, "-o", tmp_path / "pkg", "--quiet").err == ""


def test_fixed_arena(tvmc, two: str, tmp_path: Path) -> None:
    fixed = ("compile", two, "-o", tmp_path / "pkg", "--arena", "fixed")
    assert "the dim 'batch' has no bound" in tvmc(*fixed).sentence()
    assert not (tmp_path / "pkg").exists()
    tvmc(*fixed, "--input-shapes", "a:[1..2,1..3,3] b:[?,1..4,3]")
    header = (tmp_path / "pkg/include/two.h").read_text()
    (limit,) = re.findall(r"#define TWO_ARENA_BYTES (\d+)", header)
    for shapes in ("a:[2,3,3] b:[2,4,3]", "a:[1,1,3] b:[1,1,3]"):
        found = json.loads(tvmc("inspect", tmp_path / "pkg", "--shapes", shapes, "--json").out)
        assert all(at["arena_bytes"] <= int(limit) for at in found["at"].values())
    outside = tvmc("inspect", tmp_path / "pkg", "--shapes", "a:[3,3,3] b:[3,4,3]").sentence()
    assert "dim 'batch' is 3; it must be 1 to 2" in outside


def test_arena_beside_sizes_that_data_says(tvmc, tmp_path: Path) -> None:
    """Where the shapes leave a part of a block open, something else of it is larger."""
    nodes = [
        helper.make_node("NonZero", ["x"], ["i"]),
        helper.make_node("Add", ["i", "i"], ["y"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])
    y = helper.make_tensor_value_info("y", TensorProto.INT64, [2, "k"])
    onnx.save(
        helper.make_model(helper.make_graph(nodes, "found", [x], [y]), ir_version=8),
        tmp_path / "found.onnx",
    )
    tvmc("compile", tmp_path / "found.onnx", "-o", tmp_path / "pkg")
    found = json.loads(tvmc("inspect", tmp_path / "pkg", "--shapes", "x:[5,3]", "--json").out)
    assert all(at["arena_bytes"] >= 5 * 3 * 8 for at in found["at"].values())
