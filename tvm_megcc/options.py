"""All that a user can say about compiling a model: one object, made once, read where it matters.

The command line, `relay.build`, the ONNX backend and the functions of `driver` make it. A new
option is a field here, an argument of the command line, and the place that reads the field.

Example
-------
>>> CompileOptions(archs=["arm64"], preference=Preference("size")).preference.optimize
'size'
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from tvm_megcc import memory_options
from tvm_megcc.core import board_table, model_file
from tvm_megcc.core.preference import Preference
from tvm_megcc.dynamic_options import DynamicOptions, Shapes
from tvm_megcc.errors import InputError
from tvm_megcc.memory_options import IO_PLACES, MemoryOptions

#: Types of integers that ports can have -> our names of them.
IO_DTYPES = {"int8": "i8", "uint8": "u8"}

#: Types that caches can have -> TVM's names of them.
CACHE_DTYPES = {"f32": "float32", "f16": "float16", "int8": "int8"}

#: Positions of a language model's logits that are wanted.
LOGITS = ("all", "last")

AnyPath: TypeAlias = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """How a model is compiled, and how the result is written.

    Attributes
    ----------
    archs : sequence of str
        Machines of `tvm_megcc.core.machine`: ``host``, ``arm64+dotprod``, ``x86+avx2``, ...; those
        of a ``.so`` are of one architecture.
    board : str, optional
        A board of `tvm_megcc.core.board_table`: its machine stands for ``host``, and a model whose
        weights or arena it has no memory for is refused.
    input_shapes : mapping of input name to dims, optional
        See `tvm_megcc.frontend.from_onnx`.
    params : mapping of str to array, optional
        Values of a Relax module's inputs, which become constants.
    name : str, optional
        The model's name in the package: an identifier, with which its symbols, header and library
        begin; by default the file's name.
    io : {"caller", "arena", "stream"}
        Whether inputs and outputs live in buffers of the caller or in the arena. With ``stream``
        they are the caller's, but an image comes in by rows (``megcc_put_rows``).
    io_dtype : {"int8", "uint8"}, optional
        Inputs that the model quantises first and outputs that it dequantises last become these
        integers; by default they are of the model's types.
    logits : {"all", "last"}, optional
        With ``last``, a language model's output ``logits`` has the last position of the input only,
        and what leads to it is computed for that alone. By default ``last`` with `generate`, else
        ``all``.
    cache_dtype : {"f32", "f16", "int8"}, optional
        Caches that attention appends to are of this type, and so are their ports; by default of the
        model's. Rows of int8 have four elements more, which are the float that the others are
        multiplied by. Caches that GroupQueryAttention appends to are states, unless `states` says
        others.
    memory : MemoryOptions
        How the arena is planned, and how large it may be.
    preference : Preference
        Which kernel is chosen among kernels that differ in speed and size.
    dynamic : DynamicOptions
        Listed shapes or buckets, each served by a program of its own; dims to tell apart.
    tuning_records : sequence of path
        Files that ``tvmc tune`` wrote: each call gets the best kernel that they know for it.
    externs : sequence of path
        C files with the functions that the model calls and that its package does not have.
    fmt : {"c", "tar", "so", "mlf", "arduino"}, optional
        By default a name that ends in ``.so`` is a TVM library, anything else a package.
    weights : {"incbin", "c", "bin"}
        Weights in files that the C compiler takes into the objects, or as C source; or all of the
        model as one file to map.
    stepping : bool
        Whether the package can do a run in pieces (``megcc_step.h``).
    generate : path, optional
        The folder of a language model's checkpoint, with ``tokenizer.json``: the package then has
        the functions of ``megcc_generate.h``, from text to text. Caches that GroupQueryAttention
        appends to are states, unless `states` says others.
    compiler : str, optional
        The C compiler of a library, instead of `tvm_megcc.host.toolchain.find_compiler`'s.
    dump_ir : path, optional
        A directory for the module before and after each pass.
    states : sequence of str
        ``IN=OUT``: an input and an output that share memory, so that a run changes it in place. A
        ``*`` on both sides stands for the same text.
    """

    archs: Sequence[str] = ("host",)
    input_shapes: Shapes | None = None
    params: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
    name: str | None = None
    io: str = "caller"
    io_dtype: str | None = None
    logits: str | None = None
    cache_dtype: str | None = None
    memory: MemoryOptions = field(default_factory=MemoryOptions)
    preference: Preference = field(default_factory=Preference)
    dynamic: DynamicOptions = field(default_factory=DynamicOptions)
    tuning_records: Sequence[AnyPath] = ()
    externs: Sequence[AnyPath] = ()
    fmt: str | None = None
    weights: str = "incbin"
    stepping: bool = False
    generate: AnyPath | None = None
    compiler: str | None = None
    dump_ir: AnyPath | None = None
    board: str | None = None
    states: Sequence[str] = ()

    def check(self, model: Any = None) -> None:
        """Refuse values that no model can be compiled with, before TVM is loaded.

        Raises
        ------
        InputError
            An option has no such value, or `model` is a path to a file that is no model.
        """
        if self.io not in IO_PLACES:
            raise InputError(f"io {self.io!r} is not known; choose from {', '.join(IO_PLACES)}")
        if self.io == "stream" and self.memory.stream == "off":
            raise InputError("io 'stream' runs calls in bands of rows; leave out stream 'off'")
        if self.io_dtype not in (None, *IO_DTYPES):
            known = ", ".join(IO_DTYPES)
            raise InputError(f"io_dtype {self.io_dtype!r} is not known; choose from {known}")
        if self.logits not in (None, *LOGITS):
            raise InputError(
                f"logits {self.logits!r} is not known; choose from {', '.join(LOGITS)}"
            )
        if self.cache_dtype not in (None, *CACHE_DTYPES):
            raise InputError(
                f"cache_dtype {self.cache_dtype!r} is not known; choose from"
                f" {', '.join(CACHE_DTYPES)}"
            )
        if self.name is not None:
            from tvm_megcc.codegen_c import emit

            emit.module_name(self.name)
        memory_options.check(self.memory)
        if self.board is not None:
            board_table.board(self.board)
        if isinstance(model, str | os.PathLike):
            model_file.check(model, has_params=bool(self.params))


#: The options of a user who gives none.
DEFAULT = CompileOptions()

#: Fields that say how the result is written: functions that write nothing do not take them.
WRITING = ("externs", "fmt", "weights", "stepping", "generate", "compiler", "dump_ir")


def given(
    function: str, options: CompileOptions, fields: Mapping[str, Any], unused: Sequence[str] = ()
) -> CompileOptions:
    """`options` with other values for some `fields`, which are keyword arguments of `function`.

    Raises TypeError for an unknown field, or one that `function` does not use.
    """
    for name in fields:
        if name in unused or name not in CompileOptions.__slots__:
            raise TypeError(f"{function}() got an unexpected keyword argument '{name}'")
    return replace(options, **fields)
