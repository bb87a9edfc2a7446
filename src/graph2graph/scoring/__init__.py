"""Scores of parses against gold trees, as the official tools compute them.

Imports treebank and below; no torch.
"""

from graph2graph.scoring.scores import Punct, Scores, score, score_aligned

__all__ = ["Punct", "Scores", "score", "score_aligned"]
