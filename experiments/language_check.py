"""Make the language profile of the shipped model, and measure how well it tells English from other languages.

    python experiments/language_check.py [--profile]

--profile writes language.json and SHA256SUMS of the model `en` from the training set of English-EWT. Then the check, as
`g2g parse` does it, is tried on each document of English-EWT of 20 words or more and on passages of 50 words of other
languages. Writes experiments/results/language_check.json.
"""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from graph2graph.files import write_json
from graph2graph.parser import catalogue, checksums, language
from graph2graph.parser.language import CommonWords, LanguageCheck
from graph2graph.reproduce.paths import Paths
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence

PATHS = Paths.find(start=Path(__file__).parent)
ENGLISH = {"en_ewt": ("dev", "test"), "en_ewt_2.16": ("dev", "test"), "wsj_sample": ("dev",)}
OTHERS = ("sv_talbanken", "tr_imst", "fi_tdt", "eu_bdt", "it_isdt", "ru_taiga", "zh_gsd")
PASSAGE = 50  # words


def documents(sentences: Iterable[Sentence]) -> Iterator[list[str]]:
    """The words of each document of a treebank; without `# newdoc`, all are one."""
    words: list[str] = []
    for sentence in sentences:
        if any(comment.startswith("newdoc") for comment in sentence.comments) and words:
            yield words
            words = []
        words += sentence.forms
    yield words


def passages(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """Passages of 50 words, one after the other."""
    return (words[start : start + PASSAGE] for start in range(0, len(words) - PASSAGE + 1, PASSAGE))


def tried(texts: Iterable[Sequence[str]], common: CommonWords) -> dict[str, Any]:
    """How many texts there are, and how many get a warning."""
    n_texts = n_warnings = 0
    for words in texts:
        check = LanguageCheck(common)
        for start in range(0, len(words), 20):  # as sentences come
            if not check.is_done:
                check.add(words[start : start + 20])
        n_texts += 1
        n_warnings += check.problem() is not None
    return {"texts": n_texts, "warnings": n_warnings, "percent": round(100 * n_warnings / n_texts, 2)}


def main() -> None:
    """Measure, and make the profile if it is asked for."""
    command = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("--profile", action="store_true", help="make the profile of the model `en` first")
    english = catalogue.shipped()["en"]
    if command.parse_args().profile:
        train = conllu.read(PATHS.treebanks / "en_ewt/train.conllu")
        write_json(english / language.FILE_NAME, CommonWords.of(train).to_json())
        checksums.write(english)
    common = CommonWords.read(english)
    assert common is not None
    result: dict[str, Any] = {"command": "python experiments/language_check.py", "share": common.share}
    for name, splits in ENGLISH.items():
        for split in splits:
            found = documents(conllu.read(PATHS.treebanks / name / f"{split}.conllu"))
            long = (words for words in found if len(words) >= language.LEAST)
            result[f"{name} {split}, documents of {language.LEAST} words or more"] = tried(long, common)
    for name in OTHERS:
        for split in ("dev", "test"):
            words = [
                form for sentence in conllu.read(PATHS.treebanks / name / f"{split}.conllu") for form in sentence.forms
            ]
            result[f"{name} {split}, passages of {PASSAGE} words"] = tried(passages(words), common)
    write_json(PATHS.experiments / "results/language_check.json", result)


if __name__ == "__main__":
    main()
