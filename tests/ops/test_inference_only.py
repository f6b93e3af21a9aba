"""Operators that do less in inference than in training, and predicates."""

import numpy as np
import pytest

from tests.ops.cases import Weight, check_node, node_model, rand
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.frontend import from_onnx


@pytest.mark.parametrize("outputs", [1, 2])
def test_dropout(outputs):
    check_node("Dropout", [rand(2, 3), Weight(0.5, "float32")], 13, outputs=outputs)


def test_batchnormalization_in_training_before_opset_14():
    operands = [rand(2, 3, 4), *(Weight(abs(rand(3, seed=i))) for i in range(4))]
    model, _ = node_model("BatchNormalization", operands, 9, outputs=3)
    with pytest.raises(UnsupportedError, match="gives statistics without training_mode"):
        from_onnx(model)


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("negative", [0, 1])
def test_isinf(positive, negative):
    data = np.array([1, np.inf, -np.inf, np.nan], np.float32)
    check_node("IsInf", [data], 10, detect_positive=positive, detect_negative=negative)
