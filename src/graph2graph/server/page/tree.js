// The tree as a picture, laid out like `graph2graph.treebank.drawing`: arcs above the words, in lanes, short ones low.

const SVG = "http://www.w3.org/2000/svg";
const WORD_SIZE = 16, TAG_SIZE = 10.5, LABEL_SIZE = 11.5; // of the fonts; all sizes are in pixels
const MARGIN = 12;
const WORD_SPACE = 14; // between two words
const END_SPACE = 6; // between the ends of two arcs at a word
const LANE = 19; // from one arc up to the next
const LOWEST_ARC = 24; // above the arrow tips
const CORNER = 9; // the radius of an arc's corners
const TIP_WIDTH = 6, TIP_LENGTH = 6.5;
const LABEL_HEIGHT = 15; // of the box behind it
const LABEL_PAD = 3; // on either side, within the box
const ARC_STUB = 8; // visible arc on either side of its label, at least
const WORD_BASE = 19, TAG_BASE = 36; // below the arrow tips
const BOTTOM = 44;
const WIDEST_FLOW = 14; // of the attention along an arc
const DARK = `@media (prefers-color-scheme: dark) {
  .paper { fill: #16181d } .arcs { stroke: #8b95a5 } .tips { fill: #8b95a5 } .flows { stroke: #a78bfa }
  .labels { fill: #8ab4f8 } .words { fill: #f1f3f5 } .tags { fill: #9aa4b2 }
}`;

const canvas = document.createElement("canvas").getContext("2d");

// Remove characters that XML forbids, such as controls and lone surrogates.
export function printable(text) {
  return text.toWellFormed().replace(/[\p{Cc}\p{Zl}\p{Zp}\ufffe\uffff]/gu, "\ufffd");
}

// The direction of a word: 1 is left to right, -1 right to left, 0 no letters.
function direction(form) {
  const letter = form.match(/\p{L}/u)?.[0];
  if (letter === undefined) return 0;
  return /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u.test(letter) ? -1 : 1;
}

export function isRightToLeft(words) {
  return words.reduce((sum, word) => sum + direction(word.form), 0) < 0;
}

function textWidth(text, size) {
  canvas.font = `${size}px sans-serif`;
  return canvas.measureText(text).width;
}

// Place a line over the gaps `first` to `last`, above all lines there; return its lane, counted from 1.
function lay(lanes, first, last) {
  let lane = 1;
  for (let gap = first; gap <= last; gap++) lane = Math.max(lane, lanes[gap] + 1);
  lanes.fill(lane, first, last + 1);
  return lane;
}

// Compute the layout. An arc spans the words `left` to `right`, counted from 0; for the line down to a root, both are the root.
function layOut(words, heads, deprels) {
  const arcs = heads.map((head, word) => {
    const other = head ? head - 1 : word;
    const label = printable(deprels[word]);
    const boxWidth = textWidth(label, LABEL_SIZE) + 2 * LABEL_PAD;
    return { left: Math.min(word, other), right: Math.max(word, other), dependent: word, label, boxWidth, x1: 0, x2: 0 };
  });
  arcs.sort((a, b) => a.right - a.left - (b.right - b.left));
  const lanes = new Array(words.length).fill(0);
  for (const arc of arcs) if (arc.left < arc.right) arc.lane = lay(lanes, arc.left, arc.right - 1);
  const top = 1 + Math.max(...lanes);
  for (const arc of arcs) {
    arc.lane ??= top;
    arc.y = -LOWEST_ARC - LANE * (arc.lane - 1);
  }
  const endsWidths = spreadEnds(words.length, arcs);
  const { centres, widths, width } = placeWords(words, arcs, endsWidths);
  for (const arc of arcs) {
    arc.x1 += centres[arc.left];
    arc.x2 += centres[arc.right];
  }
  placeLabels(arcs);
  const height = MARGIN + Math.max(...arcs.map((arc) => LABEL_HEIGHT / 2 - arc.y));
  const picture = { arcs, centres, widths, width, height, isRtl: isRightToLeft(words) };
  if (picture.isRtl) mirror(picture);
  return picture;
}

