"""The embedded parser of dependencies in many languages: weights, settings and model card."""
