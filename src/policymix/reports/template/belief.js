// Which source is trusted where, as it is learned.

// ---- Belief: places -----------------------------------------------------------------
// A scene lists the places of a step, in parts of the picture's width and height:
// {x, y} is a place's middle, {width, height} its size (none for a point on a path).

function cellsScene({ rows, columns, walls, weights, start, goal }) {
  const spot = (at, cell) => ({
    x: ((cell % columns) + 0.5) / columns,
    y: (Math.floor(cell / columns) + 0.5) / rows,
    width: 1 / columns,
    height: 1 / rows,
    weights: walls[cell] ? null : at,
    label: `row ${Math.floor(cell / columns)}, column ${cell % columns}`,
  });
  return {
    ratio: columns / rows,
    stride: columns,
    spots: (step) => weights[step].map(spot),
    marks: { start, goal },
    key: ["start", "goal", "wall"],
  };
}

function gridAxis({ label, values }) {
  const [first, last] = [values[0], values[values.length - 1]];
  const half = (last - first) / (values.length - 1 || 1) / 2 || 0.5;
  return { label, format: short, low: first - half, high: last + half };
}

function planeScene({ x, y, weights }) {
  const [columns, rows] = [x.values.length, y.values.length];
  const say = ({ label, values }, i) => `${label}: ${figure(values[i])}`;
  const spot = (at, column, row) => ({
    x: (column + 0.5) / columns,
    y: 1 - (row + 0.5) / rows,
    width: 1 / columns,
    height: 1 / rows,
    weights: at,
    label: `${say(x, column)}; ${say(y, row)}`,
  });
  const line = (at, row) => at.map((cell, column) => spot(cell, column, row));
  return {
    ratio: 1.35,
    stride: columns,
    axes: [gridAxis(x), gridAxis(y)],
    spots: (step) => weights[step].map(line).reverse().flat(),
    marks: {},
    key: [],
  };
}

function pathsScene({ x, y, paths, scores }) {
  const across = scale([x.low, x.high], [0, 1]);
  const down = scale([y.low, y.high], [1, 0]);
  const spot = (path, episode, i) => ({
    x: across(path.x[i]),
    y: down(path.y[i]),
    width: 0,
    height: 0,
    weights: path.weights[i],
    first: i === 0,
    last: i === path.x.length - 1,
    label: `episode ${episode + 1} at (${figure(path.x[i])}, ${figure(path.y[i])})`,
  });
  return {
    ratio: 1.35,
    stride: 10,
    axes: [
      { ...x, format: short },
      { ...y, format: short },
    ],
    ground: down(0),
    spots: (step) =>
      paths[step].flatMap((path, episode) =>
        path.x.map((_, i) => spot(path, episode, i)),
      ),
    scores: (step) => scores[step],
    marks: {},
    key: ["start", "end", "ground"],
  };
}

const SCENES = { cells: cellsScene, plane: planeScene, paths: pathsScene };

// ---- Belief: what the places say ----------------------------------------------------

const total = (weights) => weights.reduce((sum, weight) => sum + weight, 0);
const trusting = (spots) =>
  spots.filter(({ weights }) => weights && total(weights) > 0);

/** The source with the greatest weight; -1 for a tie. */
function favourite(weights) {
  const top = Math.max(...weights);
  return weights.filter((weight) => weight === top).length > 1
    ? -1
    : weights.indexOf(top);
}

/** Counts as whole percents that add up to 100: the greatest remainders are raised. */
function percents(counts) {
  const exact = counts.map((count) => (100 * count) / (total(counts) || 1));
  const floors = exact.map(Math.floor);
  const order = counts.map((_, i) => i);
  order.sort((a, b) => exact[b] - floors[b] - (exact[a] - floors[a]));
  const missing = Math.round(total(exact)) - total(floors);
  for (const i of order.slice(0, missing)) floors[i] += 1;
  return floors;
}

/** In what share of the places each source is the most trusted, in words. */
function shares(spots, sources) {
  const names = [...sources.map(({ name }) => name), "a tie"];
  const counts = names.map(() => 0);
  for (const { weights } of trusting(spots)) {
    const best = favourite(weights);
    counts[best < 0 ? sources.length : best] += 1;
  }
  const found = percents(counts).map((share, i) => [names[i], share]);
  const shown = found.filter(([, share]) => share > 0);
  return shown.map(([name, share]) => `${name} ${percent(share)}`).join(", ");
}

