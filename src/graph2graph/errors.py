"""Errors that a user can cause. The command line prints them as one line and exits with 1."""


class DataError(Exception):
    """An invalid file, model or setting; the message says where it is and what is wrong.

    A message may quote a hostile file, so it is one printable line whatever it quotes.
    """

    def __str__(self) -> str:
        return escaped(super().__str__())


def escaped(text: str) -> str:
    """The text on one line, with escapes for characters that would break the line or control the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\u00a0" else ascii(c)[1:-1] for c in text)


def one_line(text: str) -> str:
    """The text, escaped if it has characters that would break a message into lines or control the terminal."""
    return text if text.isprintable() else ascii(text)


def first_line(error: BaseException) -> str:
    """The first line of an error's message; its type if it has none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def notes_of(error: BaseException) -> list[str]:
    """What was added to an error on its way, by `add_note`."""
    return list(getattr(error, "__notes__", []))
