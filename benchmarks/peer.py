"""The speed of a peer on the same CoNLL-U file, gold words, if it is installed: SuPar, Stanza or spaCy.

    python benchmarks/peer.py FILE --peer supar --model PATH [--threads 2] [--batch 500] [--rounds 3] [--json]

Only parsing is timed, not loading. The model is one of the peer's, as a path or by its name.
"""

import argparse
import importlib.util
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Words = list[list[str]]


def supar(model: str, words: Words, batch: int) -> Callable[[], object]:
    """SuPar's biaffine parser; batches of so many tokens."""
    from supar import Parser

    parser = Parser.load(model)
    return lambda: parser.predict(words, batch_size=batch, verbose=False)


def stanza(model: str, words: Words, batch: int) -> Callable[[], object]:
    """Stanza's pipeline on tokens, with the tagger that its parser needs."""
    import stanza as library

    nlp = library.Pipeline(
        "en", dir=model, tokenize_pretokenized=True, processors="tokenize,pos,lemma,depparse", depparse_batch_size=batch
    )
    return lambda: nlp(words)


def spacy(model: str, words: Words, batch: int) -> Callable[[], object]:
    """A spaCy pipeline on tokens."""
    import spacy as library

    nlp = library.load(model)
    documents = [library.tokens.Doc(nlp.vocab, words=forms) for forms in words]
    return lambda: [None for _ in nlp.pipe((doc.copy() for doc in documents), batch_size=batch)]


PEERS: dict[str, Callable[[str, Words, int], Callable[[], object]]] = {"supar": supar, "stanza": stanza, "spacy": spacy}


def main() -> None:
    """Time the peer and print its best round."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--peer", required=True, choices=list(PEERS))
    parser.add_argument("--model", required=True)
    parser.add_argument("--batch", type=int, default=500)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if importlib.util.find_spec(given.peer) is None:
        sys.exit(f"{given.peer} is not installed here: pip install {given.peer}, in an environment of its own")
    import torch

    from graph2graph.treebank import conllu

    torch.set_num_threads(given.threads)
    words = [sentence.forms for sentence in conllu.read(given.file)]
    parse = PEERS[given.peer](given.model, words, given.batch)
    seconds = []
    for _ in range(given.rounds):
        begin = time.perf_counter()
        parse()
        seconds.append(time.perf_counter() - begin)
    n_words, best = sum(map(len, words)), min(seconds)
    result: dict[str, Any] = {"peer": given.peer, "words_per_second": n_words / best, "seconds": seconds}
    print(json.dumps(result) if given.json else f"{given.peer}: {n_words / best:,.0f} words/s, best of {given.rounds}")


if __name__ == "__main__":
    main()
