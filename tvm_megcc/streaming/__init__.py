"""Streaming: runs of calls over an image by bands of rows, so that their tensors are line buffers.

Enters: a `Program` from ``lower``, each value in a storage of its own. Leaves: the same
computation, to the bit, in which the calls around the peak of live bytes are loops over bands of
rows.

Example
-------
>>> change = partial(streamed, "auto")                        # doctest: +SKIP
>>> program = forward(lower(mod, ...), "caller", 1, change)  # doctest: +SKIP
"""

from tvm_megcc.streaming.choose import Stream, streamed

__all__ = ["Stream", "streamed"]
