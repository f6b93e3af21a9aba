"""Models that scripts measure: of the corpus (../shared/models), of the zoo, and ONNX files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

from tvm_megcc import zoo
from tvm_megcc.errors import InputError
from tvm_megcc.host import arrays, package

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "models"))

import corpus  # noqa: E402

#: Pixels of images for the zoo's larger networks: qemu runs some 10^8 instructions a second.
ZOO_SIZE = 96


@dataclass(frozen=True, slots=True)
class Subject:
    """A model to compile, and what to run it with: a stored case, or random inputs."""

    name: str
    path: Path
    shapes: Mapping[str, Sequence[int]] | None = None
    case: corpus.Case | None = None

    def inputs(self, ports: Sequence[package.Port]) -> arrays.Arrays:
        """Arrays for the inputs of the compiled model."""
        if self.case is None:
            return arrays.fill(ports, "random")
        stored = self.case.inputs()
        return {port.name: stored[port.name] for port in ports}


def zoo_file(name: str, folder: Path) -> Path:
    """Write a network of the zoo, its images at most `ZOO_SIZE` wide, into a folder."""
    path = folder / f"{name}.onnx"
    onnx.save(zoo.build(name) if "tiny" in name else zoo.build(name, size=ZOO_SIZE), path)
    return path


def file_of(name: str, folder: Path) -> Path:
    """An ONNX file, or a network of the zoo at its own size, written into a folder.

    Raises MegccError if `name` is neither.
    """
    path = Path(name)
    if name in zoo.NAMES or not path.is_file():
        path = folder / f"{name}.onnx"
        onnx.save(zoo.build(name), path)
    return path


def chosen(shared: Path, folder: Path, names: Sequence[str]) -> list[Subject]:
    """Models by name, of corpus, zoo or a file; all of corpus and zoo without names; small first.

    Models of the zoo are written into `folder`. Raises InputError for a name that nothing has.
    """
    found: dict[str, Subject] = {}
    stored = shared / "models"
    for model in corpus.load(stored).values() if stored.is_dir() else ():
        shapes, (case, *_) = model.shape_sets()[0]
        found[model.name] = Subject(model.name, model.path, shapes, case)
    for name in zoo.NAMES:
        if not names or name in names:
            found[name] = Subject(name, zoo_file(name, folder))
    for name in names:
        if name not in found and Path(name).is_file():
            found[name] = Subject(Path(name).stem, Path(name).resolve())
        if name not in found:
            raise InputError(f"{name!r} is no file and no model of the corpus or the zoo")
    return sorted(
        (found[name] for name in names or found), key=lambda s: (s.path.stat().st_size, s.name)
    )


def parser(prog: str, description: str | None) -> argparse.ArgumentParser:
    """A parser for models of the corpus by name; `known` reads them."""
    made = argparse.ArgumentParser(prog=prog, description=description)
    made.add_argument("names", nargs="*", metavar="MODEL", help="default: all")
    made.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    return made


def known(
    parser: argparse.ArgumentParser, args: argparse.Namespace, load: Callable[[Path], Any]
) -> Any:
    """Models by name as `load` finds them in the shared folder; an unknown name is an error."""
    if not (args.shared / "models").is_dir():
        parser.error(f"there is no corpus at {args.shared / 'models'}; name it with --shared DIR")
    found = load(args.shared)
    if unknown := sorted(set(args.names) - set(found)):
        parser.error(f"not known: {', '.join(unknown)}")
    return found
