// Which source is trusted where, as it is learned.

// A scene says what its axes span and lists the places of a step: `at` is a place's
// middle on these axes, `size` its size there (none for a point on a path).

function cellsScene({ rows, columns, walls, weights, start, goal }) {
  const spot = (here, cell) => {
    const [row, column] = [Math.floor(cell / columns), cell % columns];
    return {
      at: [column + 0.5, rows - row - 0.5],
      size: [1, 1],
      weights: walls[cell] ? null : here,
      mark: { [start]: "●", [goal]: "★" }[cell],
      label: `row ${row}, column ${column}`,
    };
  };
  const [x, y] = [columns, rows].map((high) => ({ low: 0, high }));
  return { x, y, stride: columns, spots: (step) => weights[step].map(spot) };
}

/** An axis on which every value is the middle of a cell. */
function cellAxis({ values }) {
  const size = (values.at(-1) - values[0]) / (values.length - 1 || 1) || 1;
  return { size, low: values[0] - size / 2, high: values.at(-1) + size / 2 };
}

function planeScene({ x, y, weights }) {
  const [across, up] = [cellAxis(x), cellAxis(y)];
  const spot = (row) => (here, column) => ({
    at: [x.values[column], y.values[row]],
    size: [across.size, up.size],
    weights: here,
    label: `${x.label}: ${figure(x.values[column])}; ${y.label}: ${figure(y.values[row])}`,
  });
  const line = (here, row) => here.map(spot(row));
  const spots = (step) => weights[step].map(line).reverse().flat();
  return { x: across, y: up, stride: x.values.length, spots };
}

function pathsScene({ x, y, paths }) {
  const line = (path, episode) =>
    path.x.map((left, i) => ({
      at: [left, path.y[i]],
      size: [0, 0],
      weights: path.weights[i],
      mark: { 0: "●", [path.x.length - 1]: "◆" }[i],
      first: i === 0,
      label: `episode ${episode + 1} at (${figure(left)}, ${figure(path.y[i])})`,
    }));
  return { x, y, stride: 10, ground: 0, spots: (step) => paths[step].flatMap(line) };
}

/** Visited states by two of their numbers, each a small square. */
function pointsScene({ labels, axes, states, weights }) {
  const side = (axis) => {
    const [low, high] = extent(states.map((state) => state[axis]));
    const size = (high - low || 1) / 60;
    return { low: low - 2 * size, high: high + 2 * size, size };
  };
  const [x, y] = axes.map(side);
  const spot = (here, i) => ({
    at: axes.map((axis) => states[i][axis]),
    size: [x.size, y.size],
    weights: here,
    label: axes.map((axis) => `${labels[axis]}: ${figure(states[i][axis])}`).join("; "),
  });
  return { x, y, stride: 10, spots: (step) => weights[step].map(spot) };
}

const SCENES = { cells: cellsScene, plane: planeScene, paths: pathsScene, points: pointsScene };

const trusting = (spots) => spots.filter(({ weights }) => weights && total(weights) > 0);

/** Counts as whole percents that add up to 100: their sums are what is rounded. */
function percents(counts) {
  const upTo = (i) => Math.round((100 * total(counts.slice(0, i))) / (total(counts) || 1));
  return counts.map((_, i) => upTo(i + 1) - upTo(i));
}

/** In what share of the places each source is the most trusted, in words. */
function shares(spots, sources) {
  const names = [...sources.map(({ name }) => name), "a tie"];
  const counts = names.map(() => 0);
  for (const { weights } of trusting(spots)) {
    const top = greatest(weights);
    const tie = weights.filter((weight) => weight === top).length > 1;
    counts[tie ? sources.length : weights.indexOf(top)] += 1;
  }
  const said = percents(counts).map((share, i) => share > 0 && `${names[i]} ${percent(share)}`);
  return said.filter(Boolean).join(", ");
}

function meanWeights(spots, sources) {
  const places = trusting(spots).map(({ weights }) => weights);
  return sources.map((_, i) => total(places.map((weights) => weights[i])) / (places.length || 1));
}

// ---- The picture --------------------------------------------------------------------

