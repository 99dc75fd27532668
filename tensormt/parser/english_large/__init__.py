"""The larger English parser: weights, settings and model card (README.md)."""
