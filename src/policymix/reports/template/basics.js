// Elements, numbers and colours.
// Names enter the page as text and attributes only, never as markup.

const report = JSON.parse(document.getElementById("data").textContent);

/** An element; strings among the children become text. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// ---- Numbers ------------------------------------------------------------------------

const grouped = new Intl.NumberFormat("en");
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 4 });
const after = (step) => `after ${grouped.format(step)} samples`;
const minus = (text) => text.replace("-", "−");
const short = (value) => minus(compact.format(value));
const percent = (value) => `${Math.round(value)}\u00a0%`;
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const known = (value) => value !== null && value !== undefined;
const total = (values) => values.reduce((sum, value) => sum + value, 0);
const least = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
const greatest = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);

/** A measured value with as many digits as its size deserves. */
function figure(value) {
  if (!known(value)) return "–";
  const size = Math.abs(value);
  return minus(value.toFixed(size >= 100 ? 1 : size >= 1 ? 2 : 3));
}

/** The least and the greatest of all values that are known. */
function extent(lists) {
  const values = lists.flat().filter(known);
  return values.length ? [least(values), greatest(values)] : [0, 1];
}

// ---- Colours ------------------------------------------------------------------------

const probe = document.body.appendChild(make("span", { hidden: "" }));
const seen = new Map(); // colours as they are in this theme

/** A style sheet's colour as a canvas knows it; another where the browser does not know it. */
function resolve(colour, other = "grey") {
  if (!seen.has(colour)) {
    for (const one of ["grey", other, colour]) probe.style.color = one;
    seen.set(colour, getComputedStyle(probe).color);
  }
  return seen.get(colour);
}

const themed = (name) => resolve(`var(--${name})`);
const rgb = (colour) => Array.from(resolve(colour).match(/[\d.]+/g), Number);
const css = (parts) => `rgb(${parts.map(Math.round).join(" ")})`;

/** A line's colour: no lighter than shows on white, no darker than shows on black. */
function readable(colour, alpha = 1) {
  const on = (lightness) => `oklch(from ${colour} ${lightness} c h / ${alpha})`;
  return resolve(`light-dark(${on("min(l, 0.66)")}, ${on("max(l, 0.6)")})`, colour);
}

/** A short piece of a method's line. */
function swatch({ colour, dash }) {
  const piece = document.getElementById("swatch").content.firstElementChild.cloneNode(true);
  piece.setAttribute("color", colour);
  piece.firstElementChild.setAttribute("stroke-dasharray", dash);
  return piece;
}
