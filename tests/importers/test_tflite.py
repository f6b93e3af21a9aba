"""TFLite models give what LiteRT gives; what is none, or cannot be compiled, is one sentence."""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.closeness import assert_close
from tests.frontend import running
from tests.importers import tflite_models
from tests.importers.tflite_models import IMAGE, Model, Quantised
from tvm_megcc import driver, execute, relay
from tvm_megcc.core.dtypes import numpy_dtype
from tvm_megcc.core.program import Program
from tvm_megcc.errors import InputError, MegccError, ToolError, UnsupportedError
from tvm_megcc.importers import import_model


def saved(folder: Path, model: bytes, name: str = "model.tflite") -> Path:
    path = folder / name
    path.write_bytes(model)
    return path


def compiled(path: Path, arch: str = "arm64") -> Program:
    program = driver.compile_programs(path, [arch])[arch]
    assert isinstance(program, Program)
    return program


def run(path: Path, images: list[np.ndarray]) -> list[dict[str, np.ndarray]]:
    """What the package of a model makes of each image."""
    driver.compile_model(path, path.parent / "package")
    with execute.opened(str(path.parent / "package")) as runnable:
        return [dict(runnable.run({IMAGE: image}).outputs) for image in images]


@pytest.mark.slow
def test_module_of_tvms_importer_is_built_as_any_other() -> None:
    import tflite
    import tvm
    from tvm.relax.frontend.tflite import from_tflite

    model = tflite_models.float_model()
    mod = from_tflite(tflite.Model.GetRootAsModel(model, 0))
    library = relay.build(mod)
    machine = relay.GraphModule(library["default"](tvm.cpu()))
    (image,) = images((1, 9, 9, 3))
    machine.run(**{IMAGE: image})
    for number, want in enumerate(tflite_models.litert(model, [image])):
        assert_close(machine.get_output(number).numpy(), want)


def images(shape: tuple[int, ...], count: int = 1) -> list[np.ndarray]:
    return [np.random.default_rng(k).normal(size=shape).astype(np.float32) for k in range(count)]


@pytest.mark.slow
def test_float_model_gives_what_litert_gives(tmp_path: Path) -> None:
    model = tflite_models.float_model()
    (image,) = images((1, 9, 9, 3))
    (outputs,) = run(saved(tmp_path, model), [image])
    assert list(outputs) == ["probability", "features"]
    for got, want in zip(outputs.values(), tflite_models.litert(model, [image]), strict=True):
        assert_close(got, want)


@pytest.mark.slow
def test_other_operators_give_what_litert_gives(tmp_path: Path) -> None:
    model = tflite_models.heads_model()
    (image,) = images((1, 6, 5, 4))
    (outputs,) = run(saved(tmp_path, model), [image])
    for name, want in zip(outputs, tflite_models.litert(model, [image]), strict=True):
        assert_close(outputs[name], want)


@pytest.mark.slow
def test_int8_model_is_within_a_step_of_litert(tmp_path: Path) -> None:
    """LiteRT rounds in fixed point, we in f32: an element may be the neighbour of LiteRT's."""
    model = tflite_models.quantised_model()
    rng = np.random.default_rng(0)
    given = [rng.integers(-128, 128, (1, 9, 9, 3)).astype(np.int8) for _ in range(4)]
    for image, outputs in zip(given, run(saved(tmp_path, model), given), strict=True):
        for got, want in zip(outputs.values(), tflite_models.litert(model, [image]), strict=True):
            assert got.dtype == np.int8
            assert np.abs(got.astype(int) - want).max() <= 1


def test_int8_model_computes_in_8_bits(tmp_path: Path) -> None:
    """Layouts, weights, biases and activations as TFLite has them leave no float but softmax's."""
    path = saved(tmp_path, tflite_models.quantised_model())
    program = compiled(path, "cortexm+dsp")
    assert program.work is not None
    assert dict(program.work.multiply_adds) == {"i8": 25 * 27 * 8 + 25 * 9 * 8 + 32 * 5}
    kernels = [name.split("_")[1] for name in re.findall(r"= (megcc_\w+)\(", str(program))]
    assert kernels == ["qconv2d", "dwqconv2d", "qbinary", "qpool2d", "qmatmul", "qsoftmax"]
    assert program.arena_bytes == 256 + 200  # two tensors of 200 bytes, at multiples of 64


