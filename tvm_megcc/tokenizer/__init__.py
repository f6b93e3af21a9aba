"""A Hugging Face ``tokenizer.json`` -> the image that ``megcc_tokenizer.h`` reads.

Enters: a folder with ``tokenizer.json``, or the file. Leaves: bytes. Byte-pair encoders are taken,
with the steps that `tokenizer_json` lists; a file that needs anything else is refused by its name.

Example
-------
>>> compile_tokenizer("checkpoint/")  # doctest: +SKIP
b'MEGT...
"""

from __future__ import annotations

import os
from pathlib import Path

from tvm_megcc.tokenizer.tokenizer_image import image
from tvm_megcc.tokenizer.tokenizer_json import Tokenizer, read_tokenizer

__all__ = ["Tokenizer", "compile_tokenizer", "read_tokenizer"]


def compile_tokenizer(path: str | os.PathLike[str], *, vocabulary: int = 0) -> bytes:
    """Image of a tokenizer.

    Parameters
    ----------
    path : path
        A folder with ``tokenizer.json``, or the file itself.
    vocabulary : int
        How many logits the model has, which the image then says; 0 where no model is meant.

    Raises
    ------
    InputError
        The file is missing, no JSON, contradicts itself or is of a model with another vocabulary.
    UnsupportedError
        It has a part that does not exist in C; the message names it.
    """
    return image(read_tokenizer(Path(path)), vocabulary=vocabulary)