function meanWeights(spots, sources) {
  const places = trusting(spots);
  return sources.map(
    (_, i) => total(places.map(({ weights }) => weights[i])) / (places.length || 1),
  );
}

/** The sources' colours, mixed as light by their weights. */
function mixture(weights, colours, empty) {
  const sum = total(weights);
  if (!sum) return css(empty);
  const light = (part) =>
    total(weights.map((w, i) => (w / sum) * colours[i][part] ** 2.2));
  return css([0, 1, 2].map((part) => light(part) ** (1 / 2.2)));
}

// ---- Belief: the picture ------------------------------------------------------------

/** A canvas in device pixels, inside axes where the scene has some. */
function layOut({ scene, view, canvas, picture }) {
  const [width, height] = [view.clientWidth, view.clientHeight];
  const frame = scene.axes && frameOf(width, height, ...scene.axes);
  const box = frame ? frame.box : { left: 0, top: 0, right: width, bottom: height };
  picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  picture.replaceChildren(...(frame ? axes(frame) : []));
  canvas.style.left = `${box.left}px`;
  canvas.style.top = `${box.top}px`;
  canvas.style.width = `${box.right - box.left}px`;
  canvas.style.height = `${box.bottom - box.top}px`;
  canvas.width = Math.round((box.right - box.left) * devicePixelRatio);
  canvas.height = Math.round((box.bottom - box.top) * devicePixelRatio);
}

function paint(show) {
  const { canvas, scene, state, spots } = show;
  if (!canvas.width) return;
  const pen = canvas.getContext("2d");
  const colours = { ink: themed("ink"), wall: themed("wall"), empty: themed("empty") };
  const tint = tinter(show, colours.empty);
  pen.clearRect(0, 0, canvas.width, canvas.height);
  if (known(scene.ground)) paintGround(pen, canvas, scene.ground, colours);
  if (show.belief.kind === "paths") paintPaths(pen, canvas, spots, tint, colours);
  else paintGrid(pen, canvas, spots, tint, css(colours.wall));
  paintMarks(pen, show);
  if (state.place !== null) paintRing(pen, canvas, spots[state.place]);
}

/** Weights to a colour: a mixture of all sources, or the heat of one. */
function tinter({ state, colours }, empty) {
  if (state.only === null) return (weights) => mixture(weights, colours, empty);
  return (weights) => css(blend(empty, colours[state.only], weights[state.only] / 100));
}

function paintGrid(pen, canvas, spots, tint, wall) {
  for (const { x, y, width, height, weights } of spots) {
    const left = Math.round((x - width / 2) * canvas.width);
    const top = Math.round((y - height / 2) * canvas.height);
    const right = Math.round((x + width / 2) * canvas.width);
    const bottom = Math.round((y + height / 2) * canvas.height);
    pen.fillStyle = weights ? tint(weights) : wall;
    pen.fillRect(left, top, right - left, bottom - top);
  }
}

function paintGround(pen, canvas, ground, { ink, empty }) {
  const top = Math.round(ground * canvas.height);
  pen.fillStyle = css(blend(empty, ink, 0.12));
  pen.fillRect(0, top, canvas.width, canvas.height - top);
  pen.fillStyle = css(ink);
  pen.fillRect(0, top, canvas.width, Math.ceil(devicePixelRatio));
}

function paintPaths(pen, canvas, spots, tint, { ink, empty }) {
  const at = ({ x, y }) => [x * canvas.width, y * canvas.height];
  pen.lineWidth = 2.5 * devicePixelRatio;
  pen.lineCap = "round";
  spots.forEach((spot, i) => {
    if (spot.first) return;
    pen.strokeStyle = tint(spot.weights);
    pen.beginPath();
    pen.moveTo(...at(spots[i - 1]));
    pen.lineTo(...at(spot));
    pen.stroke();
  });
  const ends = spots.filter(({ first, last }) => first || last);
  for (const spot of ends)
    paintDot(pen, ...at(spot), 4, css(ink), css(spot.first ? empty : ink));
}

function paintDot(pen, x, y, radius, line, inside) {
  pen.beginPath();
  pen.arc(x, y, radius * devicePixelRatio, 0, 2 * Math.PI);
  pen.lineWidth = 1.5 * devicePixelRatio;
  pen.fillStyle = inside;
  pen.strokeStyle = line;
  pen.fill();
  pen.stroke();
}

