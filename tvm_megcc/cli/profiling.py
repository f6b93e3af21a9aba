"""Options about profiles, for every command that makes or shows profiles."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tvm_megcc.errors import InputError

if TYPE_CHECKING:
    from tvm_megcc.report.profile import Profile

GROUPINGS = ("call", "operator", "node", "kernel")


def add_output(parser: argparse.ArgumentParser, default: str | None = "call") -> None:
    """Add options for the form of a profile, and for files to write it to."""
    parser.add_argument(
        "--by",
        choices=GROUPINGS,
        default=default,
        help="what the profile's rows are: calls; or, added up, the operators or nodes of the ONNX"
        f" model, or the kernels (default: {default or 'call; operator with --for'})",
    )
    parser.add_argument(
        "--profile-output",
        metavar="FILE",
        action="append",
        default=[],
        help="write the profile: .txt as the table, .csv, .json, or .trace.json for chrome://tracing"
        " and Perfetto; may be given several times",
    )


def check_outputs(args: argparse.Namespace) -> None:
    """Refuse, before any work, a file that cannot be written or whose form is not known."""
    from tvm_megcc.host import files
    from tvm_megcc.report import formats

    for file in args.profile_output:
        formats.form_of(file)
        files.check_file(Path(file))


def profile_of(trace: Mapping[str, Any], package: str) -> Profile:
    """The profile of a trace, with facts of the package (directory or tar)."""
    from tvm_megcc.host.package import opened
    from tvm_megcc.report import profile

    with opened(package) as found:
        try:
            return profile.profile(trace, found)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise InputError(
                "the trace is damaged, or of another version; make it again with"
                " run --trace FILE.json"
            ) from error


def show(profile: Profile, args: argparse.Namespace, *, print_table: bool) -> None:
    """Print the table, if wanted, and write the files."""
    from tvm_megcc.report import formats

    formats.write(profile, args.profile_output, args.by)
    if print_table:
        print(formats.table(profile, args.by))
