"""The encoder: a BERT whose attention takes a graph, its pieces and its pretrained weights.

Imports transition and below."""
