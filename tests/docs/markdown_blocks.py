"""The fenced blocks of README and docs, as tests see them. These are the conventions for writing a page:

- ```` ```sh ```` holds commands. Each block is run by itself, as written, in a directory with the files that `provided_files`
  lists in `test_shell_blocks.py`.
- ```` ```python ```` holds Python. A block with `>>>` is a doctest, any other is executed; the blocks of a page share their
  names.
- ```` ```text ```` right after one of these, with only blank lines between, is its output and compared with it; `...` stands
  for anything. Elsewhere `text` may hold anything: a synopsis, a picture of a tree.
- `<!-- not run: REASON -->` on the line before a fence excludes a block that needs the network, a GPU, many minutes, or files
  that only its reader has. The tests list these with their reasons.
- A fence without a language is an error: nobody could tell whether it should run.
"""

import doctest
import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^( *)(`{3,})[ ]*([\w+-]*)")
NOT_RUN = re.compile(r"^<!-- not run:(.*)-->$")


class Block(NamedTuple):
    """A fenced block of a page."""

    page: Path
    line: int  # of its opening fence
    language: str
    code: str
    reason: str | None  # why it is not run; None if it is
    output: str | None  # that must be printed; None if the page shows none

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """All pages that people write by hand."""
    top = (path for path in ROOT.glob("*.md") if path.name != "CHANGELOG.md")
    return sorted([*top, *(ROOT / "docs").rglob("*.md")])


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    lines = page.read_text(encoding="utf-8").splitlines()
    found: list[Block] = []
    start = end = 0  # the lines at which we are and at which the last block ended
    while start < len(lines):
        opening = FENCE.match(lines[start])
        start += 1
        if opening is None:
            continue
        indent, ticks, language = opening.groups()
        between = [line.strip() for line in lines[end : start - 1] if line.strip()]
        marked = NOT_RUN.match(between[-1]) if between else None
        end = next(n for n in range(start, len(lines)) if lines[n].strip() == ticks) + 1
        code = "".join(f"{line.removeprefix(indent)}\n" for line in lines[start : end - 1])
        if found and language == "text" and not between:
            found[-1] = found[-1]._replace(output=code)
        found.append(Block(page, start, language, code, marked[1].strip() if marked else None, None))
        start = end
    return found


def blocks_in(*languages: str) -> list[Block]:
    """The blocks of all pages in these languages."""
    return [block for page in pages() for block in blocks(page) if block.language in languages]


def check_output(block: Block, printed: str) -> None:
    """Compare what a block printed with what the page shows."""
    if block.output is not None:
        same = doctest.OutputChecker().check_output(block.output, printed, doctest.ELLIPSIS)
        assert same, f"{block.name} shows\n{block.output}\nand prints\n{printed}"
