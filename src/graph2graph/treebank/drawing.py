"""Trees as pictures: box characters for the terminal, and SVG with arcs above the words.

Lines that would overlap are drawn in different lanes: `_lay` puts each line just above the earlier lines over the same words.
In a projective tree, the lane of a line is its depth of nesting.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from xml.sax.saxutils import escape

from graph2graph.errors import DataError, one_line
from graph2graph.treebank.characters import direction, n_cells, padded, printable, text_width
from graph2graph.treebank.sentence import UPOS, XPOS, Sentence

SVG = "http://www.w3.org/2000/svg"
MAX_WORDS = 5_000  # of a sentence: a deep tree needs as many columns as words
PROLOGUE = '<?xml version="1.0" encoding="UTF-8"?>\n'


def text(sentence: Sentence) -> str:
    """The tree in box characters: one line per word, with its form, tag and label.

    Each head has a vertical line that its dependents are attached to, left of their own vertical lines. A line from the left
    edge leads to a root, `─│─` is a crossing without contact, and a word without a head has no `╼`.
    """
    _check(sentence)
    columns = [list(map(printable, column)) for column in (sentence.forms, _tags(sentence), sentence.deprels)]
    form_width, tag_width = (min(30, max(map(n_cells, column), default=0)) for column in columns[:2])
    rows = [f"# sent_id = {printable(sentence.sent_id)}"] if sentence.sent_id else []
    rows.append(f"# text = {printable(sentence.text)}")
    for branch, form, tag, deprel in zip(_branches(sentence.heads), *columns, strict=True):
        rows.append(f"{branch} {padded(form, form_width)}  {padded(tag, tag_width)}  {deprel}".rstrip())
    return "\n".join(rows)


def svg(*sentences: Sentence) -> str:
    """The trees as a stand-alone SVG 1.1 picture, one below the other, each right to left if most of its words are."""
    pictures = [_Picture(sentence) for sentence in sentences]
    if len(pictures) == 1:
        return PROLOGUE + pictures[0].svg()
    frames, y, width = "", 0.0, 0.0
    for picture in pictures:
        frames += picture.svg(f' y="{y:g}"')
        y += float(_number(picture.height + BOTTOM))
        width = max(width, float(_number(picture.width)))
    return f'{PROLOGUE}<svg xmlns="{SVG}" version="1.1" width="{width:g}" height="{y:g}">\n{frames}</svg>\n'


def _check(sentence: Sentence) -> None:
    """Raise an error if a sentence cannot be drawn."""
    if len(sentence) > MAX_WORDS:
        name = "" if sentence.sent_id is None else f" {one_line(sentence.sent_id)}"
        raise DataError(f"sentence{name} has {len(sentence):,} words; up to {MAX_WORDS:,} can be drawn")
    sentence.check_acyclic()


def _tags(sentence: Sentence) -> list[str]:
    return [row[XPOS] if row[UPOS] == "_" else row[UPOS] for row in sentence.rows]


def _lay(lanes: list[int], first: int, last: int) -> int:
    """Add a line over `first` to `last`, just above the lines that are there; return its lane, counted from 1."""
    lane = 1 + max(lanes[first : last + 1])
    lanes[first : last + 1] = [lane] * (last + 1 - first)
    return lane


def _branches(heads: Sequence[int | None]) -> Iterator[str]:
    """The drawing left of each word."""
    dependents: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads, 1):
        dependents[head or 0].append(word)
    # The ends of each head's vertical line.
    first, last = ([end([word, *words]) for word, words in enumerate(dependents)] for end in (min, max))
    columns = _columns(dependents, first, last)
    cells = ["  "] * max([1, *columns])  # the vertical lines that continue in the next row
    for word, head in enumerate(heads, 1):
        row = cells.copy()
        start, own = columns[head] if head else 0, columns[word]  # the horizontal line starts after column `start`
        if head:
            row[start - 1] = " " + _joint("╭╰├", first[head] < word, word < last[head])
            cells[start - 1] = " │" if word < last[head] else "  "
        if own:
            glyphs = " ╭╰├" if head is None else "─┬┴┼"
            row[own - 1] = glyphs[0] + _joint(glyphs[1:], first[word] < word, word < last[word])
            cells[own - 1] = " │" if word < last[word] else "  "
        if head is None:
            start = own or len(row)
        # The horizontal line replaces only blanks, so it passes under the vertical lines that it crosses.
        branch = "".join(row[:start]) + "".join(row[start:]).replace(" ", "─")
        branch += "─╼" if head is not None else "──" if own else "  "
        yield branch if len(cells) <= 30 else branch[1::2]  # deep trees have no space between the lines


def _columns(dependents: Sequence[list[int]], first: Sequence[int], last: Sequence[int]) -> list[int]:
    """The column of each head's vertical line, counted from 1; 0 for a word without dependents."""
    columns, lanes = [0] * len(dependents), [0] * len(dependents)
    generation = dependents[0]
    while generation:  # heads come before their dependents, so they are left of them
        for word in generation:
            if dependents[word]:
                columns[word] = _lay(lanes, first[word], last[word])
        generation = [dependent for word in generation for dependent in dependents[word]]
    return columns


