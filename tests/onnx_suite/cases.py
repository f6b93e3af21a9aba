"""ONNX's own test cases: those of its nodes, ``simple`` and the models that PyTorch exported."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from tvm_megcc.frontend.input_shapes import real_inputs

#: Kinds of cases that lie on disk beside onnx.
ON_DISK = ("simple", "pytorch-converted", "pytorch-operator")

#: How long sequences at inputs are, and shapes of elements of which the model says none: this is
#: said when compiling, as with --input-shapes.
ELEMENTS: dict[str, dict[str, list[tuple[int, ...] | None]]] = {
    "test_identity_opt": {"opt_in": [None]},
    "test_identity_sequence": {"x": [(1, 1, 2, 2), (1, 1, 2, 2)]},
    "test_optional_get_element_optional_sequence": {"optional_input": [None]},
    "test_optional_get_element_sequence": {"optional_input": [None]},
    "test_sequence_insert_at_back": {"sequence": [(4,), (3,), (2,)]},
    "test_sequence_insert_at_front": {"sequence": [(4,), (3,), (2,)]},
    "test_sequence_map_add_1_sequence_1_tensor": {"x0": [None] * 3},
    "test_sequence_map_add_2_sequences": {"x0": [None] * 3, "x1": [None] * 3},
    "test_sequence_map_extract_shapes": {"in_seq": [None] * 3},
    "test_sequence_map_identity_1_sequence": {"x": [None] * 3},
    "test_sequence_map_identity_1_sequence_1_tensor": {"x0": [None] * 3},
    "test_sequence_map_identity_2_sequences": {"x0": [None] * 3, "x1": [None] * 3},
}


@dataclass(frozen=True, slots=True)
class Case:
    """A model with inputs and the outputs that ONNX says it has for them.

    Attributes
    ----------
    name : str
    operator : str
        What it is a case of: ``Add``, ``ai.onnx.ml::Scaler``; the kind for those on disk.
    model : onnx.ModelProto
    data_sets : sequence of (inputs, outputs)
    rtol, atol : float
    """

    name: str
    operator: str
    model: onnx.ModelProto
    data_sets: Sequence[tuple[Sequence[Any], Sequence[Any]]]
    rtol: float
    atol: float

    @property
    def input_shapes(self) -> dict[str, tuple[int, ...] | None]:
        """What the user says of the inputs when compiling: the elements of sequences."""
        elements = ELEMENTS.get(self.name.removesuffix("_expanded"), {})
        return {f"{name}[{k}]": s for name, row in elements.items() for k, s in enumerate(row)}


@cache
def all_cases() -> dict[str, Case]:
    """Every case by its name, sorted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [*_of_nodes(), *_on_disk()]
    cases = {case.name: case for case in sorted(found, key=lambda c: c.name)}
    assert len(cases) == len(found), "two cases of one name"
    return cases


def _of_nodes() -> Iterator[Case]:
    from onnx.backend.test.case.node import collect_testcases

    found = {test.name: test for test in collect_testcases(None)}
    for test in found.values():
        # The definition of an operator by others is a case of that operator.
        whole = found.get(test.name.split("_expanded")[0], test).model.graph.node
        last = whole[-1]
        operator = f"{last.domain}::{last.op_type}" if last.domain else last.op_type
        data_sets = [(tuple(map(_value, a)), tuple(map(_value, b))) for a, b in test.data_sets]
        yield Case(test.name, operator, test.model, data_sets, test.rtol, test.atol)


def with_initialisers(case: Case) -> Case:
    """The case with all operands but the first as initialisers, as exported models have weights."""
    known = dict(enumerate(case.data_sets[0][0]))
    ports = real_inputs(case.model.graph)
    fixed = {
        k: port.name
        for k, port in enumerate(ports)
        if k > 0 and isinstance(known.get(k), np.ndarray | np.generic)
    }
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    model.graph.initializer.extend(
        numpy_helper.from_array(np.asarray(known[k]), name) for k, name in fixed.items()
    )
    for port in [port for port in model.graph.input if port.name in fixed.values()]:
        model.graph.input.remove(port)
    left = tuple(value for k, value in known.items() if k not in fixed)
    return replace(case, model=model, data_sets=[(left, case.data_sets[0][1])])


def _value(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def _on_disk() -> Iterator[Case]:
    from onnx.backend.test.loader import load_model_tests

    for kind in ON_DISK:
        for test in load_model_tests(kind=kind):
            folder = Path(test.model_dir)
            model = onnx.load(os.fspath(folder / "model.onnx"))
            data_sets = [
                (_read(data, "input", model.graph.input), _read(data, "output", model.graph.output))
                for data in sorted(folder.glob("test_data_set*"))
            ]
            yield Case(test.name, kind, model, data_sets, test.rtol, test.atol)


def _read(folder: Path, side: str, ports: Sequence[onnx.ValueInfoProto]) -> tuple[Any, ...]:
    """The values of a data set; ONNX's runner pairs them with the first ports."""
    count = len(list(folder.glob(f"{side}_*.pb")))
    values: list[Any] = []
    for number, port in zip(range(count), ports, strict=False):
        data = (folder / f"{side}_{number}.pb").read_bytes()
        if port.type.WhichOneof("value") == "sequence_type":
            values.append(numpy_helper.to_list(onnx.SequenceProto.FromString(data)))
        else:
            values.append(numpy_helper.to_array(onnx.TensorProto.FromString(data)))
    return tuple(values)
