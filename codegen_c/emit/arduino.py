"""A package as a library for Arduino: everything that is compiled in one folder, and a sketch.

Enters: a package, with its weights as C. Leaves: the files of the library. Its folder ``src`` is
searched for headers, and all C in it is compiled, with the board's flags.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from tvm_megcc.codegen_c.emit.cortexm import port_bytes
from tvm_megcc.codegen_c.sources import filled
from tvm_megcc.core.contents import Content, to_bytes

_MOVED = {"include/": "src/", "model/": "src/model/", "src/": "src/"}


def layout(package: Mapping[str, Content]) -> dict[str, Content]:
    """The library's files by path; a sketch is there where memory is known before it runs."""
    facts = json.loads(to_bytes(package["manifest.json"]))
    ident, rows = facts["c_name"], facts["per_arch"].values()
    out: dict[str, Content] = {
        new + path.removeprefix(old): text
        for path, text in package.items()
        for old, new in _MOVED.items()
        if path.startswith(old) and path != "include/megcc_pool.h"
    }
    version = f"{facts['program_version']}.{facts['abi']}"
    out["library.properties"] = filled("arduino/library.properties", IDENT=ident, VERSION=version)
    out["manifest.json"] = package["manifest.json"]
    one_pool = all(len(row.get("memory", {}).get("pools", "1")) == 1 for row in rows)
    if one_pool and not any("functions" in row for row in rows):
        out[f"examples/{ident}_once/{ident}_once.ino"] = filled(
            "arduino/sketch.ino",
            IDENT=ident,
            UPPER=ident.upper(),
            INPUT_BYTES=str(port_bytes(facts["inputs"])),
            OUTPUT_BYTES=str(port_bytes(facts["outputs"])),
        )
    return dict(sorted(out.items()))
