"""Tuning: which kernel is best for each call is measured, kept in records, and used by compilers.

Enters: a model and a machine. Leaves: records in a file (`records`), which a compiler asks before
its own estimates. `session.tune_model` is what `tvmc tune` does; `search` its rounds; `trials` what
there is to try; `measuring` how it is measured; `findings` its results.

Example
-------
>>> from tvm_megcc import relay, tuning
>>> with tuning.apply_best("records.json"):                        # doctest: +SKIP
...     lib = relay.build(mod, "arm64")
"""

from __future__ import annotations

from tvm_megcc.tuning.records import apply_best as apply_best
