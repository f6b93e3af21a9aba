"""``tvmc inspect --html``: all that is known of a package as one page."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tvm_megcc.cli import options, profiling
from tvm_megcc.errors import InputError, MegccError

if TYPE_CHECKING:
    from tvm_megcc.host.package import Package
    from tvm_megcc.report.profile import Profile


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--html",
        metavar="REPORT.html",
        help="write a page of graph, kernels, times, memory plan, sizes and advice, which needs"
        " nothing else to be viewed",
    )
    parser.add_argument(
        "--measure",
        type=options.count,
        metavar="N",
        help="for the page: build the package and run it N times for the times in it",
    )
    parser.add_argument(
        "--no-build",
        action="store_true",
        help="for the page: do not build the package to learn the sizes of its kernels",
    )


def check(args: argparse.Namespace) -> None:
    """Refuse, before any work, options that do not go together, and a page that has no place."""
    from tvm_megcc.host import files

    if args.html is None:
        if args.measure is not None or args.no_build:
            option = "--no-build" if args.measure is None else "--measure"
            raise InputError(f"{option} is for the page; add --html REPORT.html")
        return
    if not args.html.endswith((".html", ".htm")):
        raise InputError(f"--html: '{args.html}' must end in .html, the only format; rename it")
    if args.measure is not None and args.profile is not None:
        raise InputError("--measure makes a profile and --profile has one; give one of them")
    files.check_file(Path(args.html))
    profiling.check_outputs(args)


def write(args: argparse.Namespace, facts: Mapping[str, Any]) -> None:
    """Write the page of one of the package's machines."""
    from tvm_megcc.host import files
    from tvm_megcc.host.package import opened
    from tvm_megcc.report import page, subject

    with opened(args.package) as package, options.progress() as tell:
        profile = _profile(args, tell)
        arch = package.choose(args.arch) if profile is None else profile.arch
        if args.arch is not None and package.choose(args.arch) != arch:
            raise InputError(f"--arch: the profile is of code for {arch}; leave --arch out")
        shapes = _shapes(args, package) if profile is None else profile.shapes
        entry, sizes, number = subject.program_of(package, arch, shapes)
        code, why_no_code = _code(args, package, arch, tell)
        plan, why_no_plan = _plan(facts, arch)
        found = subject.Subject(
            facts=facts,
            arch=arch,
            entry=entry,
            kernels=package.manifest["kernels"],
            sizes=sizes,
            program=number,
            profile=profile,
            code=code,
            code_unknown=why_no_code,
            plan=plan,
            plan_unknown=why_no_plan,
            advice=_advice(facts, arch, profile),
        )
    files.write_file(page.page(found).encode(), Path(args.html))
    if profile is not None:
        profiling.show(profile, args, print_table=False)


def _profile(args: argparse.Namespace, tell: Any) -> Profile | None:
    from tvm_megcc import execute
    from tvm_megcc.host import arrays
    from tvm_megcc.host.trace import read_trace

    if args.profile is not None:
        return profiling.profile_of(read_trace(Path(args.profile)), args.package)
    if args.measure is None:
        return None
    with execute.opened(args.package, args.arch, tell) as runnable:
        ports = options.sized(args, runnable.inputs, runnable.check_shapes)
        inputs = arrays.fill(ports, "random")
        result = runnable.run(inputs, repeat=args.measure, profile=True)
    assert result.trace is not None
    return profiling.profile_of(result.trace, args.package)


def _shapes(args: argparse.Namespace, package: Package) -> Mapping[str, Sequence[int]] | None:
    """The inputs' shapes where they are all known."""
    from tvm_megcc.host import arrays
    from tvm_megcc.host.package import shapes_of

    if args.shapes is None and any(port.is_symbolic for port in package.inputs):
        return None
    return shapes_of(arrays.sized(package.inputs, options.shapes(args.shapes, "--shapes")))


def _code(
    args: argparse.Namespace, package: Package, arch: str, tell: Any
) -> tuple[dict[str, int], str]:
    from tvm_megcc.report.code_sizes import code_sizes

    if args.no_build:
        return {}, "Bytes of code are not known: the package was not built (--no-build)."
    if tell is not None:
        tell("build for the sizes of kernels")
    try:
        return code_sizes(package, arch), ""
    except MegccError as error:  # a page without these numbers is better than none
        return {}, f"Bytes of code are not known: {str(error)[:300]}"


def _plan(facts: Mapping[str, Any], arch: str) -> tuple[str, str]:
    from tvm_megcc.report.plan_picture import plan_svg

    try:
        return plan_svg(facts, arch), ""
    except InputError as error:
        return "", f"There is no picture: {error}."


def _advice(facts: Mapping[str, Any], arch: str, profile: Profile | None) -> tuple[str, ...]:
    from tvm_megcc.report.better import better

    return tuple(better(facts, arch, profile))
