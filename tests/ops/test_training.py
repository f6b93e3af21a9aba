"""Operators as they are in training, through compiled packages."""

import numpy as np
import pytest

from tests.ops.cases import rand
from tests.ops.together import Case, Open, check_together

pytestmark = pytest.mark.slow

RATE = np.array(0.1, np.float32)


def batch_norm(data, **attrs):
    channels = data.value.shape[1] if isinstance(data, Open) else data.shape[1]
    operands = [data, *(rand(channels, seed=k) for k in (1, 2, 3)), abs(rand(channels, seed=4))]
    attrs["training_mode"] = 1
    return Case("BatchNormalization", operands, attrs, 15, outputs=3, by="reference")


def five_outputs(opset):
    """Until opset 13 that is what says that a node is in training."""
    x, scale, bias, old = rand(4, 2, 3), *(rand(2, seed=k) for k in (1, 2, 3))
    variance, momentum = abs(rand(2, seed=4)), 0.75
    mean, var = x.mean((0, 2)), x.var((0, 2))
    normed = (x - mean[:, None]) / np.sqrt(var + 1e-5)[:, None]
    moved = [momentum * a + (1 - momentum) * b for a, b in ((old, mean), (variance, var))]
    want = [normed * scale[:, None] + bias[:, None], *moved, mean, var]
    operands, attrs = [x, scale, bias, old, variance], {"momentum": momentum}
    return Case("BatchNormalization", operands, attrs, opset, outputs=5, want=want)


def optimiser(op, count, updates, states, **attrs):
    tensors = [rand(2, k + 1, seed=k) for k in range(count)]
    gradients = [rand(2, k + 1, seed=10 + k) for k in range(count)]
    kept = [abs(rand(2, k + 1, seed=20 + k)) for _ in range(states) for k in range(count)]
    operands = [RATE, np.array(updates, np.int64), *tensors, *gradients, *kept]
    outputs = (1 + states) * count
    domain = "ai.onnx.preview.training"
    return Case(op, operands, attrs, 1, domain, outputs, "reference", close=1e-5)


def test_training(tmp_path):
    cases = [batch_norm(rand(2, 3, 4, 5)), batch_norm(rand(4, 3), epsilon=0.1, momentum=0.25)]
    cases += [batch_norm(Open(rand(3, 2, 6), ["n", 2, "w"]))]
    decay = dict(alpha=0.9, beta=0.8, norm_coefficient=0.01)
    cases += [five_outputs(9), five_outputs(13)]
    cases += [optimiser("Momentum", count, updates, 1, mode=mode, **decay)
              for count, updates, mode in ((1, 0, "standard"), (2, 3, "nesterov"))]  # fmt: skip
    cases += [optimiser("Adagrad", 2, 4, 1, epsilon=1e-3, decay_factor=0.1, norm_coefficient=0.02)]
    cases += [optimiser("Adam", count, updates, 2, epsilon=1e-3, norm_coefficient_post=0.1, **decay)
              for count, updates in ((1, 0), (2, 5))]  # fmt: skip
    flags = [(0.5, False), (0.0, True), (0.0, False)]
    cases += [Case("Dropout", [rand(2, 3), np.array(ratio, np.float32), np.array(training)], {}, 13,
                   outputs=2, by="reference") for ratio, training in flags]  # fmt: skip
    check_together(cases, tmp_path)
