"""Figures 1, 2 and 4 of the paper as a page: docs/paper-figures.md.

    python experiments/paper_figures.py [--check]

The page shows what the code feeds to the encoder (see walkthrough.py), for the sentence of Appendix C. The models
are untrained: the input does not depend on their weights. --check writes nothing and fails if the page is not up to date.
"""

import argparse
import io
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from walkthrough import Attachment, InputRow, WalkStep, walk_through

from graph2graph import markdown
from graph2graph.config import Config
from graph2graph.files import write_text
from graph2graph.parser.parser import Parser
from graph2graph.parser.vocabulary import Vocabulary
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence
from graph2graph.variants import VARIANTS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "paper-figures.md"
SENTENCE = """\
1	Hey	_	INTJ	_	_	2	discourse	_	_
2	There	_	ADV	_	_	0	root	_	_
3	.	_	PUNCT	_	_	2	punct	_	_

"""
SEGMENTS = ("stack", "buffer", "deleted")
INTRODUCTION = """\
# Figures 1, 2 and 4

The input of the encoder at every step of a parse, for the example of the paper's Appendix C, "Hey There .". Made by
`python experiments/paper_figures.py` from what the code feeds to the encoder.

Each step shows the state before its action.

*Relation ids* r_ij: 1 where token i of the row is the head of token j of the column, 2 where it is the dependent of j, · where
there is no relation. *Label* is the label of a token's arc, whose embedding is added to the token's."""


def main() -> None:
    """Write the page, or check it."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--check", action="store_true", help="fail if the page is not up to date")
    content = page()
    if options.parse_args().check:
        sys.exit(0 if PAGE.read_text(encoding="utf-8") == content else f"{PAGE.name} is not up to date")
    write_text(PAGE, content)


def page() -> str:
    """The page, as Markdown."""
    [sentence] = conllu.read(io.StringIO(SENTENCE))
    walks = {name: walk_through(_untrained(name, sentence), sentence) for name in ("sent-g2g", "state-g2g", "state")}
    figures = [*_figure_1(walks, sentence), *_figure_2(walks["state"], sentence), *_figure_4(walks, sentence)]
    return "\n\n".join(part.strip() for part in (INTRODUCTION, *figures)) + "\n"


def _untrained(variant: str, sentence: Sentence) -> Parser:
    shape = {"width": 8, "inner_width": 8, "layers": 1, "heads": 1, "vocab_size": 100}
    config = Config.parse({"model": VARIANTS[variant].model | {"encoder": shape}}, variant)
    return Parser.create(config, Vocabulary.of([sentence]), forms=sentence.forms)


def _figure_1(walks: dict[str, list[WalkStep]], sentence: Sentence) -> Iterator[str]:
    yield "## Figure 1: the two parsers"
    yield "The two parsers in the same state, after the first arc: SentTr+G2GTr reads the sentence, StateTr+G2GTr the state."
    for name in ("state-g2g", "sent-g2g"):
        step = walks[name][3]
        yield f"### {VARIANTS[name].title}"
        yield from [_state(step, sentence), *_rows(name, step)]


def _figure_2(walk: list[WalkStep], sentence: Sentence) -> Iterator[str]:
    yield "## Figure 2: composition"
    yield (
        "StateTr composes: at each step every word of stack and buffer gets C ← Comp(C, ω, l) + C (Eq. 11), where ω is its "
        "most recent dependent and l the label and direction of that arc (Eq. 12). [NULL] and [L-NULL] stand for a word "
        "that has no dependent yet."
    )
    for number, step in enumerate(walk):
        latest = {attachment["head"]: attachment for attachment in step["latest"]}
        cells = []
        for node in [*step["stack"], *step["buffer"]]:
            arc = latest.get(node)
            omega = _word(sentence, arc["dependent"]) if arc else "[NULL]"
            cells.append([_word(sentence, node), omega, f"{arc['label']}, {arc['action']}" if arc else "[L-NULL]"])
        yield from [_heading(number, step, sentence), _state(step, sentence), markdown.table(["C", "ω", "l"], cells)]


def _figure_4(walks: dict[str, list[WalkStep]], sentence: Sentence) -> Iterator[str]:
    yield "## Figure 4: the worked example"
    for name in ("sent-g2g", "state-g2g"):
        yield f"### {VARIANTS[name].title}, step by step"
        for number, step in enumerate(walks[name]):
            yield from [_heading(number, step, sentence), _state(step, sentence), *_rows(name, step)]
        arcs = [_arc(step["adds"], sentence) for step in walks[name] if step["adds"]]
        yield f"#### End\n\nThe stack is ROOT, the buffer is empty, and the tree is complete: {'; '.join(arcs)}."


def _heading(number: int, step: WalkStep, sentence: Sentence) -> str:
    added = f", {_arc(step['adds'], sentence)}" if step["adds"] else ""
    return f"#### Step {number}: {step['action']}{added}"


def _arc(arc: Attachment, sentence: Sentence) -> str:
    return f"{_word(sentence, arc['head'])} → {_word(sentence, arc['dependent'])} ({arc['label']})"


def _state(step: WalkStep, sentence: Sentence) -> str:
    parts = [("Stack", step["stack"]), ("buffer", step["buffer"]), ("deleted", step["deleted"])]
    return "; ".join(f"{name}: {' '.join(_word(sentence, node) for node in nodes) or '–'}" for name, nodes in parts)


def _rows(variant: str, step: WalkStep) -> list[str]:
    """The rows that the encoder reads; a sentence has one segment only."""
    segments = SEGMENTS if VARIANTS[variant].model["input"] == "state" else ("sentence",)
    return [_row(row, segments) for row in step["rows"]]


def _row(row: InputRow, segments: Sequence[str]) -> str:
    """The tokens of a row with segment, position, tag and label, and their relation ids."""
    header = ["token", "segment", "position", "tag", "label", *row["tokens"]]
    cells = [
        [
            token,
            segments[segment],
            str(position),
            tag or "–",
            label or "–",
            *(str(number) if number else "·" for number in ids),
        ]
        for token, segment, position, tag, label, ids in zip(
            row["tokens"], row["segments"], row["positions"], row["tags"], row["labels"], row["relations"], strict=True
        )
    ]
    return markdown.table(header, cells)


def _word(sentence: Sentence, node: int) -> str:
    return "ROOT" if node == 0 else sentence.forms[node - 1]


if __name__ == "__main__":
    main()
