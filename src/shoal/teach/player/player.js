// Shows one step at a time. Everything that is shown is a function of the number of the step, so back is as easy as on.
"use strict";
const lesson = JSON.parse(document.getElementById("lesson").textContent);
const find = (id) => document.getElementById(id);
const last = lesson.steps.length - 1;
let at = 0;
let timer = null;

function make(parent, name, attributes, text) {
  const space = parent.namespaceURI.endsWith("svg") ? parent.namespaceURI : "http://www.w3.org/1999/xhtml";
  const made = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

const DRAW = {
  circle: (svg, style, x, y, r) => make(svg, "circle", { class: "shape " + style, cx: x, cy: y, r: r }),
  line: (svg, style, x1, y1, x2, y2) => make(svg, "line", { class: "shape " + style, x1: x1, y1: y1, x2: x2, y2: y2 }),
  arrow: (svg, style, path) => make(svg, "path", { class: "shape " + style, d: path, "marker-end": "url(#head)" }),
  rect: (svg, style, x, y, w, h) => make(svg, "rect", { class: "shape " + style, x: x, y: y, width: w, height: h, rx: 2 }),
  curve: (svg, style, points) => make(svg, "polyline", { class: "shape " + style, points: points }),
  text: (svg, style, x, y, words, anchor) => make(svg, "text", { class: style, x: x, y: y, "text-anchor": anchor }, words),
};

function drawPicture() {
  const svg = find("picture");
  svg.querySelectorAll(":scope > :not(defs)").forEach((each) => each.remove());
  for (const [first, end, kind, style, ...rest] of lesson.shapes) {
    if (first <= at && at <= end) DRAW[kind](svg, style, ...rest);
  }
  svg.setAttribute("viewBox", `${lesson.steps[at].left} 0 ${lesson.width} ${lesson.height}`);
  // On a narrow screen the picture is wider than its frame: keep what is done now in sight.
  const wide = svg.parentElement;
  if (lesson.steps[at].centre && wide.scrollWidth > wide.clientWidth) {
    wide.scrollLeft = (lesson.steps[at].centre / lesson.width) * svg.clientWidth - wide.clientWidth / 2;
  }
  svg.setAttribute("aria-label", lesson.steps[at].text);
}

function drawTable() {
  const cells = lesson.tables[lesson.steps[at].table];
  const before = at === 0 ? lesson.people : lesson.tables[lesson.steps[at - 1].table];
  const body = find("cells");
  body.replaceChildren();
  cells.forEach((row, i) => {
    const line = make(body, "tr");
    make(line, "th", { scope: "row" }, i + 1);
    row.forEach((value, j) => {
      const isChanged = value !== before[i][j];
      const style = isChanged ? "changed" : value !== lesson.people[i][j] ? "general" : "";
      make(line, "td", { class: style, title: lesson.people[i][j] }, value);
    });
    if (lesson.sensitive.length) make(line, "td", {}, lesson.sensitive[i]);
  });
}

function show() {
  const step = lesson.steps[at];
  find("said").textContent = step.text;
  find("said").dataset.kind = step.kind;
  drawTable();
  drawPicture();
  find("figures").replaceChildren();
  for (const [name, value] of step.figures) {
    make(find("figures"), "dt", {}, name);
    make(find("figures"), "dd", {}, value);
  }
  find("place").value = at;
  find("place").setAttribute("aria-valuetext", `step ${at + 1} of ${last + 1}`);
  find("count").textContent = `${at + 1} / ${last + 1}`;
  find("first").disabled = find("back").disabled = at === 0;
  find("step").disabled = find("last").disabled = at === last;
}

function go(to) {
  at = Math.min(Math.max(to, 0), last);
  if (at === last) stop();
  show();
}

function stop() {
  clearInterval(timer);
  timer = null;
  find("play").textContent = "▶ Play";
  find("said").setAttribute("aria-live", "polite");
}

function play() {
  if (at === last) at = -1;
  find("play").textContent = "❚❚ Pause";
  find("said").setAttribute("aria-live", "off"); // a screen reader could not keep up
  clearInterval(timer);
  timer = setInterval(() => go(at + 1), 1000 / find("speed").value);
}

const toggle = () => (timer === null ? play() : stop());
const KEYS = {
  " ": toggle,
  ArrowRight: () => { stop(); go(at + 1); },
  ArrowLeft: () => { stop(); go(at - 1); },
  Home: () => { stop(); go(0); },
  End: () => { stop(); go(last); },
  "+": () => changeSpeed(1),
  "-": () => changeSpeed(-1),
};

function changeSpeed(by) {
  const speed = find("speed");
  speed.selectedIndex = Math.min(Math.max(speed.selectedIndex + by, 0), speed.options.length - 1);
  if (timer !== null) play();
}

document.addEventListener("keydown", (event) => {
  // A button takes the space bar itself, and a list or a slider its arrows.
  if (event.ctrlKey || event.altKey || event.metaKey || !KEYS[event.key]) return;
  if (event.key === " " && event.target.tagName === "BUTTON") return;
  if (event.target.tagName === "SELECT") return;
  event.preventDefault();
  KEYS[event.key]();
});
find("play").addEventListener("click", toggle);
find("step").addEventListener("click", () => KEYS.ArrowRight());
find("back").addEventListener("click", () => KEYS.ArrowLeft());
find("first").addEventListener("click", () => KEYS.Home());
find("last").addEventListener("click", () => KEYS.End());
find("place").addEventListener("input", () => { stop(); go(Number(find("place").value)); });
find("speed").addEventListener("change", () => timer !== null && play());

// Nothing moves before somebody asks for it. Who prefers less motion begins with the slowest speed.
if (matchMedia("(prefers-reduced-motion: reduce)").matches) find("speed").selectedIndex = 0;
show();
