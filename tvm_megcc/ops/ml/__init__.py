"""Operators of classical machine learning, domain ai.onnx.ml."""
