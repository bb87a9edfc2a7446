"""The parsers of the paper, as one small set of parts chosen by the config."""
