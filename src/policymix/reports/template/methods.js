// How the methods compare: curves, profile, sweeps and the table that sorts.

// ---- Learning curves and profile ----------------------------------------------------

const KINDS = [
  ["ours", "ours"],
  ["baseline", "baselines"],
  ["yardstick", "yardsticks"],
];
const STATISTICS = {
  mean: ["mean ± standard error", "the mean; its band is one standard error"],
  iqm: [
    "interquartile mean, 95 % interval",
    "the mean of the middle half; its band is the 95 % interval",
  ],
};

/** What a domain's charts share: the methods that are switched on, and the switches. */
function boardOf(domain) {
  const shown = domain.methods.map((method) => !method.hidden);
  return { domain, shown, statistic: "mean", bent: false, changed: [] };
}

function change(board, changes) {
  Object.assign(board, changes);
  for (const tell of board.changed) tell();
}

/** Buttons that switch the methods on and off. */
function legend(board, section) {
  const box = make("div", { class: "legend", role: "group", "aria-label": "Methods" });
  const { methods } = board.domain;
  const where = (test) => () => change(board, { shown: methods.map(test) });
  box.append(
    make(
      "div",
      { class: "shortcuts" },
      button(
        "all",
        where(() => true),
      ),
      button(
        "none",
        where(() => false),
      ),
      button(
        "ours and baselines",
        where(({ kind }) => kind !== "yardstick"),
      ),
    ),
  );
  for (const [kind, title] of KINDS) {
    const members = methods.map((_, i) => i).filter((i) => methods[i].kind === kind);
    if (!members.length) continue;
    const row = make("div", { class: "members" });
    row.append(...members.map((i) => methodButton(board, i, section)));
    box.append(make("p", {}, title), row);
  }
  return box;
}

function methodButton(board, i, section) {
  const method = board.domain.methods[i];
  const flip = () =>
    change(board, { shown: board.shown.map((on, j) => (i === j ? !on : on)) });
  const element = button("", flip, {
    class: "method",
    "data-name": method.name,
    title: method.name,
  });
  const refresh = () => element.setAttribute("aria-pressed", board.shown[i]);
  element.append(swatch(method), make("span", {}, method.name));
  element.addEventListener("pointerenter", () => emphasise(section, method.name));
  element.addEventListener("pointerleave", () => emphasise(section, null));
  board.changed.push(refresh);
  refresh();
  return element;
}

/** Let the other lines step back, if this one is shown. */
function emphasise(section, name) {
  const lines = [...section.querySelectorAll(".curves .series")];
  const there = lines.some((line) => line.dataset.name === name);
  for (const line of lines)
    line.classList.toggle("faint", there && line.dataset.name !== name);
}

function curveSeries({ domain, shown, statistic }) {
  return domain.methods
    .filter((_, i) => shown[i])
    .map((method) => ({
      name: method.name,
      colour: method.colour,
      dash: method.dash,
      x: method.steps,
      y: method[statistic],
      low: method[`${statistic}_low`],
      high: method[`${statistic}_high`],
    }));
}

function measureAxis(domain, series) {
  const values = series.flatMap(({ y, low, high }) => [y, low, high]);
  const [low, high] = domain.limits ?? padded(extent(values));
  return {
    low,
    high,
    format: short,
    label: `${domain.measure} (${domain.better} is better)`,
  };
}

function stepAxis(series, bent) {
  const [low, high] = extent(series.map(({ x }) => x));
  const first = Math.min(...series.flatMap(({ x }) => x).filter((step) => step > 0));
  const unit = bent && Number.isFinite(first) ? first : 0;
  return { low, high, unit, format: short, label: "samples of the target" };
}

function curveSpec(board) {
  const { domain, shown } = board;
  const series = curveSeries(board);
  const scope = series.length
    ? series
    : curveSeries({ ...board, shown: shown.map(() => true) });
  return {
    label: `Learning curves of ${domain.title}: ${STATISTICS[board.statistic][0]}`,
    series,
    x: stepAxis(scope, board.bent),
    y: measureAxis(domain, scope),
    heading: after,
    show: figure,
    better: domain.better,
  };
}

