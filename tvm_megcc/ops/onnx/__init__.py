"""Operators of the default domain, ai.onnx."""
