"""If, Loop and Scan: nodes with graphs of their own become functions that are called.

Enters: a node whose choice or number of iterations is not known. Leaves: a call of functions of the
module (`tvm_megcc.relax_tools.control_flow`), and results of known sizes or sizes read in the run.
"""

from __future__ import annotations

from .if_node import convert_if
from .loop_node import convert_loop
from .scan_node import convert_scan

CONVERTERS = {"If": convert_if, "Loop": convert_loop, "Scan": convert_scan}
