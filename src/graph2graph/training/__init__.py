"""From a treebank to a parser."""
