"""ONNX Runtime in a process of its own: nodes of which it dies are nodes that it does not evaluate.

A body of a loop that divides by zero sizes (Split of a row into parts of 0, onnxruntime 1.31) ended
a night's fuzzing in its middle, without a word.
"""

from __future__ import annotations

import threading
from functools import lru_cache

import numpy as np

from tests.fuzz import process

Array = np.ndarray
#: The results and their types in ONNX Runtime's words; or the refusal, and whether a kernel lacks.
Reply = tuple[list[Array], list[str]] | tuple[str, bool]

#: Nobody waits longer for one node.
SECONDS = 60

_PROCESS = process.Process("from tests.fuzz.runtime import serve; serve()")
_TURN = threading.Lock()


def run(model: bytes, feeds: dict[str, tuple[Array, int]]) -> Reply:
    """Run a model of one node.

    Parameters
    ----------
    feeds : dict
        Arrays and their ONNX element types; bf16 as u16.
    """
    # It reads the memory of an array as it lies, whatever the strides are.
    feeds = {name: (np.asarray(array, order="C"), kind) for name, (array, kind) in feeds.items()}
    with _TURN:
        try:
            reply: Reply = _PROCESS.ask((model, feeds), SECONDS)
        except process.Died as death:
            return f"ONNX Runtime {death}", True
    return reply


def serve() -> None:
    """Run models, without ONNX Runtime's optimisations."""
    import onnxruntime as ort

    ort.set_default_logger_severity(4)

    @lru_cache(maxsize=4096)
    def session(model: bytes) -> ort.InferenceSession | tuple[str, bool]:
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        try:
            return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # pybind raises a class for each status
            text = " ".join(str(error).split())
            return text, "NOT_IMPLEMENTED" in text or "opset" in text.lower()

    def reply(model: bytes, feeds: dict[str, tuple[Array, int]]) -> Reply:
        made = session(model)
        if isinstance(made, tuple):
            return made
        make = ort.OrtValue.ortvalue_from_numpy_with_onnx_type
        try:
            results = made.run(None, {n: make(a, kind) for n, (a, kind) in feeds.items()})
        except Exception as error:
            return " ".join(str(error).split()), False
        if any(not isinstance(r, np.ndarray) for r in results):
            return "an output is no tensor", True
        return results, [port.type for port in made.get_outputs()]

    process.serve(reply)
