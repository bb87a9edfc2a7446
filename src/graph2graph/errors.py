"""Errors that a user can cause. The command line prints them as one line and exits with 1."""


class DataError(Exception):
    """An invalid file, model or setting; the message says where it is and what is wrong."""


def one_line(text: str) -> str:
    """The text, escaped if it has characters that would break a message into lines or control the terminal."""
    return text if text.isprintable() else ascii(text)


def first_line(error: BaseException) -> str:
    """The first line of an error's message; its type if it has none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def notes_of(error: BaseException) -> list[str]:
    """What was added to an error on its way, by `add_note`."""
    return list(getattr(error, "__notes__", []))
