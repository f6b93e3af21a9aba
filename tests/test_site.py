"""The site is made from the docs without a warning, so no link in it leads nowhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]


def sphinx(source: Path, out: Path) -> subprocess.CompletedProcess[str]:
    """The site of a tree of pages, as scripts/site makes it."""
    for module in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(module, reason=f"{module} not found: pip install -e '.[docs]'")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-c", ROOT / "docs/site"]
    return subprocess.run(
        [*map(str, command), "-d", f"{out}.doctrees", str(source), str(out)],
        capture_output=True,
        text=True,
        timeout=600,
    )


def test_site(tmp_path: Path) -> None:
    done = sphinx(ROOT, tmp_path / "site")
    assert done.returncode == 0, done.stderr
    assert "Two commands" in (tmp_path / "site" / "index.html").read_text()
    # Both references have what they are made of.
    page = (tmp_path / "site/docs/reference/c.html").read_text()
    headers = [f"include/megcc{name}.h" for name in ("", "_pool", "_step", "_extern")]
    headers += [f"generate/megcc_{name}.h" for name in ("generate", "tokenizer", "sampler")]
    for header in headers:
        text = (ROOT / "runtime" / header).read_text()
        names = re.findall(r"^MEGCC_API .*?\b(megcc_\w+)\(", text, re.M)  # functions
        names += re.findall(r"^(?:typedef .*|\} )(megcc_\w+);", text, re.M)  # types
        names += re.findall(r"^  (?:const )?\w+ \*?(\w+);", text, re.M)  # members
        names += re.findall(r"^  (MEGCC_\w+)", text, re.M)  # values
        for name in names:
            assert re.search(rf'id="c\.(\w+\.)?{name}"', page), f"{header}: {name}"
    page = (tmp_path / "site/docs/reference/python.html").read_text()
    assert "module’s docstring" not in page
    for name in (
        "relay.build",
        "relay.GraphModule.run",
        "partition_for_megcc",
        "errors.InputError",
    ):
        assert f'id="tvm_megcc.{name}"' in page, name


def test_site_refuses_what_leads_nowhere(tmp_path: Path) -> None:
    """The settings are strict: each of these is a warning, and a warning is an error."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text(
        "# Begin\n\n[a](docs/gone.md) [b](#no-such-part) [c](docs/page.md#gone) [d](gone.c)\n"
    )
    (tmp_path / "docs" / "page.md").write_text("# In no section\n")
    done = sphinx(tmp_path, tmp_path / "site")
    assert done.returncode != 0
    for words in ("docs/gone.md", "no-such-part", "local id not found.*gone", "gone.c", "toctree"):
        assert re.search(words, done.stderr), (words, done.stderr)
