// The page: fetches the trace of a parse, plays it, and fetches another one when an arc is fixed by hand.

import { byId, describe, drawTimeline, element, formOf, markTimeline, showDecision, showLayers, showState } from "./panels.js";
import { Tree, isRightToLeft } from "./tree.js";

const EXAMPLE = "A hearing is scheduled on the issue today.";
const PAUSE = 500; // ms from the last key until the text is parsed
const PLAY_MS = 14000, SLOWEST = 700, FASTEST = 40; // ms for a whole trace, and bounds for a step

let traces = []; // of all sentences, from the server
let number = 0; // index of the sentence on display
let position = 0; // number of steps taken
let tree = null;
let fixed = new Map(); // "sentence:word" -> an arc fixed by hand
let selected = null; // the word whose head is being chosen
let withAttention = false;
let isExact = true; // run the encoder after every arc, not only when the parser is unsure
let timer = null; // set while playing
let asked = null; // the request in progress
let askedText = null; // the text last sent to the server
let shownText = null; // the text of the traces; after an error it differs from askedText

const trace = () => traces[number];
const nSteps = () => trace()?.steps.length ?? 0;

// --- Requests ---

function say(message, isError = false) {
  byId("status").textContent = message;
  byId("status").classList.toggle("error", isError);
}

async function messageOf(response) {
  const text = await response.text();
  try {
    return String(JSON.parse(text).detail);
  } catch {
    return text || `the server answered ${response.status}`;
  }
}

// Return the traces of a text; after an error, show it and return null.
async function ask(text, arcs) {
  asked?.abort();
  const own = (asked = new AbortController());
  const isConllu = /^\d+\t/m.test(text);
  const body = { text: isConllu ? null : text, conllu: isConllu ? `${text.trimEnd()}\n\n` : null, arcs, model: byId("model").value || null, reencode: isExact ? "exact" : "adaptive" };
  byId("story").setAttribute("aria-busy", "true");
  say("Parsing …");
  try {
    const headers = { "Content-Type": "application/json" };
    const response = await fetch("trace", { method: "POST", headers, body: JSON.stringify(body), signal: own.signal });
    if (!response.ok) throw new Error(await messageOf(response));
    const { sentences } = await response.json();
    say("");
    return sentences;
  } catch (error) {
    if (error.name !== "AbortError") say(error instanceof TypeError ? "The server does not answer." : error.message, true);
    return null;
  } finally {
    if (asked === own) byId("story").removeAttribute("aria-busy");
  }
}

async function parse() {
  clearTimeout(parse.waiting);
  const text = byId("text").value;
  askedText = text;
  if (!text.trim()) {
    asked?.abort();
    say("");
    return show([]);
  }
  const found = await ask(text, []);
  if (found) {
    shownText = text;
    fixed = new Map();
    number = 0;
    show(found);
  }
}

// Parse again with these arcs fixed; if no tree contains them, nothing changes.
async function parseWith(arcs) {
  const found = await ask(shownText, [...arcs.values()]);
  if (!found) return;
  fixed = arcs;
  show(found);
}

// --- Display ---

function show(found) {
  stop();
  traces = found;
  byId("story").hidden = !found.length;
  showSentences();
  if (found.length) showSentence(Math.min(number, found.length - 1));
}

function showSentences() {
  byId("sentences").hidden = traces.length < 2;
  byId("sentences").replaceChildren(...traces.map((one, i) => {
    const button = element("button", { type: "button", dir: "auto" }, one.text);
    button.addEventListener("click", () => showSentence(i));
    return button;
  }));
}

function showSentence(which) {
  stop();
  number = which;
  [...byId("sentences").children].forEach((button, i) => button.setAttribute("aria-pressed", String(i === which)));
  const { words, steps, n_encoded: nEncoded, graph } = trace();
  tree = new Tree(byId("tree"), trace(), press);
  byId("state").dir = isRightToLeft(words) ? "rtl" : "ltr";
  byId("summary").textContent = `${count(words.length, "word")} · ${count(steps.length, "step")} · encoder run ${count(nEncoded, "time")}`;
  byId("attention").hidden = byId("exact").hidden = !graph;
  byId("position").max = steps.length;
  drawTimeline(trace());
  showFixed();
  select(null);
  go(steps.length);
}

