"""spaCy Docs made from documents: the same words, tags, trees and sentences, without a parser."""

import subprocess
import sys

import pytest

from conftest import CONTRACTIONS, ROOT
from graph2graph.treebank.document import Document
from graph2graph.treebank.sentence import LEMMA, UPOS, XPOS
from spacy_trees import trees

spacy = pytest.importorskip("spacy")

TOY = ROOT / "tests" / "data" / "toy.conllu"


def test_documents_as_docs() -> None:
    document = Document.from_conllu(CONTRACTIONS + TOY.read_text(encoding="utf-8"))
    vocab = spacy.blank("en").vocab
    doc = document.to_spacy(vocab)
    assert doc.vocab is vocab
    assert doc.text.startswith(
        "I don't think he saw it. It isn't the issue. A hearing is scheduled on the issue today. Hey"
    )
    assert [token.text for token in doc] == [word.form for word in document.words]
    assert trees(doc) == [(s.heads, s.deprels) for s in document.sentences]
    assert [token.lemma_ or "_" for token in doc] == [c for s in document.sentences for c in s.column(LEMMA)]
    assert [token.tag_ for token in doc] == [c for s in document.sentences for c in s.column(XPOS)]
    assert [token.pos_ for token in doc] == [c for s in document.sentences for c in s.column(UPOS)]
    assert doc[0].morph.to_dict() == {"Case": "Nom"}
    assert len(Document("", []).to_spacy()) == 0
    odd = "1\tx\t_\tNOSUCH\t_\t_\t_\t_\t_\t_\n2\ty\t_\t_\t_\t_\t1\tdep\t_\t_\n\n"
    partly = Document.from_conllu(odd).to_spacy()
    assert [(token.pos_, token.dep_) for token in partly] == [("", ""), ("", "dep")]


def test_noun_chunks() -> None:
    rows = [
        *(
            "In in ADP 3 case",
            "the the DET 3 det",
            "park park NOUN 8 obl",
            ", , PUNCT 8 punct",
            "Mr. Mr. PROPN 8 nsubj",
        ),
        *(
            "Smith Smith PROPN 5 flat",
            "'s 's PART 8 advmod",
            "saw see VERB 0 root",
            "him he PRON 8 obj",
            "and and CCONJ 12 cc",
        ),
        *("his his PRON 12 nmod:poss", "dog dog NOUN 9 conj", "of of ADP 14 case", "war war NOUN 12 nmod"),
    ]
    cells = ([number, *row.split()] for number, row in enumerate(rows, 1))
    lines = [
        f"{n}\t{form}\t{lemma}\t{upos}\t_\t_\t{head}\t{label}\t_\t_" for n, form, lemma, upos, head, label in cells
    ]
    doc = Document.from_conllu("\n".join(lines)).to_spacy()
    assert [chunk.text for chunk in doc.noun_chunks] == ["the park", "Mr. Smith", "him", "his dog", "war"]


def test_crossing_arcs_keep_their_sentences() -> None:
    """spaCy's own way to set sentence starts from a tree goes wrong where arcs cross a lot."""
    n = 40
    heads = [0, 1, *(max(1, i - 2) for i in range(3, n + 1))]  # two interleaved chains
    rows = [f"{i}\tw\t_\t_\t_\t_\t{head}\t{'dep' if head else 'root'}\t_\t_\n" for i, head in enumerate(heads, 1)]
    document = Document.from_conllu(("".join(rows) + "\n") * 3)
    doc = document.to_spacy()
    assert [sent.start for sent in doc.sents] == [0, n, 2 * n]
    assert trees(doc) == [(s.heads, s.deprels) for s in document.sentences]


@pytest.mark.slow
def test_no_parser_is_imported() -> None:
    code = (
        "import sys; import graph2graph.treebank.spacy_doc\n"
        "print([name for name in sys.modules if name.startswith(('graph2graph.parser', 'graph2graph.models'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
