"""What people give us and get back: files, lines, rows, markup, corpora, judged sets, tables."""