/** Weights to a colour: a mixture of all sources as light, or the heat of one. */
function tinter(sources, only) {
  const empty = rgb("var(--raised)");
  const colours = sources.map(({ colour }) => rgb(colour));
  const heat = (w) => empty.map((part, i) => part + ((colours[only][i] - part) * w[only]) / 100);
  const light = (w, i) => total(w.map((one, j) => (one / total(w)) * colours[j][i] ** 2.2));
  const mixture = (w) => (total(w) ? empty.map((_, i) => light(w, i) ** (1 / 2.2)) : empty);
  return (weights) => css(only === null ? mixture(weights) : heat(weights));
}

/** Draw the places onto the chart's canvas, inside its axes. */
function paint({ scene, sources, only, spots, place }, chart) {
  const { ctx: pen, bbox } = chart;
  const { pxRatio } = uPlot;
  const at = ([x, y]) => [chart.valToPos(x, "x", true), chart.valToPos(y, "y", true)];
  const box = ({ at: [x, y], size: [width, height] }, air = 0) => {
    const [left, top] = at([x - width / 2, y + height / 2]).map(Math.round);
    const [right, bottom] = at([x + width / 2, y - height / 2]).map(Math.round);
    return [left - air, top - air, right - left + 2 * air, bottom - top + 2 * air];
  };
  const tint = tinter(sources, only);
  pen.save();
  pen.beginPath();
  pen.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  pen.clip();
  if (known(scene.ground)) {
    pen.fillStyle = themed("strong");
    pen.fillRect(bbox.left, at([0, scene.ground])[1], bbox.width, 2 * pxRatio);
  }
  pen.lineWidth = 2.5 * pxRatio;
  pen.lineCap = "round";
  spots.forEach((spot, i) => {
    pen.fillStyle = pen.strokeStyle = spot.weights ? tint(spot.weights) : themed("wall");
    if (spot.size[0]) pen.fillRect(...box(spot));
    else if (!spot.first) pen.stroke(new Path2D(`M${at(spots[i - 1].at)}L${at(spot.at)}`));
  });
  for (const spot of spots.filter(({ mark }) => mark))
    paintMark(pen, spot.mark, at(spot.at), Math.max(box(spot)[2], 14 * pxRatio));
  if (place !== null) {
    const area = box(spots[place], (spots[place].size[0] ? 1 : 6) * pxRatio);
    outline(pen, 2, () => pen.strokeRect(...area));
  }
  pen.restore();
}

function paintMark(pen, mark, [x, y], size) {
  pen.font = `${size}px sans-serif`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  outline(pen, 1, () => pen.strokeText(mark, x, y));
  pen.fillStyle = "#fff";
  pen.fillText(mark, x, y);
}

/** White inside black, which shows on every colour. */
function outline(pen, width, stroke) {
  for (const [colour, times] of Object.entries({ "#000": 2, "#fff": 1 })) {
    pen.strokeStyle = colour;
    pen.lineWidth = times * width * uPlot.pxRatio;
    stroke();
  }
}

/** An empty chart whose axes frame the picture. */
function beliefChart(show) {
  const { x, y } = show.scene;
  const bare = { axes: [{ show: false }, { show: false }], padding: [0, 0, 0, 0] };
  return {
    ...frame({ ...x, format: short }, { ...y, format: short }),
    ...(show.kind === "cells" ? bare : {}),
    cursor: { show: false },
    series: [{}],
    hooks: { draw: [(chart) => paint(show, chart)] },
    data: [[x.low, x.high]],
  };
}

// ---- The controls -------------------------------------------------------------------

