"""Caches of a language model: one memory for past and present, sequences, files, threads, time."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import onnx
import pytest

import tvm_megcc
from tests.generation import grouped
from tests.generation.tiny import checkpoint
from tests.runtime.test_runtime import FLAGS, SANITIZE
from tvm_megcc import driver, generation, zoo
from tvm_megcc.cli import main
from tvm_megcc.codegen_c import emit
from tvm_megcc.core import splitting
from tvm_megcc.core.program import programs_of
from tvm_megcc.core.this_machine import host_arch
from tvm_megcc.errors import InputError
from tvm_megcc.frontend.cache_states import cache_states
from tvm_megcc.host import toolchain
from tvm_megcc.memory_options import MemoryOptions

pytestmark = [pytest.mark.together, pytest.mark.slow]

PROMPT = "the sea, the sky"


def read_twice() -> onnx.ModelProto:
    """A decoder whose first keys something else than attention reads."""
    model = zoo.decoder()
    last = model.graph.node[-1]
    nodes = [
        onnx.helper.make_node("ReduceMean", ["present.0.key"], ["mean"], keepdims=0),
        onnx.helper.make_node("Sub", ["mean", "mean"], ["nothing"]),
        onnx.helper.make_node("Add", [last.input[0], "nothing"], ["logits"]),
    ]
    model.graph.node.pop()
    model.graph.node.extend(nodes)
    return model


#: A name -> the model. Three have states, of GroupQueryAttention, one of them in int8, and of
#: Concat that attention reads; one has two sets of caches.
MODELS = {
    "states": grouped.decoder,
    "concat": zoo.decoder,
    "apart": read_twice,
    "int8": grouped.decoder,
}
#: What a name's package is compiled with.
OPTIONS = {"int8": {"cache_dtype": "int8"}}
#: Bytes of a token in the keys and values of a model.
ROW = {
    "states": 4 * 2 * grouped.LAYERS * grouped.KEPT * grouped.SIZE,
    "concat": 4 * 2 * 2 * 32,
    "apart": 4 * 2 * 2 * 32,
    "int8": 2 * grouped.LAYERS * grouped.KEPT * (grouped.SIZE + 4),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint, models and their packages."""
    folder = tmp_path_factory.mktemp("caches")
    checkpoint(folder / "checkpoint")
    for name, model in MODELS.items():
        (folder / name).mkdir()
        onnx.save(model(), folder / name / "decoder.onnx")
        driver.compile_model(
            folder / name / "decoder.onnx",
            folder / name / "package",
            generate=folder / "checkpoint",
            **OPTIONS.get(name, {}),
        )
    return folder


def built(
    package: Path, source: str, out: Path, flags: list[str], threads: bool = False
) -> list[str]:
    """A C program of this folder; the loop's sources are compiled with `flags`."""
    library = toolchain.build(
        package,
        host_arch(),
        build_dir=out / "build",
        runner=False,
        threads=threads,
        extra_cflags=flags if threads else (),
    )
    names = [name for name in emit.assemble.GENERATE["src"] if name.endswith(".c")]
    loop = [] if threads else [package / "src" / name for name in names]
    command = [toolchain.find_compiler(host_arch()), *FLAGS, *flags]
    command += [f"-I{package / part}" for part in ("include", "src")]
    command += [Path(__file__).with_name(source), *loop, library, "-lpthread", "-lm"]
    subprocess.run([*command, "-o", out / "program"], check=True)
    return [str(out / "program")]


def test_caches_that_appends_are_states(folder: Path) -> None:
    model = grouped.decoder()
    pairs = [f"past_key_values.{k}.{r}=present.{k}.{r}" for k in (0, 1) for r in ("key", "value")]
    assert list(cache_states(model)) == pairs
    assert set(cache_states(zoo.decoder())) == set(pairs)
    assert not cache_states(read_twice())
    smooth = grouped.decoder()
    for node in smooth.graph.node:
        if node.op_type == "GroupQueryAttention":
            node.attribute.append(onnx.helper.make_attribute("smooth_softmax", 1))
    assert list(cache_states(smooth)) == pairs
    header = (folder / "int8/package/include/decoder.h").read_text()
    assert "//   past_key_values.0.key = present.0.key: rows of 8 numbers in int8" in header
    assert "numbers in int8" not in (folder / "states/package/include/decoder.h").read_text()


def test_options_of_packages_that_generate(folder: Path, tmp_path: Path) -> None:
    manifest = json.loads((folder / "states/package/manifest.json").read_text())
    assert len(manifest["states"]) == 4 and manifest["outputs"][0]["shape"] == [1, 1, 272]
    assert "states" not in json.loads((folder / "apart/package/manifest.json").read_text())
    given = {"generate": folder / "checkpoint", "logits": "all"}
    driver.compile_model(
        folder / "states/decoder.onnx",
        tmp_path / "all",
        states=["past_key_values.*=present.*"],
        **given,
    )
    manifest = json.loads((tmp_path / "all/manifest.json").read_text())
    assert len(manifest["states"]) == 4 and manifest["outputs"][0]["shape"][1] != 1
    wanted = tvm_megcc.generate(folder / "states/package", PROMPT, max_tokens=30)
    assert tvm_megcc.generate(tmp_path / "all", PROMPT, max_tokens=30).tokens == wanted.tokens


