"""A convolutional classifier of small images with labels, trained here in a second or so."""

from __future__ import annotations

from functools import cache

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CLASSES, SIDE, FILTERS = 10, 12, 8
_OUT = (SIDE - 3) // 2 + 1  # of a 3 x 3 convolution with stride 2


def images(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """``[count, 1, SIDE, SIDE]`` and their classes: each has a pattern, shifted and noisy."""
    patterns = np.random.default_rng(7).standard_normal((CLASSES, SIDE, SIDE))
    patterns = patterns + np.roll(patterns, 1, 1) + np.roll(patterns, 1, 2)
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, count)
    shifts = rng.integers(0, 2, count)
    shifted = np.stack([np.roll(patterns[k], s, 1) for k, s in zip(labels, shifts, strict=True)])
    strength, noise = rng.uniform(0.5, 1.5, (count, 1, 1)), rng.standard_normal(shifted.shape)
    noisy = shifted * strength + 2.6 * noise
    return noisy[:, None].astype(np.float32), labels


def _patches(x: np.ndarray) -> np.ndarray:
    """``[count, _OUT, _OUT, 9]``"""
    windows = np.lib.stride_tricks.sliding_window_view(x[:, 0], (3, 3), axis=(1, 2))[:, ::2, ::2]
    return windows.reshape(len(x), _OUT, _OUT, 9)


@cache
def model() -> onnx.ModelProto:
    """Convolution, ReLU and a fully connected layer, trained by gradient descent with momentum."""
    rng = np.random.default_rng(0)
    x, labels = images(2000, 1)
    patches, wanted = _patches(x), np.eye(CLASSES)[labels]
    weights = [
        rng.standard_normal((9, FILTERS)) / 3,
        np.zeros(FILTERS),
        rng.standard_normal((_OUT * _OUT * FILTERS, CLASSES)) / 14,
        np.zeros(CLASSES),
    ]
    speeds = [np.zeros_like(w) for w in weights]
    for _ in range(12):
        for batch in np.split(rng.permutation(len(x)), 20):
            kernel, bias, dense, last = weights
            rows, target = patches[batch], wanted[batch]
            hidden = np.maximum(rows @ kernel + bias, 0)
            flat = hidden.reshape(len(batch), -1)
            scores = flat @ dense + last
            odds = np.exp(scores - scores.max(1, keepdims=True))
            error = (odds / odds.sum(1, keepdims=True) - target) / len(batch)
            back = (error @ dense.T).reshape(hidden.shape) * (hidden > 0)
            steps = [
                np.einsum("nyxk,nyxf->kf", rows, back), back.sum((0, 1, 2)),
                flat.T @ error, error.sum(0),
            ]  # fmt: skip
            for weight, speed, step in zip(weights, speeds, steps, strict=True):
                speed *= 0.9
                speed -= 0.05 * step
                weight += speed
    return _onnx(*weights)


def _onnx(kernel: np.ndarray, bias: np.ndarray, dense: np.ndarray, last: np.ndarray):
    # Rows in the order of channels, height, width.
    rows = dense.reshape(_OUT, _OUT, FILTERS, CLASSES).transpose(2, 0, 1, 3)
    constants = {
        "kernel": kernel.T.reshape(FILTERS, 1, 3, 3),
        "bias": bias,
        "dense": rows.reshape(-1, CLASSES),
        "last": last,
    }
    nodes = [
        helper.make_node("Conv", ["image", "kernel", "bias"], ["c"], name="conv", strides=[2, 2]),
        helper.make_node("Relu", ["c"], ["r"], name="relu"),
        helper.make_node("Flatten", ["r"], ["f"], name="flatten"),
        helper.make_node("Gemm", ["f", "dense", "last"], ["scores"], name="dense"),
    ]
    graph = helper.make_graph(
        nodes,
        "classifier",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 1, SIDE, SIDE])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", CLASSES])],
        [numpy_helper.from_array(a.astype(np.float32), n) for n, a in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
