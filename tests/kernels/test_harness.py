"""The harness sees what it is there for: one faulty kernel per fault."""

from __future__ import annotations

from pathlib import Path

import harness
import numpy as np
import pytest

from tvm_megcc.kernels import contract, header, kernel_file
from tvm_megcc.kernels.header import parse

_HEADER = """// op copy: the same bytes.
//
//   in    x: T [bytes // sizeof(T)]
//   out   y: T [bytes // sizeof(T)]
enum {
  COPY_BYTES,
  COPY_ATTRS
};
"""


class copy:
    """The cases of an operator that only this test has."""

    CASES = [{"bytes": n} for n in (0, 1, 63, 64, 65, 1000, 70001)]

    @staticmethod
    def operands(f, rng):
        return [rng.integers(0, 256, f["bytes"], np.uint8)]

    @staticmethod
    def reference(f, inputs):
        return [inputs[0]]


_KERNEL = """// kernel: {stem}
// op: copy
// dtype: u8
// arch: portable
// rank: 0
// workspace: 8
// inplace: x
// overlap: 4
// work: bytes
// cost: 1
#include "megcc_kernel.h"
enum {{ COPY_BYTES }};
#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_{stem}
#endif
void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {{
  const uint8_t *x = ptr[0];
  uint8_t *y = ptr[1], *w = workspace;
  const int32_t n = attr[COPY_BYTES];
  (void)w, (void)n;
  for (int32_t i = begin; i < end; ++i) y[i] = x[i];
  {fault}
}}
"""
_FAULTS = {
    "sound": ("w[0] = w[7] = 1;", ""),
    "wrong": ("if (n == 64 && end == n) y[63] ^= 1;", "1 of 64 elements differ, the first at 63"),
    "writes_behind": ("if (n) y[n] = 1;", "wrote outside operand 1"),
    "writes_before": ("if (n) y[-1] = 1;", "aligned: crashed with signal 11"),
    "reads_behind": (
        "if (n) y[0] = x[n] ? y[0] : x[0];",
        "unreadable page: crashed with signal 11",
    ),
    "writes_input": ("if (n) ((uint8_t *)ptr[0])[0] ^= 1;", "wrote to input operand 0"),
    "overruns_workspace": ("w[8] = 1;", "wrote outside the workspace"),
    "ignores_range": ("if (begin) y[begin] = 0;", "other bits than in the aligned, unsplit run"),
    "reads_workspace": ("if (n) y[0] = w[0];", "other bits than in the aligned, unsplit run"),
    "not_in_place": (
        "for (int32_t i = begin; i < end; ++i) y[i] = (uint8_t)(x[i] + (x == y));",
        "in place of input 0: operand 1 has other bits",
    ),
    "reads_again": (
        "for (int32_t i = begin; i < end; ++i) y[i] = x[i];",
        "over its first input: operand 1 has other bits",
    ),
    "not_c": ("y = ;", "does not compile"),
    "warns": ("int unused;", "does not compile"),
}


@pytest.mark.slow
@pytest.mark.parametrize("stem", sorted(_FAULTS))
def test_fault_is_found(stem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import runner

    target = next(t for t in harness.TARGETS if t.name == "host_gcc")
    if target.missing():
        pytest.skip(target.missing())
    fault, complaint = _FAULTS[stem]
    known = contract.parse("copy", _HEADER)
    for module in (header, kernel_file, harness):
        monkeypatch.setattr(module, "contract", lambda op: known)
    cases = harness.cases_from(copy)
    monkeypatch.setattr(harness, "cases_of", lambda op: cases)
    path = tmp_path / "copy" / f"{stem}.c"
    path.parent.mkdir()
    path.write_text(_KERNEL.format(stem=stem, fault=fault))
    kernel = parse(path)
    found = runner.run_target(target, [kernel], tmp_path)[stem]
    if complaint:
        assert any(complaint in text for text in found), found
    else:
        assert not found
