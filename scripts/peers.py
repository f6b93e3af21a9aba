"""A peer's runtime as a process that answers with times: for scripts/bench_peers.py.

    python peers.py PEER MODEL.onnx INPUTS.npz OUTPUTS.npz

Loads the model with one thread and f32 arithmetic, writes what it answers to OUTPUTS.npz, prints
``ready``, and for every line with a number N that it reads a JSON list of N times in ms. It runs in
an environment of its own (`scripts/bench --peers` makes it), in which nothing of ours is installed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np  # noqa: E402

Arrays = dict[str, Any]
Run = Callable[[], Arrays]


def onnxruntime(model: Path, inputs: Arrays, _: Path) -> Run:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda: dict(zip(names, session.run(None, inputs), strict=True))


def openvino(model: Path, inputs: Arrays, _: Path) -> Run:
    import openvino as ov

    core = ov.Core()
    read = core.read_model(str(model))
    read.reshape({name: list(value.shape) for name, value in inputs.items()})
    settings = {
        "INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    }  # fmt: skip
    request = core.compile_model(read, "CPU", settings).create_infer_request()
    names = _outputs(model)
    return lambda: dict(zip(names, request.infer(inputs).values(), strict=True))


def ncnn(model: Path, inputs: Arrays, work: Path) -> Run:
    import ncnn as runtime

    # Importing pnnx asks for torch; its converter does not.
    found = importlib.util.find_spec("pnnx")
    assert found and found.origin
    (value,) = inputs.values()
    shape = ",".join(map(str, value.shape))
    local = work / "model.onnx"
    local.write_bytes(model.read_bytes())
    _quietly(work, Path(found.origin).with_name("pnnx"), local, f"inputshape=[{shape}]", "fp16=0")
    net = runtime.Net()
    net.opt.num_threads = 1
    net.opt.use_vulkan_compute = False
    for option in ("fp16_packed", "fp16_storage", "fp16_arithmetic", "bf16_storage"):
        setattr(net.opt, f"use_{option}", False)
    net.load_param(str(work / "model.ncnn.param"))
    net.load_model(str(work / "model.ncnn.bin"))
    names = _outputs(model)

    def run() -> Arrays:
        extractor = net.create_extractor()
        extractor.input("in0", runtime.Mat(value[0]))
        answers = (np.array(extractor.extract(f"out{i}")[1])[None] for i in range(len(names)))
        return dict(zip(names, answers, strict=True))

    return run


def mnn(model: Path, inputs: Arrays, work: Path) -> Run:
    import MNN
    import MNN.expr as expr

    converted = work / "model.mnn"
    # The wheel's own mnnconvert script installs a logger first.
    code = "import _tools, sys; _tools.mnnconvert(sys.argv)"
    _quietly(
        work, sys.executable, "-c", code, "-f", "ONNX", "--modelFile", model,
        "--MNNModel", converted,
        "--bizCode", "x",
    )  # fmt: skip
    ((name, value),) = inputs.items()
    names = _outputs(model)
    manager = MNN.nn.create_runtime_manager(
        ({"backend": "CPU", "numThread": 1, "precision": "high"},)
    )
    net = MNN.nn.load_module_from_file(str(converted), [name], names, runtime_manager=manager)
    tensor = expr.const(value, list(value.shape), expr.NCHW, expr.float)
    if value.ndim == 4:
        tensor = expr.convert(tensor, expr.NC4HW4)

    def run() -> Arrays:
        found = net.forward([tensor])
        found = found if isinstance(found, list | tuple) else [found]
        answers = (np.array(expr.convert(one, expr.NCHW).read()) for one in found)
        return dict(zip(names, answers, strict=True))

    return run


def _outputs(model: Path) -> list[str]:
    import onnx

    return [o.name for o in onnx.load(str(model), load_external_data=False).graph.output]


def _quietly(work: Path, *command: str | Path) -> None:
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=work, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError((done.stderr or done.stdout).strip()[-300:] or "it does not convert")


PEERS = {"onnxruntime": onnxruntime, "openvino": openvino, "ncnn": ncnn, "mnn": mnn}


def main() -> int:
    peer, model, inputs, outputs = sys.argv[1], *map(Path, sys.argv[2:5])
    # Only what is meant for the reader goes to it: converters and runtimes print, too.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory(prefix="megcc_peer_") as work:
        run = PEERS[peer](model, dict(np.load(inputs)), Path(work))
        np.savez(outputs, **run())
        print("ready", file=answers, flush=True)
        for line in sys.stdin:
            times = []
            for _ in range(int(line)):
                start = time.perf_counter()
                run()
                times.append((time.perf_counter() - start) * 1e3)
            print(json.dumps(times), file=answers, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