// Set where each arc meets its words, as a distance from the centre of the word, so that no two arcs of a word cross.
function spreadEnds(nWords, arcs) {
  const at = Array.from({ length: nWords }, () => []);
  for (const arc of arcs) for (const word of new Set([arc.left, arc.right])) at[word].push(arc);
  return at.map((own, word) => {
    const width = END_SPACE * Math.max(0, own.length - 1);
    const side = (arc) => (arc.left === word) - (arc.right === word);
    const length = (arc) => arc.right - arc.left;
    own.sort((a, b) => side(a) - side(b) || -side(a) * (length(a) - length(b)));
    own.forEach((arc, i) => {
      const offset = END_SPACE * i - width / 2;
      if (arc.left === word) arc.x1 = offset;
      if (arc.right === word) arc.x2 = offset;
    });
    return width;
  });
}

// Compute the centres of the words, far enough apart for the labels on their arcs, and the total width.
function placeWords(words, arcs, endsWidths) {
  const to = words.map(() => []);
  for (const arc of arcs) to[arc.right].push(arc);
  const centres = [], widths = [];
  let edge = MARGIN - WORD_SPACE, rootEdge = MARGIN; // right edges of the last word and of the root's label
  words.forEach((word, i) => {
    const half = Math.max(textWidth(printable(word.form), WORD_SIZE), textWidth(tagOf(word), TAG_SIZE), endsWidths[i]) / 2;
    let centre = edge + WORD_SPACE + half;
    for (const arc of to[i]) {
      centre = Math.max(centre, arc.left === arc.right
        ? rootEdge + arc.boxWidth / 2 - arc.x2
        : centres[arc.left] + arc.x1 + arc.boxWidth + 2 * ARC_STUB - arc.x2);
    }
    for (const arc of to[i]) if (arc.left === arc.right) rootEdge = centre + arc.x2 + arc.boxWidth / 2 + LABEL_PAD;
    centres.push(centre);
    widths.push(2 * half);
    edge = centre + half;
  });
  return { centres, widths, width: Math.max(edge, rootEdge) + MARGIN };
}

// Place each label in the middle of its arc, or as close as possible without hiding a line that crosses.
function placeLabels(arcs) {
  const uprights = arcs.flatMap((arc) => [[arc.x1, arc.lane], [arc.x2, arc.lane]]).sort((a, b) => a[0] - b[0]);
  for (const arc of arcs) {
    const middle = (arc.x1 + arc.x2) / 2, half = arc.boxWidth / 2 + 2 * LABEL_PAD, reach = 6 * half;
    const low = Math.max(arc.x1, middle - reach), high = Math.min(arc.x2, middle + reach);
    const crossing = uprights.filter(([x, lane]) => x > low && x < high && lane > arc.lane).map(([x]) => x);
    const stops = [arc.x1, ...crossing, arc.x2];
    arc.labelX = middle;
    let nearest = Infinity;
    for (let i = 1; i < stops.length; i++) {
      if (stops[i] - stops[i - 1] < 2 * half) continue;
      const place = Math.min(Math.max(middle, stops[i - 1] + half), stops[i] - half);
      if (Math.abs(place - middle) < nearest) [arc.labelX, nearest] = [place, Math.abs(place - middle)];
    }
  }
}

function mirror(picture) {
  picture.centres = picture.centres.map((x) => picture.width - x);
  for (const arc of picture.arcs) for (const end of ["x1", "x2", "labelX"]) arc[end] = picture.width - arc[end];
}

function tagOf(word) {
  const tag = word.upos === "_" ? word.xpos : word.upos;
  return tag === "_" ? "" : printable(tag);
}

const percent = (share) => `${(100 * share).toFixed(1)} %`;
const number = (value) => String(Math.round(value * 10) / 10);

// The path of an arc: up at the left end, round two corners, and down at the right end.
function pathOf(arc) {
  const { x1, x2, y } = arc;
  if (arc.left === arc.right) return `M${number(x1)} ${number(y)}V${-TIP_LENGTH / 2}`;
  const radius = Math.min(CORNER, Math.abs(x2 - x1) / 2), inwards = x1 < x2 ? radius : -radius;
  const [foot1, foot2] = [arc.left, arc.right].map((word) => (word === arc.dependent ? -TIP_LENGTH / 2 : 0));
  const [a, b, c, d, level, shoulder] = [x1, x1 + inwards, x2 - inwards, x2, y, y + radius].map(number);
  return `M${a} ${foot1}V${shoulder}Q${a} ${level} ${b} ${level}H${c}Q${d} ${level} ${d} ${shoulder}V${foot2}`;
}

