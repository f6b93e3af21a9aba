"""Wrong files and options are refused before TVM is loaded, and before anything is built."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

#: A command line -> what the sentence says.
CASES = {
    "compile nosuch.onnx -o out": "no such file",
    "compile bad.onnx -o out": "not an ONNX model",
    "compile cut.onnx -o out": "cut short",
    "compile empty.onnx -o out": "is empty",
    "compile . -o out": "Is a directory",
    "compile nosuch.tflite -o out": "a TFLite model",
    "compile nosuch.pt -o out": "torch.export.save",
    "compile good.onnx -o out.so --cc nosuch": "no C compiler 'nosuch'",
    "compile good.onnx -o out.so --arch arm64,x86": "one architecture",
    "compile good.onnx -o nodir/out": "no such directory",
    "compile good.onnx -o out --memory-limit 4Q": "'4Q' is no size",
    "compile good.onnx -o out --memory-planner best": "planner 'best' is unknown",
    "compile good.onnx -o out --memory-planner exact --memory-pools a,b": "with pools use auto",
    "compile good.onnx -o out --memory-pools a,a": "given twice",
    "compile good.onnx -o out --memory-time -1": "use 0 or more",
    "compile good.onnx -o out --module-name 1x": "take 'm_1x'",
    "compile good.onnx -o out --extern nosuch.c": "'nosuch.c'",
    "compile good.onnx -o out --extern good.onnx": "in .c files",
    "compile good.onnx -o out --params nosuch.npz": "'nosuch.npz'",
    "compile good.onnx -o out --params good.npz": "a Relax module",
    "compile good.onnx -o out --tuning-records nosuch.json": "'nosuch.json'",
    "compile good.onnx -o out --dump-ir bad.onnx/ir": "is a file",
    "compile good.onnx -o out --dispatch a:0=log(1)": "log(low,high)",
    "compile good.onnx -o out --input-shapes x:[": "--input-shapes",
    "compile good.onnx -o out --arch mips": "'mips'",
    "compile good.onnx -o out --board stm32f9": "board 'stm32f9' is not known",
    "compile good.onnx -o out --board pico --arch arm64": "says the machine",
    "compile good.onnx -o out --target cuda": "no CPU",
    "compile good.onnx -o out --target {{": "no JSON",
    "compile good.onnx -o out -f elf": "'elf'",
    "compile good.onnx -o out --generate nosuch": "name the folder of a checkpoint",
    "compile good.onnx -o out.so --generate nosuch": "leave out --generate",
    "generate nosuch -p x": "no such file",
    "generate {package} -p x": "has no tokenizer",
    "generate {package} -p x --top-p 7": "top_p is 7.0",
    "chat nosuch": "no such file",
    "chat {package}": "has no tokenizer",
    "opt nosuch.onnx": "no such file",
    "opt good.onnx --print nosuch": "no stage 'nosuch'",
    "opt good.onnx --dump-ir bad.onnx": "is a file",
    "opt good.onnx --memory-planner best": "planner 'best' is unknown",
    "run nosuch": "no such file",
    "run good.onnx": "compile it first",
    "run nosuch.so": "no such file",
    "run {package} --cc nosuch": "no C compiler 'nosuch'",
    "run {package} --arch arm64": "no arm64 code",
    "run {package} --inputs nosuch.npz": "'nosuch.npz'",
    "run {package} --inputs bad.onnx": "is not a .npz",
    "run {package} --inputs good.npz --shapes x:[2]": "--shapes is for inputs made up",
    "run {package} --shapes x:[": "--shapes: cannot read",
    "run {package} --outputs nodir/out.npz": "no such directory",
    "run {package} --expected nosuch.npz": "'nosuch.npz'",
    "run {package} --profile-output nodir/p.csv": "no such directory",
    "run {package} --dump .": "other contents",
    "run {library} --dump dump": "calls of a library",
    "run {library} --profile": "no profile",
    "run {library} --threads 2": "one thread",
    "run {library} --arch arm64": "this machine only",
    "bench {package} nosuch": "no such file",
    "bench {package} {library} --threads 2": "one thread",
    "bench {package} --cc nosuch": "no C compiler 'nosuch'",
    "bench {package} --cpus 9999": "no CPU 9999",
    "compare nosuch.onnx {package}": "no such file",
    "compare nosuch.tflite {package}": "ONNX models only",
    "compare good.onnx nosuch": "no such file",
    "compare good.onnx {package} --inputs nosuch.npz": "'nosuch.npz'",
    "compare good.onnx {package} --cc nosuch": "no C compiler 'nosuch'",
    "compare good.onnx {library} --per-layer": "calls of a library",
    "inspect nosuch": "no such file",
    "inspect {package} --html out.txt": "must end in .html",
    "inspect {package} --html nodir/out.html": "no such directory",
    "inspect {package} --profile nosuch.json": "'nosuch.json'",
    "inspect {package} --for nosuch": "no table for this CPU",
    "boards nosuch": "board 'nosuch' is not known",
    "kernels nosuch": "no kernel for 'nosuch'",
    "kernels --arch mips": "'mips'",
    "kernels conv2d --explain x": "FACT=VALUE",
    "quantize nosuch.onnx -o out.onnx --calibration good.npz": "no such file",
    "quantize good.onnx -o out.onnx --calibration nosuch.npz": "'nosuch.npz'",
    "quantize good.onnx -o out.onnx --calibration {package}": "has no .npz file",
    "quantize good.onnx -o nodir/out.onnx --calibration good.npz": "no such directory",
    "tune nosuch.onnx -o out.json": "no such file",
    "tune good.onnx -o nodir/out.json": "no such directory",
    "tune good.onnx -o bad.onnx": "bad.onnx",
    "tune good.onnx -o out.json --inputs nosuch.npz": "'nosuch.npz'",
    "tune good.onnx -o out.json --shapes x:[": "--shapes: cannot read",
    "tune good.onnx -o out.json --rpc-key a": "belong together",
    "tune good.onnx -o out.json --memory-planner best": "planner 'best' is unknown",
    "tune good.onnx -o out.json --arch x86 --measure instructions": "for Arm only",
}

#: Runs command lines in one process, as long as none loads TVM or builds anything.
PROGRAM = """
import contextlib, io, json, sys
from tvm_megcc.cli import main
from tvm_megcc.host import toolchain

