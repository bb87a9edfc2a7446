// The panels around the tree: stack, buffer and deleted words, the decision, the timeline, the attention by layer.

const ACTIONS = ["SHIFT", "LEFT-ARC", "RIGHT-ARC", "SWAP"];
const N_LABELS = 5;
const N_CHIPS = 40; // shown of each pile, nearest to the decision

export const byId = (id) => document.getElementById(id);

export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

export function formOf(trace, node) {
  return node ? trace.words[node - 1].form : "ROOT";
}

export function percent(p) {
  if (p > 0 && p < 0.0005) return "<0.1 %";
  return `${(100 * p).toFixed(p > 0.9995 ? 0 : 1)} %`;
}

// Describe a step in a few words: "LEFT-ARC det, hearing → A".
export function describe(trace, step) {
  if (!step.arc) return step.action;
  return `${step.action} ${step.label}, ${formOf(trace, step.arc.head)} → ${formOf(trace, step.arc.dependent)}`;
}

// --- State ---

export function showState(trace, { stack, buffer, deleted }) {
  const isOver = !buffer.length && stack.length === 1;
  const marks = new Map(isOver ? [] : [[stack.at(-1), "s1"], [stack.at(-2), "s2"], [buffer[0], "b1"]]);
  fill("stack", trace, stack.toReversed(), marks); // the top comes first, next to the buffer
  fill("buffer", trace, buffer, marks);
  fill("deleted", trace, deleted, new Map(), Infinity);
}

function fill(id, trace, nodes, marks, limit = N_CHIPS) {
  byId(`${id}-size`).textContent = nodes.length;
  const chips = nodes.slice(0, limit).map((node) => {
    const chip = element("li", {}, element("bdi", {}, formOf(trace, node)));
    if (!node) chip.classList.add("root");
    if (marks.has(node)) {
      chip.classList.add("in-focus");
      chip.append(element("small", {}, marks.get(node)));
    }
    return chip;
  });
  if (nodes.length > limit) chips.push(element("li", { className: "more" }, `… ${nodes.length - limit} more`));
  byId(id).replaceChildren(...chips);
}

// --- Decision ---

export function showDecision(trace, step) {
  const choices = new Map(step?.actions.map((choice) => [choice.action, choice]) ?? []);
  byId("decided").replaceChildren(...(step ? heading(trace, step) : ["The tree is complete."]));
  byId("actions").replaceChildren(
    ...ACTIONS.map((action) => bar(action.toLowerCase(), choices.get(action)?.p, action === step?.action, action.toLowerCase())),
  );
  const labels = step?.arc ? choices.get(step.action).labels : [];
  const rows = labels.map(({ label, p }) => bar(label, p, label === step.label, "label"));
  while (rows.length < N_LABELS) rows.push(element("tr", {}, element("th", {}, "\u00a0")));
  byId("labels").replaceChildren(...rows);
}

function heading(trace, step) {
  const parts = [element("strong", { className: step.action.toLowerCase() }, step.action.toLowerCase())];
  if (step.arc) {
    const [head, dependent] = [step.arc.head, step.arc.dependent].map((node) => element("bdi", {}, formOf(trace, node)));
    parts.push(" ", element("em", {}, step.label), ": ", head, " → ", dependent);
  }
  const mark = element("span", { className: "encoded" }, step.deleted.length ? "encoder run again" : "encoder run");
  return [element("span", {}, ...parts), ...(step.encoded ? [mark] : [])];
}

// Make a row of name, bar and probability. Illegal actions have no bar.
function bar(name, p, isChosen, kind) {
  const row = element("tr", { className: isChosen ? `${kind} chosen` : kind }, element("th", { scope: "row" }, name));
  if (p === undefined) {
    row.classList.add("illegal");
    row.append(element("td"), element("td", {}, "–"));
    row.title = "not legal here";
    return row;
  }
  const line = element("div", { className: "bar" });
  line.style.width = `${100 * p}%`;
  row.append(element("td", {}, line), element("td", {}, percent(p)));
  return row;
}

// --- Timeline ---

const HEIGHT = 34, MARK = 3.5;

// Draw one bar for each step, with the probability of its action as its height, and a line below where the encoder was run.
export function drawTimeline(trace) {
  const space = "http://www.w3.org/2000/svg", n = trace.steps.length, gap = n > 120 ? 0 : 0.12;
  const drawn = document.createElementNS(space, "svg");
  drawn.setAttribute("viewBox", `0 0 ${n} ${HEIGHT + 2 * MARK}`);
  drawn.setAttribute("preserveAspectRatio", "none");
  const add = (className, step, y, height) => {
    const rect = document.createElementNS(space, "rect");
    for (const [key, value] of Object.entries({ class: className, x: step + gap / 2, y, width: 1 - gap, height })) rect.setAttribute(key, value);
    drawn.append(rect);
  };
  trace.steps.forEach((step, i) => {
    const height = Math.max(1.5, HEIGHT * step.p);
    add(step.action.toLowerCase(), i, HEIGHT - height, height);
    if (step.encoded) add("encoded", i, HEIGHT + MARK, MARK);
  });
  byId("timeline").replaceChildren(drawn);
}

// Highlight the steps taken so far.
export function markTimeline(position) {
  for (const rect of byId("timeline").querySelectorAll("rect:not(.encoded)")) {
    const step = Math.floor(rect.x.baseVal.value);
    rect.classList.toggle("to-come", step > position);
    rect.classList.toggle("now", step === position);
  }
}

// --- Attention ---

export function showLayers(attention) {
  const layers = attention?.layers ?? [];
  const most = Math.max(0.01, ...layers.flatMap((layer) => [layer.to_dependent, layer.to_head]));
  const bars = layers.map((layer, i) => {
    const ways = [["to-dependent", layer.to_dependent], ["to-head", layer.to_head]].map(([className, share]) => {
      const line = element("div", { className });
      line.style.height = `${(100 * share) / most}%`;
      return line;
    });
    const title = `layer ${i + 1}: ${percent(layer.to_dependent)} to the dependent, ${percent(layer.to_head)} to the head`;
    return element("li", { title }, element("div", { className: "pair" }, ...ways),
      element("span", {}, element("span", { className: "unseen" }, title), element("span", { ariaHidden: "true" }, String(i + 1))));
  });
  if (!bars.length) bars.push(element("li", { className: "none" }, "The encoder has seen no arc yet."));
  byId("layer-bars").replaceChildren(...bars);
}
