"""The target of TVM's own code, with which tests compare: LLVM that does not optimise.

Compiling takes longer than running such small modules, and optimising most of the compiling.
"""

from __future__ import annotations

import tvm

LLVM = tvm.target.Target({"kind": "llvm", "opt-level": 0})