function paintMarks(pen, { canvas, scene, spots }) {
  for (const [name, index] of Object.entries(scene.marks)) {
    if (!known(index)) continue;
    const { x, y, width } = spots[index];
    const radius = Math.max(0.42 * width * canvas.width, 6 * devicePixelRatio);
    const corners = name === "goal" ? star(radius) : ring(radius * 0.85);
    pen.beginPath();
    for (const [dx, dy] of corners)
      pen.lineTo(x * canvas.width + dx, y * canvas.height + dy);
    pen.closePath();
    pen.fillStyle = "#fff";
    pen.strokeStyle = "#000";
    pen.lineWidth = 1.5 * devicePixelRatio;
    pen.stroke();
    pen.fill();
  }
}

function polygon(corners, radiusOf) {
  return Array.from({ length: corners }, (_, i) => {
    const angle = (2 * Math.PI * i) / corners - Math.PI / 2;
    return [radiusOf(i) * Math.cos(angle), radiusOf(i) * Math.sin(angle)];
  });
}

const star = (radius) => polygon(10, (i) => (i % 2 ? 0.48 : 1.15) * radius);
const ring = (radius) => polygon(32, () => radius);

function paintRing(pen, canvas, { x, y, width, height }) {
  const air = (width ? 1 : 6) * devicePixelRatio;
  const left = (x - width / 2) * canvas.width - air;
  const top = (y - height / 2) * canvas.height - air;
  const size = [width * canvas.width + 2 * air, height * canvas.height + 2 * air];
  for (const [colour, line] of [
    ["#000", 4],
    ["#fff", 2],
  ]) {
    pen.strokeStyle = colour;
    pen.lineWidth = line * devicePixelRatio;
    pen.strokeRect(left, top, ...size);
  }
}

// ---- Belief: the controls -----------------------------------------------------------

function buildBelief(section, belief) {
  const panel = section.querySelector("[data-part=belief]");
  if (!panel) return;
  const show = {
    belief,
    scene: SCENES[belief.kind](belief),
    colours: belief.sources.map(({ colour }) => rgb(colour)),
    state: { step: belief.steps.length - 1, only: null, place: null, timer: null },
    view: make("div", { class: "view" }),
    picture: shape("svg", { "aria-hidden": "true" }),
    canvas: make("canvas", { tabindex: "0", role: "img" }),
    when: make("p", { class: "when" }),
    where: make("p", { class: "where", "aria-live": "polite" }),
    share: make("p", { class: "share" }),
    scores: make("p", { class: "scores" }),
    ramp: make("div", { class: "ramp" }, "0 %", make("span"), "100 %"),
  };
  show.slider = stepSlider(show);
  show.player = button("Play", () => (show.state.timer ? pause(show) : play(show)), {
    class: "play",
  });
  show.rows = belief.sources.map((source, i) => sourceRow(show, source, i));
  show.view.style.aspectRatio = show.scene.ratio;
  show.view.append(show.picture, show.canvas);
  panel.append(
    make("div", { class: `belief ${belief.kind}` }, show.view, controls(show)),
  );
  followPlaces(show);
  new ResizeObserver(() => arrange(show)).observe(show.view);
  redraws.push(() => paint(show));
  goTo(show, show.state.step);
}

function controls(show) {
  const name = `choice-${++groups}`;
  const all = sourceChoice(show, name, null, "all sources, mixed");
  show.rows.forEach(({ row }, i) =>
    row.prepend(sourceChoice(show, name, i, show.belief.sources[i].name)),
  );
  const set = make(
    "fieldset",
    { class: "sources" },
    make("legend", {}, "Colour by"),
    all,
  );
  set.append(show.ramp, show.where, ...show.rows.map(({ row }) => row));
  return make(
    "div",
    { class: "controls" },
    show.when,
    make("div", { class: "time" }, show.player, show.slider),
    make("h4", {}, "Most trusted"),
    show.share,
    set,
    show.scores,
    make(
      "ul",
      { class: "key" },
      ...show.scene.key.map((mark) => make("li", { class: mark }, mark)),
    ),
  );
}

function sourceChoice(show, name, only, text) {
  const input = make("input", { type: "radio", name });
  input.checked = only === null;
  input.addEventListener("change", () => {
    show.state.only = only;
    refresh(show);
  });
  return make("label", {}, input, make("span", {}, text));
}

/** A source's name, colour and weight. */
function sourceRow(show, { name }, i) {
  const bar = make("span");
  const value = make("span", { class: "value" });
  const row = make(
    "div",
    { class: "source", "data-name": name },
    make("span", { class: "bar" }, bar),
    value,
  );
  bar.style.background = css(show.colours[i]);
  row.style.setProperty("--own", css(show.colours[i]));
  return { row, bar, value };
}

