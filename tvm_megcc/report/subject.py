"""The subject of a report: everything that is known of one program of a package.

Enters: a package, which of its machines and sizes are meant, and perhaps a profile. Leaves: a
`Subject`, whose parts the page only has to lay out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tvm_megcc.codegen_c.sources import kernel_operator
from tvm_megcc.dims import json_text
from tvm_megcc.errors import InputError
from tvm_megcc.host import serving
from tvm_megcc.host.package import Package
from tvm_megcc.report import labels
from tvm_megcc.report.profile import Profile, Row, bytes_of, operands

Facts = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Subject:
    """Everything that is known of one program of a package."""

    facts: Facts  # of the whole package (`tvm_megcc.cli.inspect.summary`)
    arch: str
    entry: Facts  # the manifest's facts of the program
    kernels: Facts  # link name -> its entry of the manifest
    sizes: Mapping[str, int] = field(default_factory=dict)  # dynamic dims -> given sizes
    program: str = ""  # which of several programs; "" for a single one
    profile: Profile | None = None
    #: Link name -> bytes of machine code, ``""`` the runtime; empty if unknown.
    code: Mapping[str, int] = field(default_factory=dict)
    code_unknown: str = ""  # why `code` is empty
    plan: str = ""  # the memory plan as SVG, or ""
    plan_unknown: str = ""  # why `plan` is empty
    advice: Sequence[str] = ()  # sentences for the user

    @property
    def calls(self) -> Sequence[Facts]:
        found: Sequence[Facts] = self.entry["graph"]["calls"]
        return found

    @property
    def tensors(self) -> Sequence[Facts]:
        found: Sequence[Facts] = self.entry["graph"]["tensors"]
        return found

    @property
    def rows(self) -> Mapping[int, Row]:
        """Number of a call -> its row of the profile."""
        if self.profile is None:
            return {}
        return {row.call: row for row in self.profile.rows if row.call is not None}

    @property
    def groups(self) -> Sequence[Facts]:
        """The groups of calls that run in bands of rows."""
        return [labels.group_at(group, self.sizes) for group in self.entry.get("streamed", ())]

    def group_of(self, number: int) -> Facts | None:
        """The group that a call is in, None for a call that runs as a whole."""
        inside = (g for g in self.groups if g["first_call"] <= number <= g["last_call"])
        return next(inside, None)

    def template(self, call: Facts) -> str:
        """The stem of the kernel's file, or ``generated``."""
        return self.kernels[call["kernel"]]["template"] or "generated"

    def operator(self, call: Facts) -> str:
        """The kernel's operator."""
        template = self.template(call)
        try:
            return kernel_operator(template)
        except KeyError:  # of no file, or one of another version
            return template

    def nodes(self, call: Facts) -> Sequence[str]:
        """The model's nodes that a call computes, or is a part of."""
        found: Sequence[str] = self.entry["graph"]["nodes"][call["nodes"]]
        return found

    def operators(self, call: Facts) -> str:
        """ONNX's operators, or the kernel's."""
        return labels.operators(self.nodes(call)) or f"({self.operator(call)})"

    def type_of(self, tensor: int) -> str:
        """``f32 1x3x32x32``, with sizes for the dims that are known."""
        found = self.tensors[tensor]
        texts = [self._text(dim) for dim in found["shape"]]
        kept = ""
        if "rows" in found:
            rows = {key: self._text(found[key]) for key in ("rows", "height")}
            kept = f", {labels.kept_text(rows)}"
        return f"{found['dtype']} {'×'.join(texts) or 'scalar'}{kept}"

    def _text(self, size: object) -> str:
        found = labels.size_at(size, self.sizes)
        return json_text(size) if found is None else str(found)

    def bytes_of(self, tensor: int) -> int | None:
        """Bytes of a tensor, and of a line buffer those of all rows of the image."""
        return bytes_of(self.tensors[tensor], self.sizes)

    def weights(self) -> list[tuple[str, str, int]]:
        """Name, type and bytes of each weight, largest first; a weight has its reader's name."""
        readers: dict[int, list[str]] = {}
        for call in self.calls:
            for tensor in operands(call):
                if self.tensors[tensor]["place"] == "weight":
                    readers.setdefault(tensor, []).append(call["name"])
        rows = [
            (
                names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else ""),
                self.type_of(tensor),
                self.bytes_of(tensor) or 0,
            )
            for tensor, names in readers.items()
        ]
        return sorted(rows, key=lambda row: -row[2])


def program_of(
    package: Package, arch: str, shapes: Mapping[str, Sequence[int]] | None
) -> tuple[Facts, dict[str, int], str]:
    """The facts of the program for some shapes, their sizes, and its number among several.

    Raises InputError if the package serves no such shapes, or does not say what its calls are.
    """
    entry = package.manifest["per_arch"][arch]
    programs = entry.get("functions", [entry])
    number, found, sizes = 0, programs[0], dict[str, int]()
    if shapes is not None:
        sizes = serving.dims_of(package.inputs, shapes)
        served = serving.program_for(entry, sizes)
        if served is None:
            given = ", ".join(f"{name} = {size}" for name, size in sizes.items())
            raise InputError(f"--shapes: the model was not compiled for {given}; give other sizes")
        number, found = served
    if "graph" not in found:
        raise InputError(f"'{package.path}' is of an earlier version; compile the model again")
    several = f"program {number} of {len(programs)}" if len(programs) > 1 else ""
    return found, sizes, several
