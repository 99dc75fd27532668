"""Engines on trees: subtree keys, headword-chain keys, the tree kernel; and the clipped counter."""
