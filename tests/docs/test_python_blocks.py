"""Every Python example in README and docs runs and prints what the page shows; see `markdown_blocks` for the conventions."""

import contextlib
import doctest
import io
from pathlib import Path

import pytest
from markdown_blocks import ROOT, blocks, check_output, pages

PYTHON = ("python", "pycon")
PAGES = [page for page in pages() if any(block.language in PYTHON for block in blocks(page))]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_blocks(page: Path, toy_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a page, one after the other, in a directory with a treebank `text.conllu` and a model `model`."""
    if "spacy" in page.read_text(encoding="utf-8"):
        pytest.importorskip("spacy")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").symlink_to(toy_model)
    (tmp_path / "text.conllu").write_bytes((ROOT / "tests" / "data" / "toy.conllu").read_bytes())
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.language not in PYTHON or block.reason is not None:
            continue
        if ">>>" in block.code:
            example = doctest.DocTestParser().get_doctest(block.code, names, block.name, str(page), block.line)
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
            report = io.StringIO()
            runner.run(example, out=report.write, clear_globs=False)
            assert runner.failures == 0, report.getvalue()
            names = example.globs
        else:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(block.code, block.name, "exec"), names)
            check_output(block, printed.getvalue())
