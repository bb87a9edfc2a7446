"""The parser as users call it: the pipeline from text to trees, models on disk, traces, worker processes.

May import text, decoding and the layers below them."""
