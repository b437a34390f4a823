"""Learned extractors as files: published weights in, one ONNX file out, and what runs it.

Nothing is downloaded, and neither torch nor the package onnx is needed: the graph is written here
operator by operator, and onnxruntime runs it.
"""
