"""From a treebank to a parser: examples, batches, the loss, and the loop that puts them together.

Imports parser and below."""
