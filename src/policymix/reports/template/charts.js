// Lines with bands over an axis, a cursor and a tooltip.

// ---- Axes ---------------------------------------------------------------------------

/** Where things go: x and y are {low, high, label, format, unit}; a unit bends x. */
function frameOf(width, height, x, y) {
  const yTicks = ticks(y.low, y.high, height / 56);
  const widest = Math.max(...yTicks.map((tick) => y.format(tick).length));
  const box = {
    left: 10 + 7.5 * widest,
    right: width - 16,
    top: 30,
    bottom: height - 46,
  };
  const bend = x.unit ? (value) => Math.log10(1 + value / x.unit) : (value) => value;
  const along = scale([bend(x.low), bend(x.high)], [box.left, box.right]);
  const xAt = (value) => along(bend(value));
  const yAt = scale([y.low, y.high], [box.bottom, box.top]);
  const xTicks = x.unit
    ? logTicks(x.low, x.high, xAt, 44)
    : ticks(x.low, x.high, (box.right - box.left) / 84);
  return { width, height, x, y, box, xAt, yAt, xTicks, yTicks };
}

function axes({ box, x, y, xAt, yAt, xTicks, yTicks, width, height }) {
  const text = (look, content) => shape("text", look, content);
  const rows = yTicks.flatMap((tick) => [
    shape("line", {
      class: "grid",
      x1: box.left,
      x2: box.right,
      y1: yAt(tick),
      y2: yAt(tick),
    }),
    text({ x: box.left - 8, y: yAt(tick) + 4, "text-anchor": "end" }, y.format(tick)),
  ]);
  const columns = xTicks.flatMap((tick) => [
    shape("line", {
      class: "tick",
      x1: xAt(tick),
      x2: xAt(tick),
      y1: box.bottom,
      y2: box.bottom + 5,
    }),
    text({ x: xAt(tick), y: box.bottom + 19, "text-anchor": "middle" }, x.format(tick)),
  ]);
  return [
    ...rows,
    ...columns,
    shape("line", {
      class: "axis",
      x1: box.left,
      x2: box.right,
      y1: box.bottom,
      y2: box.bottom,
    }),
    text({ class: "label", x: 0, y: 13 }, y.label),
    text(
      { class: "label", x: width - 16, y: height - 8, "text-anchor": "end" },
      x.label,
    ),
  ];
}

// ---- Line charts --------------------------------------------------------------------

/** A path through the points that are known, with gaps where one is missing. */
function pathOf(frame, xs, ys) {
  let path = "";
  let pen = "M";
  xs.forEach((x, i) => {
    if (known(ys[i]))
      path += `${pen}${frame.xAt(x).toFixed(1)} ${frame.yAt(ys[i]).toFixed(1)}`;
    pen = known(ys[i]) ? "L" : "M";
  });
  return path;
}

function bandOf(frame, { x, low, high }) {
  const seen = x.map((_, i) => i).filter((i) => known(low[i]) && known(high[i]));
  const point = (i, values) =>
    `${frame.xAt(x[i]).toFixed(1)} ${frame.yAt(values[i]).toFixed(1)}`;
  const there = seen.map((i) => point(i, high));
  const back = seen.reverse().map((i) => point(i, low));
  return there.length ? `M${[...there, ...back].join("L")}Z` : "";
}

function drawSeries(frame, series) {
  const band = shape("path", { class: "band", d: bandOf(frame, series) });
  const line = shape("path", { class: "line", d: pathOf(frame, series.x, series.y) });
  if (series.dash) line.setAttribute("stroke-dasharray", series.dash);
  const group = shape("g", { class: "series", "data-name": series.name }, band, line);
  return tinted(group, series.colour);
}

let clips = 0;

/**
 * A chart of lines with bands, a cursor and a tooltip.
 *
 * `describe` says what to draw now: {label, series, x, y, heading, better}. Returns the
 * function that draws it again.
 */
function chart(holder, describe) {
  const view = {
    describe,
    clip: `clip-${++clips}`,
    picture: shape("svg", { "aria-hidden": "true" }),
    cursor: shape("g", { class: "cursor" }),
    tip: make("div", { class: "tip", hidden: "" }),
    stage: make("div", { class: "stage", role: "slider", tabindex: "0" }),
    at: null,
  };
  view.stage.append(view.picture, view.tip);
  holder.append(view.stage);
  followPointer(view);
  followKeys(view);
  const redraw = () => drawChart(view);
  new ResizeObserver(redraw).observe(view.stage);
  return redraw;
}

function drawChart(view) {
  const [width, height] = [view.stage.clientWidth, view.stage.clientHeight];
  if (!width) return;
  const now = (view.now = view.describe());
  const frame = (view.frame = frameOf(width, height, now.x, now.y));
  view.steps = [...new Set(now.series.flatMap((series) => series.x))];
  view.steps.sort((a, b) => a - b);
  const { left, right, top, bottom } = frame.box;
  const window = { x: left, y: top, width: right - left, height: bottom - top };
  view.picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  view.picture.replaceChildren(
    shape("clipPath", { id: view.clip }, shape("rect", window)),
    ...axes(frame),
    shape(
      "g",
      { "clip-path": `url(#${view.clip})` },
      // The first is drawn last, on top of the others.
      ...[...now.series].reverse().map((series) => drawSeries(frame, series)),
    ),
    view.cursor,
  );
  view.stage.setAttribute("aria-label", `${now.label}. Arrow keys move the cursor.`);
  point(view, view.at);
}