const count = (n, name) => `${n} ${name}${n === 1 ? "" : "s"}`;

// Show the state after this many steps, and the decision made in it.
function go(to) {
  position = Math.min(Math.max(to, 0), nSteps());
  const { steps, words } = trace();
  const step = steps[position];
  const isOver = step === undefined;
  const state = step ?? { stack: [0], buffer: [], deleted: words.map((word) => word.id) };
  const dependents = steps.slice(0, position).flatMap((taken) => (taken.arc ? [taken.arc.dependent] : []));
  tree.show({ dependents, next: step?.arc?.dependent, stack: state.stack, deleted: isOver ? [] : state.deleted });
  showState(trace(), state);
  showDecision(trace(), step);
  markTimeline(position);
  showAttention();
  const where = `Step ${position} of ${steps.length}`;
  byId("where").textContent = where;
  byId("position").value = position;
  byId("position").setAttribute("aria-valuetext", `${where}: ${step ? describe(trace(), step) : "complete"}`);
  byId("back").disabled = byId("first").disabled = position === 0;
  byId("on").disabled = byId("last").disabled = isOver;
}

function showAttention() {
  const isOn = withAttention && trace().graph;
  const seen = isOn ? trace().steps.slice(0, position + 1).findLast((step) => step.attention)?.attention : null;
  byId("attention").setAttribute("aria-pressed", String(isOn));
  byId("tree").classList.toggle("with-attention", isOn);
  byId("layers").hidden = !isOn;
  tree.flow(seen);
  showLayers(seen);
}

// --- Playback ---

function play() {
  if (position === nSteps()) go(0);
  const pace = Math.min(SLOWEST, Math.max(FASTEST, PLAY_MS / nSteps()));
  timer = setInterval(() => {
    go(position + 1);
    if (position === nSteps()) stop();
  }, pace);
  showPlaying();
}

function stop() {
  clearInterval(timer);
  timer = null;
  showPlaying();
}

function showPlaying() {
  byId("player").classList.toggle("playing", timer !== null);
  byId("play").setAttribute("aria-label", timer === null ? "Play" : "Pause");
}

function step(by) {
  stop();
  go(position + by);
}

// --- Fixing arcs by hand ---

// Handle a pressed word: the first one selects the dependent, the second one its new head.
function press(word) {
  if (selected === null) return select(word);
  if (selected === word) return select(null);
  return fix(selected, word, byId("label").value);
}

function select(word) {
  selected = word;
  tree.select(word);
  byId("choices").hidden = word === null;
  byId("hint").replaceChildren(...(word === null
    ? ["Select a word to give it another head."]
    : ["Which word is the head of ", element("bdi", { className: "quoted" }, formOf(trace(), word)), "? Select it in the tree, or here."]));
  if (word === null) return;
  const { words, heads, labels } = trace();
  const options = [new Option("ROOT", 0), ...words.map((other) => new Option(`${other.id} ${other.form}`, other.id))];
  byId("head").replaceChildren(...options.filter((option) => Number(option.value) !== word));
  byId("head").value = heads[word - 1];
  byId("label").replaceChildren(new Option("any", ""), ...labels.map((label) => new Option(label, label)));
}

function fix(word, head, label) {
  const arcs = new Map(fixed);
  // an arc from ROOT always has the root label, so none is sent
  arcs.set(`${number}:${word}`, { sentence: number, word, head, deprel: head ? label || null : null });
  select(null);
  parseWith(arcs).then(() => tree.buttons[word - 1]?.focus({ preventScroll: true }));
}

function release(keys) {
  const arcs = new Map(fixed);
  for (const key of keys) arcs.delete(key);
  parseWith(arcs);
}