function buildBelief(section, belief) {
  const panel = section.querySelector("[data-part=belief]");
  if (!panel) return;
  const scene = SCENES[belief.kind](belief);
  const show = { ...belief, scene, only: null, place: null, timer: null };
  for (const name of ["plot", "when", "share", "where", "scored", "ramp", "play", "slider"])
    show[name] = panel.querySelector(`.${name}`);
  show.bars = panel.querySelectorAll(".bar");
  show.bars.forEach((bar, i) => bar.style.setProperty("--own", belief.sources[i].colour));
  for (const input of panel.querySelectorAll("[type=radio]")) {
    const only = input.value === "all" ? null : Number(input.value);
    input.addEventListener("change", () => update(show, { only }));
  }
  show.slider.addEventListener("input", () => {
    play(show, false);
    update(show, { step: Number(show.slider.value) });
  });
  show.play.addEventListener("click", () => play(show, !show.timer));
  if (belief.kind === "cells") show.plot.style.aspectRatio = scene.x.high / scene.y.high;
  update(show, { step: belief.steps.length - 1 });
  followPlaces(show);
  const build = mount(show.plot, () => beliefChart(show));
  for (const input of panel.querySelectorAll("select"))
    input.addEventListener("change", () => {
      const side = Number(input.dataset.side);
      const axes = show.axes.with(side, Number(input.value));
      panel.querySelectorAll(".axis")[1 - side].textContent = belief.labels[input.value];
      update(show, { axes, scene: pointsScene({ ...belief, axes }), place: null });
      build();
    });
}

/** Change what is shown, then say and draw it. */
function update(show, changes) {
  Object.assign(show, changes);
  const spots = (show.spots = show.scene.spots(show.step));
  if (show.place >= spots.length) show.place = null;
  const spot = spots[show.place];
  const when = after(show.steps[show.step]);
  const share = shares(spots, show.sources);
  const hint = "Arrow keys go from place to place.";
  show.plot.ariaLabel = `Weights of the sources ${when}. Most trusted: ${share}. ${hint}`;
  show.slider.value = show.step;
  show.slider.ariaValueText = `${when}: ${share}`;
  show.when.textContent = when;
  show.share.textContent = share;
  show.where.textContent = `Weights, ${spot ? spot.label : "mean of all places"}`;
  const scores = show.scores?.[show.step].map(figure).join(", ");
  show.scored.textContent = scores ? `Scores of the episodes: ${scores}` : "";
  show.ramp.hidden = show.only === null;
  show.ramp.style.setProperty("--own", show.sources[show.only]?.colour ?? "");
  const weights = spot ? spot.weights : meanWeights(spots, show.sources);
  show.bars.forEach((bar, i) => {
    bar.style.setProperty("--share", `${weights[i]}%`);
    bar.nextElementSibling.textContent = percent(weights[i]);
  });
  show.plot.chart?.redraw(false);
}

/** Run through the steps, or stop. */
function play(show, on) {
  const last = show.steps.length - 1;
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const advance = () => {
    update(show, { step: Math.min(show.step + 1, last) });
    if (show.step === last) play(show, false);
  };
  clearInterval(show.timer);
  show.timer = on && setInterval(advance, calm ? 1000 : clamp(9000 / (last || 1), 60, 600));
  show.play.textContent = on ? "Pause" : "Play";
  if (on && show.step === last) update(show, { step: 0 });
}

/** The place under the pointer; for paths, the nearest point close by. */
function placeAt({ plot, spots }, { clientX, clientY }) {
  const { left, top } = plot.chart.over.getBoundingClientRect();
  const away = (value, scale, place) => plot.chart.valToPos(value, scale) - place;
  const far = spots.map(({ at: [x, y] }) =>
    Math.hypot(away(x, "x", clientX - left), away(y, "y", clientY - top)),
  );
  const found = far.indexOf(least(far));
  if (found < 0 || !spots[found].weights) return null;
  return spots[found].size[0] || far[found] < 32 ? found : null;
}

/** The next place in a direction that is not a wall. */
function nextPlace({ spots, place }, move) {
  let next = place ?? (move > 0 ? -1 : spots.length);
  do next += move;
  while (spots[next] && !spots[next].weights);
  return spots[next] ? next : place;
}

function followPlaces(show) {
  const { plot, scene } = show;
  const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -scene.stride, ArrowDown: scene.stride };
  const go = (place) => place !== show.place && update(show, { place });
  const follow = (event) => go(event.target === plot.chart.over ? placeAt(show, event) : null);
  plot.addEventListener("pointermove", follow);
  plot.addEventListener("pointerdown", follow);
  plot.addEventListener("pointerleave", ({ pointerType }) => pointerType === "mouse" && go(null));
  plot.addEventListener("blur", () => go(null));
  plot.addEventListener("keydown", (event) => {
    if (event.key === "Escape") go(null);
    else if (event.key in moves) go(nextPlace(show, moves[event.key]));
    else return;
    event.preventDefault();
  });
}
