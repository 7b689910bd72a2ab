// The page: its theme, its parts and what paper needs.

const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.style.colorScheme || (system.matches ? "dark" : "light")) === "dark";

/** Light or dark; "" follows the system. */
function setTheme(theme) {
  root.style.colorScheme = theme;
  document.getElementById("theme").textContent = isDark() ? "Light" : "Dark";
  seen.clear();
  for (const plot of document.querySelectorAll(".plot")) plot.chart?.redraw(false);
}

function buildTheme() {
  const toggle = document.getElementById("theme");
  toggle.addEventListener("click", () => setTheme(isDark() ? "light" : "dark"));
  system.addEventListener("change", () => setTheme(root.style.colorScheme));
  setTheme("");
}

function buildCopy() {
  const copy = document.getElementById("copy");
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(report.command);
      copy.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(document.getElementById("command"));
      copy.textContent = "Selected";
    }
    setTimeout(() => (copy.textContent = "Copy"), 2000);
  });
}

/** Paper is white and shows what is folded away. */
function buildPrint() {
  let [theme, closed] = ["", []];
  addEventListener("beforeprint", () => {
    theme = root.style.colorScheme;
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const details of closed) details.open = true;
    setTheme("light");
  });
  addEventListener("afterprint", () => {
    for (const details of closed) details.open = false;
    setTheme(theme);
  });
}

/** Mark the part of the page that is being read. */
function buildNav() {
  const links = [...document.querySelectorAll("nav a")];
  const look = (entries) => {
    const there = entries.find((entry) => entry.isIntersecting);
    if (!there) return;
    for (const link of links) link.removeAttribute("aria-current");
    const link = links.find(({ hash }) => hash === `#${there.target.id}`);
    const strip = link.parentElement;
    link.setAttribute("aria-current", "true");
    strip.scrollLeft = link.offsetLeft - (strip.clientWidth - link.offsetWidth) / 2;
  };
  const watch = new IntersectionObserver(look, { rootMargin: "-20% 0px -75% 0px" });
  for (const { hash } of links) watch.observe(document.querySelector(hash));
}

for (const section of document.querySelectorAll("section.domain")) {
  const domain = report.domains[section.dataset.domain];
  const shown = domain.methods.map(({ hidden }) => !hidden);
  const board = { domain, shown, tested: "with", statistic: "mean", scale: "linear", changed: [] };
  buildCurves(section, board);
  buildSummary(section, domain);
  buildBelief(section, domain.belief);
  buildSweeps(section, domain);
  buildProfile(section, board);
}
for (const build of [buildTheme, buildCopy, buildPrint, buildNav]) build();
