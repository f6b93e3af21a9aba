"""``examples/cortexm`` of a package: a whole program for a Cortex-M without an operating system.

Enters: what was compiled, and the manifest's facts. Leaves: files, none for a package that the
program cannot serve: of another architecture, or whose memory is not known before it runs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tvm_megcc.codegen_c.emit.compiled import Compiled, is_shaped
from tvm_megcc.codegen_c.sources import generated, guarded, package_text
from tvm_megcc.core.contents import Content
from tvm_megcc.core.machine import machine

FOLDER = "examples/cortexm"
_FILES = ("Makefile", "board.c", "board.h", "board.ld", "main.c", "placement.h")


def example(
    ident: str, codes: Mapping[str, Compiled], facts: Mapping[str, Any], weights: str
) -> dict[str, Content]:
    """The files of the example by path."""
    boards = [a for a in codes if machine(a).arch.name == "cortexm"]
    if not boards or weights == "bin" or is_shaped(codes) or "externs" in facts:
        return {}
    if any(len(facts["per_arch"][a].get("memory", {}).get("pools", "1")) > 1 for a in boards):
        return {}
    out: dict[str, Content] = {
        f"{FOLDER}/{name}": package_text(f"cortexm/{name}") for name in _FILES
    }
    fed = {step.name for a in boards for step in codes[a].feeds}
    out[f"{FOLDER}/model.h"] = _model_h(ident, facts, fed)
    return out


def _model_h(ident: str, facts: Mapping[str, Any], fed: Collection[str]) -> str:
    macros = {
        "HEADER": f"<{ident}.h>",
        "IMAGE": f"{ident}_image",
        "KERNELS": f"{ident}_kernels",
        "CONTEXT_BYTES": f"{ident.upper()}_CONTEXT_BYTES",
        "ARENA_BYTES": f"{ident.upper()}_ARENA_BYTES",
        "INPUT_BYTES": port_bytes(facts["inputs"]),
        "OUTPUT_BYTES": port_bytes(facts["outputs"]),
    }
    if fed:
        names = [port["name"] for port in facts["inputs"]]
        macros["ROWS"] = sum(1 << k for k, name in enumerate(names) if name in fed)
    lines = "".join(f"#define MEGCC_EXAMPLE_{key} {value}\n" for key, value in macros.items())
    return generated("What the example has to know", ident) + guarded(
        "MEGCC_EXAMPLE_MODEL_H", lines
    )


def port_bytes(ports: Sequence[Mapping[str, Any]]) -> int:
    """Bytes of all ports, each at a multiple of 8; at least 8, as C has no empty arrays."""
    return max(8, sum((int(port["bytes"]) + 7) // 8 * 8 for port in ports))
