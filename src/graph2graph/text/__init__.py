"""From characters to words, sentences and tags.

Imports treebank and below."""
