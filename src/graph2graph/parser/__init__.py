"""The parser that users call: model directories, vocabulary, raw text to trees, traces and worker processes.

Imports text, decoding and below."""
