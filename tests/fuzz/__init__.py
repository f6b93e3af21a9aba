"""Random graphs through the whole compiler, compared with ONNX Runtime and `onnx.reference`.

`scripts/fuzz` runs it; docs/fuzzing.md says what it does and what it found.
"""