function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// A drawn tree whose arcs can be shown and hidden; pressing a word calls `onWord` with its number.
export class Tree {
  constructor(box, trace, onWord) {
    this.box = box;
    this.trace = trace;
    this.picture = layOut(trace.words, trace.heads, trace.deprels);
    this.parts = new Map(); // of each arc, by its dependent
    const canvas = document.createElement("div");
    canvas.className = "canvas";
    canvas.append(this.#draw(), this.#buttons(onWord));
    box.replaceChildren(canvas);
    box.scrollLeft = this.picture.isRtl ? this.picture.width : 0;
  }

  #draw() {
    const { width, height, arcs, centres } = this.picture;
    const [w, h] = [number(width), number(height + BOTTOM)];
    const layers = {
      flows: svg("g", { class: "flows", fill: "none", stroke: "#7c5cd6", "stroke-opacity": "0.45", "stroke-linejoin": "round" }),
      arcs: svg("g", { class: "arcs", fill: "none", stroke: "#5f6b7a", "stroke-width": "1.2" }),
      tips: svg("g", { class: "tips", fill: "#5f6b7a" }),
      labels: svg("g", { class: "labels", fill: "#1a4f9c", "font-size": LABEL_SIZE }),
      words: svg("g", { class: "words", fill: "#111418", "font-size": WORD_SIZE }),
      tags: svg("g", { class: "tags", fill: "#66707d", "font-size": TAG_SIZE }),
    };
    for (const arc of arcs) this.#drawArc(arc, layers);
    this.words = this.trace.words.map((word, i) => {
      const isRtl = direction(word.form) < (this.picture.isRtl ? 1 : 0);
      const place = { x: number(centres[i]), y: WORD_BASE, ...(isRtl && { direction: "rtl", "unicode-bidi": "embed" }) };
      const drawn = svg("text", place, printable(word.form));
      layers.words.append(drawn);
      layers.tags.append(svg("text", { x: number(centres[i]), y: TAG_BASE }, tagOf(word)));
      return drawn;
    });
    this.svg = svg(
      "svg",
      { xmlns: SVG, class: "g2g-tree", width: w, height: h, viewBox: `0 0 ${w} ${h}`, "font-family": "sans-serif", "text-anchor": "middle", "aria-hidden": "true" },
      svg("rect", { class: "paper", fill: "#ffffff", width: w, height: h }),
      svg("g", { transform: `translate(0 ${number(height)})` }, ...Object.values(layers)),
    );
    return this.svg;
  }

