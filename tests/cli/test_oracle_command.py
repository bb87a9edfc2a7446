"""`g2g oracle`: every tree is rebuilt, counted and played."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Result
from graph2graph.transition import oracle
from graph2graph.transition.oracle import transitions

G2g = Callable[..., Result]
KEYS = ["file", "sentences", "words", "nonprojective", "swaps", "transitions", "rebuilt"]


# As counted by those who gathered the treebanks, in their README.
NONPROJECTIVE = {"en_ewt": "4.8%", "eu_bdt": "33.7%", "ko_gsd": "15.9%", "tr_imst": "11.5%", "wsj_sample": "0.0%"}


@pytest.mark.slow
@pytest.mark.parametrize("swap", ["eager", "lazy"])
def test_every_tree_of_every_treebank_is_rebuilt(treebanks: Path, g2g: G2g, swap: str) -> None:
    files = sorted(treebanks.rglob("*.conllu"))
    result = g2g("oracle", "--json", "--swap", swap, *files)
    assert (result.code, result.err) == (0, "")
    counts = json.loads(result.out)
    assert [count["file"] for count in counts] == list(map(str, files))
    for count in counts:
        assert list(count) == KEYS
        assert count["rebuilt"] == count["sentences"] > 0
        assert count["transitions"] == 2 * count["words"] + 2 * count["swaps"]
        assert count["swaps"] >= count["nonprojective"]
    for code, percentage in NONPROJECTIVE.items():
        of_code = [count for count in counts if Path(count["file"]).parent == treebanks / code]
        share = sum(count["nonprojective"] for count in of_code) / sum(count["sentences"] for count in of_code)
        assert f"{share:.1%}" == percentage, code


HEARING = b"""\
# text = A hearing is scheduled on the [/issue] today.
1\tA\t_\t_\t_\t_\t2\tdet\t_\t_
2\thearing\t_\t_\t_\t_\t4\tnsubj:pass\t_\t_
3\tis\t_\t_\t_\t_\t4\taux:pass\t_\t_
4\tscheduled\t_\t_\t_\t_\t0\troot\t_\t_
5\ton\t_\t_\t_\t_\t7\tcase\t_\t_
6\tthe\t_\t_\t_\t_\t7\tdet\t_\t_
7\t[/issue]\t_\t_\t_\t_\t2\tnmod\t_\t_
8\ttoday\t_\t_\t_\t_\t4\tobl\t_\t_
9\t.\t_\t_\t_\t_\t4\tpunct\t_\t_

"""


def test_counts_of_one_sentence(g2g: G2g) -> None:
    [eager] = json.loads(g2g("oracle", "-", "--json", stdin=HEARING).out)
    [lazy] = json.loads(g2g("oracle", "-", "--json", "--swap", "lazy", stdin=HEARING).out)
    assert [eager[key] for key in KEYS[:4]] == ["-", 1, 9, 1]
    assert eager["swaps"] > lazy["swaps"] > 0
    assert eager["rebuilt"] == lazy["rebuilt"] == 1


def test_table(g2g: G2g, tmp_path: Path) -> None:
    path = tmp_path / "[red]x.conllu"
    path.write_bytes(HEARING)
    result = g2g("oracle", path)
    assert (result.code, result.err) == (0, "")
    for word in KEYS:
        assert word in result.out


def test_play(g2g: G2g) -> None:
    """Words are shown as they are, even where they look like rich's markup."""
    result = g2g("oracle", "--play", "-", stdin=HEARING)
    assert (result.code, result.err) == (0, "")
    steps = [line for line in result.out.splitlines() if line.startswith("│")]
    assert len(steps) == len(transitions([2, 4, 4, 0, 7, 7, 2, 4, 4]))
    assert "RIGHT-ARC(root)" in steps[-1]
    assert "ROOT → scheduled" in steps[-1]
    assert "hearing → [/issue]" in result.out


def test_a_tree_that_is_not_rebuilt(g2g: G2g, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "rebuild", lambda n_words, actions: [0] * n_words)
    result = g2g("oracle", "-", stdin=HEARING)
    assert (result.code, result.err) == (1, "g2g: not every tree was rebuilt\n")
