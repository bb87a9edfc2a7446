"""The models of the paper: their inputs, composition, history and classifiers, which the config combines to a parser model.

Imports encoder and below."""
