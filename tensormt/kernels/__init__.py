"""The engines, tensors in and out: arrays, hashing, counts, subtrees, chains, kernels, charts."""
