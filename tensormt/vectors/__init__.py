"""Contextual vectors of texts: the encoder, and batches of its vectors."""
