"""Significance of the difference between two parsers, by two tests over the sentences of a file.

- Paired bootstrap (Koehn 2004): draw as many sentences as there are, with replacement.
- Approximate randomisation (Noreen 1989): exchange the two parsers' trees of each sentence with probability one half.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from graph2graph import scoring
from graph2graph.scoring import Punct
from graph2graph.treebank.sentence import Sentence

Counts = npt.NDArray[np.int64]
LEVEL = 0.05
SEED = 1
N_CHUNKS, CHUNK = 20, 500  # 10,000 samples, 500 at a time to save memory
N_SAMPLES = N_CHUNKS * CHUNK


@dataclass(frozen=True, slots=True)
class Difference:
    """The LAS of the second parser minus the LAS of the first, with the p-values of both tests."""

    points: float
    bootstrap: float  # one-sided
    randomisation: float  # two-sided


def described(p_value: float) -> str:
    """A p-value in words, such as "not significant (p = 0.31)"."""
    shown = f"p = {p_value:.2g}" if p_value >= 0.001 else "p < 0.001"
    return f"{'significant' if p_value < LEVEL else 'not significant'} ({shown})"


def correct_words(
    gold: Sequence[Sentence], system: Sequence[Sentence], *, punct: Punct = "include"
) -> tuple[Counts, Counts]:
    """The number of words of each sentence with the right head and label, and the number that count."""
    rows = [scoring.score([g], [s], punct=punct).metrics["LAS"] for g, s in zip(gold, system, strict=True)]
    return np.array([row.correct for row in rows]), np.array([row.gold for row in rows])


def compare(gold: Sequence[Sentence], first: Sequence[Sentence], second: Sequence[Sentence]) -> Difference:
    """The difference in LAS between two parsers on the same sentences."""
    ours, words = correct_words(gold, second)
    theirs, _ = correct_words(gold, first)
    ahead = ours - theirs
    points = 100 * float(ahead.sum() / max(words.sum(), 1))
    return Difference(points, bootstrap(ahead), randomisation(ahead))


def bootstrap(ahead: Counts) -> float:
    """The share of draws in which the second parser is not better; `ahead`: how many more words it has right by sentence."""
    rng = np.random.default_rng(SEED)
    not_ahead = 0
    for _ in range(N_CHUNKS):
        drawn = rng.integers(0, len(ahead), (CHUNK, len(ahead)))
        not_ahead += int((ahead[drawn].sum(axis=1) <= 0).sum())
    return not_ahead / N_SAMPLES


def randomisation(ahead: Counts) -> float:
    """The share of exchanges whose difference, in either direction, is at least the observed one, which is counted too."""
    rng = np.random.default_rng(SEED)
    observed, as_great = abs(int(ahead.sum())), 0
    for _ in range(N_CHUNKS):
        signs = rng.integers(0, 2, (CHUNK, len(ahead))) * 2 - 1
        as_great += int((np.abs((signs * ahead).sum(axis=1)) >= observed).sum())
    return (as_great + 1) / (N_SAMPLES + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for their number by Holm's method.

    >>> holm([0.04, 0.01, 0.5])
    [0.08, 0.03, 0.5]
    """
    corrected, largest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = largest
    return corrected
