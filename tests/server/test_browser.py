"""The page of `g2g serve` in a real Chromium: what is seen, pressed and typed.

G2G_PICTURES=DIR writes the pictures of the documentation there, made with the shipped model where there is one.
"""

import io
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch

from graph2graph.config import Config
from graph2graph.parser import catalogue
from graph2graph.parser.parser import Parser
from graph2graph.parser.vocabulary import Vocabulary
from graph2graph.treebank import conllu
from graph2graph.variants import VARIANTS

playwright = pytest.importorskip("playwright.sync_api", reason="playwright, which drives the browser, is not installed")

TOY = Path(__file__).parents[1] / "data" / "toy.conllu"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PICTURES = os.environ.get("G2G_PICTURES")
PATIENCE = 120_000  # milliseconds: a busy machine is no failure
EXAMPLE = "A hearing is scheduled on the issue today."

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here"),
]


def save_parser(variant: str, directory: Path, text_model: Path) -> Path:
    """A parser with large random weights, whose decisions are clear and wrong, and a text model."""
    sentences = list(conllu.read(TOY))
    encoder = {"width": 32, "inner_width": 64, "layers": 2, "heads": 2, "vocab_size": 300, "max_positions": 2048}
    config = Config.parse({"model": VARIANTS[variant].model | {"encoder": encoder}}, "test")
    torch.manual_seed(3)
    parser = Parser.create(config, Vocabulary.of(sentences), forms=(form for s in sentences for form in s.forms))
    with torch.no_grad():
        for parameter in parser.model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.2)
    parser.save(directory)
    shutil.copy(text_model, directory / "text.udpipe")
    return directory


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory, text_udpipe: Path) -> list[Path]:
    place = tmp_path_factory.mktemp("served")
    return [save_parser(name, place / name, text_udpipe) for name in ("sent-g2g", "sent")]


