"""Print functions drawn by a seed, each by its name, signature and docstring, without the body.

Somebody who has not seen the code reads them and says what each does: those that are taken for
something else, and their kind, are to be mended. Options: the seed and how many.
"""

from __future__ import annotations

import ast
import random
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("tvm_megcc", "codegen_c", "scripts")


def functions(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node):
            node.body, node.decorator_list = node.body[:1], []
            found.append(ast.unparse(node))
    return found


def main(seed: int = 2026, count: int = 60) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z", *(f"{folder}/*.py" for folder in FOLDERS)],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split("\0")  # fmt: skip
    texts = sorted(text for name in listed if name for text in functions(ROOT / name))
    print(*random.Random(seed).sample(texts, count), sep="\n\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