def never(*args, **named):
    raise AssertionError("something was built")

toolchain.build = never
for words in json.loads(sys.argv[1]):
    error = io.StringIO()
    with contextlib.redirect_stderr(error):
        status = main(words)
    loaded = "tvm" in sys.modules
    print(json.dumps([status, error.getvalue(), loaded]), flush=True)
    if loaded:
        break
"""


@pytest.fixture(scope="module")
def answers(
    model: Path, package: Path, library: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list]:
    """What each command line of `CASES` ended with: status, standard error, whether TVM came."""
    folder = tmp_path_factory.mktemp("refused")
    data = model.read_bytes()
    for name, content in {
        "good.onnx": data,
        "cut.onnx": data[: len(data) // 2],
        "bad.onnx": b"this is no model\n",
        "empty.onnx": b"",
        "good.npz": _npz(),
    }.items():
        (folder / name).write_bytes(content)
    lines = [
        [word.format(package=package, library=library) for word in case.split()] for case in CASES
    ]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(lines)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    rows = map(json.loads, done.stdout.splitlines())
    assert sorted(path.name for path in folder.iterdir()) == [
        "bad.onnx", "cut.onnx", "empty.onnx", "good.npz", "good.onnx",
    ]  # fmt: skip
    return dict(zip(CASES, rows, strict=False))


def _npz() -> bytes:
    import numpy as np

    from tvm_megcc.host.arrays import npz_bytes

    return npz_bytes({"x": np.ones(2, np.float32)})


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_refused_without_tvm(answers: dict[str, list], case: str) -> None:
    assert case in answers, f"TVM was loaded by {list(answers)[-1]!r}"
    status, words, loaded = answers[case]
    assert status == 1 and len(words.splitlines()) == 1, words
    assert CASES[case] in words and "internal error" not in words, words
    assert not loaded


def test_every_command_is_among_them() -> None:
    from tvm_megcc.cli import COMMANDS

    assert {case.split()[0] for case in CASES} == set(COMMANDS)