def served(*models: object) -> Iterator[str]:
    """A server, as long as it is needed; its address."""
    options = [option for model in models for option in ("--model", str(model))]
    command = [
        sys.executable,
        "-m",
        "graph2graph",
        "serve",
        "--port",
        "0",
        "--threads",
        "1",
        "--timeout",
        "600",
        *options,
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            said = ""
            while (found := re.search(r"http://[\d.]+:\d+", said)) is None:
                line = process.stderr.readline()
                assert line, said
                said += line
            yield found[0]
        finally:
            process.terminate()
            process.wait(timeout=30)


@pytest.fixture(scope="module")
def address(models: list[Path]) -> Iterator[str]:
    yield from served(*models)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        playwright.expect.set_options(timeout=PATIENCE)
        browser = driver.chromium.launch(executable_path=CHROMIUM)
        yield browser
        browser.close()


class Visit:
    """The page in a tab of its own, and everything that went wrong in it."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.address = address
        self.context = browser.new_context(**{"viewport": {"width": 1160, "height": 860}} | options)
        self.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.problems: list[str] = []
        self.page.on("console", lambda m: self.problems.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.problems.append("a dialog"), dialog.dismiss()))
        self.page.on("request", self._request)
        self.page.goto(address)
        self.drawn()

    def _request(self, request: Any) -> None:
        if not request.url.startswith((self.address, "data:", "blob:")):
            self.problems.append(f"asked for {request.url}")

    def drawn(self) -> None:
        """Wait for a tree that has not been seen yet."""
        self.page.wait_for_selector("#tree svg:not([data-seen])", state="attached")
        self.page.evaluate("document.querySelector('#tree svg').dataset.seen = 1")

    def parse(self, text: str) -> list[dict[str, Any]]:
        """Type and press Enter; what the server says of it."""
        self.page.fill("#text", text)
        self.page.press("#text", "Enter")
        self.drawn()
        self.page.evaluate("document.activeElement.blur()")
        return self.traces(text)

    def traces(self, text: str, arcs: list[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
        kind = "conllu" if "\t" in text else "text"
        answer = self.page.request.post(f"{self.address}/trace", data={kind: text, "arcs": arcs or []})
        assert answer.ok, answer.text()
        sentences: list[dict[str, Any]] = answer.json()["sentences"]
        return sentences

    def texts(self, selector: str) -> list[str]:
        found: list[str] = self.page.locator(selector).all_text_contents()
        return found

    @property
    def where(self) -> str:
        return str(self.page.text_content("#where"))

    @property
    def shown(self) -> set[str]:
        """The labels of the arcs that are there, with their number."""
        return set(self.texts("#tree .labels g:not(.absent):not(.next)"))

    @property
    def n_shown(self) -> int:
        n_shown: int = self.page.locator("#tree .labels g:not(.absent):not(.next)").count()
        return n_shown

    def fits(self) -> bool:
        """Whether nothing sticks out of the window at the side."""
        width, room = self.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        return bool(width <= room)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def copied(self) -> str:
        self.page.click("#copy")
        playwright.expect(self.page.locator("#status")).to_have_text("Copied.")
        text: str = self.page.evaluate("navigator.clipboard.readText()")
        return text


Open = Callable[..., Visit]


@pytest.fixture
def visit(browser: Any, address: str) -> Iterator[Open]:
    """`visit()` opens the page; at the end nothing may have gone wrong in it."""
    opened: list[Visit] = []

    def visit(**options: Any) -> Visit:
        opened.append(Visit(browser, address, **options))
        return opened[-1]

    yield visit
    for one in opened:
        one.context.close()
        assert one.problems == []


# ----------------------------------------------------------------------------------------------------------- seeing


def test_the_tree_is_there_at_once(visit: Open) -> None:
    seen = visit()
    [trace] = seen.traces(EXAMPLE)
    assert seen.page.input_value("#text") == EXAMPLE
    assert seen.texts("#tree .words text") == [word["form"] for word in trace["words"]]
    assert sorted(seen.texts("#tree .labels text")) == sorted(trace["deprels"])
    assert seen.n_shown == len(trace["words"])
    assert seen.where == f"Step {len(trace['steps'])} of {len(trace['steps'])}"
    seen.page.fill("#text", "Yes")  # and no key after it
    seen.drawn()
    assert seen.texts("#tree .words text") == ["Yes"]
    seen.page.fill("#text", "")
    seen.page.wait_for_selector("#story", state="hidden")


def test_every_step_is_shown_as_it_was(visit: Open) -> None:
    seen = visit()
    [trace] = seen.traces(EXAMPLE)
    names = ["ROOT", *(word["form"] for word in trace["words"])]
    seen.press("Home")
    arcs = 0
    for number, step in enumerate(trace["steps"]):
        assert seen.where == f"Step {number} of {len(trace['steps'])}"
        assert seen.n_shown == arcs
        assert seen.texts("#stack bdi") == [names[node] for node in reversed(step["stack"])]
        assert seen.texts("#buffer bdi") == [names[node] for node in step["buffer"]]
        assert seen.texts("#deleted bdi") == [names[node] for node in step["deleted"]]
        assert seen.texts("#actions tr:not(.illegal) th") == [choice["action"].lower() for choice in step["actions"]]
        assert seen.texts("#actions .chosen th") == [step["action"].lower()]
        widths = seen.page.eval_on_selector_all("#actions .bar", "bars => bars.map(bar => parseFloat(bar.style.width))")
        assert widths == [pytest.approx(100 * choice["p"], abs=0.01) for choice in step["actions"]]
        assert seen.page.locator("#decided .encoded").count() == step["encoded"]
        if step["arc"]:
            arcs += 1
            [chosen] = [choice for choice in step["actions"] if choice["action"] == step["action"]]
            assert seen.texts("#labels tr.label th") == [label["label"] for label in chosen["labels"]]
        seen.press("ArrowRight")
    assert seen.n_shown == arcs == len(trace["words"])
    assert seen.page.text_content("#decided") == "The tree is complete."
    assert seen.page.locator("#timeline rect.encoded").count() == trace["n_encoded"]


def test_attention_makes_arcs_thick_and_only_a_graph_has_it(visit: Open) -> None:
    seen = visit()
    [trace] = seen.traces(EXAMPLE)
    flows = "#tree .flows path:not([stroke-width='0'])"
    assert seen.page.locator(flows).count() == 0
    seen.page.click("#attention")
    [*_, last] = [step["attention"] for step in trace["steps"] if step["attention"]]
    widths = seen.page.eval_on_selector_all(flows, "all => all.map(path => Number(path.getAttribute('stroke-width')))")
    expected = [min(14, 18 * math.sqrt((arc["to_dependent"] + arc["to_head"]) / 2)) for arc in last["arcs"]]
    assert sorted(widths) == [pytest.approx(width, abs=0.06) for width in sorted(expected)]
    assert seen.page.locator("#layer-bars li").count() == 2
    seen.press("Home")
    assert seen.page.locator(flows).count() == 0
    assert seen.page.is_visible("#layers")
    seen.page.select_option("#model", "sent")
    seen.drawn()
    assert seen.page.is_hidden("#attention")
    assert seen.page.is_hidden("#exact")
    assert seen.page.is_hidden("#layers")


def test_the_encoder_runs_after_every_arc_or_when_the_parser_is_unsure(visit: Open) -> None:
    seen = visit()
    [trace] = seen.traces(EXAMPLE)
    runs = seen.page.locator("#timeline rect.encoded")
    assert runs.count() == trace["n_encoded"] > 2
    seen.page.click("#exact")
    seen.drawn()
    assert runs.count() < trace["n_encoded"]
    assert seen.page.get_attribute("#exact", "aria-pressed") == "false"
    seen.page.click("#exact")
    seen.drawn()
    assert runs.count() == trace["n_encoded"]


# ---------------------------------------------------------------------------------------------------------- playing


def test_playing_and_pausing(visit: Open) -> None:
    seen = visit()
    seen.page.click("#play")
    assert seen.page.get_attribute("#play", "aria-label") == "Pause"
    playwright.expect(seen.page.locator("#where")).to_have_text(re.compile(r"^Step [2-9] "))
    seen.page.evaluate("document.activeElement.blur()")
    seen.press(" ")
    assert seen.page.get_attribute("#play", "aria-label") == "Play"
    stopped = seen.where
    seen.page.wait_for_timeout(900)
    assert seen.where == stopped
    seen.press("End", "ArrowLeft", "ArrowLeft", " ")
    playwright.expect(seen.page.locator("#decided")).to_have_text("The tree is complete.")
    playwright.expect(seen.page.locator("#play")).to_have_attribute("aria-label", "Play")


def test_buttons_and_dragging(visit: Open) -> None:
    seen = visit()
    n_steps = int(seen.page.get_attribute("#position", "max"))
    assert seen.page.is_disabled("#on")
    seen.page.click("#back")
    assert seen.where == f"Step {n_steps - 1} of {n_steps}"
    seen.page.click("#first")
    assert seen.where == f"Step 0 of {n_steps}"
    assert seen.page.is_disabled("#back")
    seen.page.click("#on")
    assert seen.where == f"Step 1 of {n_steps}"
    seen.page.click("#last")
    box = seen.page.locator("#position").bounding_box()
    middle = box["y"] + box["height"] / 2
    seen.page.mouse.move(box["x"] + box["width"] - 9, middle)
    seen.page.mouse.down()
    places = []
    for share in (0.8, 0.5, 0.2):
        seen.page.mouse.move(box["x"] + share * box["width"], middle, steps=3)
        places.append(int(seen.where.split()[1]))
    seen.page.mouse.up()
    assert all(before > after for before, after in pairwise(places)), places
    assert abs(places[1] - n_steps / 2) <= 1
    seen.press("ArrowRight")  # the slider has the focus
    assert seen.where.startswith(f"Step {places[2] + 1} ")
    assert seen.page.get_attribute("#position", "aria-valuetext").startswith(seen.where)


def test_it_can_be_used_with_keys_alone(visit: Open) -> None:
    seen = visit()
    reached: list[str] = []
    while "position" not in reached and len(reached) < 20:
        seen.press("Tab")
        name, is_ringed = seen.page.evaluate(
            "(on => [on.id || on.dataset.word, getComputedStyle(on).outlineStyle !== 'none'])(document.activeElement)"
        )
        assert is_ringed, name
        reached.append(name)
    wanted = ["text", "exact", "attention", "copy", "save", "1", "first", "back", "play", "position"]
    assert [name for name in reached if name in wanted] == wanted
    seen.page.focus("#tree button")
    [trace] = seen.traces(EXAMPLE)
    head = next(word for word in (4, 5) if trace["heads"][1] != word)
    seen.press("ArrowRight", "Enter", *["ArrowRight"] * (head - 2), "Enter")
    seen.drawn()
    assert seen.texts("#given bdi") == ["hearing", trace["words"][head - 1]["form"]]
    assert seen.page.evaluate("document.activeElement.dataset.word") == "2"
    seen.press("Enter")
    assert seen.page.is_visible("#choices")
    seen.press("Escape")
    assert seen.page.is_hidden("#choices")
    labels = seen.page.eval_on_selector_all(
        "button, select, textarea, input",
        "all => all.map(e => e.ariaLabel || e.textContent.trim() || e.labels?.length || '')",
    )
    assert all(labels)


# ------------------------------------------------------------------------------------------------------- correcting


def test_a_corrected_arc_holds_and_can_be_released(visit: Open) -> None:
    seen = visit()
    [trace] = seen.traces(EXAMPLE)
    head = next(head for head in (4, 2, 1) if head != trace["heads"][6] and head != 7)
    seen.page.click("#tree button[data-word='7']")
    assert seen.page.get_attribute("#tree button[data-word='7']", "aria-pressed") == "true"
    seen.page.click(f"#tree button[data-word='{head}']")
    seen.drawn()
    [sentence] = conllu.read(io.StringIO(seen.copied()))
    assert sentence.heads[6] == head
    [expected] = seen.traces(EXAMPLE, [{"sentence": 0, "word": 7, "head": head, "deprel": None}])
    assert sentence.heads == expected["heads"]
    assert seen.page.locator("#tree [stroke-dasharray]").count() == 1

    seen.page.click("#tree button[data-word='1']")
    seen.page.select_option("#head", "9")
    seen.page.select_option("#label", "obj")
    seen.page.click("#choices button[type=submit]")
    seen.drawn()
    [sentence] = conllu.read(io.StringIO(seen.copied()))
    assert (sentence.heads[0], sentence.deprels[0], sentence.heads[6]) == (9, "obj", head)
    assert seen.page.locator("#given button").count() == 3  # two arcs, and all

    seen.page.click("#tree button[data-word='9']")  # a circle: the server refuses, and all stays as it was
    seen.page.click("#tree button[data-word='1']")
    playwright.expect(seen.page.locator("#status.error")).to_contain_text("circle")
    assert seen.page.locator("#status").evaluate("line => line.clientHeight") < 30
    assert seen.page.locator("#given button").count() == 3
    assert [problem for problem in seen.problems if "400" not in problem] == []
    seen.problems.clear()

    seen.page.click("#given li:last-child button")
    seen.drawn()
    assert seen.page.is_hidden("#given")
    assert [sentence.heads for sentence in conllu.read(io.StringIO(seen.copied()))] == [trace["heads"]]


def test_correcting_one_of_several_sentences(visit: Open) -> None:
    seen = visit()
    text = "Hey There.\n\nI saw it today."
    traces = seen.parse(text)
    assert len(traces) >= 2
    assert seen.page.locator("#sentences button").count() == len(traces)
    seen.page.click("#sentences button:last-child")
    seen.drawn()
    last = len(traces) - 1
    assert seen.texts("#tree .words text") == [word["form"] for word in traces[last]["words"]]
    n_words = len(traces[last]["words"])
    word = next(word for word in range(1, n_words) if traces[last]["heads"][word - 1] != n_words)
    seen.page.click(f"#tree button[data-word='{word}']")
    seen.page.click(f"#tree button[data-word='{n_words}']")
    seen.drawn()
    sentences = list(conllu.read(io.StringIO(seen.copied())))
    assert sentences[last].heads[word - 1] == n_words
    assert [sentence.heads for sentence in sentences[:last]] == [trace["heads"] for trace in traces[:last]]
    assert seen.page.get_attribute("#sentences button:last-child", "aria-pressed") == "true"


# ------------------------------------------------------------------------------------------------------ taking away


def test_copy_and_save(visit: Open, tmp_path: Path) -> None:
    seen = visit()
    [trace] = seen.traces(EXAMPLE)
    assert seen.copied() == trace["conllu"]
    with seen.page.expect_download() as found:
        seen.page.click("#save")
    assert found.value.suggested_filename.endswith(".svg")
    found.value.save_as(tmp_path / "tree.svg")
    root = ElementTree.parse(tmp_path / "tree.svg").getroot()
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert set(texts) >= {word["form"] for word in trace["words"]} | set(trace["deprels"])
    assert root.find("{http://www.w3.org/2000/svg}title").text == EXAMPLE  # type: ignore[union-attr]


# ------------------------------------------------------------------------------------------------------------ input


def test_whatever_is_typed_is_only_text(visit: Open) -> None:
    seen = visit()
    text = "<script>window.bad = 1</script><img src=x onerror='window.bad = 1'> & 🐕‍🦺 👩‍👩‍👧 e\u0301 \u0001 </textarea> ok"
    traces = seen.parse(text)
    everything = []
    for number in range(len(traces)):
        if len(traces) > 1:
            seen.page.click(f"#sentences button >> nth={number}")
        everything += seen.texts("#tree .words text")
        seen.press("Home", "ArrowRight", "End")
    forms = [word["form"] for trace in traces for word in trace["words"]]
    assert everything == [form.replace("\u0001", "\ufffd") for form in forms]
    assert "🐕‍🦺" in "".join(everything)
    assert seen.page.evaluate("window.bad") is None
    assert seen.page.locator("img, #tree script").count() == 0
    assert seen.copied() == "".join(trace["conllu"] for trace in traces)


def test_right_to_left(visit: Open) -> None:
    seen = visit()
    words = ["كتب", "الولد", "رسالة", "طويلة"]
    seen.parse(columns(words))
    assert seen.texts("#tree .words text") == words
    places = seen.page.eval_on_selector_all("#tree button", "all => all.map(e => e.getBoundingClientRect().x)")
    assert places == sorted(places, reverse=True)
    assert seen.page.get_attribute("#state", "dir") == "rtl"
    stack, buffer = (seen.page.locator(f".pile.{name}").bounding_box()["x"] for name in ("stack", "buffer"))
    assert stack > buffer
    seen.page.focus("#tree button")
    seen.press("ArrowLeft")
    assert seen.page.evaluate("document.activeElement.dataset.word") == "2"


def test_two_hundred_words(visit: Open) -> None:
    seen = visit()
    forms = [form for sentence in conllu.read(TOY) for form in sentence.forms]
    [trace] = seen.parse(columns((forms * 8)[:200]))
    assert seen.n_shown == 200
    assert seen.fits()
    assert seen.page.locator("#tree").evaluate("box => box.scrollWidth > box.clientWidth")
    start, end = seen.page.evaluate(
        """() => {
            const start = performance.now();
            const key = new KeyboardEvent("keydown", {key: "ArrowLeft", bubbles: true});
            for (let i = 0; i < 50; i++) document.body.dispatchEvent(key);
            document.body.offsetHeight;
            return [start, performance.now()];
        }"""
    )
    assert seen.where == f"Step {len(trace['steps']) - 50} of {len(trace['steps'])}"
    assert end - start < 5000  # a step is far less than what an eye would notice, even on a busy machine
    top = trace["steps"][-50]["stack"][-1]
    box, word = (seen.page.locator(name).bounding_box() for name in ("#tree", f"#tree button[data-word='{top}']"))
    assert box["x"] <= word["x"] <= box["x"] + box["width"]


def columns(forms: list[str]) -> str:
    """Words as CoNLL-U, which the page takes too."""
    return "".join(f"{i}\t{form}\t" + "\t".join("_" * 8) + "\n" for i, form in enumerate(forms, 1)) + "\n"


def test_a_server_that_is_busy_or_gone(visit: Open) -> None:
    seen = visit()
    busy = {"status": 429, "json": {"detail": "too many requests; try again in 3 s"}}
    seen.page.route("**/trace", lambda route: route.fulfill(**busy))
    seen.page.fill("#text", "Yes")
    playwright.expect(seen.page.locator("#status.error")).to_have_text("too many requests; try again in 3 s")
    seen.page.unroute("**/trace")
    seen.page.route("**/trace", lambda route: route.abort())
    seen.page.fill("#text", "Yes.")
    playwright.expect(seen.page.locator("#status.error")).to_have_text("The server does not answer.")
    assert all("Failed to load resource" in problem for problem in seen.problems)
    seen.problems.clear()


# ------------------------------------------------------------------------------------------------------------ looks


def test_at_phone_width(visit: Open) -> None:
    seen = visit(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    assert seen.fits()
    seen.page.click("#back")
    seen.page.click("#attention")
    assert seen.fits()
    seen.page.tap("#tree button[data-word='3']")
    assert seen.page.is_visible("#choices")
    assert seen.fits()
    seen.parse("Yes " * 30)
    assert seen.fits()


def test_light_and_dark(visit: Open) -> None:
    grounds = {}
    for scheme in ("light", "dark"):
        seen = visit(color_scheme=scheme)
        look = "getComputedStyle(document.querySelector('{}')).{}"
        found = [
            seen.page.evaluate(look.format(*of))
            for of in (("body", "backgroundColor"), ("body", "color"), ("#tree .paper", "fill"))
        ]
        grounds[scheme] = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in found]
    (ground, ink, paper), (dark_ground, dark_ink, dark_paper) = grounds["light"], grounds["dark"]
    assert ground > 700 > 100 > ink
    assert dark_ink > 700 > 100 > dark_ground
    assert paper > 700 > 100 > dark_paper


def test_the_documentation_lists_all_paths_and_fields(browser: Any, address: str) -> None:
    problems: list[str] = []
    page = browser.new_page()
    page.on("console", lambda message: problems.append(message.text))
    page.goto(f"{address}/docs")
    playwright.expect(page.locator("h2")).to_have_text(
        ["GET /models", "POST /process", "GET /process", "POST /parse", "POST /trace", "GET /health", "GET /metrics"]
    )
    fields = page.locator("table").nth(3).locator("tr")
    playwright.expect(fields.nth(0)).to_have_text("textstring or nullRaw text; the model must have a tokenizer.")
    playwright.expect(fields.nth(1)).to_contain_text("list of list of string")
    playwright.expect(fields.nth(4)).to_contain_text("keep, predict, none")
    assert problems == []
    page.close()


@pytest.mark.skipif(PICTURES is None, reason="pictures are made on request: G2G_PICTURES=docs/pictures")
def test_pictures(browser: Any, models: list[Path]) -> None:
    target = Path(str(PICTURES))
    target.mkdir(parents=True, exist_ok=True)
    model = catalogue.DEFAULT if catalogue.DEFAULT in catalogue.shipped() else models[0]
    for address in served(model):
        for name, scheme, steps, size in (
            ("page-tree", "light", 0, (1160, 760)),
            ("page-mid-parse", "light", 6, (1160, 760)),
            ("page-phone", "light", 6, (360, 740)),
            ("page-dark", "dark", 6, (1160, 760)),
        ):
            options = {"viewport": dict(zip(("width", "height"), size, strict=True)), "color_scheme": scheme}
            seen = Visit(browser, address, device_scale_factor=2 if size[0] < 500 else 1, **options)
            seen.press(*["ArrowLeft"] * steps)
            if steps and size[0] > 500:
                seen.page.click("#attention")
                seen.page.mouse.move(0, 0)
            seen.page.evaluate("document.activeElement.blur()")
            seen.page.screenshot(path=target / f"{name}.png", full_page=True)
            seen.context.close()
            assert seen.problems == []