@pytest.mark.parametrize("name", ["states", "apart", "int8"])
def test_c_functions(folder: Path, tmp_path: Path, name: str) -> None:
    program = built(folder / name / "package", "caches.c", tmp_path, SANITIZE)
    leaks = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run(program, capture_output=True, text=True, env=leaks)
    assert done.returncode == 0, done.stderr
    sets = 2 if name == "apart" else 1
    rows = 1000 * ROW[name] * sets
    assert rows <= int(done.stdout) <= rows + 10_000


@pytest.mark.parametrize("name", ["states", "concat", "apart"])
def test_a_thousand_steps(folder: Path, tmp_path: Path, name: str) -> None:
    """Logits, of a standard deviation near 1, differ by less than 1e-4 from those computed anew."""
    program = built(folder / name / "package", "caches.c", tmp_path, ["-O2"])
    done = subprocess.run([*program, "1000"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert 0 < float(done.stdout) < 1e-4


def test_two_sequences_on_a_pool(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under ThreadSanitizer; tokens are those of one thread."""
    monkeypatch.setattr(splitting, "PIECE", 1 << 8)  # so that every call is worth splitting
    programs = driver.compile_model(
        folder / "states/decoder.onnx",
        tmp_path / "package",
        generate=folder / "checkpoint",
        memory=MemoryOptions(threads=2),
    )
    calls = next(iter(programs_of(programs[host_arch()]))).calls
    assert sum(getattr(call, "workers", 1) > 1 for call in calls) >= 4
    flags = ["-fsanitize=thread", "-g1", "-O1"]
    program = built(tmp_path / "package", "threads.c", tmp_path, flags, threads=True)
    done = subprocess.run(program, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr


def test_memory_follows_the_chunk(folder: Path) -> None:
    """What a run needs is that of a chunk; of the capacity, attention packs one head's rows."""
    sizes = {}
    for chunk, capacity in ((16, 500), (16, 1000), (500, 1000)):
        package = folder / "states/package"
        with generation.opened(package, chunk=chunk, capacity=capacity) as generator:
            sizes[chunk, capacity] = generator.memory_bytes - capacity * ROW["states"]
    assert sizes[16, 1000] < 0.6 * sizes[500, 1000]
    assert sizes[16, 1000] - sizes[16, 500] < 500 * ROW["states"]


@pytest.mark.parametrize("name", MODELS)
def test_a_prompt_in_a_file(folder: Path, tmp_path: Path, name: str) -> None:
    package, file = folder / name / "package", tmp_path / "prompt.bin"
    longer = PROMPT + " and the"
    with generation.opened(package) as generator:
        with pytest.raises(InputError, match="there is no prompt to save yet"):
            generator.save(file)
        first = generator.generate(PROMPT, max_tokens=20)
        assert generator.save(file) == first.prompt_tokens
        wanted = generator.generate(longer, max_tokens=20)
        other = "apart" if name == "states" else "states"  # int8: of the model with caches in f32
        # What is refused changes nothing.
        data = file.read_bytes()
        (tmp_path / "cut").write_bytes(data[:-1])
        with generation.opened(folder / other / "package") as another:
            another.generate(PROMPT, max_tokens=3)
            another.save(tmp_path / "another")
        for bad, said in (
            ("none", "cannot be read"),
            ("cut", "no saved sequence, or a damaged one"),
            ("another", "saved by another package"),
        ):
            with pytest.raises(InputError, match=said):
                generator.load(tmp_path / bad)
        assert generator.generate(longer, max_tokens=20).kept_tokens == wanted.prompt_tokens - 1
    with generation.opened(package) as generator:
        assert generator.load(file) == first.prompt_tokens
        found = generator.generate(longer, max_tokens=20)
        assert found.kept_tokens == first.prompt_tokens and found.tokens == wanted.tokens
    with (
        pytest.raises(InputError, match="more tokens than the capacity"),
        generation.opened(package, capacity=first.prompt_tokens - 1) as generator,
    ):
        generator.load(file)


def test_the_option_of_the_command_line(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package, file = folder / "states/package", tmp_path / "prompt.bin"
    words = ["-p", PROMPT, "-n", "9", "--prefix-cache", str(file)]
    for computed in (12, 1):
        assert main(["generate", str(package), *words]) == 0
        out, err = capsys.readouterr()
        assert err.startswith(f"prompt: {computed} tokens, ")
    kept = file.read_bytes()
    run = toolchain.build(package, host_arch(), build_dir=tmp_path / "build")
    done = subprocess.run([run, "generate", *words], capture_output=True, text=True)
    assert done.stdout == out and done.stderr.startswith("prompt: 1 tokens, ")
    file.unlink()
    done = subprocess.run([run, "generate", *words], capture_output=True, text=True)
    assert done.stdout == out and file.read_bytes() == kept
    for bad, said in (
        (folder / "checkpoint/tokenizer.json", "it is no saved sequence, or a damaged one"),
        (tmp_path / "none/prompt.bin", "cannot be written"),
    ):
        words[-1] = str(bad)
        done = subprocess.run([run, "generate", *words], capture_output=True, text=True)
        assert done.returncode == 1 and said in done.stderr and str(bad) in done.stderr
