"""From a treebank to a parser; imports from parser and below."""
