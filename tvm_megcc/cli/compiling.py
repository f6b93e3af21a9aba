"""Options of the commands that compile, and the `CompileOptions` that they say.

An argument whose destination is a field of `CompileOptions` needs no other line than its own.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tvm_megcc.cli import dynamic, memory, options
from tvm_megcc.core import preference as preferences
from tvm_megcc.core.preference import OPTIMIZE, PRECISIONS, SOFTMAX, Preference
from tvm_megcc.errors import InputError
from tvm_megcc.options import CompileOptions
from tvm_megcc.target import TAG, architecture, resolve, resolve_for

if TYPE_CHECKING:
    import onnx

_Options = TypeVar("_Options", CompileOptions, Preference)

#: What is compiled.
MODEL = (
    "the model: .onnx, .tflite, .pt2 (torch.export.save) or .py (a Relax module as text); -: an"
    " ONNX model on standard input"
)


def add(parser: argparse.ArgumentParser) -> None:
    """The model, and the options of every command that compiles one."""
    parser.add_argument("model", metavar="MODEL", help=MODEL)
    parser.add_argument(
        "--target",
        default=TAG,
        help="the target (default: %(default)s); one that names a machine stands for --arch:"
        ' "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76", {"tag": "tvm_megcc", "mcpu": ...}',
    )
    parser.add_argument(
        "--arch",
        metavar="A[,B]",
        help="host, portable, arm64, arm64+dotprod+i8mm+fp16, armv7, armv7+fma, x86, x86+avx2,"
        " x86+avx512, or several with commas (default: host, or what --mcpu says)",
    )
    parser.add_argument(
        "--mcpu",
        metavar="CPU[,CPU]",
        help="the features that LLVM's table gives a CPU, e.g. cortex-a76; with --arch the one of"
        " its architectures that is meant, and host for this computer besides",
    )
    parser.add_argument(
        "--board",
        metavar="NAME",
        help="a board or chip with its memory, e.g. nrf52840: the machine is its CPU, and a model"
        " that needs more flash or RAM is refused (tvmc boards lists them)",
    )
    parser.add_argument(
        "--input-shapes",
        metavar="SHAPES",
        action="append",
        help='sizes of the inputs\' dims, as in "x:[1,3,224,224] y:[-1,80]"; -1 or ? keeps the'
        " model's own, a word names a symbolic dim, 1..64 or n=1..64 gives it bounds, 32*h or"
        " 32*(h=1..20) makes it a multiple; given several times, the model serves each of these"
        " shapes and no others",
    )
    parser.add_argument(
        "--params",
        metavar="FILE.npz",
        help="values of parameters of a Relax module (.py), by name: they become constants",
    )
    parser.add_argument(
        "--optimize",
        choices=OPTIMIZE,
        default=preferences.DEFAULT.optimize,
        help="speed: the fewest instructions; balanced: so, while the weights grow by a quarter at"
        " most; size: the weights do not grow (default: %(default)s)",
    )
    parser.add_argument(
        "--exact",
        action="store_true",
        help="only kernels that compute what an operator's definition says, as it says it: no"
        " Winograd",
    )
    parser.add_argument(
        "--precision",
        choices=PRECISIONS,
        default=preferences.DEFAULT.precision,
        help="fp16: weights and activations of 16 bits, computed with in f16 where the machine has"
        " +fp16; mixed: stored so, computed with in f32; fp32: neither; model: fp16 for a model in"
        " f16, else fp32 (default: %(default)s)",
    )
    parser.add_argument(
        "--softmax",
        choices=SOFTMAX,
        default=preferences.DEFAULT.softmax,
        help="integer: a softmax between 8-bit tensors uses no floats, and an element may differ"
        " by one step of its scale (default: %(default)s)",
    )
    parser.add_argument(
        "--tuning-records",
        metavar="RECORDS.json",
        action="append",
        default=[],
        help="what tvmc tune measured: each call gets the best kernel that is known for it"
        " (repeatable)",
    )
    parser.add_argument(
        "--state",
        dest="states",
        metavar="IN=OUT",
        action="append",
        default=[],
        help="an input and an output share memory, which a run changes in place: a cache, a"
        " recurrent state; a * on both sides stands for the same text, as in"
        " 'past_key_values.*=present.*' (repeatable)",
    )
    parser.add_argument(
        "--dump-ir", metavar="DIR", help="write the module before and after each pass to DIR"
    )
    for name, why in _NOT_NEEDED.items():
        parser.add_argument(name, type=partial(_not_needed, why), help=argparse.SUPPRESS)
    memory.add(parser)
    dynamic.add(parser)


#: Options of TVM's tvmc that have nothing to choose here, and what there is instead.
_NOT_NEEDED = {
    "--desired-layout": "layouts are chosen for each operator, and moved out of the way",
    "--opt-level": "every pass always runs; --optimize says what kernels are chosen by",
    "--disabled-pass": "the passes build on each other; tvmc opt shows what each does",
}


def _not_needed(why: str, value: str) -> str:
    raise argparse.ArgumentTypeError(f"not needed: {why}; leave it out")


def read(args: argparse.Namespace) -> CompileOptions:
    """The arguments as `CompileOptions`.

    Raises InputError if a value cannot be read, or options do not go together.
    """
    from tvm_megcc.host import arrays

    archs = architectures(args)
    shapes, changing = dynamic.read(args)
    return _filled(
        CompileOptions,
        args,
        archs=archs,
        input_shapes=shapes,
        params=None if args.params is None else arrays.read_npz(Path(args.params)),
        memory=memory.read(args),
        preference=_filled(Preference, args),
        dynamic=changing,
    )


def _filled(kind: type[_Options], args: argparse.Namespace, **others: Any) -> _Options:
    """An object of these `others`, and of the arguments that are named as its fields are."""
    named = {f.name: getattr(args, f.name) for f in fields(kind) if hasattr(args, f.name)}
    return kind(**{**named, **others})


def model(args: argparse.Namespace) -> str | onnx.ModelProto:
    """The path that was given, or for ``-`` the ONNX model on standard input."""
    if args.model != "-":
        return str(args.model)
    from tvm_megcc.frontend.load import parse

    return parse(sys.stdin.buffer.read(), "standard input")


def architectures(args: argparse.Namespace) -> tuple[str, ...]:
    """The machines of ``--target``, ``--board``, ``--arch``, ``--mcpu``; InputError if unknown."""
    if args.board is not None:
        if args.target != TAG or args.arch is not None or args.mcpu is not None:
            raise InputError(
                f"--board {args.board!r} says the machine; leave out --arch, --mcpu, --target"
            )
        return resolve_for(args.board, ["host"])
    if args.target != TAG:
        if args.arch is not None or args.mcpu is not None:
            raise InputError(f"--target {args.target!r} says the machine; leave out --arch, --mcpu")
        return (architecture(args.target),)
    if args.mcpu is not None:
        return resolve(options.words(args.arch or ""), options.words(args.mcpu) or ("",))
    return resolve(options.words("host" if args.arch is None else args.arch))
