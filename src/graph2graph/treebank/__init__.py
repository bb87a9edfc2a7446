"""Treebanks: CoNLL-U sentences kept verbatim, the Document that users get, and drawings of trees.

Imports files and errors; no torch.
"""
