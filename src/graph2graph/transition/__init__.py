"""The transition system: states and actions, one sentence or many at a time, the static oracle and constraints.

Imports treebank and below; no torch."""
