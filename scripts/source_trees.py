"""Other states of the source tree, and a compiler process for each.

Enters: a git commit or a directory. Leaves: `Tree`, whose `Compiler` answers ``tvmc compile``
as that state of the tree does, while this process keeps its own modules.

Example
-------
>>> with opened("HEAD~1") as tree, Compiler(tree) as compiler:       # doctest: +SKIP
...     compiler.compile(["model.onnx", "-o", "pkg", "--arch", "arm64"])
''
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tvm_megcc.errors import InputError, ToolError

ROOT = Path(__file__).resolve().parents[1]

#: The folders that are installed, and under which name.
PACKAGES = {"tvm_megcc": "", "codegen_c": "codegen_c", "runtime": "runtime"}

#: What the compiler's process does: a line of arguments in, a line with what was wrong out.
SERVE = """
import contextlib, io, json, os, sys
answers = os.fdopen(os.dup(1), "w")
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
from tvm_megcc.cli import main
for line in sys.stdin:
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        try:
            status = main(["compile", *json.loads(line)])
        except SystemExit as error:
            status = error.code
    print(json.dumps(said.getvalue().strip() or f"status {status}" if status else ""),
          file=answers, flush=True)
"""


@dataclass(frozen=True, slots=True)
class Tree:
    """A state of the sources."""

    label: str  # as the user named it
    path: Path  # where the files are
    mark: str  # equal for equal contents: what a cache is keyed by


@contextmanager
def opened(name: str) -> Iterator[Tree]:
    """A directory as it is, or a commit, unpacked for the time being; else InputError."""
    if Path(name).is_dir():
        path = Path(name).resolve()
        if not (path / "tvm_megcc" / "__init__.py").is_file():
            raise InputError(f"'{name}' is no source tree of tvm_megcc; name one, or a commit")
        yield Tree(name, path, _digest(path))
        return
    git = ["git", "-C", str(ROOT)]
    found = subprocess.run(
        [*git, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"],
        capture_output=True, text=True,
    )  # fmt: skip
    if found.returncode:
        raise InputError(f"'{name}' is neither a directory nor a commit of {ROOT}")
    commit = found.stdout.strip()
    archive = subprocess.run([*git, "archive", commit], capture_output=True, check=True).stdout
    with tempfile.TemporaryDirectory(prefix="tvm_megcc.") as folder:
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(folder)
        yield Tree(name, Path(folder), commit[:16])


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    for folder in PACKAGES:
        for file in sorted((path / folder).rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                data = file.read_bytes()
                digest.update(f"{file.relative_to(path)}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()[:16]


class Compiler:
    """A process with the modules of a tree; start it with ``with``."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._view = tempfile.TemporaryDirectory(prefix="tvm_megcc.")
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Compiler:
        # The sources as they are installed: codegen_c/ is tvm_megcc.codegen_c.
        package = Path(self._view.name, "tvm_megcc")
        package.mkdir()
        for folder, name in PACKAGES.items():
            if name:
                (package / name).symlink_to(self.tree.path / folder)
                continue
            for entry in (self.tree.path / folder).iterdir():
                if entry.name != "__pycache__":
                    (package / entry.name).symlink_to(entry)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        self._view.cleanup()

    def compile(self, arguments: Sequence[str]) -> str:
        """Run ``tvmc compile`` with these arguments; its error message, or ""."""
        process = self._process
        if process is None:
            process = self._process = subprocess.Popen(
                [sys.executable, "-c", SERVE],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                text=True, env={**os.environ, "PYTHONPATH": self._view.name}, cwd=self._view.name,
            )  # fmt: skip
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps(list(arguments)) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            status = self._stop()
            return f"the compiler of {self.tree.label} ended with status {status}"
        return str(json.loads(answer))

    def run(self, script: str, *arguments: str) -> str:
        """Output of a Python program that runs with the tree's modules; ToolError if it fails."""
        done = subprocess.run(
            [sys.executable, script, *arguments], capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": self._view.name}, cwd=self._view.name,
        )  # fmt: skip
        if done.returncode:
            said = done.stderr.strip()[-300:]
            raise ToolError(f"{script} fails with the modules of {self.tree.label}: {said}")
        return done.stdout

    def _stop(self) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        assert process.stdin is not None
        process.stdin.close()
        return process.wait()
