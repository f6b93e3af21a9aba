"""Relax modules as text: what TVM prints is taken, and nothing that is not TVMScript."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tvm
from tvm import relax

from tests.closeness import assert_close
from tvm_megcc import driver, execute
from tvm_megcc.core.program import Program
from tvm_megcc.errors import InputError, UnsupportedError
from tvm_megcc.importers import import_model, script

WEIGHT = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)


def module() -> tvm.IRModule:
    """``relu(x @ w) * 2`` for any number of rows."""
    rows = tvm.tirx.Var("rows", "int64")
    x = relax.Var("x", relax.TensorType((rows, 4), "float32"))
    w = relax.Var("w", relax.TensorType((4, 3), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, w]):
        with builder.dataflow():
            y = builder.emit(relax.op.nn.relu(builder.emit(relax.op.matmul(x, w))))
            y = builder.emit_output(relax.op.multiply(y, relax.const(2.0)))
        builder.emit_func_output(y)
    return builder.get()


def saved(folder: Path, text: str) -> Path:
    path = folder / "net.py"
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("script"), module().script(show_meta=False))


@pytest.mark.slow
def test_text_runs_with_its_weights(path: Path, tmp_path: Path) -> None:
    driver.compile_model(path, tmp_path / "pkg", params={"w": WEIGHT})
    x = np.random.default_rng(1).normal(size=(5, 4)).astype(np.float32)
    with execute.opened(str(tmp_path / "pkg")) as runnable:
        outputs = runnable.run({"x": x}).outputs
    assert_close(outputs["output"], np.maximum(x @ WEIGHT, 0) * 2)


def test_weights_without_values_are_inputs(path: Path) -> None:
    imported = import_model(path)
    assert [(p.name, p.shape) for p in imported.inputs] == [("x", ("rows", 4)), ("w", (4, 3))]
    assert [(p.name, p.shape) for p in imported.outputs] == [("output", ("rows", 3))]
    assert imported.name == "net"


def test_shapes_fix_name_and_bound_dims(path: Path) -> None:
    fixed = import_model(path, {"x": (7, 4)})
    assert (fixed.inputs[0].shape, fixed.outputs[0].shape) == ((7, 4), (7, 3))
    named = import_model(path, {"x": ("batch", -1)})
    assert (named.inputs[0].shape, named.outputs[0].shape) == (("batch", 4), ("batch", 3))
    from tvm_megcc.dims import Symbol

    bounded = import_model(path, {"x": (Symbol("", 1, 64), None)})
    assert bounded.inputs[0].symbols == (Symbol("rows", 1, 64),)
    with pytest.raises(InputError, match="dim 1 is 4 in the model, not 5"):
        import_model(path, {"x": (2, 5)})


def test_legalised_modules_and_real_imports(tmp_path: Path) -> None:
    text = relax.transform.LegalizeOps()(module()).script(show_meta=False)
    text = text.replace("# from", "from")
    programs = driver.compile_programs(saved(tmp_path, text), ["arm64"], params={"w": WEIGHT})
    assert isinstance(programs["arm64"], Program)


def test_the_only_function_is_the_model(tmp_path: Path) -> None:
    text = module().script(show_meta=False).replace("def main", "def forward")
    assert import_model(saved(tmp_path, text)).inputs[0].name == "x"
    one = text[text.index("    @R.function") :].split("class Module:")[-1]
    other = one.replace("forward", "other")
    two = text.replace("class Module:\n", f"class Module:\n{other}\n")
    with pytest.raises(InputError, match="has the functions forward, other; name the one"):
        import_model(saved(tmp_path, two))


def test_values_that_do_not_fit(path: Path) -> None:
    with pytest.raises(InputError, match="has no parameter 'v'; they are x, w"):
        import_model(path, params={"v": WEIGHT})
    with pytest.raises(InputError, match=r"parameter 'w' is float32\[4, 3\], its value is"):
        import_model(path, params={"w": WEIGHT.T})


def test_constants_of_the_text_are_not_in_it(tmp_path: Path) -> None:
    bound = relax.transform.BindParams("main", {"w": tvm.runtime.tensor(WEIGHT)})(module())
    with pytest.raises(InputError, match="line 11: the module's constants are not in its text"):
        import_model(saved(tmp_path, bound.script(show_meta=False)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("R.nn.relu(", "R.nn.relu(open('stolen', 'w') or "),
        ("R.nn.relu(", "R.nn.relu.__globals__['tvm'].runtime.x("),
        ("R.nn.relu(", "R.parser.tvm.support.x("),
        ("R.nn.relu(", "''.join("),
        ("R.nn.relu(", "(lambda a: a)("),
        ("    @R.function", "    import os\n    @R.function"),
        ("# from tvm.script import ir as I", "import os"),
        ("# from tvm.script import ir as I", "while True: pass"),
    ],
)
def test_what_is_not_tvmscript_is_refused(tmp_path: Path, old: str, new: str) -> None:
    text = module().script(show_meta=False)
    assert old in text
    with pytest.raises(InputError, match=r"line \d+: '.*' is not TVMScript"):
        import_model(saved(tmp_path, text.replace(old, new, 1)))


def test_text_that_cannot_be_parsed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not TVMScript"):
        import_model(saved(tmp_path, "class :"))
    with pytest.raises(InputError, match="not TVMScript"):
        path = saved(tmp_path, "")
        path.write_bytes(b"\xff\xfe")
        import_model(path)
    text = module().script(show_meta=False).replace("R.nn.relu", "R.nn.frobnicate")
    with pytest.raises(InputError, match="TVM's script parser cannot read it"):
        import_model(saved(tmp_path, text))
    with pytest.raises(InputError, match="has no Relax function"):
        import_model(saved(tmp_path, "@I.ir_module\nclass Module:\n    pass\n"))


def test_parameters_without_dims(tmp_path: Path) -> None:
    text = module().script(show_meta=False).replace("R.Tensor((4, 3)", "R.Tensor(ndim=2", 1)
    text = text.replace("R.Tensor((rows, 3)", "R.Tensor(ndim=2")
    with pytest.raises(UnsupportedError, match="input 'w' is .*, without dims or a type"):
        import_model(saved(tmp_path, text))


@pytest.mark.parametrize(
    "length, cut", [(0, False), (1, False), (299, False), (300, False), (301, True), (900, True)]
)
def test_a_long_message_is_cut(length: int, cut: bool, tmp_path: Path) -> None:
    """Of what reading raises, 300 characters are told; an error without a message by its type."""
    told = f"ValueError: {'x' * min(length, 300)}{'...' if cut else ''}" if length else "ValueError"
    with pytest.raises(InputError) as found, script.importing(tmp_path, "TVM", "mend it"):
        raise ValueError("x" * length)
    assert str(found.value) == f"'{tmp_path}': TVM cannot read it ({told}); mend it"
