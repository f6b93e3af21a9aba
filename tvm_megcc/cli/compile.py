"""``tvmc compile``: a model to a C package, a tar of it, or a TVM library."""

from __future__ import annotations

import argparse

from tvm_megcc.cli import compiling, dynamic, options

HELP = "compile a model"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", required=True, metavar="OUT", help="a directory, a .tar or a .so"
    )
    compiling.add(parser)
    parser.add_argument(
        "-f",
        "--output-format",
        dest="fmt",
        metavar="FORMAT",
        help="c (package; default), tar (of a package; default for *.tar), so (TVM library; default"
        " for *.so), mlf (Model Library Format tar) or arduino (a library for it)",
    )
    parser.add_argument(
        "--io-dtype",
        choices=("int8", "uint8"),
        help="inputs that the model quantises first and outputs that it dequantises last are these"
        " integers; the package's header has their scales and zero points",
    )
    parser.add_argument(
        "--logits",
        choices=("all", "last"),
        help="positions of a language model's output 'logits': of the last one alone, the products"
        " behind the last attention are for one row of a prompt (default: last with --generate,"
        " else all)",
    )
    parser.add_argument(
        "--cache-dtype",
        choices=("f32", "f16", "int8"),
        help="type of the caches that attention appends to, and of their ports; int8 has a scale"
        " for each row of a head (default: the model's)",
    )
    parser.add_argument(
        "--weights",
        choices=("incbin", "c", "bin"),
        default="incbin",
        help="the weights as files that the C compiler takes in, or as C source; or all of the"
        " model as one file to map (default: %(default)s)",
    )
    parser.add_argument(
        "--stepping",
        action="store_true",
        help="functions to run the next n calls and return, and to cancel the rest: megcc_step.h",
    )
    parser.add_argument(
        "--generate",
        metavar="DIR",
        help="of a language model, the folder of its checkpoint, with tokenizer.json: the package"
        " goes from text to text (megcc_generate.h, run generate, tvmc generate, tvmc chat)",
    )
    parser.add_argument(
        "--module-name",
        dest="name",
        metavar="NAME",
        help="what the package's symbols, header, library and CMake target begin with (default: the"
        " file's name); the packages of one program have different names",
    )
    parser.add_argument(
        "--extern",
        dest="externs",
        metavar="FILE.c",
        action="append",
        default=[],
        help="C source of functions that the model calls, to be part of the package (repeatable)",
    )
    options.add_compiler(parser)


def run(args: argparse.Namespace) -> None:
    from tvm_megcc import driver

    advised: list[str] = []
    written: list[str] = []
    with options.progress() as tell:
        driver.compile_model(
            compiling.model(args),
            args.output,
            compiling.read(args),
            progress=tell,
            advise=advised.append,
            summarise=written.append,
        )
    for line in written if not args.quiet else ():
        print(line)
    for line in advised:
        dynamic.adviser(args)(line)
