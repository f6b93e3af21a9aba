"""Memory that dies is poisoned in a debug build, and no right program notices."""

from __future__ import annotations

import importlib
import subprocess
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tvm_megcc import driver
from tvm_megcc.codegen_c import emit
from tvm_megcc.core.program import Program
from tvm_megcc.errors import ToolError
from tvm_megcc.host import toolchain
from tvm_megcc.memory_options import MemoryOptions

from . import programs as p

pytestmark = pytest.mark.slow

DEBUG = "-DMEGCC_DEBUG"
HOST = toolchain.host_arch()
TARGETS = ("host", "arm64", "armv7")

#: Small models of the corpus: plain, branchy, with attention, with concatenations; how their memory
#: is planned, so that all of `MemoryOptions` that moves blocks is used by one of them.
MODELS = {
    "mnist_cntk": {},
    "tinybert_test": {"io": "arena"},
    "blazeface_front": {"io": "arena", "memory": MemoryOptions(clobber_inputs=True)},
    "ultraface_rfb320": {"memory": MemoryOptions(pools=(("sram", 256 << 10), ("psram", None)))},
    "speech_commands_squeezenet": {"memory": MemoryOptions(planner="greedy-size")},
}


def outputs(package: Path, arch: str, inputs, *flags: str, sanitize: bool = False):
    """What a build gives in its third run: the two before have left the arena full."""
    out = package.parent / "-".join(["build", arch, *(f.strip("-") for f in flags)])
    exe = toolchain.build(package, arch, build_dir=out, extra_cflags=flags, sanitize=sanitize)
    return toolchain.run_package(exe, arch, inputs, p.manifest(package), repeat=3)


def need(arch: str) -> None:
    try:
        toolchain.find_compiler(arch)
        toolchain._launcher(arch)
    except ToolError as error:
        pytest.skip(str(error))


def two_pools(arch: str) -> Program:
    return p.in_two_pools(p.planned(arch))


def three_pools(arch: str) -> Program:
    return p.with_empty_pool(two_pools(arch))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "make", [p.planned, two_pools, three_pools, p.in_place], ids=lambda f: f.__name__
)
def test_right_program_is_not_changed(tmp_path, target, make):
    arch = HOST if target == "host" else target
    need(arch)
    package = p.write_program(tmp_path / "pkg", make(arch))
    names = [port["name"] for port in p.manifest(package)["inputs"]]
    inputs = {k: v for k, v in p.corners_inputs().items() if k in names}
    strict = ["-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-overlength-strings"]
    release = outputs(package, arch, inputs, *strict)
    debug = outputs(package, arch, inputs, *strict, DEBUG, sanitize=target == "host")
    if make is p.in_place:
        expected = inputs["a"] + p.W + p.W + p.W
        np.testing.assert_allclose(release.outputs["y"], expected, rtol=1e-6)
    else:
        p.check_corners(inputs, release.outputs)
    for name, value in release.outputs.items():
        assert value.tobytes() == debug.outputs[name].tobytes(), name
    two = ["sram: 128", "ps-ram 2: 128"]
    printed = {"planned": ["arena: 256"], "two_pools": two, "three_pools": ["none: 0", *two],
               "in_place": ["arena: 128"]}[make.__name__]  # fmt: skip
    assert release.stdout.splitlines()[: len(printed)] == [f"{line} bytes" for line in printed]


@pytest.mark.parametrize("block", ["a", "h", "again"])
def test_wrong_lifetime_shows(tmp_path, block):
    """From the plan in Python to the outputs: one call too short gives NaN, in any pool."""
    program = two_pools(HOST)
    blocks = [replace(b, last=b.last - (b.name == block)) for b in program.plan.blocks]
    wrong = replace(program, plan=replace(program.plan, blocks=tuple(blocks)))
    package = p.write_program(tmp_path / "pkg", wrong)
    inputs = p.corners_inputs()
    p.check_corners(inputs, outputs(package, HOST, inputs, "-O1").outputs)
    found = outputs(package, HOST, inputs, "-O1", DEBUG).outputs
    assert any(np.isnan(v).any() for v in found.values())


def test_model_file_of_another_plan_is_refused(tmp_path):
    """Equal kernels, another plan: runs, but a debug build has no deaths for it."""
    package = p.write_program(tmp_path / "pkg", p.planned(HOST), weights="bin")
    other = replace(p.planned(HOST), arena_bytes=320, plan=None)
    files = emit.package({HOST: other}, name="corners", weights="bin")
    image = f"model/model_{HOST}.bin"
    (package / image).write_bytes(bytes(files[image]))
    inputs = p.corners_inputs()
    p.check_corners(inputs, outputs(package, HOST, inputs, "-O1").outputs)
    with pytest.raises(ToolError, match="compiled for other kernels"):
        outputs(package, HOST, inputs, "-O1", DEBUG)


def test_debug_build_by_plain_make(tmp_path):
    """As the documentation says it; without the flag nothing of it is in the library."""
    package = p.write_program(tmp_path / "pkg", p.planned(HOST))
    for flags, there in (("", False), (DEBUG, True)):
        command = ["make", "-C", str(package), f"CPPFLAGS={flags}", "CFLAGS=-O1", "libmodel.a"]
        subprocess.run(command, check=True, capture_output=True)
        names = subprocess.run(["nm", package / "libmodel.a"], capture_output=True, text=True)
        assert ("megcc_poison_" in names.stdout) == ("kBlocks" in names.stdout) == there


@pytest.fixture
def corpus(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "models")
    return importlib.import_module("corpus")


@pytest.mark.parametrize("name", MODELS)
def test_corpus_model_is_not_changed(tmp_path, shared, corpus, name):
    model = corpus.load(shared / "models")[name]
    shapes, cases = model.shape_sets()[0]
    package = tmp_path / "pkg"
    driver.compile_model(model.path, package, input_shapes=shapes, **MODELS[name])
    memory = p.manifest(package)["per_arch"][HOST]["memory"]
    calls = p.manifest(package)["per_arch"][HOST]["calls"]
    if name == "ultraface_rfb320":
        assert [pool["name"] for pool in memory["pools"]] == ["sram", "psram"]
        assert all(pool["bytes"] > 0 for pool in memory["pools"])
    assert sum(b["last"] < calls for b in memory["blocks"]) > 3, "next to nothing ever dies"
    inputs = cases[0].inputs()
    release, debug = (outputs(package, HOST, inputs, "-O1", *flags) for flags in ((), (DEBUG,)))
    for key, value in release.outputs.items():
        assert value.tobytes() == debug.outputs[key].tobytes(), key
    assert not [str(d) for d in corpus.compare(debug.outputs, cases[0]) if not d.ok]
