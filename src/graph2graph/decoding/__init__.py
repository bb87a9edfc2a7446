"""From scores to trees: greedy decoding (Eq. 10), beam search, when to encode again, and the options of a parse.

Imports models and below."""
