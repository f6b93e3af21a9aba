"""A package in the places of TVM's Model Library Format, and back.

Enters: a program and its package. Leaves: the files of the ``.tar``, where readers of the format
look for them:

    metadata.json                        names, target, ports, memory
    codegen/host/{src,include,model}/    the package's C
    executor-config/graph/default.graph  the calls as the graph executor's JSON
    parameters/default.params            the constants, as TVM's ``load_param_dict`` reads them
    src/default.txt                      the program as text
    runtime/                             the package's other files (Makefile, main.c, runner/, ...)

There is no time stamp: equal input gives equal bytes. `package_path` finds the way back, so that
``tvmc run`` takes such a tar too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tvm_megcc.core.contents import Content, to_bytes
from tvm_megcc.core.program import Bundle, Program, programs_of
from tvm_megcc.host.graph_form import constants, graph_json

#: The version of the format whose layout this is (TVM 0.9 to 0.18's last).
VERSION = 7

_MOVED = {
    "src/": "codegen/host/src/",
    "include/": "codegen/host/include/",
    "model/": "codegen/host/model/",
}
_REST = "runtime/"


def layout(
    programs: Mapping[str, Program | Bundle], package: Mapping[str, Content]
) -> dict[str, Content]:
    """The files of the tar; graph and parameters are those of the first architecture."""
    import tvm

    first = next(iter(programs.values()))
    manifest = json.loads(to_bytes(package["manifest.json"]))
    moved = {mlf_path(path): content for path, content in package.items()}
    moved["metadata.json"] = json.dumps(_metadata(manifest), indent=1, sort_keys=True) + "\n"
    moved["executor-config/graph/default.graph"] = (
        json.dumps(graph_json(programs_of(first)[-1]), indent=2) + "\n"
    )
    moved["parameters/default.params"] = bytes(
        tvm.runtime.save_param_dict({n: tvm.runtime.tensor(a) for n, a in constants(first).items()})
    )
    texts = [str(p) for found in programs.values() for p in programs_of(found)]
    moved["src/default.txt"] = "\n".join(texts) + "\n"
    return moved


def mlf_path(path: str) -> str:
    """The place in the tar of a file of the package.

    >>> mlf_path("src/megcc_model.c"), mlf_path("Makefile")
    ('codegen/host/src/megcc_model.c', 'runtime/Makefile')
    """
    for old, new in _MOVED.items():
        if path.startswith(old):
            return new + path.removeprefix(old)
    return _REST + path


def package_path(path: str) -> str | None:
    """The place in the package of a file of the tar, or None.

    >>> package_path("codegen/host/src/megcc_model.c"), package_path("metadata.json")
    ('src/megcc_model.c', None)
    """
    for old, new in _MOVED.items():
        if path.startswith(new):
            return old + path.removeprefix(new)
    return path.removeprefix(_REST) if path.startswith(_REST) else None


def _metadata(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Sizes that follow from the shapes are null."""

    def ports(side: str) -> dict[str, Any]:
        return {
            p["name"]: {"dtype": p["dtype"], "shape": p["shape"], "size_bytes": p.get("bytes")}
            for p in manifest[side]
        }

    sizes = [p.get("bytes") for side in ("inputs", "outputs") for p in manifest[side]]
    main = [
        {
            "arch": arch,
            "workspace_size_bytes": facts["arena_bytes"],
            "constants_size_bytes": facts["weight_bytes"],
            "io_size_bytes": None if None in sizes else sum(sizes),
            "inputs": ports("inputs"),
            "outputs": ports("outputs"),
        }
        for arch, facts in manifest["per_arch"].items()
    ]
    return {
        "version": VERSION,
        "model_name": manifest["name"],
        "modules": {
            "default": {
                "model_name": manifest["name"],
                "executors": ["megcc"],
                "style": "full-model",
                "target": ["tvm_megcc"],
                "memory": {"functions": {"main": main}},
            }
        },
    }
