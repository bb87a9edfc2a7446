"""Words -> word pieces: every kind of tokeniser, and no word without a piece."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from graph2graph.encoder.pieces import Pieces
from graph2graph.errors import DataError

WORDS = [
    "the",
    "cat",
    "cats",
    "sat",
    "on",
    "a",
    "mat",
    "unbelievable",
    "Überraschung",
    "日本語",
    "10,000",
    "don't",
    "...",
]
BERT_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ROBERTA_SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def wordpiece() -> Tokenizer:
    """As BERT's: lower case, accents stripped, punctuation apart."""
    letters = sorted({letter for word in WORDS for letter in word} | set("UÜb"))
    tokens = [*BERT_SPECIAL, *letters, *(f"##{letter}" for letter in letters), "the", "cat", "##lie", "##able"]
    tokenizer = Tokenizer(models.WordPiece({token: i for i, token in enumerate(tokens)}, unk_token="[UNK]"))
    tokenizer.add_special_tokens(BERT_SPECIAL)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def byte_level() -> Tokenizer:
    """As RoBERTa's: bytes, and a space before a word is part of it."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=ROBERTA_SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(["the cat sat on the mat , the cat sat"] * 5, trainer)
    return tokenizer


def unigram() -> Tokenizer:
    """As XLM-R's: ▁ for the start of a word."""
    scores = [(token, 0.0) for token in ROBERTA_SPECIAL] + [("▁", -3.0), ("▁the", -1.0), ("▁cat", -1.5), ("the", -2.0)]
    scores += [(letter, -4.0) for letter in "abcdefghijklmnopqrstuvwxyz"]
    tokenizer = Tokenizer(models.Unigram(scores, unk_id=3))
    whitespace, marks = pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([whitespace, marks])
    return tokenizer


KINDS = {"wordpiece": wordpiece, "byte-level": byte_level, "unigram": unigram}


@pytest.fixture(params=KINDS)
def pieces(request: pytest.FixtureRequest) -> Pieces:
    return Pieces(KINDS[request.param](), source=request.param)


def texts(pieces: Pieces, form: str) -> list[str]:
    return [str(pieces.tokenizer.id_to_token(piece)) for piece in pieces.of(form)]


@pytest.mark.parametrize(
    "form", ["", " ", "\u200b", "\u00ad", "\ufeff", "\u0301", "\u3000", "\x00", "\ufffd", "😀", "ſ"]
)
def test_every_word_has_a_piece(pieces: Pieces, form: str) -> None:
    assert pieces.of(form)
    assert all(0 <= piece < len(pieces) for piece in pieces.of(form))


def test_words_that_vanish_are_unknown() -> None:
    pieces = Pieces(wordpiece(), source="")
    for form in ("", "\u200b", "\u00ad", "\u0301"):
        assert pieces.of(form) == [pieces.unknown]
    assert pieces.of("cat") != [pieces.unknown]


@pytest.fixture(scope="module")
def limited() -> list[Pieces]:
    return [Pieces(make(), source=kind, max_pieces=5) for kind, make in KINDS.items()]


@given(text=st.text(max_size=40))
def test_any_text_has_pieces_within_the_limit(limited: list[Pieces], text: str) -> None:
    for pieces in limited:
        found = pieces.of(text)
        assert 1 <= len(found) <= 5
        assert all(0 <= piece < len(pieces) for piece in found)
        assert pieces.of(text) == found


def test_long_words_are_cut(pieces: Pieces) -> None:
    long = "semolina" * 10
    limited = Pieces(pieces.tokenizer, source="", max_pieces=4)
    uncut = pieces.tokenizer.encode(" " + long, add_special_tokens=False).ids
    assert len(uncut) > 32
    assert limited.of(long) == uncut[:4]
    assert pieces.of(long) == uncut[:32]


def test_a_byte_level_word_gets_its_space() -> None:
    pieces = Pieces(byte_level(), source="")
    assert texts(pieces, "cat") == ["Ġcat"]
    assert texts(pieces, "the") == ["Ġthe"]
    assert texts(pieces, "X")[0].startswith("Ġ")
    inside = pieces.tokenizer.encode("on the cat", add_special_tokens=False).ids
    assert inside[-1:] == pieces.of("cat")  # as in running text
    assert texts(pieces, "日") == ["Ġ", "æ", "Ĺ", "¥"]


def test_a_unigram_word_gets_its_mark() -> None:
    pieces = Pieces(unigram(), source="")
    assert texts(pieces, "the") == ["▁the"]
    assert texts(pieces, "cat") == ["▁cat"]
    assert texts(pieces, "bat") == ["▁", "b", "a", "t"]
    assert pieces.of("日") == [pieces.tokenizer.token_to_id("▁"), pieces.unknown]


def test_special_pieces(pieces: Pieces) -> None:
    names = [pieces.tokenizer.id_to_token(i) for i in (pieces.cls, pieces.sep, pieces.mask, pieces.unknown)]
    assert names in (["[CLS]", "[SEP]", "[MASK]", "[UNK]"], ["<s>", "</s>", "<mask>", "<unk>"])


