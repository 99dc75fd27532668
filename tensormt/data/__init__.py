"""Input and output: text files, rows, SGML, trees, human scores, score files and tables."""