def _joint(glyphs: str, up: bool, down: bool) -> str:
    """The glyph where a horizontal line meets a vertical line that continues up, down or both ways."""
    return glyphs[2 if up and down else int(up)]


WORD_SIZE, TAG_SIZE, LABEL_SIZE = 16.0, 10.5, 11.5  # of the fonts; all sizes are in pixels
MARGIN = 12.0
WORD_SPACE = 14.0  # between two words
END_SPACE = 6.0  # between the ends of two arcs at a word
LANE = 19.0  # from one arc up to the next
LOWEST_ARC = 24.0  # above the arrow tips
CORNER = 9.0  # the radius of an arc's corners
TIP_WIDTH, TIP_LENGTH = 6.0, 6.5
LABEL_HEIGHT = 15.0  # of the box behind it
LABEL_PAD = 3.0  # in the box, on either side
ARC_STUB = 8.0  # the visible part of an arc on either side of its label, at least
WORD_BASE, TAG_BASE = 19.0, 36.0  # below the arrow tips
BOTTOM = 42.0

# The light colours are attributes, which work without style sheets.
_PAPER = 'class="paper" fill="#ffffff"'
_DARK = """
@media (prefers-color-scheme: dark) {
  .g2g-tree .paper { fill: #16181d }
  .g2g-tree .arcs { stroke: #8b95a5 }
  .g2g-tree .tips { fill: #8b95a5 }
  .g2g-tree .labels { fill: #8ab4f8 }
  .g2g-tree .words { fill: #f1f3f5 }
  .g2g-tree .tags { fill: #9aa4b2 }
}
"""


@dataclass(slots=True)
class _Arc:
    """An arc between the words `left` and `right` (from 0), or the line down to the root `left == right`."""

    left: int
    right: int
    dependent: int
    label: str
    lane: int = 0
    label_x: float = 0.0
    x: dict[int, float] = field(default_factory=dict)  # of its end at each word

    @property
    def length(self) -> int:
        return self.right - self.left  # 0 for the line down to a root

    @property
    def y(self) -> float:
        """The vertical position: y grows downwards, and the arrow tips are at 0."""
        return -LOWEST_ARC - LANE * (self.lane - 1)

    @property
    def box_width(self) -> float:
        return text_width(self.label, LABEL_SIZE) + 2 * LABEL_PAD if self.label else 0.0

    def order_at(self, word: int) -> tuple[int, int]:
        """The order of the arc ends at a word: leftward arcs, shortest first; the root line; rightward arcs, longest first."""
        side = (self.left == word) - (self.right == word)
        return side, -side * self.length

    def path(self) -> str:
        """The SVG path from the left end up, round two corners and down to the right end."""
        left, right = self.x[self.left], self.x[self.right]
        if not self.length:
            return f"M{_number(left)} {_number(self.y)}V{_number(-TIP_LENGTH / 2)}"
        radius = min(CORNER, abs(right - left) / 2)
        inwards = radius if left < right else -radius
        x1, turn1, turn2, x2 = map(_number, (left, left + inwards, right - inwards, right))
        y, shoulder = _number(self.y), _number(self.y + radius)
        foot1, foot2 = (_number(-TIP_LENGTH / 2 if word == self.dependent else 0) for word in (self.left, self.right))
        return f"M{x1} {foot1}V{shoulder}Q{x1} {y} {turn1} {y}H{turn2}Q{x2} {y} {x2} {shoulder}V{foot2}"


