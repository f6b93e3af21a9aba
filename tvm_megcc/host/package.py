"""A package on disk, as the tools that run it or look into it see it.

Enters: a path, of a package directory or of a tar of it. Leaves: a `Package`, whose facts are those
of its ``manifest.json``.

Example
-------
>>> with opened("model_pkg") as package:                 # doctest: +SKIP
...     print(package.archs, [p.name for p in package.inputs])
('arm64', 'x86') ['data']
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tvm_megcc.core.machine import best_first, machine
from tvm_megcc.core.program import Quantisation
from tvm_megcc.core.this_machine import is_native
from tvm_megcc.dims import whole
from tvm_megcc.errors import InputError
from tvm_megcc.host import files
from tvm_megcc.host.mlf import package_path
from tvm_megcc.target import resolve

#: Ends of names of what is compiled.
MODELS = (".onnx", ".tflite", ".pt2", ".py")

#: Keys that every manifest of ours has.
_MARKS = {"format", "abi", "c_name", "archs", "inputs", "outputs", "per_arch"}


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output: name, dtype (ours) and shape; a dim that is not fixed is text.

    An input's symbolic dim is its name; an output's may be an expression.
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    quantisation: Quantisation | None = None

    @property
    def is_symbolic(self) -> bool:
        return any(isinstance(dim, str) for dim in self.shape)


def shapes_of(ports: Sequence[Port]) -> dict[str, tuple[int, ...]]:
    """The dims of ports whose shapes are fixed, by name."""
    return {port.name: tuple(int(dim) for dim in port.shape) for port in ports}


def fits(shape: Sequence[int], wanted: Sequence[int | str]) -> bool:
    """Whether a shape has the rank and the fixed dims that are wanted.

    A scalar may come as an array of one element, as ONNX Runtime takes it.
    """
    if not wanted:
        return all(size == 1 for size in shape)
    return len(shape) == len(wanted) and all(
        isinstance(w, str) or s == w for s, w in zip(shape, wanted, strict=True)
    )


@dataclass(frozen=True, slots=True)
class Package:
    """A package directory with its manifest."""

    path: Path
    manifest: Mapping[str, Any]

    @property
    def archs(self) -> tuple[str, ...]:
        return tuple(self.manifest["archs"])

    @property
    def inputs(self) -> tuple[Port, ...]:
        return _ports(self.manifest["inputs"])

    @property
    def outputs(self) -> tuple[Port, ...]:
        return _ports(self.manifest["outputs"])

    def choose(self, arch: str | None) -> str:
        """The machine to run: the requested one, else this machine's best, else the first.

        "host" is also served by portable code, and the name of an architecture by the best of its
        machines. Raises InputError if the package was not compiled for it.
        """
        native = best_first([a for a in self.archs if a != "portable" and is_native(a)])
        native += [a for a in self.archs if a == "portable"]
        if arch is None:
            return (native or self.archs)[0]
        if arch == "host" and native:
            return native[0]
        (wanted,) = resolve([arch])
        if wanted not in self.archs:
            same = best_first([a for a in self.archs if machine(a).arch.name == wanted])
            if same:
                return next((a for a in same if a in native), same[0])
            raise InputError(
                f"'{self.path}' has no {wanted} code, only {', '.join(self.archs)};"
                f" compile it with --arch {wanted}"
            )
        return wanted


def _ports(rows: list[dict[str, Any]]) -> tuple[Port, ...]:
    return tuple(
        Port(row["name"], row["dtype"], tuple(row["shape"]), quantisation_of(row)) for row in rows
    )


def quantisation_of(row: Mapping[str, Any]) -> Quantisation | None:
    """What the integers of a manifest's port stand for; None where they stand for themselves."""
    return Quantisation(row["scale"], row["zero_point"]) if "scale" in row else None


def is_package(path: Path) -> bool:
    """Whether a directory is a package of ours (and may be replaced by a newer one)."""
    return _manifest(path) is not None


def load(path: Path) -> Package:
    """Open a package directory; InputError if there is none."""
    manifest = _manifest(path)
    if manifest is None:
        raise InputError(
            f"'{path}' is no package of tvm_megcc (it has no manifest.json of ours);"
            " make one with tvmc compile"
        )
    return Package(path, manifest)


def check(path: Path, arch: str | None = None) -> None:
    """Raise InputError for a path that is no package, or one without code for `arch`.

    A tar is not unpacked.
    """
    if path.is_dir():
        load(path).choose(arch)
    elif not path.exists():
        raise InputError(f"'{path}': no such file or directory; make it with tvmc compile")
    elif path.suffix in MODELS:
        raise InputError(
            f"'{path}' is a model; compile it first: tvmc compile {path} -o {path.stem}_pkg"
        )
    elif arch is not None and arch != "host":
        resolve([arch])


@contextmanager
def opened(path: str | Path) -> Iterator[Package]:
    """Open a package directory, or a tar of one, unpacked for the time being; else InputError."""
    path = Path(path)
    check(path)
    if path.is_dir():
        yield load(path)
        return
    with tempfile.TemporaryDirectory(prefix="tvm_megcc.") as directory:
        root = Path(directory)
        files.untar(path, root)
        if (root / "metadata.json").is_file():
            _from_mlf(root)
        for manifest in sorted(root.rglob("manifest.json")):
            if is_package(manifest.parent):
                yield load(manifest.parent)
                return
        raise InputError(f"'{path}' holds no package of tvm_megcc; make one with tvmc compile")


def _from_mlf(root: Path) -> None:
    """Turn an unpacked Model Library Format tar back into the package it was made from."""
    for file in [path for path in root.rglob("*") if path.is_file()]:
        target = package_path(file.relative_to(root).as_posix())
        if target is not None:
            (root / "package" / target).parent.mkdir(parents=True, exist_ok=True)
            file.rename(root / "package" / target)


def _manifest(path: Path) -> dict[str, Any] | None:
    try:
        manifest = json.loads((path / "manifest.json").read_bytes())
        if isinstance(manifest, dict) and "shared_sizes" in manifest:
            manifest = whole(manifest, manifest.pop("shared_sizes"))
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return manifest if isinstance(manifest, dict) and manifest.keys() >= _MARKS else None
