"""``tvmc quantize``: a float ONNX model as an int8 one, with a report."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tvm_megcc.cli import options

if TYPE_CHECKING:
    from tvm_megcc.quantisation import Layer, Report

HELP = "quantise an ONNX model to int8 with samples of its inputs"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="an ONNX file in float")
    parser.add_argument(
        "-o", "--output", required=True, metavar="OUT", help="the ONNX file to write"
    )
    parser.add_argument(
        "--calibration",
        required=True,
        metavar="DATA",
        help="samples of the inputs: a .npz of arrays by name with a leading axis over the samples,"
        " or a directory of one .npz per sample",
    )
    parser.add_argument(
        "--per-channel",
        action="store_true",
        help="a scale for each output channel of a weight, not one for all",
    )
    parser.add_argument(
        "--activations",
        choices=("s8", "u8"),
        default="s8",
        help="what activations become; weights are s8 (default: %(default)s)",
    )
    parser.add_argument(
        "--format",
        choices=("qdq",),
        default="qdq",
        help="the form of the model (default and only: %(default)s)",
    )
    parser.add_argument(
        "--keep-float",
        metavar="NODE[,NODE]",
        action="append",
        default=[],
        help="nodes that are not quantised (repeatable)",
    )
    parser.add_argument(
        "--io",
        choices=("int8", "uint8"),
        help="type of the inputs and outputs in place of float, that of the activations",
    )
    parser.add_argument("--report", metavar="FILE.json", help="write the report, too")


def run(args: argparse.Namespace) -> None:
    from tvm_megcc.quantisation import quantise

    with options.progress() as tell:
        report = quantise(
            args.model,
            args.output,
            args.calibration,
            per_channel=args.per_channel,
            activations=args.activations,
            keep_float=[name for text in args.keep_float for name in text.split(",") if name],
            io=args.io,
            report=args.report,
            progress=tell,
        )
    _print(report)


def _print(report: Report) -> None:
    print(f"ranges of {len(report.ranges)} tensors over {report.samples} samples:")
    head = ("tensor", "smallest", "largest", "from", "to", "scale", "zero point")
    rows = [
        [r.name, *(f"{v:.4g}" for v in (r.smallest, r.largest, r.low, r.high, r.scale)),
         str(r.zero_point)]
        for r in report.ranges
    ]  # fmt: skip
    options.print_table(head, rows)
    worst = report.worst()
    for title, layers in (
        (f"signal to noise of {len(report.layers)} layers against float:", report.layers),
        (f"the {len(worst)} worst:", worst),
    ):
        print(f"\n{title}")
        options.print_table(("dB", "layer", "operator"), list(map(_row, layers)))


def _row(layer: Layer) -> list[str]:
    said = "exact" if layer.snr_db is None else f"{layer.snr_db:.1f}"
    return [said, layer.name, layer.operator]
