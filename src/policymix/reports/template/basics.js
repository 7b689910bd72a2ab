// Elements, numbers and colours.
// Names enter the page as text and attributes only, never as markup.

const report = JSON.parse(document.getElementById("data").textContent);
const redraws = []; // whatever draws colours into a canvas

// ---- Elements -----------------------------------------------------------------------

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes))
    element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** An HTML element; strings among the children become text. */
function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
function shape(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  return fill(element, attributes, children);
}

function button(text, click, attributes = {}) {
  const element = make("button", { type: "button", ...attributes }, text);
  element.addEventListener("click", click);
  return element;
}

let groups = 0;

/** Radio buttons that look like one switch. */
function choice(label, options, chosen, choose) {
  const name = `choice-${++groups}`;
  const row = make("div");
  for (const [value, text] of options) {
    const input = make("input", { type: "radio", name, value });
    input.checked = value === chosen;
    input.addEventListener("change", () => choose(value));
    row.append(make("label", {}, input, make("span", {}, text)));
  }
  return make("fieldset", { class: "choice" }, make("legend", {}, label), row);
}

// ---- Numbers ------------------------------------------------------------------------

const grouped = new Intl.NumberFormat("en");
const after = (step) => `after ${grouped.format(step)} samples`;
const minus = (text) => text.replace("-", "−");
const percent = (value) => `${Math.round(value)}\u00a0%`;
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const known = (value) => value !== null && value !== undefined;

/** 1500 as 1.5K. */
function short(value) {
  const size = Math.abs(value);
  const [unit, letter] = size >= 1e6 ? [1e6, "M"] : size >= 1e3 ? [1e3, "K"] : [1, ""];
  return minus(`${Number((value / unit).toPrecision(4))}${letter}`);
}

/** A measured value with as many digits as its size deserves. */
function figure(value) {
  if (!known(value)) return "–";
  const size = Math.abs(value);
  return minus(value.toFixed(size >= 100 ? 1 : size >= 1 ? 2 : 3));
}

/** The least and the greatest of all values that are known. */
function extent(lists) {
  const values = lists.flat().filter(known);
  return values.length
    ? [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))]
    : [0, 1];
}

/** A range with some air at both ends. */
function padded([low, high]) {
  const air = (high - low || Math.abs(high) || 1) * 0.04;
  return [low - air, high + air];
}

/** Round values in a range, about as many as asked for. */
function ticks(low, high, wanted) {
  const rough = (high - low) / Math.max(wanted, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.7);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++)
    found.push(Number((i * step).toPrecision(12)));
  return found;
}

/** Powers of ten, then twos and fives where they fit. */
function logTicks(low, high, at, room) {
  const found = [low];
  for (const factor of [1, 5, 2])
    for (let power = 1; power <= high; power *= 10) {
      const value = factor * power;
      const free = found.every((other) => Math.abs(at(other) - at(value)) >= room);
      if (value > low && value <= high && free) found.push(value);
    }
  return found;
}

function scale([low, high], [from, to]) {
  return (value) => from + ((value - low) / (high - low || 1)) * (to - from);
}

/** Index of the item with the least distance. */
function nearest(items, distance) {
  let best = -1;
  let least = Infinity;
  items.forEach((item, index) => {
    const far = distance(item);
    if (far < least) [best, least] = [index, far];
  });
  return best;
}

// ---- Colours ------------------------------------------------------------------------

/** Red, green and blue of #rrggbb; grey for anything else. */
function rgb(colour) {
  const match = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(colour);
  return match ? match.slice(1).map((part) => parseInt(part, 16)) : [128, 128, 128];
}

const css = (parts) => `rgb(${parts.map(Math.round).join(",")})`;
const blend = (a, b, share) => a.map((part, i) => part + (b[i] - part) * share);

function luminance(parts) {
  const [r, g, b] = parts.map((part) => {
    const light = part / 255;
    return light <= 0.04045 ? light / 12.92 : ((light + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a, b) {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

const probe = document.body.appendChild(make("span", { hidden: "" }));
const seen = new Map(); // colours of the style sheet, until the theme changes

/** A colour of the style sheet, as it is in this theme. */
function themed(name) {
  if (!seen.has(name)) {
    probe.style.color = `var(--${name})`;
    const parts = getComputedStyle(probe).color.match(/[\d.]+/g);
    seen.set(name, parts.slice(0, 3).map(Number));
  }
  return seen.get(name);
}

/** The colour, moved towards the ink until it stands out from the panel. */
function readable(colour) {
  const [panel, ink] = [themed("panel"), themed("ink")];
  let parts = rgb(colour);
  for (let i = 0; i < 12 && contrast(parts, panel) < 3; i++)
    parts = blend(parts, ink, 0.12);
  return css(parts);
}

/** Give an element its own colour, which follows the theme. */
function tinted(element, colour) {
  element.dataset.colour = colour;
  element.style.color = readable(colour);
  return element;
}

function recolour() {
  seen.clear();
  for (const element of document.querySelectorAll("[data-colour]"))
    element.style.color = readable(element.dataset.colour);
  for (const redraw of redraws) redraw();
}

/** A short piece of a method's line. */
function swatch({ colour, dash }) {
  const line = shape("line", { x1: 1, x2: 25, y1: 5, y2: 5, class: "line" });
  if (dash) line.setAttribute("stroke-dasharray", dash);
  const look = { class: "swatch", viewBox: "0 0 26 10", "aria-hidden": "true" };
  return tinted(shape("svg", look, line), colour);
}
