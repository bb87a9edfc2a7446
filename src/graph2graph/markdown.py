"""Markdown tables: one renderer for reports, model cards, result pages and benchmarks."""

from collections.abc import Iterable, Sequence


def table(header: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    r"""A Markdown table.

    >>> print(table(["model", "LAS"], [["SentTr", 90.5]]), end="")
    | model | LAS |
    |---|---|
    | SentTr | 90.5 |
    """
    return row(header) + "|" + "---|" * len(header) + "\n" + "".join(map(row, rows))


def row(cells: Iterable[object]) -> str:
    r"""One line of a table; pipes and line breaks in a cell are escaped.

    >>> row(["a|b", 1])
    '| a\\|b | 1 |\n'
    """
    escaped = (str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(escaped)} |\n"
