"""The trees of a spaCy Doc, to be compared with ours."""

from typing import Any


def trees(doc: Any) -> list[tuple[list[int], list[str]]]:
    """Heads and labels of each sentence as we count them, white space left out."""
    found = []
    for sent in doc.sents:
        words = [token for token in sent if not token.is_space]
        number = {token.i: n for n, token in enumerate(words, 1)}
        heads = [0 if token.head == token else number[token.head.i] for token in words]
        found.append((heads, ["root" if token.dep_ == "ROOT" else token.dep_ for token in words]))
    return found