class _Picture:
    """The layout of a tree, made by the constructor; `svg` draws it."""

    def __init__(self, sentence: Sentence) -> None:
        _check(sentence)
        self.title = printable(sentence.text)
        self.forms = [printable(form) for form in sentence.forms]
        self.tags = ["" if tag == "_" else printable(tag) for tag in _tags(sentence)]
        self.arcs: list[_Arc] = []
        for word, (head, deprel) in enumerate(zip(sentence.heads, sentence.deprels, strict=True)):
            if head is not None:
                other = head - 1 if head else word
                label = "" if deprel == "_" else printable(deprel)
                self.arcs.append(_Arc(min(word, other), max(word, other), word, label))
        self.arcs.sort(key=lambda arc: arc.length)
        self._stack_arcs()
        self.centres, self.width = self._place_words()
        self._place_labels()
        self.height = MARGIN + max((LABEL_HEIGHT / 2 - arc.y for arc in self.arcs), default=0.0)  # above the arrow tips
        self.is_rtl = sum(map(direction, self.forms)) < 0
        if self.is_rtl:
            self.centres = [self.width - x for x in self.centres]
            for arc in self.arcs:
                arc.x = {word: self.width - x for word, x in arc.x.items()}
                arc.label_x = self.width - arc.label_x

    def _stack_arcs(self) -> None:
        """Put short arcs in low lanes and root lines in the top one."""
        lanes = [0] * len(self.forms)  # above the gaps between words
        for arc in self.arcs:
            if arc.length:
                arc.lane = _lay(lanes, arc.left, arc.right - 1)
        for arc in self.arcs:
            arc.lane = arc.lane or 1 + max(lanes)

    def _place_words(self) -> tuple[list[float], float]:
        """Set the ends of the arcs; return the words' centres, which leave room for the labels, and the total width."""
        centres: list[float] = []
        arcs_at: list[list[_Arc]] = [[] for _ in self.forms]
        for arc in self.arcs:
            for word in {arc.left, arc.right}:
                arcs_at[word].append(arc)
        edge, root_edge = MARGIN - WORD_SPACE, MARGIN  # right edges of the last word and of the last root's label
        for word, (form, tag, arcs) in enumerate(zip(self.forms, self.tags, arcs_at, strict=True)):
            ends_width = END_SPACE * (len(arcs) - 1)
            half = max(text_width(form, WORD_SIZE), text_width(tag, TAG_SIZE), ends_width) / 2
            centre = edge + WORD_SPACE + half
            for i, arc in enumerate(sorted(arcs, key=lambda arc: arc.order_at(word))):
                arc.x[word] = END_SPACE * i - ends_width / 2  # relative to the centre
                if not arc.length:
                    centre = max(centre, root_edge + arc.box_width / 2 - arc.x[word])
                elif arc.right == word:
                    centre = max(centre, arc.x[arc.left] + arc.box_width + 2 * ARC_STUB - arc.x[word])
            for arc in arcs:
                arc.x[word] += centre
                if not arc.length:
                    root_edge = arc.x[word] + arc.box_width / 2 + LABEL_PAD
            centres.append(centre)
            edge = centre + half
        return centres, max(edge, root_edge) + MARGIN

    def _place_labels(self) -> None:
        """Put each label in the middle of its arc, or as near to it as possible without hiding a crossing line."""
        verticals = sorted((x, arc.lane) for arc in self.arcs for x in arc.x.values())
        for arc in self.arcs:
            left, right = arc.x[arc.left], arc.x[arc.right]
            middle = (left + right) / 2
            half = arc.box_width / 2 + 2 * LABEL_PAD
            reach = 6 * half  # further away, a reader would not find it
            low = bisect_right(verticals, max(left, middle - reach), key=lambda vertical: vertical[0])
            high = bisect_left(verticals, min(right, middle + reach), key=lambda vertical: vertical[0])
            crossing = [x for x, lane in verticals[low:high] if lane > arc.lane]
            gaps = pairwise([left, *crossing, right])
            positions = [min(max(middle, a + half), b - half) for a, b in gaps if b - a >= 2 * half]
            arc.label_x = min(positions, key=lambda x: abs(x - middle), default=middle)

    def svg(self, attributes: str = "") -> str:
        width, height = _number(self.width), _number(self.height + BOTTOM)
        tags = [_text(x, TAG_BASE, tag) for x, tag in zip(self.centres, self.tags, strict=True) if tag]
        lines = [
            f'<svg{attributes} xmlns="{SVG}" version="1.1" class="g2g-tree" width="{width}" height="{height}"'
            f' viewBox="0 0 {width} {height}" font-family="sans-serif" text-anchor="middle">',
            f"<title>{escape(self.title)}</title>",
            f'<style type="text/css">{_DARK}</style>',
            f'<rect {_PAPER} width="{width}" height="{height}"/>',
            f'<g transform="translate(0 {_number(self.height)})">',
            '<g class="arcs" fill="none" stroke="#5f6b7a" stroke-width="1.2">',
            *(f'<path d="{arc.path()}"/>' for arc in self.arcs),
            '</g>\n<g class="tips" fill="#5f6b7a">',
            *map(self._tip, self.arcs),
            f'</g>\n<g class="labels" fill="#1a4f9c" font-size="{LABEL_SIZE}">',
            *(self._label(arc) for arc in self.arcs if arc.label),
            f'</g>\n<g class="words" fill="#111418" font-size="{WORD_SIZE}">',
            *map(self._word, self.centres, self.forms),
            f'</g>\n<g class="tags" fill="#66707d" font-size="{TAG_SIZE}">',
            *tags,
            "</g>\n</g>\n</svg>\n",
        ]
        return "\n".join(lines)

    def _tip(self, arc: _Arc) -> str:
        x = _number(arc.x[arc.dependent])
        return f'<path d="M{x} 0l{_number(-TIP_WIDTH / 2)} {_number(-TIP_LENGTH)}h{_number(TIP_WIDTH)}z"/>'

    def _label(self, arc: _Arc) -> str:
        x, y = _number(arc.label_x - arc.box_width / 2), _number(arc.y - LABEL_HEIGHT / 2)
        box = f'<rect {_PAPER} x="{x}" y="{y}" width="{_number(arc.box_width)}" height="{_number(LABEL_HEIGHT)}"/>'
        return box + _text(arc.label_x, arc.y + LABEL_SIZE / 3, arc.label)

    def _word(self, x: float, form: str) -> str:
        # A word without letters has the direction of the sentence.
        is_rtl = direction(form) < (1 if self.is_rtl else 0)
        return _text(x, WORD_BASE, form, ' direction="rtl" unicode-bidi="embed"' if is_rtl else "")


def _text(x: float, y: float, text: str, attributes: str = "") -> str:
    return f'<text x="{_number(x)}" y="{_number(y)}"{attributes}>{escape(text)}</text>'


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
