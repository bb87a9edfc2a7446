"""Error analysis as in the paper, significance tests, and reports that compare systems.

Imports scoring, treebank and below; figures need the extra `plot`.
"""
