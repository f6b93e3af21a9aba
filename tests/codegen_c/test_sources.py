"""The texts of kernels and headers: what a package needs of them."""

from __future__ import annotations

from collections import Counter

import pytest

from tvm_megcc.codegen_c import sources
from tvm_megcc.errors import InputError

#: Headers and what they include; two include each other.
INCLUDED = {"a.h": ["b.h", "c.h"], "b.h": ["d.h"], "c.h": ["d.h", "b.h"], "d.h": [], "e.h": ["f.h"],
            "f.h": ["e.h", "d.h"]}  # fmt: skip


def text(*names: str) -> str:
    """C that includes headers of ours, and some of the system."""
    return "#include <stdint.h>\n" + "".join(f'#  include "{name}"\n' for name in names)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each header was read."""
    found: Counter[str] = Counter()

    def header_text(path: str) -> str | None:
        found[path] += 1
        assert found[path] < 9, f"{path} is read again and again"
        return text(*INCLUDED[path]) if path in INCLUDED else None

    monkeypatch.setattr(sources, "header_text", header_text)
    return found


@pytest.mark.parametrize(
    "bodies, wanted",
    [
        ([], ""),
        ([text()], ""),
        ([text("d.h")], "d"),
        ([text("b.h"), text("d.h")], "bd"),
        ([text("a.h")], "abcd"),
        ([text("e.h", "b.h"), text("e.h")], "bdef"),
    ],
)
def test_headers_are_found_and_read_once(
    bodies: list[str], wanted: str, read: Counter[str]
) -> None:
    found = sources.headers(bodies)
    assert list(found) == [f"{name}.h" for name in wanted]
    assert all(found[path] == text(*INCLUDED[path]) for path in found)
    assert set(read.values()) <= {1}


def test_a_header_that_is_not_ours_is_named(read: Counter[str]) -> None:
    with pytest.raises(InputError, match=r"'no\.h', which is not in codegen_c/include"):
        sources.headers([text("d.h", "no.h")])


def test_header_text() -> None:
    assert "MEGCC_KERNEL_H" in (sources.header_text("megcc_kernel.h") or "")
    assert sources.header_text("gemm") is None and sources.header_text("no.h") is None