/** The values at a step, best first. */
function readings({ series, better }, step) {
  const order = better === "lower" ? 1 : -1;
  return series
    .map((line) => ({ line, i: line.x.indexOf(step) }))
    .filter(({ line, i }) => i >= 0 && known(line.y[i]))
    .map(({ line, i }) => ({
      line,
      value: line.y[i],
      low: line.low[i],
      high: line.high[i],
    }))
    .sort((a, b) => order * (a.value - b.value));
}

/** Put the cursor at a step, or take it away (null). */
function point(view, index) {
  const { now, frame, steps, stage, tip, cursor } = view;
  view.at = index === null || !steps.length ? null : clamp(index, 0, steps.length - 1);
  const at = view.at ?? steps.length - 1;
  const found = readings(now, steps[at]);
  const text = found.map(({ line, value }) => `${line.name} ${now.show(value)}`);
  stage.setAttribute("aria-valuemin", 0);
  stage.setAttribute("aria-valuemax", Math.max(steps.length - 1, 0));
  stage.setAttribute("aria-valuenow", Math.max(at, 0));
  stage.setAttribute(
    "aria-valuetext",
    steps.length ? [now.heading(steps[at]), ...text].join(", ") : "no line is shown",
  );
  tip.hidden = view.at === null || !found.length;
  cursor.replaceChildren();
  if (tip.hidden) return;
  const x = frame.xAt(steps[at]);
  cursor.append(
    shape("line", { x1: x, x2: x, y1: frame.box.top, y2: frame.box.bottom }),
    ...found.map(({ line, value }) => dot(frame, x, value, line.colour)),
  );
  tip.replaceChildren(
    make("p", {}, now.heading(steps[at])),
    readingTable(found, now.show),
  );
  placeTip(view, x);
}

function dot(frame, x, value, colour) {
  const y = frame.yAt(value);
  const inside = y >= frame.box.top && y <= frame.box.bottom;
  return tinted(shape("circle", { cx: x, cy: y, r: inside ? 3.5 : 0 }), colour);
}

function readingTable(found, show) {
  const rows = found.map(({ line, value, low, high }) =>
    make(
      "tr",
      {},
      make("th", {}, swatch(line), make("span", {}, line.name)),
      make("td", {}, show(value)),
      make("td", { class: "interval" }, `[${show(low)}, ${show(high)}]`),
    ),
  );
  return make("table", {}, ...rows);
}

/** Beside the cursor where there is room, else above or below the chart. */
function placeTip({ stage, tip, frame }, x) {
  const outer = stage.getBoundingClientRect();
  const docked = frame.width < 560;
  tip.classList.toggle("docked", docked);
  if (docked) {
    const below = innerHeight - outer.bottom > Math.min(tip.offsetHeight, outer.top);
    tip.style.left = "0";
    tip.style.top = below ? "100%" : `${-tip.offsetHeight}px`;
    return;
  }
  const right = x + 16 + tip.offsetWidth <= frame.width;
  const left = right ? x + 16 : Math.max(x - 16 - tip.offsetWidth, 0);
  const lowest = frame.height - tip.offsetHeight;
  tip.style.left = `${left}px`;
  tip.style.top = `${clamp(frame.box.top, Math.min(lowest, 0), Math.max(lowest, 0))}px`;
}

function followPointer(view) {
  const { stage } = view;
  const follow = (event) => {
    const x = event.clientX - stage.getBoundingClientRect().left;
    const at = nearest(view.steps, (step) => Math.abs(view.frame.xAt(step) - x));
    if (at !== view.at && at >= 0) point(view, at);
  };
  const leave = () => point(view, null);
  stage.addEventListener("pointermove", follow);
  stage.addEventListener("pointerdown", follow);
  stage.addEventListener("pointercancel", leave);
  stage.addEventListener(
    "pointerleave",
    (event) => event.pointerType === "mouse" && leave(),
  );
  document.addEventListener(
    "pointerdown",
    (event) => stage.contains(event.target) || leave(),
  );
}

function followKeys(view) {
  const moves = {
    ArrowLeft: -1,
    ArrowDown: -1,
    ArrowRight: 1,
    ArrowUp: 1,
    PageDown: -10,
    PageUp: 10,
  };
  view.stage.addEventListener("keydown", (event) => {
    const last = view.steps.length - 1;
    if (event.key === "Escape") point(view, null);
    else if (event.key === "Home") point(view, 0);
    else if (event.key === "End") point(view, last);
    else if (event.key in moves) point(view, (view.at ?? last) + moves[event.key]);
    else return;
    event.preventDefault();
  });
  view.stage.addEventListener("blur", () => point(view, null));
}
