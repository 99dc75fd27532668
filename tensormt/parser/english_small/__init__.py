"""The smaller embedded English parser: weights, settings and model card (README.md)."""
