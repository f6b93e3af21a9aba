"""Streaming: runs of calls over an image by bands of rows, so that their tensors are line buffers.

Enters: a `Program` from ``lower``, each value in a storage of its own. Leaves: the same computation, to
the bit, in which the calls around the peak of live bytes are loops over bands of rows.

Example
-------
>>> program = stream(lower(mod, ...), "auto", pressure)  # doctest: +SKIP
"""

from tvm_megcc.streaming.choose import Stream, stream

__all__ = ["Stream", "stream"]
