"""Packages of language models: from text to text, in Python, on the command line and in C."""

from __future__ import annotations

import io
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import tvm_megcc
from tests.generation.tiny import SPECIAL, Reference, checkpoint
from tests.runtime.test_runtime import FLAGS, SANITIZE
from tvm_megcc import driver, generation, zoo
from tvm_megcc.cli import main
from tvm_megcc.codegen_c import emit
from tvm_megcc.core.this_machine import host_arch
from tvm_megcc.errors import InputError, UnsupportedError
from tvm_megcc.generation import Sampling
from tvm_megcc.host import toolchain

pytestmark = [pytest.mark.together, pytest.mark.slow]

KNOWN = 270  # tokens; the model has two logits more
PROMPT = "the sea, the sky"
IDS = [257, *b" sea,", 32, 257, *b" sky"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint, a model and its package."""
    folder = tmp_path_factory.mktemp("generate")
    checkpoint(folder / "checkpoint")
    model = zoo.decoder()
    onnx.save(model, folder / "decoder.onnx")
    driver.compile_model(
        folder / "decoder.onnx", folder / "package", generate=folder / "checkpoint"
    )
    return folder


@pytest.fixture(scope="module")
def reference() -> Reference:
    pytest.importorskip("onnxruntime")
    return Reference(zoo.decoder())


@pytest.mark.parametrize("chunk", [1, 3, 64])
def test_greedy_tokens_are_those_of_onnxruntime(
    folder: Path, reference: Reference, chunk: int
) -> None:
    wanted = reference.greedy(IDS, 40, KNOWN)
    assert len(set(wanted)) > 10  # else a wrong cache would go unnoticed
    with generation.opened(folder / "package", chunk=chunk) as generator:
        found = generator.generate(PROMPT, max_tokens=40)
        assert list(found.tokens) == wanted[: len(found.tokens)]
        assert (found.finished, found.prompt_tokens, found.kept_tokens) == ("most", len(IDS), 0)
        assert found.prompt_tokens_per_second > 0 and found.decode_tokens_per_second > 0
        # A prompt that grows is not computed again; one that branches off is, from there.
        longer = generator.generate(PROMPT + " and the", max_tokens=9)
        assert longer.kept_tokens == len(IDS)
        assert list(longer.tokens) == reference.greedy([*IDS, *b" and ", 257], 9, KNOWN)
        other = generator.generate("the sea is", max_tokens=9)
        assert other.kept_tokens == 5
        assert list(other.tokens) == reference.greedy([257, *b" sea is"], 9, KNOWN)


def test_the_package_says_that_it_generates(folder: Path) -> None:
    assert json.loads((folder / "package/manifest.json").read_text())["generates"] is True
    assert "./run generate -p" in (folder / "package/README.md").read_text()


def test_pieces_are_the_text(folder: Path) -> None:
    pieces: list[str] = []
    found = tvm_megcc.generate(folder / "package", PROMPT, max_tokens=60, take=pieces.append)
    assert "".join(pieces) == found.text and len(pieces) > 10


def test_drawn_tokens_follow_from_the_seed(folder: Path) -> None:
    with generation.opened(folder / "package") as generator:

        def drawn(**settings: float) -> tuple[int, ...]:
            how = Sampling(temperature=1.0, **settings)
            return generator.generate(PROMPT, max_tokens=30, sampling=how).tokens

        assert drawn(seed=1) == drawn(seed=1) != drawn(seed=2)
        greedy = generator.generate(PROMPT, max_tokens=30).tokens
        assert drawn(top_k=1, seed=5) == drawn(top_p=1e-6) == greedy
        assert drawn(repetition_penalty=1000.0, top_k=1) != greedy


def test_stop_tokens(folder: Path, reference: Reference) -> None:
    wanted = reference.greedy(IDS, 40, KNOWN)
    tokens = json.loads((folder / "checkpoint/tokenizer.json").read_text())["model"]["vocab"]
    names = {number: text for text, number in tokens.items() if text.isascii()}
    at = next(k for k in range(3, 40) if wanted[k] in names and wanted[k] not in wanted[:k])
    with generation.opened(folder / "package", stop=[names[wanted[at]]]) as generator:
        found = generator.generate(PROMPT, max_tokens=40)
    assert found.finished == "stop" and list(found.tokens) == wanted[:at]
    with (
        pytest.raises(Exception, match="nothing like it"),
        generation.opened(folder / "package", stop=["nothing like it"]),
    ):
        pass


def test_prompts_that_are_refused_change_nothing(folder: Path) -> None:
    with generation.opened(folder / "package", capacity=20) as generator:
        before = generator.generate(PROMPT, max_tokens=3)
        with pytest.raises(InputError, match="the prompt has 25 tokens, the capacity is 20"):
            generator.generate("x" * 25)
        with pytest.raises(InputError, match="the prompt has no tokens"):
            generator.generate("")
        with pytest.raises(InputError, match="the prompt is no text"):
            generator.generate("\ud800")
        with pytest.raises(InputError, match="top_p is 2"):
            generator.generate(PROMPT, sampling=Sampling(top_p=2))
        with pytest.raises(InputError, match="temperature is 0.0001"):
            generator.generate(PROMPT, sampling=Sampling(temperature=1e-4))
        with pytest.raises(InputError, match="max_tokens is -1"):
            generator.generate(PROMPT, max_tokens=-1)
        after = generator.generate(PROMPT, max_tokens=30)
        assert after.kept_tokens == len(IDS) - 1 and after.tokens[:3] == before.tokens
        assert after.finished == "capacity" and len(after.tokens) == 20 - len(IDS) + 1


def test_other_packages_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="capacity is 0; give 1 to"):
        tvm_megcc.generate(folder / "package", PROMPT, capacity=0)
    onnx.save(zoo.build("tiny_mlp"), tmp_path / "mlp.onnx")
    driver.compile_model(tmp_path / "mlp.onnx", tmp_path / "mlp", archs=["portable"])
    with pytest.raises(InputError, match="has no tokenizer; compile it with tvmc compile --gen"):
        tvm_megcc.generate(tmp_path / "mlp", PROMPT)
    given = {"archs": ["portable"], "generate": folder / "checkpoint"}
    with pytest.raises(InputError, match="the model has no 'input_ids'; export it with a cache"):
        driver.compile_model(tmp_path / "mlp.onnx", tmp_path / "out", **given)
    with pytest.raises(InputError, match="leave out --generate"):
        driver.compile_model(tmp_path / "mlp.onnx", tmp_path / "out.so", generate=tmp_path)
    with pytest.raises(InputError, match="tokenizer.json"):
        driver.compile_model(tmp_path / "mlp.onnx", tmp_path / "out", generate=tmp_path)
    assert not (tmp_path / "out").exists()


def test_a_tokenizer_of_another_model(folder: Path, tmp_path: Path) -> None:
    from tvm_megcc.host import decoder

    programs = driver.compile_programs(folder / "decoder.onnx", ["portable"])
    other = checkpoint(tmp_path / "other", count=280)
    with pytest.raises(InputError, match="has 280 tokens, the model 272 logits"):
        decoder.texts(other, programs)
    (other / "config.json").write_text('{"eos_token_id": 999}')
    with pytest.raises(InputError, match="eos_token_id 999 is no token"):
        decoder.texts(other, programs)
    with pytest.raises(UnsupportedError, match="pre_tokenizer: Metaspace"):
        found = json.loads((folder / "checkpoint/tokenizer.json").read_text())
        (other / "tokenizer.json").write_text(
            json.dumps(found | {"pre_tokenizer": {"type": "Metaspace"}})
        )
        decoder.texts(other, programs)


def test_logits_in_f16(folder: Path, reference: Reference, tmp_path: Path) -> None:
    model = zoo.decoder()
    last = model.graph.node[-1]
    cast = helper.make_node("Cast", list(last.input), ["logits"], to=TensorProto.FLOAT16)
    model.graph.node[-1].CopyFrom(cast)
    port = next(o for o in model.graph.output if o.name == "logits")
    port.type.tensor_type.elem_type = TensorProto.FLOAT16
    onnx.save(model, tmp_path / "f16.onnx")
    driver.compile_model(tmp_path / "f16.onnx", tmp_path / "pkg", generate=folder / "checkpoint")
    found = tvm_megcc.generate(tmp_path / "pkg", PROMPT, max_tokens=10)
    wanted = Reference(model).greedy(IDS, 10, KNOWN)
    assert list(found.tokens) == wanted


def test_c_functions(folder: Path, tmp_path: Path) -> None:
    """Statuses and ends, under sanitizers."""
    package = folder / "package"
    # The kernels are not what is tested here: they are built as they always are.
    library = toolchain.build(package, host_arch(), build_dir=tmp_path / "build", runner=False)
    names = [name for name in emit.assemble.GENERATE["src"] if name.endswith(".c")]
    loop = [package / "src" / name for name in names]
    command = [toolchain.find_compiler(host_arch()), *FLAGS, *SANITIZE]
    command += [f"-I{package / part}" for part in ("include", "src")]
    program, run = tmp_path / "generator", tmp_path / "run"
    source = Path(__file__).with_name("generator.c")
    for out, files in (
        (program, [source]),
        (run, [package / "main.c", *sorted((package / "runner").glob("*.c"))]),
    ):
        subprocess.run([*command, *files, *loop, library, "-lm", "-o", out], check=True)
    leaks = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}  # aligned pieces are found by nobody
    done = subprocess.run([program], capture_output=True, text=True, env=leaks)
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr
    # The package's own program: a text, and a conversation.
    done = subprocess.run(
        [run, "generate", "-p", PROMPT, "-n", "30", "--chunk", "5"], capture_output=True
    )
    wanted = tvm_megcc.generate(package, PROMPT, max_tokens=30).text
    assert done.stdout.decode() == wanted + "\n", done.stderr
    assert b"prompt: 12 tokens, " in done.stderr and b"decode: 30 tokens, " in done.stderr
    done = subprocess.run(
        [run, "generate", "--chat", "-n", "8", "--system", "Be brief."],
        input=b"hello\nagain\n",
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello"}]
    with generation.opened(package) as generator:
        first = generator.chat(messages, max_tokens=8).text
        messages += [
            {"role": "assistant", "content": first}, {"role": "user", "content": "again"},
        ]  # fmt: skip
        second = generator.chat(messages, max_tokens=8)
        assert second.kept_tokens > 40
    assert done.stdout.decode() == f"{first}\n{second.text}\n"
    for words, said in (
        (["-p", "x" * 3000], b"the prompt has 3000 tokens, the capacity is 1024"),
        (["--capacity", "0", "-p", "x"], b"must be at least 1"),
        (["--temperature", "-1", "-p", "x"], b"run: error: "),
        (["--temprature", "1"], b"--temprature: unknown option"),
    ):
        done = subprocess.run([run, "generate", *words], capture_output=True)
        assert done.returncode == 1 and said in done.stderr, (words, done.stderr)


def test_tvmc_generate_and_chat(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def tvmc(*words: object) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main([str(word) for word in words])
        return status, *capsys.readouterr()

    wanted = tvm_megcc.generate(folder / "package", PROMPT, max_tokens=7)
    status, out, err = tvmc("generate", folder / "package", "-p", PROMPT, "-n", "7")
    assert (status, out) == (0, wanted.text + "\n")
    assert err.startswith("prompt: 12 tokens, ") and "; decode: 7 tokens, " in err
    status, _, err = tvmc("generate", folder / "package", "-p", PROMPT, "--top-p", "7")
    assert status == 1 and "top_p is 7.0; give 0 to 1" in err
    with generation.opened(folder / "package") as generator:
        answer = generator.chat([{"role": "user", "content": "hello"}], max_tokens=7).text
    monkeypatch.setattr("sys.stdin", io.StringIO("hello\n"))
    status, out, err = tvmc("chat", folder / "package", "-n", "7")
    assert (status, out) == (0, answer + "\n") and "decode: " in err


def test_a_package_without_a_template(folder: Path, tmp_path: Path) -> None:
    bare = checkpoint(tmp_path / "bare", None)
    driver.compile_model(folder / "decoder.onnx", tmp_path / "pkg", generate=bare)
    with (
        generation.opened(tmp_path / "pkg") as generator,
        pytest.raises(InputError, match="has no chat template"),
    ):
        generator.chat([{"role": "user", "content": "hello"}])
    assert SPECIAL[1] not in tvm_megcc.generate(tmp_path / "pkg", PROMPT).text
    assert np.isfinite(generation.Sampling().top_p)