  #drawArc(arc, layers) {
    const flow = svg("path", { d: pathOf(arc), "stroke-width": "0" });
    const line = svg("path", { d: pathOf(arc) });
    const foot = number(arc.dependent === arc.left ? arc.x1 : arc.x2);
    const tip = svg("path", { d: `M${foot} 0l${-TIP_WIDTH / 2} ${-TIP_LENGTH}h${TIP_WIDTH}z` });
    const box = { x: number(arc.labelX - arc.boxWidth / 2), y: number(arc.y - LABEL_HEIGHT / 2), width: number(arc.boxWidth), height: LABEL_HEIGHT };
    const label = svg("g", {}, svg("rect", { class: "paper", fill: "#ffffff", ...box }),
      svg("text", { x: number(arc.labelX), y: number(arc.y + LABEL_SIZE / 3) }, arc.label));
    layers.flows.append(flow);
    layers.arcs.append(line);
    layers.tips.append(tip);
    layers.labels.append(label);
    if (this.trace.given.includes(arc.dependent + 1)) line.setAttribute("stroke-dasharray", "5 3");
    this.parts.set(arc.dependent + 1, { flow, shown: [line, tip, label] });
  }

  // Add a button over each word. Tab reaches one of them, and the arrow keys the others from there.
  #buttons(onWord) {
    const { centres, widths, height } = this.picture;
    const row = document.createElement("div");
    row.className = "over-words";
    row.setAttribute("role", "group");
    row.setAttribute("aria-label", "Words");
    this.buttons = this.trace.words.map((word, i) => {
      const button = document.createElement("button");
      button.type = "button";
      button.tabIndex = i ? -1 : 0;
      button.dataset.word = word.id;
      const head = this.trace.heads[i];
      const headForm = head ? this.trace.words[head - 1].form : "ROOT";
      button.setAttribute("aria-label", `${word.form}, word ${word.id}: ${this.trace.deprels[i]} of ${headForm}`);
      button.setAttribute("aria-pressed", "false");
      button.style.left = `${centres[i] - widths[i] / 2 - 5}px`;
      button.style.width = `${widths[i] + 10}px`;
      button.style.top = `${height + 1}px`;
      button.addEventListener("click", () => onWord(word.id));
      button.addEventListener("focus", () => this.#reach(i));
      button.addEventListener("keydown", (event) => this.#move(event, i));
      return button;
    });
    row.append(...this.buttons);
    return row;
  }

  #reach(i) {
    for (const [j, button] of this.buttons.entries()) button.tabIndex = i === j ? 0 : -1;
  }

  #move(event, i) {
    const onwards = this.picture.isRtl ? -1 : 1;
    const last = this.buttons.length - 1;
    const target = { ArrowRight: i + onwards, ArrowLeft: i - onwards, Home: 0, End: last }[event.key];
    if (target === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.buttons[Math.min(Math.max(target, 0), last)].focus();
  }

  // Show the arcs of these dependents, the next arc as a hint, and which pile each word is in.
  show({ dependents, next, stack, deleted }) {
    const there = new Set(dependents), gone = new Set(deleted), onStack = new Set(stack), focus = new Set(stack.slice(-2));
    for (const [dependent, { shown }] of this.parts) {
      const mode = there.has(dependent) ? "" : dependent === next ? "next" : "absent";
      for (const part of shown) part.setAttribute("class", mode);
    }
    this.words.forEach((word, i) => word.classList.toggle("deleted", gone.has(i + 1)));
    this.buttons.forEach((button, i) => {
      button.classList.toggle("on-stack", onStack.has(i + 1));
      button.classList.toggle("in-focus", focus.has(i + 1));
    });
    const top = stack.at(-1);
    if (top) this.#bringIntoView(top);
  }

  #bringIntoView(word) {
    const { box } = this, x = this.picture.centres[word - 1], margin = Math.min(120, box.clientWidth / 4);
    if (box.scrollWidth <= box.clientWidth) return;
    if (x < box.scrollLeft + margin) box.scrollLeft = x - margin;
    else if (x > box.scrollLeft + box.clientWidth - margin) box.scrollLeft = x + margin - box.clientWidth;
  }

  // Make arcs as thick as the attention along them; null restores their usual width.
  flow(attention) {
    for (const { flow } of this.parts.values()) flow.setAttribute("stroke-width", "0");
    for (const arc of attention?.arcs ?? []) {
      const [down, up] = [arc.to_dependent ?? 0, arc.to_head ?? 0];
      const [head, dependent] = [arc.head, arc.dependent].map((word) => printable(this.trace.words[word - 1].form));
      const { flow } = this.parts.get(arc.dependent);
      flow.setAttribute("stroke-width", number(Math.min(WIDEST_FLOW, 18 * Math.sqrt((down + up) / 2))));
      flow.replaceChildren(svg("title", {}, `${head} pays ${percent(down)} of its attention to ${dependent}, and gets ${percent(up)}`));
    }
  }

  select(word) {
    this.box.classList.toggle("choosing", word !== null);
    this.buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i + 1 === word)));
  }

  // The picture as a stand-alone SVG file.
  toFile() {
    const copy = this.svg.cloneNode(true);
    copy.removeAttribute("aria-hidden");
    for (const absent of copy.querySelectorAll(".absent, .next, [stroke-width='0']")) absent.remove();
    for (const word of copy.querySelectorAll(".deleted")) word.removeAttribute("class");
    copy.prepend(svg("title", {}, printable(this.trace.text)), svg("style", {}, DARK));
    return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(copy)}\n`;
  }
}
