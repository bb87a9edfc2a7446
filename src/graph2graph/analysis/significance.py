"""Could the difference between two parsers be luck? Two tests over the sentences of a file.

Paired bootstrap (Koehn 2004): draw as many sentences as there are, with repetition, many times over, and see in what share of
the draws the second parser is not better than the first.

Approximate randomisation (Noreen 1989): exchange the two parsers' trees of each sentence with probability one half, many times
over, and see in what share of the shuffles the difference is as great as the one observed, either way.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from graph2graph import scoring
from graph2graph.scoring import Punct
from graph2graph.treebank.conllu import Sentence

Counts = npt.NDArray[np.int64]
N_SAMPLES = 10_000
_AT_ONCE = 500  # samples, so that memory stays small


@dataclass(frozen=True, slots=True)
class Difference:
    """Of a second parser to a first one: its score minus the first one's, in percent, and how likely that is luck."""

    points: float
    bootstrap: float  # one-sided: the share of draws in which the second is not better
    randomisation: float  # two-sided


def correct(gold: Sequence[Sentence], system: Sequence[Sentence], *, punct: Punct = "include") -> tuple[Counts, Counts]:
    """For each sentence, how many words have the right head and label, and how many count."""
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
    """The LAS of a second parser compared with that of a first one on the same sentences."""
    ours, words = correct(gold, second, punct=punct)
    theirs, _ = correct(gold, first, punct=punct)
    ahead = ours - theirs
    return Difference(
        points=100 * float(ahead.sum() / max(words.sum(), 1)),
        bootstrap=bootstrap(ahead, n_samples=n_samples, seed=seed),
        randomisation=randomisation(ahead, n_samples=n_samples, seed=seed),
    )


def bootstrap(ahead: Counts, *, n_samples: int = N_SAMPLES, seed: int = 1) -> float:
    """The share of draws in which the second parser is not ahead; `ahead` is how many more words it has right in each sentence.

    Whether it is ahead does not depend on how many words the draw has, so these need not be known.

    >>> bootstrap(np.array([1, 1, 2, 1]))
    0.0
    >>> bootstrap(np.array([0, 0, 0]))
    1.0
    """
    rng = np.random.default_rng(seed)
    not_ahead = 0
    for n in _portions(n_samples):
        drawn = rng.integers(0, len(ahead), (n, len(ahead)))
        not_ahead += int((ahead[drawn].sum(axis=1) <= 0).sum())
    return not_ahead / n_samples


def randomisation(ahead: Counts, *, n_samples: int = N_SAMPLES, seed: int = 1) -> float:
    """The share of shuffles with a difference at least as great as the observed one, itself counted in.

    >>> randomisation(np.array([0, 0, 0]))
    1.0
    """
    rng = np.random.default_rng(seed)
    observed, as_great = abs(int(ahead.sum())), 0
    for n in _portions(n_samples):
        signs = rng.integers(0, 2, (n, len(ahead))) * 2 - 1
        as_great += int((np.abs((signs * ahead).sum(axis=1)) >= observed).sum())
    return (as_great + 1) / (n_samples + 1)


def _portions(n_samples: int) -> list[int]:
    return [min(_AT_ONCE, n_samples - done) for done in range(0, n_samples, _AT_ONCE)]