def test_padding_and_truncation_of_the_file_are_undone() -> None:
    tokenizer = wordpiece()
    plain = Pieces(wordpiece(), source="").of("unbelievable")
    assert len(plain) > 2
    tokenizer.enable_padding(length=20)
    tokenizer.enable_truncation(2)
    assert Pieces(tokenizer, source="").of("unbelievable") == plain


def test_save_and_read(pieces: Pieces, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(pieces.tokenizer.to_str(), encoding="utf-8")
    again = Pieces.read(tmp_path, max_pieces=7)
    assert len(again) == len(pieces)
    for word in WORDS:
        assert again.of(word) == pieces.of(word)[:7]


@pytest.mark.parametrize("lowercase", [True, False])
def test_vocab_txt_is_enough(tmp_path: Path, lowercase: bool) -> None:
    tokenizer = wordpiece()
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    vocabulary = tokenizer.get_vocab()
    (tmp_path / "vocab.txt").write_text(
        "\n".join(sorted(vocabulary, key=vocabulary.__getitem__)) + "\n", encoding="utf-8"
    )
    if not lowercase:
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": False}))
    pieces, expected = Pieces.read(tmp_path), Pieces(tokenizer, source="")
    for word in [*WORDS, "CATS", "[MASK]", "Ünbelievable"]:
        assert pieces.of(word) == expected.of(word)


@pytest.mark.parametrize("name", ["minilm-l6", "mpnet-base"])
def test_vocab_txt_of_real_encoders(encoder_dir: Callable[[str], Path], tmp_path: Path, name: str) -> None:
    directory = encoder_dir(name)
    for file in ("vocab.txt", "tokenizer_config.json"):
        shutil.copy(directory / file, tmp_path)
    whole, vocabulary = Pieces.read(directory), Pieces.read(tmp_path)
    assert len(whole) == len(vocabulary)
    for word in [
        *WORDS,
        "Naïveté",
        "東京",
        "e-mail",
        "http://example.org/?q=1",
        "😀",
        "\u200b",
        "antidisestablishmentarianism",
    ]:
        assert vocabulary.of(word) == whole.of(word)
    assert (vocabulary.cls, vocabulary.sep, vocabulary.mask) == (whole.cls, whole.sep, whole.mask)


# ---------------------------------------------------------------------- a vocabulary of one's own


def test_trained_vocabulary() -> None:
    pieces = Pieces.train(WORDS * 3, vocab_size=120)
    assert [pieces.tokenizer.id_to_token(i) for i in range(5)] == BERT_SPECIAL
    assert len(pieces) <= 120
    for word in WORDS:
        assert pieces.unknown not in pieces.of(word)
        assert pieces.tokenizer.decode(pieces.of(word)) == word
    assert texts(pieces, "the") == ["the"]  # frequent words are whole
    assert pieces.of("U\u0308berraschung") == pieces.of("Überraschung")
    assert pieces.of("Ω") == [pieces.unknown]
    assert pieces.of("##a") != pieces.of("a")


def test_trained_vocabulary_of_almost_nothing() -> None:
    for forms in ([], ["a"], ["", " "], ["two words", "two"]):
        pieces = Pieces.train(forms, vocab_size=50)
        assert pieces.of("two")
        assert pieces.of("[CLS]")
    assert len(Pieces.train(WORDS, vocab_size=1)) > 5  # the letters are always there


@pytest.mark.slow
def test_training_is_deterministic() -> None:
    """In another process too, where hash tables have another order."""
    code = "from test_pieces import *\nforms = WORDS * 2 + [word[::-1] for word in WORDS]\n"
    code += "print(Pieces.train(forms, vocab_size=150).tokenizer.to_str())"
    vocabularies = [
        subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, check=True).stdout
        for _ in range(3)
    ]
    assert len(vocabularies[0]) > 1000
    assert vocabularies[0] == vocabularies[1] == vocabularies[2]


def test_training_survives_save_and_read(tmp_path: Path) -> None:
    pieces = Pieces.train(WORDS * 3, vocab_size=120)
    (tmp_path / "tokenizer.json").write_text(pieces.tokenizer.to_str(), encoding="utf-8")
    again = Pieces.read(tmp_path)
    assert all(again.of(word) == pieces.of(word) for word in [*WORDS, "tea", "Ω", "[SEP]"])


# ---------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ("[CLS]", "no [CLS] or <s>"),
        ("[SEP]", "no [SEP] or </s>"),
        ("[MASK]", "no [MASK] or <mask>"),
        ("[UNK]", "no [UNK] or <unk>"),
    ],
)
def test_missing_special_token(tmp_path: Path, token: str, message: str) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join([t for t in BERT_SPECIAL if t != token] + ["the", "##e"]))
    with pytest.raises(DataError) as raised:
        Pieces.read(tmp_path)
    assert str(raised.value) == f"{tmp_path / 'vocab.txt'}: the vocabulary has {message}"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no tokeniser; expected tokenizer\.json or vocab\.txt"):
        Pieces.read(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(DataError, match=r"tokenizer\.json: not a tokeniser: "):
        Pieces.read(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "vocab.txt").write_text("\n".join(BERT_SPECIAL))
    (tmp_path / "tokenizer_config.json").write_text("{broken")
    with pytest.raises(DataError, match=r"tokenizer_config\.json: not JSON"):
        Pieces.read(tmp_path)
