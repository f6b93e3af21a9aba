"""``tvmc inspect``: what a package or library is, without running it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any

from tvm_megcc.cli import options

HELP = "show a package's inputs, outputs, memory and kernels"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("package", metavar="OUT", help="what tvmc compile wrote: directory or .tar")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> None:
    from tvm_megcc import package

    with package.opened(args.package) as opened:
        facts = summary(opened.manifest)
    if args.json:
        print(json.dumps(facts, indent=2))
        return
    print(f"model {facts['name']}")
    for side in ("inputs", "outputs"):
        for port in facts[side]:
            print(f"  {side[:-1]:<7} {port['name']}: {port['dtype']}{port['shape']}")
    head = ("arch", "arena bytes", "weight bytes", "kernels", "calls")
    rows = [
        [arch, *map(str, (a["arena_bytes"], a["weight_bytes"], len(a["kernels"]), a["calls"]))]
        for arch, a in facts["archs"].items()
    ]
    options.print_table(head, rows)
    for arch, a in facts["archs"].items():
        print(f"kernels for {arch}:")
        for symbol in a["kernels"]:
            print(f"  {symbol}")


def summary(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest's facts in the order in which a reader asks for them."""
    ports = ("name", "dtype", "shape", "bytes")
    return {
        "name": manifest["name"],
        "c_name": manifest["c_name"],
        "weights": manifest["weights"],
        "inputs": [{key: port[key] for key in ports} for port in manifest["inputs"]],
        "outputs": [{key: port[key] for key in ports} for port in manifest["outputs"]],
        "archs": {
            arch: {
                key: manifest["per_arch"][arch][key]
                for key in ("arena_bytes", "weight_bytes", "program_bytes", "calls", "kernels")
            }
            for arch in manifest["archs"]
        },
    }
