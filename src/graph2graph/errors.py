"""Errors that a user can cause. The command line prints them as one line and exits with 1."""


class DataError(Exception):
    """A file, a model or the settings are not as they must be; the message says what is wrong and where."""


def one_line(text: str) -> str:
    """The text, escaped if it has characters that would break a message into lines or control the terminal."""
    return text if text.isprintable() else ascii(text)
