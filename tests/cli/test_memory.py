"""``tvmc`` and memory: sizes, pools, planners, limits, and what ``inspect`` says of a plan."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tvm_megcc import driver, frontend, passes, zoo
from tvm_megcc.cli import memory
from tvm_megcc.core.preference import Preference
from tvm_megcc.errors import InputError
from tvm_megcc.host.files import read_tree
from tvm_megcc.memory import PLANNERS
from tvm_megcc.memory_options import MemoryOptions
from tvm_megcc.relax_tools.largest import largest_needed


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("1500", 1500),
        ("256K", 262_144),
        ("256Ki", 262_144),
        ("8M", 8_388_608),
        ("8Mi", 8_388_608),
        ("1.5Ki", 1536),
        (".5M", 524_288),
    ],
)
def test_sizes(text: str, number: int) -> None:
    assert memory.size("--memory-limit", text) == number


@pytest.mark.parametrize("text", ["", "K", "-1", "1e3", "256KB", "256k", "1 K", "0x10", "1.K"])
def test_sizes_refused(text: str) -> None:
    with pytest.raises(InputError, match="--memory-limit: .* is no size"):
        memory.size("--memory-limit", text)


def test_pools() -> None:
    assert memory.pools("sram:256K, psram:8Mi") == (("sram", 262_144), ("psram", 8_388_608))
    assert memory.pools("fast:1,slow") == (("fast", 1), ("slow", None))


@pytest.mark.parametrize("text", ["", "sram:", ":1", "sram:1,,b", "a:1,a:2", "a-b:1", "a:x"])
def test_pools_refused(text: str) -> None:
    with pytest.raises(InputError, match="--memory-pools"):
        memory.pools(text)


def test_named_planners_exist() -> None:
    assert set(memory.NAMED) <= set(PLANNERS)
    assert MemoryOptions().planner == PLANNERS[0]


def facts(tvmc, package: Path) -> dict:
    (arch,) = json.loads(tvmc("inspect", package, "--json").out)["archs"].values()
    return arch


@pytest.mark.parametrize("planner", memory.NAMED)
def test_every_planner_makes_a_package(
    tvmc, model: Path, inputs: Path, tmp_path: Path, planner: str
) -> None:
    out = tmp_path / "pkg"
    ran = tvmc("compile", model, "-o", out, "--memory-planner", planner, "--memory-time", "1")
    assert (ran.status, ran.err) == (0, "")
    plan = facts(tvmc, out)["memory"]
    assert planner in (plan["planner"], "auto")
    assert plan["lower_bound"] <= facts(tvmc, out)["arena_bytes"] <= plan["naive_bytes"]


def test_inspect_tells_the_plan(tvmc, package: Path) -> None:
    arch = facts(tvmc, package)
    plan = arch["memory"]
    assert plan["optimal"] and plan["lower_bound"] == arch["arena_bytes"] > 0
    live = plan["live_at_peak"]
    assert live == sorted(live, key=lambda b: -b["bytes"]) and live
    assert all(b["first"] <= plan["peak_step"] < b["last"] for b in live)
    out = tvmc("inspect", package).out
    assert f"arena {arch['arena_bytes']} bytes, lower bound {plan['lower_bound']}: optimal" in out
    assert f"peak during call {plan['peak_step']}, '{plan['peak_call']}'" in out
    assert f"{live[0]['bytes']}  {live[0]['name']}" in out


def test_plot_is_an_svg_with_every_block(tvmc, package: Path, tmp_path: Path) -> None:
    assert tvmc("inspect", package, "--plot", tmp_path / "m.svg").status == 0
    tree = ElementTree.parse(tmp_path / "m.svg").getroot()
    said = [t.text or "" for t in tree.iter("{http://www.w3.org/2000/svg}title")]
    for block in facts(tvmc, package)["memory"]["blocks"]:
        place = f"{block['bytes']:,} bytes at {block['offset']:,}"
        assert any(t.startswith(f"{block['name']}\n{place}\n") for t in said)
    texts = [t.text or "" for t in tree.iter("{http://www.w3.org/2000/svg}text")]
    plan = facts(tvmc, package)["memory"]
    assert any(
        t.startswith(f"peak at step {plan['peak_step']}, {plan['peak_call']}") for t in texts
    )
    before = (tmp_path / "m.svg").read_bytes()
    assert tvmc("inspect", package, "--plot", tmp_path / "m.svg", "--arch", "host").status == 0
    assert (tmp_path / "m.svg").read_bytes() == before


def test_plot_refuses(tvmc, package: Path, tmp_path: Path) -> None:
    for file, more, words in [
        (tmp_path / "m.png", [], "must end in .svg"),
        (tmp_path / "no" / "m.svg", [], "no such directory"),
        (tmp_path / "m.svg", ["--arch", "armv7"], "has no armv7 code"),
    ]:
        assert words in tvmc("inspect", package, "--plot", file, *more).sentence()
    assert not list(tmp_path.iterdir())


def test_inspect_of_a_package_without_a_plan(tvmc, package: Path, tmp_path: Path) -> None:
    """Packages of an earlier version have none."""
    shutil.copytree(package, tmp_path / "old")
    path = tmp_path / "old" / "manifest.json"
    manifest = json.loads(path.read_text())
    for entry in manifest["per_arch"].values():
        del entry["memory"]
    path.write_text(json.dumps(manifest))
    assert "memory for" not in tvmc("inspect", tmp_path / "old").out
    ran = tvmc("inspect", tmp_path / "old", "--plot", tmp_path / "m.svg")
    assert "compile the model again" in ran.sentence()


def test_io_in_the_arena_takes_more_of_it(tvmc, model: Path, tmp_path: Path) -> None:
    sizes = []
    for number, options in enumerate((["--io", "caller"], ["--io", "arena"])):
        out = tmp_path / str(number)
        assert tvmc("compile", model, "-o", out, *options).status == 0
        sizes.append(facts(tvmc, out)["arena_bytes"])
    assert sizes[0] < sizes[1]
    names = {b["name"] for b in facts(tvmc, tmp_path / "1")["memory"]["blocks"]}
    assert "x:0" in names


def test_clobber_inputs_needs_them_in_the_arena(tvmc, model: Path, tmp_path: Path) -> None:
    ran = tvmc("compile", model, "-o", tmp_path / "p", "--clobber-inputs")
    assert "add --io arena" in ran.sentence()
    assert not list(tmp_path.iterdir())


def test_limit_that_is_too_small_names_bytes_and_call_and_keeps_the_output(
    tvmc, model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "pkg"
    assert tvmc("compile", model, "-o", out).status == 0
    arch, before = facts(tvmc, out), read_tree(out)
    need, call = arch["arena_bytes"], arch["memory"]["peak_call"]
    limit = ("--memory-limit", need - 5, "--stream", "off")
    said = tvmc("compile", model, "-o", out, *limit).sentence()
    assert "5 bytes" in said and f"'{call}'" in said
    assert read_tree(out) == before
    assert tvmc("compile", model, "-o", out, "--memory-limit", need).status == 0
    assert read_tree(out) == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--memory-planner", "frob"], "planner 'frob' is unknown"),
        (["--memory-time", "nan"], "time limit"),
        (["--memory-time", "-1"], "time limit"),
        (["--memory-limit", "much"], "--memory-limit"),
        (["--memory-pools", "sram:"], "--memory-pools"),
    ],
)
def test_bad_options(tvmc, model: Path, tmp_path: Path, options: list[str], words: str) -> None:
    assert words in tvmc("compile", model, "-o", tmp_path / "p", *options).sentence()
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_pools_are_shown_and_give_the_same_answers(
    tvmc, model: Path, package: Path, inputs: Path, tmp_path: Path
) -> None:
    out = tmp_path / "pkg"
    pools = ["--io", "arena", "--memory-pools", "sram:40,psram"]
    assert tvmc("compile", model, "-o", out, *pools).status == 0
    plan = facts(tvmc, out)["memory"]
    assert [p["name"] for p in plan["pools"]] == ["sram", "psram"]
    assert all(p["bytes"] > 0 for p in plan["pools"]) and plan["pools"][0]["bytes"] <= 40
    assert {b["pool"] for b in plan["blocks"]} == {0, 1}
    said = tvmc("inspect", out, "--plot", tmp_path / "m.svg").out
    assert f"pool psram: {plan['pools'][1]['bytes']} bytes" in said
    assert "psram: " in (tmp_path / "m.svg").read_text()
    for number, built in enumerate((package, out)):
        answers = tmp_path / f"{number}.npz"
        assert tvmc("run", built, "--inputs", inputs, "--outputs", answers).status == 0
    assert (tmp_path / "0.npz").read_bytes() == (tmp_path / "1.npz").read_bytes()


def test_pools_that_are_too_small(tvmc, model: Path, package: Path, tmp_path: Path) -> None:
    shutil.copytree(package, tmp_path / "pkg")
    ran = tvmc("compile", model, "-o", tmp_path / "pkg", "--memory-pools", "sram:8,psram:8")
    assert "bytes are missing" in ran.sentence() and "'psram' of 8 bytes" in ran.sentence()
    assert read_tree(tmp_path / "pkg") == read_tree(package)


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--clobber-inputs"]])
def test_io_in_the_arena_gives_the_same_answers(
    tvmc, model: Path, package: Path, inputs: Path, tmp_path: Path, options: list[str]
) -> None:
    assert tvmc("compile", model, "-o", tmp_path / "pkg", "--io", "arena", *options).status == 0
    for number, built in enumerate((package, tmp_path / "pkg")):
        answers = tmp_path / f"{number}.npz"
        assert tvmc("run", built, "--inputs", inputs, "--outputs", answers).status == 0
    assert (tmp_path / "0.npz").read_bytes() == (tmp_path / "1.npz").read_bytes()


def test_opt_plans_with_the_same_options(tvmc, model: Path) -> None:
    out = tvmc("opt", model, "--io", "arena", "--print", "planned").out
    assert "input 'x:0' = %0:f32[2, 3]@arena[0]" in out


def _chain(first: str = "Relu", shape: tuple[int, ...] = (1, 4, 16, 16)) -> onnx.ModelProto:
    """Two convolutions with an operator between, which may be another one's output, too."""
    weight = numpy_helper.from_array(np.ones((4, 4, 1, 1), np.float32), "w")
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], "first"),
        helper.make_node(first, ["c"], ["r"], "between"),
        helper.make_node("Conv", ["r", "w"], ["y"], "second"),
    ]
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in ("x", "y", "r")]
    graph = helper.make_graph(nodes, "chain", ports[:1], ports[1:2], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def test_a_limit_below_one_value_is_refused_before_kernels_are_chosen(
    tvmc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    onnx.save(_chain(), tmp_path / "chain.onnx")
    words = ("compile", tmp_path / "chain.onnx", "-o", tmp_path / "pkg")
    exact = 4 * 16 * 16 * 4
    assert tvmc(*words, "--memory-limit", 2 * exact).status == 0
    monkeypatch.setattr(passes, "stages", lambda *args: pytest.fail("kernels were chosen"))
    for given in (
        ("--memory-limit", exact - 1),
        ("--memory-pools", f"a:{exact // 2 - 1},b:{exact // 2}"),
        ("--memory-limit", exact - 1, "--memory-pools", "a,b"),
    ):
        said = tvmc(*words, *given, "--stream", "off").sentence()
        assert f"alone takes {exact}" in said


@pytest.fixture
def image_model(tmp_path: Path) -> Path:
    onnx.save(zoo.build("tiny_cnn"), tmp_path / "tiny_cnn.onnx")
    return tmp_path / "tiny_cnn.onnx"


def test_a_limit_is_met_by_bands_of_rows(tvmc, image_model: Path, tmp_path: Path) -> None:
    assert tvmc("compile", image_model, "-o", tmp_path / "whole").status == 0
    whole = facts(tvmc, tmp_path / "whole")["arena_bytes"]
    words = ("compile", image_model, "-o", tmp_path / "pkg", "--memory-limit", whole - 5)
    assert tvmc(*words).status == 0
    assert facts(tvmc, tmp_path / "pkg")["arena_bytes"] <= whole - 5


def test_a_limit_is_met_by_the_largest_bands(tvmc, tmp_path: Path) -> None:
    onnx.save(zoo.build("mobilenet_v1", size=96), tmp_path / "model.onnx")
    words = ("compile", tmp_path / "model.onnx", "--arch", "arm64", "-o", tmp_path / "pkg")
    found = {}
    for way in (("--stream", "off"), ("--stream", "auto"), ("--memory-limit", "600K")):
        assert tvmc(*words, *way).status == 0
        found[way[-1]] = facts(tvmc, tmp_path / "pkg")
    assert found["auto"]["arena_bytes"] < found["600K"]["arena_bytes"] <= 600 * 1024
    assert found["600K"]["arena_bytes"] < found["off"]["arena_bytes"]
    iterations = {
        how: sum(group["iterations"] * len(group["bands"]) for group in found[how]["streamed"])
        for how in ("auto", "600K")
    }
    assert iterations["600K"] < iterations["auto"]


def test_the_sentence_says_how_near_bands_come(tvmc, image_model: Path, tmp_path: Path) -> None:
    words = ("compile", image_model, "-o", tmp_path / "pkg", "--memory-limit")
    missing = re.search(r"(\d+) bytes are missing", tvmc(*words, 1000).sentence())
    assert missing is not None
    least = 1000 + int(missing[1])
    assert tvmc(*words, least).status == 0
    assert facts(tvmc, tmp_path / "pkg")["arena_bytes"] == least
    assert "3 bytes are missing" in tvmc(*words, least - 3).sentence()


@pytest.mark.parametrize("given", ["0", "-1", "much", "1.5"])
def test_rows_of_a_band_are_a_number(
    tvmc, image_model: Path, capsys: pytest.CaptureFixture[str], given: str
) -> None:
    with pytest.raises(SystemExit):
        tvmc("compile", image_model, "-o", "pkg", f"--stream={given}")
    assert f"--stream: '{given}' is none of auto, off and rows" in capsys.readouterr().err


def test_a_value_that_may_be_in_the_caller_memory_is_no_reason_to_refuse() -> None:
    needed = largest_needed(frontend.from_onnx(_chain()).mod["main"])
    assert needed is not None and (needed.name, needed.bytes) == ("r", 4096)
    model = _chain()
    model.graph.output.append(helper.make_tensor_value_info("r", TensorProto.FLOAT, None))
    assert largest_needed(frontend.from_onnx(model).mod["main"]) is None


@pytest.mark.parametrize("name", ["tiny_cnn", "tiny_residual", "tiny_mlp"])
@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_no_limit_that_suffices_is_refused(name: str, precision: str) -> None:
    imported = frontend.from_onnx(zoo.build(name))
    for arch in ("portable", "arm64+fp16"):
        program = driver.compile_programs(
            zoo.build(name), [arch], preference=Preference(precision=precision)
        )[arch]
        needed = largest_needed(imported.mod["main"], 2 if precision == "fp16" else 4)
        assert needed is None or 0 < needed.bytes <= program.arena_bytes