function stepSlider(show) {
  const last = show.belief.steps.length - 1;
  const look = {
    type: "range",
    min: 0,
    max: last,
    step: 1,
    "aria-label": "samples of the target",
  };
  const slider = make("input", look);
  slider.addEventListener("input", () => {
    pause(show);
    goTo(show, Number(slider.value));
  });
  return slider;
}

function goTo(show, step) {
  show.state.step = step;
  show.spots = show.scene.spots(step);
  if (show.state.place >= show.spots.length) show.state.place = null;
  show.slider.value = step;
  refresh(show);
}

function arrange(show) {
  if (!show.view.clientWidth) return;
  layOut(show);
  paint(show);
}

/** Say and draw the state. */
function refresh(show) {
  const { belief, scene, state, spots } = show;
  const when = after(belief.steps[state.step]);
  const share = shares(spots, belief.sources);
  show.when.textContent = when;
  show.share.textContent = share;
  show.slider.setAttribute("aria-valuetext", `${when}: ${share}`);
  const said = `Weights of the sources ${when}. Most trusted: ${share}.`;
  show.canvas.setAttribute("aria-label", `${said} Arrow keys go from place to place.`);
  show.scores.textContent = scene.scores
    ? `Scores of the episodes: ${scene.scores(state.step).map(figure).join(", ")}`
    : "";
  show.ramp.hidden = state.only === null;
  if (state.only !== null)
    show.ramp.style.setProperty("--own", css(show.colours[state.only]));
  sayWeights(show);
  paint(show);
}

function sayWeights({ belief, spots, state, rows, where }) {
  const spot = state.place === null ? null : spots[state.place];
  const weights = spot ? spot.weights : meanWeights(spots, belief.sources);
  where.textContent = `Weights, ${spot ? spot.label : "mean of all places"}`;
  rows.forEach(({ bar, value }, i) => {
    bar.style.width = `${weights[i]}%`;
    value.textContent = percent(weights[i]);
  });
}

// ---- Belief: time and place ---------------------------------------------------------

function play(show) {
  const { belief, state } = show;
  const last = belief.steps.length - 1;
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (state.step === last) goTo(show, 0);
  state.timer = setInterval(
    () => {
      goTo(show, state.step + 1);
      if (state.step === last) pause(show);
    },
    calm ? 1000 : clamp(9000 / (last || 1), 60, 600),
  );
  show.player.textContent = "Pause";
}

function pause(show) {
  clearInterval(show.state.timer);
  show.state.timer = null;
  show.player.textContent = "Play";
}

function choose(show, place) {
  if (place === show.state.place) return;
  show.state.place = place;
  sayWeights(show);
  paint(show);
}

/** The place under the pointer; for paths, the nearest point close by. */
function placeAt({ canvas, spots }, event) {
  const outer = canvas.getBoundingClientRect();
  const far = ({ x, y }) =>
    Math.hypot(
      outer.left + x * outer.width - event.clientX,
      outer.top + y * outer.height - event.clientY,
    );
  const found = nearest(spots, far);
  if (found < 0 || !spots[found].weights) return null;
  return spots[found].width || far(spots[found]) < 32 ? found : null;
}

/** The next place in a direction that is not a wall. */
function nextPlace({ spots, state }, move) {
  let place = state.place === null ? (move > 0 ? -1 : spots.length) : state.place;
  do place += move;
  while (spots[place] && !spots[place].weights);
  return spots[place] ? place : state.place;
}

function followPlaces(show) {
  const { canvas, scene } = show;
  const moves = {
    ArrowLeft: -1,
    ArrowRight: 1,
    ArrowUp: -scene.stride,
    ArrowDown: scene.stride,
  };
  const follow = (event) => choose(show, placeAt(show, event));
  canvas.addEventListener("pointermove", follow);
  canvas.addEventListener("pointerdown", follow);
  canvas.addEventListener(
    "pointerleave",
    (event) => event.pointerType === "mouse" && choose(show, null),
  );
  canvas.addEventListener("blur", () => choose(show, null));
  canvas.addEventListener("keydown", (event) => {
    if (event.key === "Escape") choose(show, null);
    else if (event.key in moves) choose(show, nextPlace(show, moves[event.key]));
    else return;
    event.preventDefault();
  });
}
