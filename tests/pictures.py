"""Reading pictures of trees back: which words, labels and arcs they show."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

from conftest import ROOT

HEARING = ROOT / "examples" / "hearing.conllu"


HEARING_TREE = """\
# sent_id = hearing
# text = A hearing is scheduled on the issue today.
   ╭───╼ A          DET    det
 ╭─┼───╼ hearing    NOUN   nsubj:pass
 ├─│───╼ is         AUX    aux:pass
─┼─│───╼ scheduled  VERB   root
 │ │ ╭─╼ on         ADP    case
 │ │ ├─╼ the        DET    det
 │ ╰─┴─╼ issue      NOUN   nmod
 ├─────╼ today      NOUN   obl:tmod
 ╰─────╼ .          PUNCT  punct
"""


Heads = Sequence[int | None]


def printable(text: str) -> str:
    return re.sub("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\ufffe\uffff]", "\ufffd", text)


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float


class Picture:
    """What is found in an SVG file."""

    def __init__(self, svg: str) -> None:
        root = ET.fromstring(svg.encode())
        tags = {element.tag.removeprefix("{http://www.w3.org/2000/svg}") for element in root.iter()}
        assert tags <= {"svg", "title", "style", "g", "rect", "path", "text"}
        groups = {g.get("class"): list(g) for g in root.iter("{http://www.w3.org/2000/svg}g")}
        self.title = root[0].text or ""
        self.size = float(root.get("width", 0)), float(root.get("height", 0))
        self.words = groups["words"]
        self.forms = [word.text or "" for word in self.words]
        self.xs = [float(word.get("x", 0)) for word in self.words]
        self.tags = [tag.text for tag in groups["tags"]]
        self.labels = [label.text or "" for label in groups["labels"][1::2]]
        self.boxes = [self._box(rect) for rect in groups["labels"][::2]]
        paths = [[float(n) for n in re.findall(r"-?[\d.]+", path.get("d", ""))] for path in groups["arcs"]]
        self.root_ends = [path[0] for path in paths if len(path) == 3]
        self.arcs = [(path[0], path[-3], path[4]) for path in paths if len(path) > 3]  # both ends, and how high
        self.tips = [float(re.findall(r"[\d.]+", tip.get("d", ""))[0]) for tip in groups["tips"]]
        assert len(self.tips) == len(paths)

    @staticmethod
    def _box(rect: ET.Element) -> Box:
        x, y, width, height = (float(rect.get(name, "nan")) for name in ("x", "y", "width", "height"))
        return Box(x, y, x + width, y + height)

    @property
    def ends(self) -> list[float]:
        return [*self.root_ends, *(x for arc in self.arcs for x in arc[:2])]

    def assert_tidy(self) -> None:
        """No two labels overlap, nor two arcs of one height, nor two ends of arcs; all words and labels are inside."""
        for a, b in combinations(self.boxes, 2):
            assert a.right <= b.left or b.right <= a.left or a.bottom <= b.top or b.bottom <= a.top
        arcs = sorted((height, min(x1, x2), max(x1, x2)) for x1, x2, height in self.arcs)
        assert all(a[0] < b[0] or a[2] < b[1] for a, b in pairwise(arcs))
        assert all(b - a >= 5 for a, b in pairwise(sorted(self.ends)))
        width, height = self.size
        assert all(0 < x < width for x in self.xs)
        assert all(0 < box.left < box.right < width and -height < box.top < box.bottom < 0 for box in self.boxes)

    def heads(self) -> list[int | None]:
        """The heads of the words, read off the picture; the words must be equally wide and wider than their ends."""
        heads: list[int | None] = [None] * len(self.words)
        word_at = {x: min(range(len(self.xs)), key=lambda word: abs(self.xs[word] - x)) for x in self.ends}
        for x in self.root_ends:
            heads[word_at[x]] = 0
        for x1, x2, _ in self.arcs:
            head, dependent = (x1, x2) if x2 in self.tips else (x2, x1)
            assert heads[word_at[dependent]] is None
            heads[word_at[dependent]] = word_at[head] + 1
        return heads
