"""Errors that a user can cause. The command line prints them as one line and exits with 1."""


class DataError(Exception):
    """Something in a file, a model or the settings is not as it must be; the message says what and where."""
