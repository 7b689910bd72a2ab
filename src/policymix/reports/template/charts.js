// Lines with bands: uPlot draws them; their looks, cursor and tooltip are here.

/** Keep a chart in a box that has a size. Returns the function that builds it anew. */
function mount(plot, describe) {
  const size = () => ({ width: plot.clientWidth, height: plot.clientHeight });
  const build = () => {
    if (!plot.clientWidth) return;
    plot.chart?.destroy();
    const { data, ...options } = describe();
    plot.chart = new uPlot({ ...size(), legend: { show: false }, ...options }, data, plot);
  };
  const fit = () => (plot.chart ? plot.chart.setSize(size()) : build());
  new ResizeObserver(fit).observe(plot);
  return build;
}

function axis(format, more) {
  const line = { stroke: () => themed("line"), width: 1, size: 5 };
  const font = "12px system-ui, sans-serif";
  const values = (_, ticks) => ticks.map(format);
  return { font, stroke: () => themed("muted"), grid: line, ticks: line, values, ...more };
}

/** As wide as its widest number. */
function room(_, values) {
  return 14 + 7 * greatest((values ?? []).map(({ length }) => length).concat(1));
}

/** Both are {low, high, format}; where x has a unit, it is logarithmic beyond it. */
function frame(x, y) {
  const bent = x.unit ? { splits: logTicks, filter: (_, ticks) => ticks } : {};
  return {
    padding: [10, 16, 0, 0],
    scales: {
      x: { time: false, range: [x.low, x.high], distr: x.unit ? 4 : 1, asinh: x.unit || 1 },
      y: { range: [y.low, y.high] },
    },
    axes: [axis(x.format, { size: 30, ...bent }), axis(y.format, { size: room })],
  };
}

/** The first step and powers of ten, then fives and twos where they fit. */
function logTicks(chart, _, low, high) {
  const gap = (a, b) => Math.abs(chart.valToPos(a, "x") - chart.valToPos(b, "x"));
  const found = [low];
  for (const factor of [1, 5, 2])
    for (let tick = factor; tick <= high; tick *= 10)
      if (tick > low && found.every((other) => gap(other, tick) >= 44)) found.push(tick);
  return found.sort((a, b) => a - b);
}

/** Every line is three series: the band's upper edge, its lower edge and the middle. */
function threefold(lines) {
  const series = lines.flatMap(({ name, colour, dash, shown }) => {
    const edge = { label: name, show: shown, points: { show: false } };
    const dashes = dash ? dash.split(" ").map(Number) : [];
    const middle = { ...edge, stroke: () => readable(colour), width: 2, dash: dashes };
    return [edge, { ...edge }, middle];
  });
  const bands = lines.map(({ colour }, i) => ({
    series: [3 * i + 1, 3 * i + 2],
    fill: () => readable(colour, 0.13),
  }));
  return { series: [{}, ...series], bands, focus: { alpha: 0.15 } };
}

/** The cursor stands at a step, never between two. */
function snap(chart, left, top) {
  if (left < 0) return [left, top];
  return [chart.valToPos(chart.data[0][chart.posToIdx(left)], "x"), top];
}

/**
 * A chart of lines with bands, a cursor and a tooltip.
 *
 * `describe` says what to draw now: {lines, x, y, heading, show, better}. Returns the
 * function that draws it again.
 */
function chart(stage, describe) {
  const plot = stage.querySelector(".plot");
  const build = () => {
    const now = describe();
    const lines = [...now.lines].reverse(); // the first is drawn last, on top of the others
    const tell = (drawn) => say(stage, drawn, { ...now, lines });
    return {
      ...frame(now.x, now.y),
      ...threefold(lines),
      cursor: { y: false, drag: { x: false }, move: snap, points: { size: 8 } },
      hooks: { ready: [tell], setCursor: [tell] },
      data: uPlot.join(lines.map(({ x, high, low, y }) => [x, high, low, y])),
    };
  };
  followHands(stage, plot);
  return mount(plot, build);
}

/** The values at a step, best first. */
function readings({ lines, better }, data, at) {
  const found = lines.map((line, i) => {
    const [high, low, value] = [1, 2, 3].map((part) => data[3 * i + part][at]);
    return { line, value, low, high };
  });
  const shown = found.filter(({ line, value }) => line.shown && known(value)).reverse();
  return shown.sort((a, b) => (better === "lower" ? a.value - b.value : b.value - a.value));
}

/** Say what stands at the cursor: in the tooltip, and to a screen reader. */
function say(stage, { data, cursor, over }, now) {
  const [tip, slider] = [stage.querySelector(".tip"), stage.querySelector("input")];
  slider.max = data[0].length - 1;
  slider.value = cursor.idx ?? slider.max;
  const found = readings(now, data, slider.value);
  const heading = now.heading(data[0][slider.value]);
  const text = found.map(({ line, value }) => `${line.name} ${now.show(value)}`);
  slider.ariaValueText = found.length ? [heading, ...text].join(", ") : "no line is shown";
  tip.hidden = !known(cursor.idx) || !found.length;
  if (tip.hidden) return;
  tip.replaceChildren(make("p", {}, heading), readingTable(found, now.show));
  const { bottom } = stage.getBoundingClientRect();
  tip.classList.toggle("left", cursor.left > over.clientWidth / 2);
  tip.classList.toggle("above", bottom + tip.offsetHeight > innerHeight); // where it is docked
}

function readingTable(found, show) {
  const rows = found.map(({ line, value, low, high }) => {
    const name = make("th", {}, swatch(line), make("span", {}, line.name));
    const interval = make("td", { class: "interval" }, `[${show(low)}, ${show(high)}]`);
    return make("tr", {}, name, make("td", {}, show(value)), interval);
  });
  return make("table", {}, ...rows);
}

/** The mouse is uPlot's matter; fingers and the keys of a slider are ours. */
function followHands(stage, plot) {
  const slider = stage.querySelector("input");
  const hide = () => plot.chart?.setCursor({ left: -10, top: -10 });
  const put = (left) => plot.chart.setCursor({ left, top: 0 });
  plot.addEventListener("pointermove", ({ pointerType, clientX }) => {
    const { left, width } = plot.chart.over.getBoundingClientRect();
    if (pointerType !== "mouse") put(clamp(clientX - left, 0, width));
  });
  document.addEventListener("pointerdown", ({ target }) => stage.contains(target) || hide());
  slider.addEventListener("input", () => {
    put(plot.chart.valToPos(plot.chart.data[0][slider.value], "x"));
  });
  slider.addEventListener("keydown", ({ key }) => key === "Escape" && hide());
  slider.addEventListener("blur", hide);
}
