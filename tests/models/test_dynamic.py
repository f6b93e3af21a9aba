"""Models whose dims are open: one package each, at every stored case and at ten further sizes.

The stored cases are held to the stored outputs; the further sizes to what ONNX Runtime says at that
size. The arena that the VM asks for is compared with the plan for exactly that size.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import corpus
import numpy as np
import onnx
import onnxruntime as ort
import pytest
import routes
from onnx import numpy_helper

from tests.models_support import check_blocks
from tvm_megcc import driver, frontend
from tvm_megcc.core.preference import DEFAULT, Preference
from tvm_megcc.core.program import Program
from tvm_megcc.host import package, toolchain
from tvm_megcc.memory.stacking import arena_bytes
from tvm_megcc.ops.common import recurrent
from tvm_megcc.pipeline import compile_module

pytestmark = [pytest.mark.together(by="dynamic_model"), pytest.mark.slow]

ARCHS = ("host", "arm64")
#: ARCHS, and the host with tensors' memory filled when they die.
ROUTES = (*ARCHS, routes.POISON)
#: The symbolic arena may be this much larger than the plan for the very size.
WASTE = 1.15
#: What is so small may be larger. Outputs that follow their input at a distance of 96 pixels (the
#: block of a matrix product) share its memory, which is decided at usual sizes: where an image has
#: hardly more pixels, a chain of such calls has each output behind the one before.
SMALL = 200_000

Sizes = Mapping[str, int]


def _batches(*values: int) -> tuple[dict[str, int], ...]:
    """Sizes of a model whose only open dim is the first of its only input."""
    return tuple({"": v} for v in values)


#: Model -> ten sets of sizes, by name of the dim ("" where there is one), that the model accepts
#: (``dim_constraint`` in the corpus's INDEX.json).
SIZES: dict[str, tuple[Sizes, ...]] = {
    "yunet_n_dynamic": tuple(
        {"batch": b, "height": 32 * h, "width": 32 * w}
        for b, h, w in (
            (1, 1, 1), (1, 1, 2), (1, 2, 1), (2, 1, 1), (3, 2, 3), (1, 5, 4), (1, 3, 7), (2, 4, 2),
            (1, 7, 5), (4, 1, 3),
        )
    ),
    "ppocr_v3_det": tuple(
        {"x_dim0": b, "x_dim2": 32 * h, "x_dim3": 32 * w}
        for b, h, w in (
            (1, 1, 1), (1, 1, 2), (1, 2, 1), (2, 1, 1), (3, 1, 2), (1, 3, 2), (1, 2, 4), (2, 2, 2),
            (1, 4, 3), (1, 1, 6),
        )
    ),
    "rivagan_encoder": tuple(
        {"batch_size": b, "height": h, "width": w, "wmBits": 32}
        for b, h, w in (
            (1, 1, 1), (1, 2, 3), (2, 5, 4), (1, 7, 7), (3, 1, 9), (1, 16, 8), (1, 13, 21),
            (2, 8, 8), (1, 31, 2), (4, 3, 3),
        )
    ),
    "tinybert_test": tuple(
        {"batch": b, "sequence": s}
        for b, s in (
            (1, 1), (1, 2), (2, 1), (3, 5), (1, 7), (4, 8), (1, 31), (2, 33), (1, 64), (1, 100),
        )
    ),
    "magika_v1": _batches(1, 2, 3, 4, 5, 6, 7, 8, 9, 12),
    "fsmn_vad_offline": _batches(1, 2, 3, 7, 16, 31, 33, 50, 64, 100),
    "oww_melspec": tuple(
        {"batch_size": b, "samples": n}
        for b, n in (
            (1, 512), (1, 513), (1, 640), (2, 512), (3, 1000), (1, 1999), (2, 3201), (1, 16000),
            (5, 700), (1, 2048),
        )
    ),
    "heating_gru": tuple(
        {"batch_size": b, "sequence_length": s}
        for b, s in (
            (1, 1), (1, 2), (2, 1), (1, 8), (1, 9), (2, 17), (3, 5), (1, 48), (2, 33), (5, 3),
        )
    ),
    "g2p_en_lstm": tuple(
        {"T": t, "U": u}
        for t, u in (
            (6, 1), (6, 2), (7, 1), (8, 3), (9, 2), (10, 1), (12, 4), (17, 2), (31, 5), (40, 9),
        )
    ),
    "sentence_bilstm_small": tuple(
        {"batch": b, "length": n}
        for b, n in (
            (1, 1), (1, 2), (2, 1), (1, 7), (2, 8), (3, 9), (1, 16), (1, 31), (4, 5), (1, 64),
        )
    ),
    "crnn_coin_captcha": _batches(4, 5, 7, 8, 16, 31, 37, 64, 75, 100),
    "basic_pitch": _batches(1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
    "face_antispoof_fp32": _batches(1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
    "super_resolution": _batches(1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
    "cifar_cnn_winml": _batches(1, 2, 3, 4, 5, 7, 8, 15, 16, 33),
    "hand_keypoint_mlp": _batches(1, 2, 3, 4, 5, 7, 8, 15, 16, 33),
}  # fmt: skip

#: Up to half a minute for each image of a batch under qemu: the sizes that arm64 tries besides its
#: last stored case.
HEAVY: dict[str, Sequence[int]] = {
    "rivagan_encoder": range(10),
    "ppocr_v3_det": range(10),
    "super_resolution": (),
    "magika_v1": (0, 1, 2),
    "basic_pitch": (1,),
    "face_antispoof_fp32": (2, 4),
}


@dataclass(slots=True)
class _Compiled:
    """One package for all sizes, and what ONNX Runtime says."""

    model: corpus.Model
    folder: Path
    imported: frontend.ImportedModel
    program: Program
    session: ort.InferenceSession
    runners: dict[str, Path] = field(default_factory=dict)
    expected: dict[int, dict[str, np.ndarray]] = field(default_factory=dict)

    @classmethod
    def of(cls, model: corpus.Model, folder: Path) -> _Compiled:
        driver.compile_model(model.path, folder / "package", archs=ARCHS)
        imported = frontend.from_onnx(model.path)
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        session = ort.InferenceSession(str(model.path), options)
        return cls(model, folder, imported, _program(imported), session)

    def run(self, arch: str, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        opened = package.load(self.folder / "package")
        chosen = opened.choose("host" if arch == routes.POISON else arch)
        if arch not in self.runners:
            where = self.folder / f"build_{arch}"
            flags = routes.DEBUG if arch == routes.POISON else ()
            runner = toolchain.build(opened.path, chosen, build_dir=where, extra_cflags=flags)
            self.runners[arch] = runner
        timeout = routes.TIMEOUT_S
        return toolchain.run_package(
            self.runners[arch], chosen, inputs, opened.manifest, timeout=timeout
        ).outputs

    def values(self, sizes: Sizes) -> dict[str, int]:
        names = list(
            dict.fromkeys(d for p in self.imported.inputs for d in p.shape if isinstance(d, str))
        )
        return {names[0]: sizes[""]} if "" in sizes else dict(sizes)

    def inputs(self, sizes: Sizes, seed: int) -> dict[str, np.ndarray]:
        """Inputs like the stored ones: their elements, repeated to the wanted shape."""
        values = self.values(sizes)
        stored = self.model.cases[0].inputs()
        rng = np.random.default_rng(seed)
        made = {}
        for port in self.imported.inputs:
            shape = [values[d] if isinstance(d, str) else d for d in port.shape]
            flat = rng.permutation(stored[port.name].reshape(-1))
            made[port.name] = np.resize(flat, shape).astype(stored[port.name].dtype)
        return made

    def reference(self, number: int, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        if number not in self.expected:
            names = [o.name for o in self.session.get_outputs()]
            found = self.session.run(None, inputs)
            self.expected[number] = dict(zip(names, found, strict=True))
        return self.expected[number]


def _program(imported: frontend.ImportedModel, preference: Preference = DEFAULT) -> Program:
    return compile_module(
        imported.mod, "arm64", name="model", preference=preference,
        input_names=[p.name for p in imported.inputs],
        output_names=[p.name for p in imported.outputs],
    )  # fmt: skip


_latest: dict[str, tuple[_Compiled, tempfile.TemporaryDirectory]] = {}


def _compiled(model: corpus.Model) -> _Compiled:
    if model.name not in _latest:
        _latest.clear()
        folder = tempfile.TemporaryDirectory(prefix=f"megcc_{model.name}_")
        _latest[model.name] = _Compiled.of(model, Path(folder.name)), folder
    return _latest[model.name][0]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "dynamic_model" not in metafunc.fixturenames:
        return
    folder = metafunc.config.getoption("--shared") / "models"
    models = corpus.load(folder) if folder.is_dir() else {}
    found = [models[name] for name in SIZES if name in models]
    if "route" in metafunc.fixturenames:
        every = ROUTES if metafunc.function is test_stored_cases else ARCHS
        tried = [
            (m, r)
            for m in found
            for r in every
            if metafunc.function is test_stored_cases or r != "arm64" or HEAVY.get(m.name, (0,))
        ]
        rows = [_row(m, r, found.index(m)) for m, r in tried]
        metafunc.parametrize(("dynamic_model", "route"), rows)
    else:
        metafunc.parametrize("dynamic_model", [pytest.param(m, id=m.name) for m in found])


def _row(model: corpus.Model, route: str, number: int) -> object:
    """A model on a route: every second run has it under qemu, with the other half of the models."""
    marks = [pytest.mark.turn(number % 2, 2)] if route == "arm64" else []
    return pytest.param(model, route, id=f"{model.name}-{route}", marks=marks)


def _need(route: str) -> None:
    if missing := routes.missing_tools(route):
        pytest.skip(f"{route} needs {', '.join(missing)}")


def test_stored_cases(dynamic_model: corpus.Model, route: str) -> None:
    _need(route)
    compiled = _compiled(dynamic_model)
    # What takes long in an emulator runs on armv7 in test_models.py, by its first case.
    emulated = dynamic_model.name in HEAVY and route == "arm64"
    for case in dynamic_model.cases[-1:] if emulated else dynamic_model.cases:
        found = corpus.compare(compiled.run(route, case.inputs()), case)
        assert not [str(d) for d in found if not d.ok]


def test_further_sizes(dynamic_model: corpus.Model, route: str) -> None:
    _need(route)
    compiled = _compiled(dynamic_model)
    sets = SIZES[dynamic_model.name]
    assert len(sets) == len({tuple(s.items()) for s in sets}) == 10
    tried = HEAVY.get(dynamic_model.name, range(10)) if route == "arm64" else range(10)
    for number in tried:
        sizes = sets[number]
        inputs = compiled.inputs(sizes, number)
        want = compiled.reference(number, inputs)
        got = compiled.run(route, inputs)
        for name, expected in want.items():
            assert got[name].shape == expected.shape, (sizes, name)
            allowed = corpus.RELATIVE * float(np.abs(expected).max(initial=0.0))
            inexact = corpus.INEXACT.get((dynamic_model.name, name), corpus.ABSOLUTE_FOR_ZERO)
            largest = float(np.abs(got[name].astype("f8") - expected).max(initial=0.0))
            assert largest <= max(allowed, inexact), (
                sizes,
                name,
                largest,
                allowed,
            )


def test_arena_is_near_the_plan_for_the_size(
    dynamic_model: corpus.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = _compiled(dynamic_model)
    # A few steps of known number would be unrolled, and kernels that need more memory are chosen by
    # the sizes: both would be another program.
    monkeypatch.setattr(recurrent, "UNROLLED", 0)
    alike = Preference(exact=True)
    program = _program(compiled.imported, alike)
    for sizes in SIZES[dynamic_model.name][1:10:4]:
        values = compiled.values(sizes)
        shapes = {
            p.name: [values[d] if isinstance(d, str) else d for d in p.shape]
            for p in compiled.imported.inputs
        }
        fixed = _program(frontend.from_onnx(dynamic_model.path, shapes), alike)
        assert fixed.arena_bytes is not None
        ours = arena_bytes(program, values)
        assert ours <= max(WASTE * fixed.arena_bytes, SMALL), (sizes, ours, fixed.arena_bytes)


def test_blocks_never_overlap(dynamic_model: corpus.Model) -> None:
    compiled = _compiled(dynamic_model)
    for sizes in SIZES[dynamic_model.name]:
        check_blocks(compiled.program, compiled.values(sizes))


@pytest.mark.parametrize("arch", ARCHS)
def test_boxes_that_are_kept(pytestconfig: pytest.Config, tmp_path: Path, arch: str) -> None:
    """yunet_postproc_nms with data of which one box, some, or as many as may be are kept.

    The model has no score threshold: one box is kept in any case, and none where there is none.
    """
    _need(arch)
    folder = pytestconfig.getoption("--shared") / "models"
    model = (corpus.load(folder) if folder.is_dir() else {}).get("yunet_postproc_nms")
    if model is None:
        pytest.skip("there is no corpus")
    driver.compile_model(model.path, tmp_path / "package", archs=(arch,))
    opened = package.load(tmp_path / "package")
    chosen = opened.choose(arch)
    runner = toolchain.build(opened.path, chosen, build_dir=tmp_path / "build")
    session = ort.InferenceSession(str(model.path))
    stored = model.cases[0].inputs()
    # A box is its anchor's size times exp(loc * (0.1, 0.2)): these make all of them as large as all
    # together, so that they overlap.
    (anchors,) = (
        numpy_helper.to_array(w)
        for w in onnx.load(model.path).graph.initializer
        if w.data_type == onnx.TensorProto.DOUBLE and list(w.dims) == [3210, 2]
    )
    alike = np.log(1000 / anchors) / (0.1, 0.2)
    counts = set()
    for width in (0, 20, 40, 60, alike):
        inputs = {name: array.copy() for name, array in stored.items()}
        if np.any(width):
            inputs["loc"][:, 2:4] = width
        (want,) = session.run(None, inputs)
        got = toolchain.run_package(runner, chosen, inputs, opened.manifest).outputs["dets"]
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
        counts.add(len(got))
    assert {1, 50} < counts
