"""The word pieces of words, from the tokeniser of the encoder."""

import json
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from graph2graph.errors import DataError, first_line
from graph2graph.files import read_json

_BERT_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


class Pieces:
    """The piece ids of words; each word is tokenised alone, so they never depend on the sentence."""

    def __init__(self, tokenizer: Tokenizer, *, source: str, max_pieces: int = 32) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self.tokenizer, self.source = tokenizer, source
        self.max_pieces = max_pieces
        special = (("[CLS]", "<s>"), ("[SEP]", "</s>"), ("[MASK]", "<mask>"), ("[UNK]", "<unk>"))
        self.cls, self.sep, self.mask, self.unknown = (_first_id(tokenizer, tokens, source) for tokens in special)
        # a byte-level tokeniser expects a space before each word
        pre_tokenizer = json.loads(tokenizer.to_str()).get("pre_tokenizer") or {}
        self._prefix = " " if "ByteLevel" in json.dumps(pre_tokenizer) else ""
        self._known: dict[str, list[int]] = {}

    def __len__(self) -> int:
        """The size of the vocabulary."""
        return int(self.tokenizer.get_vocab_size())

    @property
    def n_ids(self) -> int:
        """The number of rows that an embedding table of the pieces needs: more than there are pieces if ids are left out."""
        return max(self.tokenizer.get_vocab().values()) + 1

    def of(self, form: str) -> list[int]:
        """The pieces of one word; the unknown piece if the tokeniser finds none."""
        pieces = self._known.get(form)
        if pieces is None:
            with _errors_naming(self.source):
                ids = self.tokenizer.encode(self._prefix + form, add_special_tokens=False).ids
            pieces = ids[: self.max_pieces] or [self.unknown]
            if len(self._known) > 200_000:  # an endless stream of new words must not fill the memory
                self._known.clear()
            self._known[form] = pieces
        return pieces

    @classmethod
    def read(cls, directory: Path, *, max_pieces: int = 32) -> "Pieces":
        """The tokeniser in the directory of an encoder or a model: tokenizer.json, or BERT's vocab.txt."""
        path = next(filter(Path.exists, (directory / "tokenizer.json", directory / "vocab.txt")), None)
        if path is None:
            raise DataError(f"{directory}: no tokeniser; expected tokenizer.json or vocab.txt")
        with _errors_naming(path):
            tokenizer = Tokenizer.from_file(str(path)) if path.suffix == ".json" else _bert_tokenizer(path)
            return cls(tokenizer, source=str(path), max_pieces=max_pieces)

    @classmethod
    def train(cls, forms: Iterable[str], *, vocab_size: int = 8000, max_pieces: int = 32) -> "Pieces":
        """A WordPiece vocabulary learnt from these words, for a parser without pretrained encoder; always the same one."""
        words = [word for form in forms for word in unicodedata.normalize("NFC", form).split()]
        # The trainer breaks ties by the ids of letters, which it would number in the random order of a hash table.
        letters = sorted({word[0] for word in words}) + sorted({f"##{letter}" for word in words for letter in word[1:]})
        trainer = trainers.WordPieceTrainer(
            vocab_size=vocab_size, special_tokens=[*_BERT_SPECIAL, *letters], show_progress=False
        )
        trained = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        trained.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        trained.train_from_iterator(words, trainer)
        tokenizer = Tokenizer(models.WordPiece(trained.get_vocab(with_added_tokens=True), unk_token="[UNK]"))
        tokenizer.add_special_tokens(_BERT_SPECIAL)
        tokenizer.normalizer = normalizers.NFC()
        tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        tokenizer.decoder = decoders.WordPiece()
        return cls(tokenizer, source="training", max_pieces=max_pieces)


@contextmanager
def _errors_naming(source: object) -> Iterator[None]:
    """Turn any error of the library into one that names the tokeniser: it raises plain Exceptions, and its panics are none."""
    try:
        yield
    except (DataError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        raise DataError(f"{source}: not a tokeniser: {first_line(error)}") from error


def _first_id(tokenizer: Tokenizer, tokens: tuple[str, ...], source: str) -> int:
    for token in tokens:
        if (found := tokenizer.token_to_id(token)) is not None:
            return int(found)
    raise DataError(f"{source}: the vocabulary has no {' or '.join(tokens)}")


def _bert_tokenizer(vocab: Path) -> Tokenizer:
    """BERT's tokeniser, uncased unless tokenizer_config.json says otherwise."""
    config = vocab.with_name("tokenizer_config.json")
    settings = read_json(config) if config.exists() else {}
    tokenizer = Tokenizer(models.WordPiece.from_file(str(vocab), unk_token="[UNK]"))
    tokenizer.add_special_tokens([token for token in _BERT_SPECIAL if tokenizer.token_to_id(token) is not None])
    tokenizer.normalizer = normalizers.BertNormalizer(
        lowercase=settings.get("do_lower_case", True),
        strip_accents=settings.get("strip_accents"),
        handle_chinese_chars=settings.get("tokenize_chinese_chars", True),
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer
