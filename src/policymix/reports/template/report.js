// The page: its theme, its parts and what paper needs.

const root = document.documentElement;
const systemDark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () =>
  root.dataset.theme ? root.dataset.theme === "dark" : systemDark.matches;

/** Light or dark; null follows the system. */
function setTheme(theme) {
  if (theme) root.dataset.theme = theme;
  else delete root.dataset.theme;
  document.getElementById("theme").textContent = isDark() ? "Light" : "Dark";
  recolour();
}

function buildTheme() {
  const toggle = document.getElementById("theme");
  toggle.addEventListener("click", () => setTheme(isDark() ? "light" : "dark"));
  systemDark.addEventListener("change", () => setTheme(root.dataset.theme));
  setTheme(null);
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
  let theme;
  let closed = [];
  addEventListener("beforeprint", () => {
    theme = root.dataset.theme;
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
function mark(links, id) {
  for (const link of links) link.removeAttribute("aria-current");
  const link = links.find((other) => other.getAttribute("href") === `#${id}`);
  const strip = link.parentElement;
  link.setAttribute("aria-current", "true");
  strip.scrollLeft = link.offsetLeft - (strip.clientWidth - link.offsetWidth) / 2;
}

function buildNav() {
  const links = [...document.querySelectorAll("nav a")];
  const look = (entries) => {
    const there = entries.find((entry) => entry.isIntersecting);
    if (there) mark(links, there.target.id);
  };
  const watch = new IntersectionObserver(look, { rootMargin: "-20% 0px -75% 0px" });
  for (const link of links)
    watch.observe(document.querySelector(link.getAttribute("href")));
}

function buildDomain(section) {
  const domain = report.domains[section.dataset.domain];
  const board = boardOf(domain);
  buildCurves(section, board);
  buildSummary(section, domain);
  buildBelief(section, domain.belief);
  buildSweeps(section, domain);
  buildProfile(section, board);
}

for (const section of document.querySelectorAll("section.domain")) buildDomain(section);
buildTheme();
buildCopy();
buildPrint();
buildNav();
