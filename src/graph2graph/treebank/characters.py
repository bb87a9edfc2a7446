"""Characters in drawings: which can be printed, how wide they are, and in which direction they are written."""

import unicodedata

_UNPRINTABLE = frozenset(("Cc", "Cs", "Zl", "Zp"))  # controls, surrogates, line separators
_WITHOUT_WIDTH = frozenset(("Mn", "Me", "Cf"))  # combining marks, joiners


def printable(text: str) -> str:
    """The text with control characters and those that XML forbids replaced."""
    if text.isprintable():
        return text
    return "".join("\ufffd" if unicodedata.category(c) in _UNPRINTABLE or c in "\ufffe\uffff" else c for c in text)


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"


def n_cells(text: str) -> int:
    """The number of terminal columns that the text takes."""
    return sum(0 if unicodedata.category(c) in _WITHOUT_WIDTH else 2 if _is_wide(c) else 1 for c in text)


def padded(text: str, width: int) -> str:
    """The text with spaces added up to a number of terminal columns."""
    return text + " " * (width - n_cells(text))


def text_width(text: str, size: float) -> float:
    """An upper estimate of the text's width in a wide sans-serif font of this size."""
    return size * sum(map(_character_width, text))


def _character_width(character: str) -> float:
    if character in "ijlI.,:;'|!()[]` ":
        return 0.36
    if character in 'frt-/"':
        return 0.44
    if character in "mwMW@%—…":
        return 0.98
    if character.isascii():
        return 0.72 if character.isupper() else 0.64
    if unicodedata.category(character) in _WITHOUT_WIDTH:
        return 0.0
    return 1.05 if _is_wide(character) else 0.7


def direction(form: str) -> int:
    """1 for a word written left to right, -1 for right to left, 0 without letters."""
    directions = ({"L": 1, "R": -1, "AL": -1}.get(unicodedata.bidirectional(character), 0) for character in form)
    return next(filter(None, directions), 0)
