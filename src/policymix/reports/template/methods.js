// How the methods compare: curves, profile, sweeps and the table that sorts.

/** A board is what a domain's charts share: which methods are shown, and how. */
function change(board, changes) {
  Object.assign(board, changes);
  for (const tell of board.changed) tell();
}

/** Buttons that switch the methods on and off. */
function buildLegend(section, panel, board) {
  const { methods } = board.domain;
  const wanted = { all: () => true, none: () => false, most: (kind) => kind !== "yardstick" };
  for (const button of panel.querySelectorAll("[data-choose]")) {
    const test = wanted[button.dataset.choose];
    const choose = () => change(board, { shown: methods.map(({ kind }) => test(kind)) });
    button.addEventListener("click", choose);
  }
  for (const button of panel.querySelectorAll(".method")) {
    const i = Number(button.dataset.method);
    const refresh = () => button.setAttribute("aria-pressed", board.shown[i]);
    const flip = () => change(board, { shown: board.shown.map((on, j) => on !== (i === j)) });
    button.addEventListener("click", flip);
    button.addEventListener("pointerenter", () => emphasise(section, methods[i].name));
    button.addEventListener("pointerleave", () => emphasise(section, null));
    board.changed.push(refresh);
    refresh();
  }
}

/** Let the other lines step back, if this one is shown. */
function emphasise(section, name) {
  for (const { chart } of section.querySelectorAll(".with-legend .plot")) {
    const found = chart.series.findLastIndex(({ label, show }) => show && label === name);
    chart.setSeries(found < 0 ? null : found, { focus: true });
  }
}

/** A line of the page's data, under the names that a chart knows. */
function lineOf(method, statistic, shown) {
  const { name, colour, dash = "", steps } = method;
  const [low, high] = [method[`${statistic}_low`], method[`${statistic}_high`]];
  return { name, colour, dash, shown, x: steps, y: method[statistic], low, high };
}

/** A chart of scores over samples; its axes span the lines in `scope`. */
function scoreSpec(domain, lines, scope, scale) {
  const steps = scope.flatMap(({ x }) => x);
  const [first, last] = extent(steps);
  const [low, high] = extent(scope.flatMap((line) => [line.y, line.low, line.high]));
  const air = (high - low || Math.abs(high) || 1) * 0.04;
  const limits = domain.limits ?? [low - air, high + air];
  const unit = scale === "log" ? least(steps.filter((step) => step > 0)) : 0;
  return {
    lines,
    x: { low: first, high: Math.max(last, first + 1), unit, format: short },
    y: { low: limits[0], high: limits[1], format: short },
    heading: after,
    show: figure,
    better: domain.better,
  };
}

function curveSpec({ domain, shown, tested, statistic, scale }) {
  const told = domain.methods.map((method) => (tested === "alone" ? method.alone : method));
  const lines = domain.methods.map((method, i) =>
    lineOf({ ...method, ...told[i] }, statistic, shown[i] && told[i] !== null));
  const visible = lines.filter((line) => line.shown);
  return scoreSpec(domain, lines, visible.length ? visible : lines, scale);
}

function buildCurves(section, board) {
  const panel = section.querySelector("[data-part=curves]");
  const captions = [...panel.querySelectorAll(".caption")];
  const explain = () =>
    captions.forEach((one) => (one.hidden = one.dataset.statistic !== board.statistic));
  for (const input of panel.querySelectorAll(".choice input"))
    input.addEventListener("change", () => change(board, { [input.dataset.of]: input.value }));
  buildLegend(section, panel, board);
  const draw = chart(panel.querySelector(".stage"), () => curveSpec(board));
  board.changed.push(explain, draw);
}

function profileSpec({ domain, shown }) {
  const { thresholds, methods } = domain.profile;
  const share = (value) => (known(value) ? percent(100 * value) : "–");
  const [low, high] = extent(thresholds);
  const lines = domain.methods.flatMap(({ name, colour, dash }, i) => {
    const looks = { colour, dash, shown: shown[i], x: thresholds };
    const own = methods.filter((profile) => profile.name === name);
    return own.map((profile) => ({ ...profile, ...looks, y: profile.share }));
  });
  return {
    lines,
    x: { low, high, format: short },
    y: { low: 0, high: 1, format: share },
    heading: (threshold) => `at ${figure(threshold)}`,
    show: share,
    better: "higher",
  };
}

function buildProfile(section, board) {
  const panel = section.querySelector("[data-part=profile]");
  if (!panel) return;
  buildLegend(section, panel, board);
  board.changed.push(chart(panel.querySelector(".stage"), () => profileSpec(board)));
}

/** All sweeps of a domain have the same axes. */
function buildSweeps(section, domain) {
  const sweeps = domain.sweeps.map(({ series }) => series.map((one) => lineOf(one, "mean", true)));
  const stages = section.querySelectorAll("[data-part=sweeps] .stage");
  stages.forEach((stage, i) => chart(stage, () => scoreSpec(domain, sweeps[i], sweeps.flat())));
}

/** Places of the rows in order; those without a value come last either way. */
function sorted(rows, column, direction) {
  const keys = rows.map(({ method, order }) => (column ? order[column - 1] : method));
  return [...keys.keys()].sort((i, j) => {
    const [a, b] = [keys[i], keys[j]];
    if (!known(a) || !known(b)) return known(b) - known(a);
    return direction * (a < b ? -1 : a > b ? 1 : 0);
  });
}

function buildSummary(section, domain) {
  const table = section.querySelector("[data-part=summary]");
  const body = table.tBodies[0];
  const lines = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = make("button", { type: "button" }, head.textContent);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const order = sorted(domain.summary.rows, column, down ? -1 : 1);
      body.append(...order.map((i) => lines[i]));
    });
    head.replaceChildren(button);
  });
}
