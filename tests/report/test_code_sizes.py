"""What the sizes of a package's code are read from, and what is said when that fails."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tvm_megcc.core.this_machine import host_arch
from tvm_megcc.errors import ToolError
from tvm_megcc.host import package, toolchain
from tvm_megcc.report import code_sizes

CODE = "const int table[64] = {1}; int data[64] = {2}; int f(int x) { return table[x & 63] + x; }\n"


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of the objects of a package with a kernel, which are built already."""
    objects = tmp_path / "obj" / "src"
    (objects / "kernels").mkdir(parents=True)
    for name, symbol in (("kernels/t_add", "t_add"), ("runtime", "run")):
        source = CODE.replace("f(", f"{symbol}(").replace("table", f"{symbol}_table")
        command = ["gcc", "-O1", "-x", "c", "-", "-c", "-o", str(objects / f"{name}.o")]
        subprocess.run(
            command, input=source.replace("data", f"{symbol}_data"), text=True, check=True
        )
    monkeypatch.setattr(toolchain, "build", lambda *a, **k: tmp_path / "libmodel.a")
    return objects


def sizes() -> dict[str, int]:
    given = package.Package(Path("pkg"), {"kernels": {"t_add": {}, "t_mul": {}}})
    return code_sizes.code_sizes(given, host_arch())


def test_code_and_constants_of_each_kernel(built: Path) -> None:
    found = sizes()
    assert found.keys() == {"", "t_add"} and found[""] == found["t_add"]
    assert 256 < found["t_add"] < 512  # the table and the code, not the data


@pytest.mark.parametrize("broken", ["kernels/t_add.o", "runtime.o"])
def test_an_object_that_cannot_be_read(built: Path, broken: str) -> None:
    (built / broken).write_text("no object\n")
    with pytest.raises(ToolError, match=r"nm cannot read an object of the package: .*recogni"):
        sizes()


def test_a_tool_that_is_missing(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    which = shutil.which
    monkeypatch.setattr(
        shutil, "which", lambda tool: None if tool.endswith("size") else which(tool)
    )
    with pytest.raises(ToolError, match="size is missing; apt install binutils"):
        sizes()