function showFixed() {
  const own = [...fixed].filter(([, arc]) => arc.sentence === number);
  const items = own.map(([key, { word, head }]) => {
    const [dependent, other] = [word, head].map((node) => element("bdi", {}, formOf(trace(), node)));
    const button = element("button", { type: "button", title: "Let the parser choose again" }, dependent, " ← ", other, element("span", { ariaHidden: "true" }, " ×"));
    button.setAttribute("aria-label", `Release the arc from ${formOf(trace(), head)} to ${formOf(trace(), word)}`);
    button.addEventListener("click", () => release([key]));
    return element("li", {}, button);
  });
  if (own.length > 1) {
    const all = element("button", { type: "button" }, "Release all");
    all.addEventListener("click", () => release(own.map(([key]) => key)));
    items.push(element("li", {}, all));
  }
  byId("given").hidden = !items.length;
  byId("given").replaceChildren(...items);
}

// --- Export ---

async function copyConllu() {
  const text = traces.map((one) => one.conllu).join("");
  try {
    await navigator.clipboard.writeText(text);
    say("Copied.");
  } catch { // browsers allow this only for localhost and https
    const field = element("textarea", { value: text, className: "unseen" });
    document.body.append(field);
    field.select();
    say(document.execCommand("copy") ? "Copied." : "The browser does not let this page copy.");
    field.remove();
  }
}

function saveSvg() {
  const url = URL.createObjectURL(new Blob([tree.toFile()], { type: "image/svg+xml" }));
  element("a", { href: url, download: `${trace().sent_id?.replace(/[^\w.-]+/g, "_") || "tree"}.svg` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// --- Events ---

function onClick(id, action) {
  byId(id).addEventListener("click", action);
}

onClick("first", () => step(-Infinity));
onClick("back", () => step(-1));
onClick("on", () => step(1));
onClick("last", () => step(Infinity));
onClick("play", () => (timer === null ? play() : stop()));
onClick("copy", copyConllu);
onClick("save", saveSvg);
onClick("cancel", () => select(null));
onClick("attention", toggleAttention);
onClick("exact", toggleExact);

function toggleAttention() {
  if (!trace()?.graph) return;
  withAttention = !withAttention;
  showAttention();
}

function toggleExact() {
  isExact = !isExact;
  byId("exact").setAttribute("aria-pressed", String(isExact));
  parseWith(fixed);
}

byId("position").addEventListener("input", (event) => {
  stop();
  go(Number(event.target.value));
});

byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  parse();
});

byId("correction").addEventListener("submit", (event) => {
  event.preventDefault();
  fix(selected, Number(byId("head").value), byId("label").value);
});

byId("text").addEventListener("input", () => {
  clearTimeout(parse.waiting);
  parse.waiting = setTimeout(() => byId("text").value !== askedText && parse(), PAUSE);
});

byId("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    parse();
  }
});

byId("model").addEventListener("change", parse);

document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || byId("story").hidden) return;
  if (event.key === "Escape" && selected !== null) return select(null);
  if (event.target.matches("textarea, select") || (event.target === byId("position") && event.key !== " ")) return;
  if (event.key === " " && event.target.matches("button, a")) return; // the browser handles it
  const action = {
    ArrowRight: () => step(1),
    ArrowLeft: () => step(-1),
    Home: () => step(-Infinity),
    End: () => step(Infinity),
    " ": () => (timer === null ? play() : stop()),
  }[event.key];
  if (action) {
    event.preventDefault();
    action();
  }
});

async function start() {
  try {
    const { models, default_model: usual } = await (await fetch("models")).json();
    const names = Object.keys(models);
    byId("model").replaceChildren(...names.map((name) => new Option(name, name)));
    byId("model").value = usual;
    byId("model-choice").hidden = names.length < 2;
  } catch {
    say("The server does not list its models.", true);
  }
  byId("text").value ||= new URLSearchParams(location.search).get("text") ?? EXAMPLE;
  parse();
}

start();
