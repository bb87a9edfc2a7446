"""Words -> word pieces, by the tokeniser that belongs to the encoder."""

import json
from collections.abc import Iterable
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from graph2graph.errors import DataError

_SPECIAL = {
    "cls": ("[CLS]", "<s>"),
    "sep": ("[SEP]", "</s>"),
    "mask": ("[MASK]", "<mask>"),
    "unknown": ("[UNK]", "<unk>"),
}


class Pieces:
    """The piece ids of words; each word is looked up on its own, so a sentence never changes them."""

    def __init__(self, tokenizer: Tokenizer, *, source: str, max_pieces: int = 32) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self.tokenizer = tokenizer
        self.max_pieces = max_pieces
        ids = {name: _first_id(tokenizer, tokens, source) for name, tokens in _SPECIAL.items()}
        self.cls, self.sep, self.mask, self.unknown = ids["cls"], ids["sep"], ids["mask"], ids["unknown"]
        # A byte-level tokeniser tells the start of a word by the space before it.
        pre_tokenizer = json.loads(tokenizer.to_str()).get("pre_tokenizer") or {}
        self._prefix = " " if "ByteLevel" in json.dumps(pre_tokenizer) else ""
        self._known: dict[str, list[int]] = {}

    def __len__(self) -> int:
        """The size of the vocabulary."""
        return int(self.tokenizer.get_vocab_size())

    def of(self, form: str) -> list[int]:
        """The pieces of one word: at least one, even where the tokeniser finds nothing in it."""
        pieces = self._known.get(form)
        if pieces is None:
            ids = self.tokenizer.encode(self._prefix + form, add_special_tokens=False).ids
            pieces = ids[: self.max_pieces] or [self.unknown]
            if len(self._known) > 200_000:  # a stream of endless new words must not fill the memory
                self._known.clear()
            self._known[form] = pieces
        return pieces

    def save(self, path: Path) -> None:
        """Write tokenizer.json."""
        path.write_text(self.tokenizer.to_str(), encoding="utf-8")

    @classmethod
    def read(cls, directory: Path, *, max_pieces: int = 32) -> "Pieces":
        """The tokeniser of an encoder's or a model's directory: tokenizer.json, or BERT's vocab.txt."""
        path, vocab = directory / "tokenizer.json", directory / "vocab.txt"
        try:
            if path.exists():
                tokenizer = Tokenizer.from_file(str(path))
            elif vocab.exists():
                path = vocab
                tokenizer = _bert_tokenizer(vocab, _lowercases(directory))
            else:
                raise DataError(f"{directory}: no tokeniser; expected tokenizer.json or vocab.txt")
        except DataError:
            raise
        except Exception as error:  # tokenizers raises plain Exception
            raise DataError(f"{path}: not a tokeniser: {error}") from error
        return cls(tokenizer, source=str(path), max_pieces=max_pieces)

    @classmethod
    def train(cls, forms: Iterable[str], *, vocab_size: int = 8000, max_pieces: int = 32) -> "Pieces":
        """A WordPiece vocabulary learnt from a treebank, for a parser without pretrained encoder."""
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.NFC()
        tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        tokenizer.decoder = decoders.WordPiece()
        special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        trainer = trainers.WordPieceTrainer(vocab_size=vocab_size, special_tokens=special, show_progress=False)
        tokenizer.train_from_iterator(forms, trainer)
        return cls(tokenizer, source="training", max_pieces=max_pieces)


def _first_id(tokenizer: Tokenizer, tokens: tuple[str, ...], source: str) -> int:
    for token in tokens:
        if (found := tokenizer.token_to_id(token)) is not None:
            return int(found)
    raise DataError(f"{source}: the vocabulary has no {' or '.join(tokens)}")


def _lowercases(directory: Path) -> bool:
    path = directory / "tokenizer_config.json"
    return bool(json.loads(path.read_text(encoding="utf-8")).get("do_lower_case", True)) if path.exists() else True


def _bert_tokenizer(vocab: Path, lowercase: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece.from_file(str(vocab), unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer
