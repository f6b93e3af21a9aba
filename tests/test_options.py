"""`CompileOptions`, and the functions that make it of the keyword arguments of earlier versions."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import onnx
import pytest

from tvm_megcc import driver, frontend, pipeline, relay, zoo
from tvm_megcc.core.preference import Preference
from tvm_megcc.dynamic_options import DynamicOptions
from tvm_megcc.errors import InputError
from tvm_megcc.memory_options import MemoryOptions
from tvm_megcc.options import CompileOptions, given
from tvm_megcc.tuning import session
from tvm_megcc.tuning.search import Report

#: Keyword arguments that all functions which compile took.
SHARED = {"io": "arena", "memory": MemoryOptions(planner="greedy-size", clobber_inputs=True)}
EXACT = Preference("size", exact=True, precision="fp32")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("options") / "tiny.onnx"
    onnx.save(zoo.build("tiny_mlp"), path)
    return path


def test_options_compile_model_takes_its_old_keywords(model: Path, tmp_path: Path) -> None:
    heard: list[str] = []
    found = driver.compile_model(
        model, tmp_path / "pkg", archs=["portable"], input_shapes=None, params=None, fmt="c",
        weights="c", stepping=True, name="old", **SHARED, preference=EXACT,
        dynamic=DynamicOptions(), externs=(), tuning_records=(), dump_ir=tmp_path / "ir",
        compiler=None, progress=heard.append, advise=heard.append, summarise=heard.append,
    )  # fmt: skip
    assert found["portable"].name == "old"
    assert "compile for portable" in heard
    assert (tmp_path / "pkg/include/megcc_step.h").exists()
    assert list((tmp_path / "ir").iterdir())
    options = CompileOptions(
        ["portable"], name="old", **SHARED, preference=EXACT, weights="c", stepping=True
    )
    assert driver.compile_model(model, tmp_path / "new", options) == found
    names = [sorted(p.name for p in (tmp_path / d).rglob("*")) for d in ("pkg", "new")]
    assert names[0] == names[1]


def test_options_compile_module_takes_its_old_keywords(model: Path) -> None:
    imported = frontend.from_onnx(model)
    found = pipeline.compile_module(
        imported.mod, "portable", name="old", input_names=["in"], output_names=["out"], io="arena",
        memory_options=SHARED["memory"], dump_ir=lambda stage, text: None, input_dtypes=(),
        output_dtypes=(), function="main", preference=EXACT,
    )  # fmt: skip
    assert [port.name for port in found.inputs] == ["in"]
    entry = pipeline.Entry("old", ["in"], ["out"])
    options = CompileOptions(**SHARED, preference=EXACT)
    assert pipeline.compile_entry(imported.mod, "portable", entry, options) == found


def test_options_tune_model_takes_its_old_keywords(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = []
    monkeypatch.setattr(session, "tune", lambda job: jobs.append(job) or Report())
    session.tune_model(
        model, tmp_path / "r.json", arch="arm64", input_shapes=None, params=None,
        dynamic=DynamicOptions(), preference=EXACT, **SHARED, measure="instructions", tracker=None,
        key=None, trials=3, seconds=5.0, earlier=(), inputs=None, sizes=(), tell=lambda line: None,
    )  # fmt: skip
    options = CompileOptions(["arm64"], **SHARED, preference=EXACT)
    session.tune_model(model, tmp_path / "r.json", options, measure="instructions")
    old, new = jobs
    assert (old.trials, old.seconds, old.preference) == (3, 5.0, EXACT)
    assert old.compile() == new.compile()


def test_options_relay_build_takes_its_old_keywords(model: Path) -> None:
    mod, params = relay.frontend.from_onnx(onnx.load(model))
    lib = relay.build(
        mod, "portable", params=params, entry="main", mod_name="old", **SHARED, externs=(),
        optimize="size", exact=True, precision="fp32", tuning_records=(),
    )  # fmt: skip
    options = CompileOptions(params=params, name="old", **SHARED, preference=EXACT)
    assert relay.build(mod, "portable", options).program == lib.program
    assert lib.program.name == "old"


@pytest.mark.parametrize(
    "call",
    [
        lambda **words: driver.compile_model("m.onnx", "out", **words),
        lambda **words: session.tune_model("m.onnx", "r.json", **words),
        lambda **words: relay.build(None, "portable", **words),
    ],
    ids=["compile_model", "tune_model", "build"],
)
def test_options_an_unknown_keyword_is_a_type_error(call) -> None:
    with pytest.raises(TypeError, match=r"\(\) got an unexpected keyword argument 'wieghts'"):
        call(wieghts="c")


def test_options_functions_refuse_fields_that_they_do_not_use() -> None:
    with pytest.raises(TypeError, match=r"^tune_model\(\) got an .* argument 'stepping'$"):
        session.tune_model("m.onnx", "r.json", stepping=True)
    with pytest.raises(TypeError, match=r"^build\(\) got an .* argument 'weights'$"):
        relay.build(None, "portable", weights="bin")


def test_options_given_replaces_fields() -> None:
    base = CompileOptions(io="arena", stepping=True)
    found = given("f", base, {"stepping": False})
    assert (found.io, found.stepping, base.stepping) == ("arena", False, True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (CompileOptions(io="heap"), "io 'heap' is not known; choose from caller, arena"),
        (CompileOptions(name="a b"), "a b"),
        (CompileOptions(memory=MemoryOptions(planner="best")), "best"),
    ],
)
def test_options_check_refuses_values(options: CompileOptions, words: str) -> None:
    with pytest.raises(InputError, match=words):
        options.check()


def test_options_every_field_is_described() -> None:
    for field in fields(CompileOptions):
        assert f"\n    {field.name} : " in (CompileOptions.__doc__ or ""), field.name


@pytest.mark.parametrize(
    "given, said",
    [
        ({}, ""),
        ({"listed": ({"x": [1]}, {"x": [2]})}, ""),
        ({"buckets": {"x": {0: [(1, 9)]}}}, ""),
        ({"buckets": {"x": {0: [(1, 9)]}}, "fallback": "none", "arena": "fixed"}, ""),
        ({"listed": ({"x": [1]},), "buckets": {"x": {0: [(1, 9)]}}}, "give one of them"),
        ({"arena": "large"}, "arena 'large' is not known; choose from exact, fixed"),
        ({"fallback": "all"}, "fallback 'all' is not known; choose from symbolic, none"),
    ],
)  # fmt: skip
def test_dynamic_options_that_go_together(given: dict, said: str) -> None:
    if not said:
        assert {name: getattr(DynamicOptions(**given), name) for name in given} == given
        return
    with pytest.raises(InputError, match=said):
        DynamicOptions(**given)


@pytest.mark.parametrize(
    "listed, shapes, told",
    [
        ((), None, None),
        ((), {"x": [1, 2]}, {"x": [1, 2]}),
        (({"x": [1, 2]}, {"x": [1, 2]}), None, {"x": [1, 2]}),
        (({"x": [1, 2], "y": [4]}, {"y": [4], "z": [5]}), {}, {"x": [1, 2], "y": [4], "z": [5]}),
    ],
)
def test_what_listed_shapes_have_in_common(
    listed: tuple, shapes: dict | None, told: dict | None
) -> None:
    found = DynamicOptions(listed).import_shapes(shapes)
    assert (found and {name: [*dims] for name, dims in found.items()}) == told


def test_listed_shapes_and_input_shapes() -> None:
    with pytest.raises(InputError, match="give listed shapes or input shapes, not both"):
        DynamicOptions(({"x": [1]},)).import_shapes({"x": [1]})
    options = DynamicOptions(({"x": [1, 7]}, {"x": [2, 7]}))
    dims = (options.import_shapes(None) or {})["x"]
    assert dims[1] == 7 and not isinstance(dims[0], int)