@pytest.mark.slow
def test_other_operators_of_int8_compute_in_8_bits(tmp_path: Path) -> None:
    model = tflite_models.quantised_heads_model()
    path = saved(tmp_path, model)
    program = compiled(path, "cortexm+dsp")
    assert program.work is not None and set(program.work.multiply_adds) == {"i8"}
    computed = [t for t in program.tensors if t.location.space != "weight"]
    assert {t.dtype for t in computed} <= {"i8", "u8"}  # workspace is u8
    rng = np.random.default_rng(0)
    given = [rng.integers(-128, 128, (1, 6, 5, 4)).astype(np.int8) for _ in range(3)]
    for image, outputs in zip(given, run(path, given), strict=True):
        wanted = tflite_models.litert(model, [image])
        for (name, got), want in zip(outputs.items(), wanted, strict=True):
            assert got.dtype == np.int8 and got.shape == want.shape
            assert np.abs(got.astype(int) - want).max() <= 1, name


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_averages_of_bytes_are_litert_s_to_the_bit(tmp_path: Path, dtype: str) -> None:
    """Halves are rounded away from 0: a quarter of all averages of four is one."""
    model = tflite_models.averages_model(dtype)
    info, rng = np.iinfo(dtype), np.random.default_rng(0)
    given = [rng.integers(info.min, info.max + 1, (1, 9, 8, 5)).astype(dtype) for _ in range(8)]
    path = saved(tmp_path, model)
    assert set(re.findall(r"= megcc_(\w+?)_", str(compiled(path)))) == {"qpool2d"}
    for image, outputs in zip(given, run(path, given), strict=True):
        for got, want in zip(outputs.values(), tflite_models.litert(model, [image]), strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", ["corrected_model", "moving_model"])
def test_operators_that_tvms_importer_gets_wrong(tmp_path: Path, name: str) -> None:
    """What TVM's own compiler makes of the imported module is what LiteRT gives."""
    model = getattr(tflite_models, name)()
    imported = import_model(saved(tmp_path, model))
    (port,) = imported.inputs
    shape = [int(dim) for dim in port.shape]
    spread = 1 if port.dtype == "f32" else 30
    given = np.random.default_rng(0).normal(0, spread, shape).astype(numpy_dtype(port.dtype))
    found = running.run(imported, {port.name: given})
    for got, want in zip(found, tflite_models.litert(model, [given]), strict=True):
        assert got.dtype == want.dtype
        assert_close(got, want)


def test_elements_move_between_equal_steps_only(tmp_path: Path) -> None:
    made = Model("scales")
    x = made.tensor("x", (2, 3), "int8", Quantised(0.1))
    y = made.op("REVERSE_V2", [x, made.constant("axes", np.array([0], np.int32))], "y", (2, 3),
                "int8", Quantised(0.2))  # fmt: skip
    with pytest.raises(UnsupportedError, match="REVERSE_V2 between tensors of different scales"):
        import_model(saved(tmp_path, made.saved([x], [y])))


def test_image_network_has_kernels_and_no_transposes(tmp_path: Path) -> None:
    """TFLite is channels last with weights as HWIO: nothing is moved, nothing is generated."""
    program = str(compiled(saved(tmp_path, tflite_models.float_model())))
    kernels = re.findall(r"= (megcc_\w+)\(", program)
    assert len(kernels) == 5, program
    assert not [k for k in kernels if "transpose" in k or k.startswith("megcc_tir")], program


def test_ports_have_the_names_and_types_of_the_file(tmp_path: Path) -> None:
    imported = import_model(saved(tmp_path, tflite_models.quantised_model(), "net.tflite"))
    assert imported.name == "net"
    assert [(p.name, p.dtype, p.shape) for p in imported.inputs] == [(IMAGE, "i8", (1, 9, 9, 3))]
    assert [p.name for p in imported.outputs] == ["probability", "features"]


def test_the_same_output_twice_has_two_names(tmp_path: Path) -> None:
    made = Model("twice")
    x = made.tensor("x", (2, 3))
    y = made.op("ABS", [x], "y", (2, 3))
    imported = import_model(saved(tmp_path, made.saved([x], [y, y])))
    assert [p.name for p in imported.outputs] == ["y", "y_1"]


def test_other_sizes_are_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, tflite_models.float_model())
    with pytest.raises(InputError, match="dim 0 is 1 in the model, not 4; give 1"):
        import_model(path, {IMAGE: (4, 9, 9, 3)})
    with pytest.raises(InputError, match="'x' is no input of the model"):
        import_model(path, {"x": (1, 9, 9, 3)})


def of(kind: str, quantised: Quantised | None = None) -> bytes:
    made = Model("one")
    x = made.tensor("x", (1, 4), "int8" if quantised else "float32", quantised)
    y = made.op(kind, [x], "y", (1, 4), "int8" if quantised else "float32", quantised)
    return made.saved([x], [y])


def test_operators_without_a_converter_are_named(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"TVM's TFLite importer: .*LSH_PROJECTION"):
        import_model(saved(tmp_path, of("LSH_PROJECTION")))
    with pytest.raises(UnsupportedError, match=r"quantized TFLite operators .*'SIGN'"):
        import_model(saved(tmp_path, of("SIGN", Quantised(0.1))))


def test_custom_operators_are_named(tmp_path: Path) -> None:
    made = Model("custom")
    x = made.tensor("x", (1, 4))
    y = made.op("CUSTOM", [x], "y", (1, 4))
    made.model.operatorCodes[0].customCode = "FFT2"
    with pytest.raises(UnsupportedError, match="no converter for the custom operators FFT2;"):
        import_model(saved(tmp_path, made.saved([x], [y])))


def test_tensors_of_one_name_are_refused(tmp_path: Path) -> None:
    made = Model("names")
    x = made.tensor("x", (1, 4))
    y = made.op("NEG", [made.op("ABS", [x], "y", (1, 4))], "y", (1, 4))
    with pytest.raises(InputError, match="2 tensors are called 'y'"):
        import_model(saved(tmp_path, made.saved([x], [y])))


def test_files_that_are_no_models(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        import_model(tmp_path / "none.tflite")
    with pytest.raises(InputError, match="the file is empty"):
        import_model(saved(tmp_path, b""))
    with pytest.raises(InputError, match="not a TFLite model"):
        import_model(saved(tmp_path, b"this is no model"))
    with pytest.raises(InputError, match="TVM's TFLite importer cannot read it"):
        import_model(saved(tmp_path, tflite_models.float_model()[:600]))


def test_damaged_models_are_one_sentence(tmp_path: Path) -> None:
    """Whatever TVM's importer makes of a few wrong bytes, it is a model or an error of ours."""
    whole = tflite_models.float_model()
    refused = 0
    for seed in range(40):
        chance = random.Random(seed)
        damaged = bytearray(whole)
        for _ in range(3):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            import_model(saved(tmp_path, bytes(damaged)))
        except MegccError as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path, tflite_models.float_model())
    monkeypatch.setitem(sys.modules, "tflite", None)
    with pytest.raises(ToolError, match="pip install tflite"):
        import_model(path)
