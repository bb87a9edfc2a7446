"""Sentences from the JSON that `Document.to_json` and `g2g parse -f json` write."""

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from graph2graph.errors import DataError
from graph2graph.treebank import conllu
from graph2graph.treebank.misc import Span
from graph2graph.treebank.sentence import COLUMN_NAMES, Sentence


def from_json(values: str | list[dict[str, Any]]) -> Iterator[Sentence]:
    """The sentences in a list of objects, in its JSON, or in lines of one object each; they are checked as CoNLL-U is."""
    if isinstance(values, str):
        try:
            values = (
                json.loads(values) if values.lstrip().startswith("[") else list(map(json.loads, values.splitlines()))
            )
        except ValueError as error:
            raise DataError(f"not JSON: {error}") from error
    for number, value in enumerate(values, 1):
        try:
            yield _sentence(value)
        except (AttributeError, KeyError, TypeError) as error:
            raise DataError(f"sentence {number}: expected sent_id, text and words as to_json writes them") from error


def _sentence(value: dict[str, Any]) -> Sentence:
    comments = [f"# {key} = {value[key]}" for key in ("sent_id", "text") if value.get(key) is not None]
    rows = ["\t".join(_cell(word[name.lower()]) for name in COLUMN_NAMES) for word in value["words"]]
    sentences = list(conllu.read(io.StringIO("\n".join([*comments, *rows, "", ""]))))
    if len(sentences) != 1:  # no words, or line breaks in a value
        raise DataError("a sentence needs words, and values on one line")
    spans = [_span(word) for word in value["words"]]
    return (
        replace(sentences[0], spans=spans, start_char=spans[0].start if spans[0] else None)
        if any(spans)
        else sentences[0]
    )


def _cell(value: str | int | None) -> str:
    return "_" if value is None else str(value)


def _span(word: dict[str, Any]) -> Span | None:
    """The offsets of a word, which are no part of its columns: words of a multiword token have none in MISC."""
    start, end = word.get("start_char"), word.get("end_char")
    return Span(start, end) if isinstance(start, int) and isinstance(end, int) and 0 <= start <= end else None