function buildCurves(section, board) {
  const panel = section.querySelector("[data-part=curves]");
  const caption = make("p", { class: "caption" });
  const say = () => {
    const meaning = STATISTICS[board.statistic][1];
    caption.textContent = `Over ${board.domain.trials} trials: ${meaning}.`;
  };
  const plot = make("div", { class: "plot" });
  const names = Object.entries(STATISTICS).map(([key, [text]]) => [key, text]);
  const scales = [
    ["linear", "linear"],
    ["log", "log"],
  ];
  const switches = make(
    "div",
    { class: "switches" },
    choice("Line and band", names, "mean", (statistic) => change(board, { statistic })),
    choice("Samples", scales, "linear", (value) =>
      change(board, { bent: value === "log" }),
    ),
  );
  panel.append(
    caption,
    switches,
    make("div", { class: "with-legend" }, plot, legend(board, section)),
  );
  board.changed.push(
    say,
    chart(plot, () => curveSpec(board)),
  );
  say();
}

function profileSpec({ domain, shown }) {
  const { label, thresholds, methods } = domain.profile;
  const series = domain.methods.flatMap((method, i) => {
    const line = methods.find(({ name }) => name === method.name);
    if (!shown[i] || !line) return [];
    const { colour, dash } = method;
    return [
      {
        name: line.name,
        colour,
        dash,
        x: thresholds,
        y: line.share,
        low: line.low,
        high: line.high,
      },
    ];
  });
  const [low, high] = extent([thresholds]);
  const share = (value) => (known(value) ? percent(100 * value) : "–");
  return {
    label: `Performance profile of ${domain.title}`,
    series,
    x: { low, high, format: short, label },
    y: { low: 0, high: 1, format: share, label: "share of trials" },
    heading: (threshold) => `at ${figure(threshold)}`,
    show: share,
    better: "higher",
  };
}

function buildProfile(section, board) {
  const panel = section.querySelector("[data-part=profile]");
  if (!panel) return;
  const plot = make("div", { class: "plot" });
  panel.append(make("div", { class: "with-legend" }, plot, legend(board, section)));
  board.changed.push(chart(plot, () => profileSpec(board)));
}

// ---- Sweeps -------------------------------------------------------------------------

function sweepSeries({ name, colour, steps, mean, mean_low, mean_high }) {
  return { name, colour, dash: "", x: steps, y: mean, low: mean_low, high: mean_high };
}

function buildSweeps(section, domain) {
  const holder = section.querySelector("[data-part=sweeps] .multiples");
  if (!holder) return;
  const all = domain.sweeps.flatMap((sweep) => sweep.series.map(sweepSeries));
  for (const sweep of domain.sweeps) {
    const series = sweep.series.map(sweepSeries);
    const names = series.map((line) =>
      make("li", {}, swatch(line), make("span", {}, line.name)),
    );
    const plot = make("div", { class: "plot small" });
    holder.append(
      make(
        "div",
        {},
        make("h4", {}, sweep.title),
        plot,
        make("ul", { class: "names" }, ...names),
      ),
    );
    chart(plot, () => ({
      label: `${sweep.title} in ${domain.title}`,
      series,
      x: stepAxis(all, false),
      y: measureAxis(domain, all),
      heading: after,
      show: figure,
      better: domain.better,
    }));
  }
}

// ---- Summary table ------------------------------------------------------------------

function sortKey(row, column) {
  return column === 0 ? row.method : row.order[column - 1];
}

/** Rows in order; those without a value come last either way. */
function sorted(rows, column, direction) {
  const keyed = rows.map((row, index) => ({ index, key: sortKey(row, column) }));
  return keyed.sort((a, b) => {
    if (!known(a.key) || !known(b.key)) return known(b.key) - known(a.key);
    return direction * (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
  });
}

function buildSummary(section, domain) {
  const table = section.querySelector("[data-part=summary]");
  const body = table.tBodies[0];
  const lines = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const sort = () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const order = sorted(domain.summary.rows, column, down ? -1 : 1);
      body.append(...order.map(({ index }) => lines[index]));
    };
    head.replaceChildren(button(head.textContent, sort));
  });
  lines.forEach((line, i) => {
    const method = domain.methods.find(
      ({ name }) => name === domain.summary.rows[i].method,
    );
    if (!method) return;
    line.classList.add(method.kind);
    line.cells[0].prepend(swatch(method));
  });
}
