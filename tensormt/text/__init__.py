"""Strings to tokens: dictionaries, tokenisers, sentence splitting, batches of tokens."""
