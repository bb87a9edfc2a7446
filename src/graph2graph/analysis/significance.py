"""Significance of the difference between two parsers, by two tests over the sentences of a file.

Paired bootstrap (Koehn 2004): draw as many sentences as there are, with replacement, 10,000 times; the p-value is the share of
draws in which the second parser is not better than the first.

Approximate randomisation (Noreen 1989): exchange the two parsers' trees of each sentence with probability one half, 10,000
times; the p-value is the share of shuffles whose difference is at least as great as the observed one, either way.
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
N_SAMPLES = 10_000
CHUNK = 500  # samples drawn at once, which bounds memory


@dataclass(frozen=True, slots=True)
class Difference:
    """The LAS of a second parser minus that of a first one, with the p-values of both tests."""

    points: float
    bootstrap: float  # one-sided
    randomisation: float  # two-sided


def described(p_value: float) -> str:
    """A p-value in words.

    >>> described(0.31), described(0.004), described(0.0001)
    ('not significant (p = 0.31)', 'significant (p = 0.004)', 'significant (p < 0.001)')
    """
    shown = f"p = {p_value:.2g}" if p_value >= 0.001 else "p < 0.001"
    return f"{'significant' if p_value < LEVEL else 'not significant'} ({shown})"


def correct_words(
    gold: Sequence[Sentence], system: Sequence[Sentence], *, punct: Punct = "include"
) -> tuple[Counts, Counts]:
    """The number of words of each sentence with the right head and label, and the number that count."""
    rows = [scoring.score([g], [s], punct=punct).metrics["LAS"] for g, s in zip(gold, system, strict=True)]
    return np.array([row.correct for row in rows]), np.array([row.gold for row in rows])


def compare(
    gold: Sequence[Sentence],
    first: Sequence[Sentence],
    second: Sequence[Sentence],
    *,
    punct: Punct = "include",
    n_samples: int = N_SAMPLES,
    seed: int = 1,
) -> Difference:
    """Compare the LAS of a second parser with that of a first one on the same sentences."""
    ours, words = correct_words(gold, second, punct=punct)
    theirs, _ = correct_words(gold, first, punct=punct)
    ahead = ours - theirs
    return Difference(
        points=100 * float(ahead.sum() / max(words.sum(), 1)),
        bootstrap=bootstrap(ahead, n_samples=n_samples, seed=seed),
        randomisation=randomisation(ahead, n_samples=n_samples, seed=seed),
    )


def bootstrap(ahead: Counts, *, n_samples: int = N_SAMPLES, seed: int = 1) -> float:
    """The share of draws in which the second parser is not ahead; `ahead` counts its extra right words in each sentence.

    The sign of the difference does not depend on the number of words drawn, so word counts are not needed.

    >>> bootstrap(np.array([1, 1, 2, 1]))
    0.0
    >>> bootstrap(np.array([0, 0, 0]))
    1.0
    """
    rng = np.random.default_rng(seed)
    not_ahead = 0
    for n in _chunks(n_samples):
        drawn = rng.integers(0, len(ahead), (n, len(ahead)))
        not_ahead += int((ahead[drawn].sum(axis=1) <= 0).sum())
    return not_ahead / n_samples


def randomisation(ahead: Counts, *, n_samples: int = N_SAMPLES, seed: int = 1) -> float:
    """The share of shuffles, the observed one included, whose difference is at least as great as the observed one.

    >>> randomisation(np.array([0, 0, 0]))
    1.0
    """
    rng = np.random.default_rng(seed)
    observed, as_great = abs(int(ahead.sum())), 0
    for n in _chunks(n_samples):
        signs = rng.integers(0, 2, (n, len(ahead))) * 2 - 1
        as_great += int((np.abs((signs * ahead).sum(axis=1)) >= observed).sum())
    return (as_great + 1) / (n_samples + 1)


def _chunks(n_samples: int) -> list[int]:
    """The sizes of the chunks that the samples are drawn in."""
    return [min(CHUNK, n_samples - done) for done in range(0, n_samples, CHUNK)]
