"""A finding as a file, and back.

The file is JSON: what was wrong in words, the nodes as text for whoever reads it, then the model
and the inputs, compressed.
"""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from tests.fuzz.data import BF16
from tests.fuzz.evaluate import MOST_BYTES, Array
from tests.fuzz.sketch import Graph

if TYPE_CHECKING:
    from tests.fuzz.session import Finding


def write(finding: Finding, folder: Path) -> Path:
    """Write a finding; its name is made of its kind, its operators, and a sum of its content.

    So no finding takes the place of another one, and the same one found again that of itself.
    """
    folder.mkdir(parents=True, exist_ok=True)
    case = finding.case
    ops = "_".join(dict.fromkeys(node.op_type.lower() for node in case.graph.nodes))[:60]
    model = finding.model or case.graph.model("finding").SerializeToString()
    content = {
        "about": " ".join(finding.text.split())[:400],
        "kind": finding.kind,
        "mode": finding.mode,
        "places": asdict(case.places),
        **({"states": case.graph.states} if case.graph.states else {}),
        "nodes": [" ".join(onnx.printer.to_text(n).split())[:200] for n in case.graph.nodes],
        "model": _text(model),
        "runs": [{n: _array(a) for n, a in run.feed.items()} for run in case.runs],
    }
    if case.graph.states:
        content["goes_on"] = [run.goes_on for run in case.runs]
    mark = zlib.crc32(json.dumps([content["model"], content["runs"]]).encode())
    path = folder / f"{finding.kind}_{ops}_{mark:08x}.json"
    path.write_text(json.dumps(content, indent=1) + "\n")
    return path


def model_of(path: Path) -> bytes:
    """The bytes of a file's model."""
    return _bytes(json.loads(path.read_text())["model"])


def kind_of(path: Path) -> str:
    """The kind of a file's finding."""
    return json.loads(path.read_text())["kind"]


def read(path: Path) -> tuple[dict[str, Any], Graph, list[dict[str, Array]]]:
    """What a file says; its graph, without values; the inputs of its runs."""
    content = json.loads(path.read_text())
    proto = onnx.load_model_from_string(_bytes(content["model"]))
    graph = proto.graph
    feeds = [{n: _read_array(v) for n, v in run.items()} for run in content["runs"]]
    dims = {
        p.name: [d.dim_param or None for d in p.type.tensor_type.shape.dim] for p in graph.input
    }
    made = Graph(
        nodes=list(graph.node),
        opsets={entry.domain: entry.version for entry in proto.opset_import},
        inputs=feeds[0],
        weights={w.name: onnx.numpy_helper.to_array(w) for w in graph.initializer},
        outputs=[p.name for p in graph.output],
        open_dims={n: row for n, row in dims.items() if any(row)},
        states=content.get("states", {}),
    )
    return content, made, feeds


def _text(data: bytes) -> str:
    return base64.b85encode(zlib.compress(data, 9)).decode()


def _bytes(text: str) -> bytes:
    return zlib.decompress(base64.b85decode(text))


def _array(array: Array) -> list[object]:
    data = array.tobytes() if array.nbytes < MOST_BYTES else b""
    return [array.dtype.name, list(array.shape), _text(data)]


def _read_array(row: list) -> Array:
    name, shape, data = row
    dtype = BF16 if name == BF16.name else np.dtype(name)
    if not (content := _bytes(data)) and 0 not in shape:
        return np.broadcast_to(dtype.type(0), shape)
    return np.frombuffer(content, dtype).reshape(shape)
