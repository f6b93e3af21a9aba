"""A table of the trained corpus: one row per model, one column per route, with sizes and times.

A route's cell is the largest difference relative to the output's largest magnitude, over all cases
and outputs, or what went wrong. Arena and text bytes are those of the first shape set, for the
architecture that --facts names.
"""

from __future__ import annotations

import json
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import subjects
from subjects import corpus

# isort: split
import routes  # of tests/models, as `corpus`

from tvm_megcc.host import package, toolchain

Row = dict[str, Any]


def measure(model: corpus.Model, chosen: tuple[str, ...], facts: str) -> Row:
    """Compile and run one model by the chosen routes."""
    archs = tuple(r for r in chosen if r in routes.ARCHS) or ("host",)
    row: Row = {"model": model.name, "routes": {}, "error": ""}
    with tempfile.TemporaryDirectory(prefix="megcc_models_") as folder:
        compiled = routes.Compiled(model, Path(folder), archs)
        row["compile_s"] = sum(entry.seconds for entry in compiled.sets)
        failed = next((entry.error for entry in compiled.sets if entry.error), None)
        if failed:
            row["error"] = f"{type(failed).__name__}: {' '.join(str(failed).split())}"
            return row
        for route in chosen:
            row["routes"][route] = check(compiled, route)
        opened = package.load(compiled.sets[0].package)
        arch = opened.choose(facts if facts in archs else archs[0])
        row["arch"] = arch
        row["arena_bytes"] = opened.manifest["per_arch"][arch]["arena_bytes"]
        row["weight_bytes"] = opened.manifest["per_arch"][arch]["weight_bytes"]
        try:
            library = toolchain.build(opened.path, arch).with_name("libmodel.a")
            row["text_bytes"] = toolchain.text_bytes(library, arch)
        except Exception as error:
            row["error"] = f"{arch}: {' '.join(str(error).split())}"
    return row


def check(compiled: routes.Compiled, route: str) -> Row:
    try:
        differences = compiled.check(route)
    except Exception as error:
        return {"ok": False, "said": f"{type(error).__name__}: {' '.join(str(error).split())}"}
    wrong = [d for d in differences if not d.ok]
    largest = max((d.relative for d in differences), default=0.0)
    return {"ok": not wrong, "relative": largest, "said": "; ".join(map(str, wrong))}


def line(row: Row, chosen: tuple[str, ...]) -> str:
    cells = [f"{row['model']:26}"]
    for route in chosen:
        cell = row["routes"].get(route)
        if cell is None:
            text = "no package"
        elif "relative" not in cell:
            text = "FAILED"
        else:
            text = f"{cell['relative']:.1e}{'' if cell['ok'] else ' !'}"
        cells.append(f"{text:>11}")
    for key in ("arena_bytes", "weight_bytes", "text_bytes"):
        cells.append(f"{row[key]:>12,}" if key in row else f"{'':>12}")
    cells.append(f"{row.get('compile_s', 0):8.1f}")
    said = [row["error"], *(f"{r}: {c['said']}" for r, c in row["routes"].items() if c["said"])]
    return "".join(cells) + "".join(f"\n    {text[-240:]}" for text in said if text)


def main(argv: list[str] | None = None) -> int:
    parser = subjects.parser("scripts/models", __doc__)
    parser.add_argument(
        "--route", default=",".join(routes.ROUTES), help="default: %(default)s", metavar="A[,B]"
    )
    parser.add_argument("--facts", default="arm64", help="bytes of which architecture")
    parser.add_argument("--jobs", type=int, default=1, help="models at the same time")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything there, too")
    args = parser.parse_args(argv)
    models = subjects.known(parser, args, lambda shared: corpus.load(shared / "models"))
    chosen = tuple(args.route.split(","))
    if unknown := set(chosen) - set(routes.ROUTES):
        parser.error(f"not known: {', '.join(sorted(unknown))}")

    heads = [f"{'model':26}", *(f"{r:>11}" for r in chosen)]
    print("".join(heads) + f"{'arena':>12}{'weights':>12}{'text':>12}{'comp. s':>8}", flush=True)
    rows = []
    with ProcessPoolExecutor(args.jobs) as pool:
        pending = [
            pool.submit(measure, models[name], chosen, args.facts)
            for name in args.names or sorted(models)
        ]
        for task in pending:
            rows.append(task.result())
            print(line(rows[-1], chosen), flush=True)
    passed = sum(
        len(r["routes"]) == len(chosen) and all(cell["ok"] for cell in r["routes"].values())
        for r in rows
    )
    print(f"{passed} of {len(rows)} models pass on {', '.join(chosen)}")
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
