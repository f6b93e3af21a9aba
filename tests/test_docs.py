"""The examples of README.md and docs/ do what they say: every block marked ``test`` is run.

A block is marked by the second word of its info string; the blocks of one document run in order in
one empty directory, with the ``tvmc`` and the ``python`` of this environment first on the path:

    ```bash test            run by bash -euo pipefail
    ```python test          run by python
    ```c test               a complete file: compiled with -Wall -Wextra -Werror
    ```c test file=app.c    written to that file for a later block (any language)
    ```text test            what the block before it prints; "..." stands for anything
    ```bash test needs=a,b  left out, with the text behind it, where a program is missing
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import prefork
from tvm_megcc.core.version import VERSION

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


@dataclass(frozen=True, slots=True)
class Block:
    language: str
    file: str
    needs: tuple[str, ...]
    text: str
    line: int


def blocks(document: str) -> list[Block]:
    """The fenced blocks of a Markdown text that are marked ``test``."""
    found = []
    for match in re.finditer(r"^```(\w+) +test\b(.*)\n((?s:.*?))^```$", document, re.M):
        language, options, text = match.groups()
        given = dict(re.findall(r"(\w+)=(\S+)", options))
        needs = tuple(given.get("needs", "").split(",")) if "needs" in given else ()
        line = document[: match.start()].count("\n") + 1
        found.append(Block(language, given.get("file", ""), needs, text, line))
    return found


def run_blocks(found: list[Block], folder: Path, *front: Path) -> None:
    """Run in `folder`; a block that fails is an `AssertionError` that names its line.

    Programs in the folders `front` come before those of this environment.
    """
    path = os.pathsep.join([*map(str, front), str(Path(sys.executable).parent), os.environ["PATH"]])
    printed: str | None = ""
    for block in found:
        if block.file:
            (folder / block.file).write_text(block.text)
            continue
        if block.language == "text":
            if printed is None:  # nothing ran
                continue
            pattern = ".*".join(map(re.escape, block.text.strip().split("...")))
            assert re.fullmatch(pattern, printed.strip(), re.S), (
                f"line {block.line}: printed\n{printed}"
            )
            continue
        if not all(map(shutil.which, block.needs)):
            printed = None
            continue
        result = subprocess.run(
            COMMANDS[block.language],
            input=block.text,
            cwd=folder,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=600,
        )
        printed = result.stdout
        assert result.returncode == 0, (
            f"line {block.line}: exit {result.returncode}\n{result.stdout}{result.stderr}"
        )


COMMANDS = {
    "bash": ["bash", "-euo", "pipefail", "-s"],
    "python": [sys.executable, "-"],
    "c": ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c", "-"],
}


@pytest.fixture(scope="module")
def ready_tvmc(tmp_path_factory):
    with prefork.serving(tmp_path_factory.mktemp("prefork")) as folder:
        yield folder


EXAMPLES = {d: found for d in DOCUMENTS if (found := blocks(d.read_text()))}


@pytest.mark.parametrize("document", EXAMPLES, ids=lambda d: str(d.relative_to(ROOT)))
def test_docs_examples(document, tmp_path, ready_tvmc):
    if not (shutil.which("make") and shutil.which("cc")):
        pytest.skip("the examples build C packages: needs make and cc")
    # README is for a fresh machine: as installed.
    run_blocks(EXAMPLES[document], tmp_path, *([] if document.parent == ROOT else [ready_tvmc]))


def test_docs_readme_has_examples():
    assert {b.language for b in EXAMPLES[ROOT / "README.md"]} >= {"bash", "python", "c"}


#: Pages that tests/kernels/test_adding.py follows, block by block.
WALKS = {"adding-a-kernel.md", "adding-an-op.md"}


def test_docs_every_marked_fence_is_understood():
    """A misspelt mark would be an example that nobody runs."""
    assert WALKS <= {document.name for document in DOCUMENTS}
    for document in DOCUMENTS:
        if document.name in WALKS:
            continue
        fences = re.findall(r"^```\w+ .*$", document.read_text(), re.M)
        assert len(fences) == len(EXAMPLES.get(document, [])), (document, fences)


def test_docs_links_lead_somewhere():
    for document in DOCUMENTS:
        prose = re.sub(r"^```.*?^```$|`[^`\n]+`", "", document.read_text(), flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", prose):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


#: Files that pages name without their being there: of the architecture that one describes on paper.
ON_PAPER = {"codegen_c/include/simd/megcc_simd_rvv.h"}


def test_docs_name_files_that_are_there():
    for document in [*DOCUMENTS, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]:
        prose = re.sub(r"^```.*?^```$", "", document.read_text(), flags=re.M | re.S)
        folders = "scripts|tests|tvm_megcc|codegen_c|runtime|docs"
        for path in re.findall(rf"`((?:{folders})/[\w./*-]*)(?=[` ])", prose):
            assert path in ON_PAPER or any(ROOT.glob(path)), f"{document.name}: {path}"


def test_docs_the_newest_version_of_the_changelog_is_this_one():
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert newest is not None and newest[1] == VERSION


FENCE = "```"


def one(info: str, text: str) -> Block:
    (block,) = blocks(f"words\n{FENCE}{info}\n{text}{FENCE}\nwords\n")
    return block


@pytest.mark.parametrize(
    ("info", "text"),
    [
        ("bash test", "false\ntrue\n"),
        ("python test", "raise SystemExit(3)\n"),
        ("c test", "int f(void) { return x; }\n"),
    ],
)
def test_docs_a_broken_example_fails(info, text, tmp_path):
    with pytest.raises(AssertionError, match="line 2"):
        run_blocks([one(info, text)], tmp_path)


def test_docs_blocks_share_a_directory_and_output_is_compared(tmp_path):
    script = one("python test file=hello.py", "print('hello', 41 + 1)\n")
    run = one("bash test", "python hello.py\n")
    run_blocks([script, run, one("text test", "hello ...\n")], tmp_path)
    with pytest.raises(AssertionError, match="hello 42"):
        run_blocks([script, run, one("text test", "goodbye\n")], tmp_path)


def test_docs_a_block_is_left_out_where_a_program_is_missing(tmp_path):
    there, gone = (
        one("bash test needs=sh", "false\n"),
        one("bash test needs=sh,nobody-has-it", "false\n"),
    )
    run_blocks([gone, one("text test", "words\n")], tmp_path)
    with pytest.raises(AssertionError, match="line 2"):
        run_blocks([there], tmp_path)


def test_docs_unmarked_blocks_are_left_alone():
    assert not blocks(f"{FENCE}bash\nfalse\n{FENCE}\n")
