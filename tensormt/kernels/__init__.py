"""Tensor algorithms behind the metrics: counting, hashing, tree kernels, charts, correlations."""
