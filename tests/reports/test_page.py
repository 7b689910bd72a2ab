"""The report's page: what it says, what it refuses to run, and how it behaves."""

import copy
import hashlib
import json
from html.parser import HTMLParser

import jinja2
import pytest

from policymix.reports import palette
from policymix.reports.page import CHARTS, SCRIPTS, TEMPLATE, render

SCRIPT = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(2)>'
DOUBT = {"doubt": "no", "alone": IMAGE}
STEPS = [0, 100, 1000, 10_000]
SOURCES = [{"name": IMAGE, "colour": "#0072b2"}, {"name": "land", "colour": "#e69f00"}]
BELIEVED = {"method": SCRIPT, "trial": 0, "sources": SOURCES, "steps": STEPS}
BELIEVED["hint"] = IMAGE


def curve(name, kind, level, hidden=False, alone=None):
    return {
        "name": name,
        "means": IMAGE,
        "kind": kind,
        "colour": "#d55e00",
        "dash": "6 3",
        "hidden": hidden,
        "steps": STEPS,
        **bands(level),
        "alone": alone,
    }


def bands(level):
    mean = [level - 10 * i for i in range(len(STEPS))]
    iqm = [value + 3 for value in mean]
    return {
        "mean": mean,
        "mean_low": [value - 1 for value in mean],
        "mean_high": [value + 2 for value in mean],
        "iqm": iqm,
        "iqm_low": [value - 4 for value in iqm],
        "iqm_high": [value + 5 for value in iqm],
    }


METHODS = [
    curve("mars", "ours", 120, alone=bands(150)),
    curve(SCRIPT, "ours", 110),
    curve(IMAGE, "baseline", 125),
    curve("oracle", "yardstick", 100, hidden=True),
]


def drift(i):
    """Weights of two sources that move from the first to the second."""
    return [90 - 25 * i, 10 + 25 * i]


def cells():
    weights = [[drift(i)] * 8 + [[100, 0]] for i in range(len(STEPS))]
    size = {"rows": 3, "columns": 3, "walls": [0, 1] + [0] * 7, "start": 0, "goal": 8}
    return {"kind": "cells", **BELIEVED, **size, "weights": weights}


def plane():
    x = {"label": "cart position x (m)", "values": [-1, 0, 1]}
    y = {"label": "pole angle (rad)", "values": [-0.2, 0.2]}
    weights = [[[drift(i)] * 3, [[0, 100]] * 3] for i in range(len(STEPS))]
    return {"kind": "plane", **BELIEVED, "x": x, "y": y, "weights": weights}


def paths():
    x = {"label": "horizontal position", "low": -1, "high": 1}
    y = {"label": "altitude", "low": -0.1, "high": 1.5}
    flown = [
        [{"x": [-0.5, 0, 0.5], "y": [1, 0.5, 0], "weights": [drift(i)] * 3}]
        for i in range(len(STEPS))
    ]
    scores = [[None], [-100.0], [50.0], [200.0]]
    return {
        "kind": "paths",
        **BELIEVED,
        "x": x,
        "y": y,
        "paths": flown,
        "scores": scores,
    }


def summary():
    return {
        "columns": [
            {"title": "method", "help": ""},
            {"title": "area [95 %]", "help": f"mean of a curve {IMAGE}"},
            {"title": "time", "help": ""},
        ],
        "rows": [
            {"method": "mars", "cells": ["90.0 [1, 2]", "–"], "order": [90, None]},
            {"method": SCRIPT, "cells": ["70.5 [1, 2]", "9 s"], "order": [70.5, 9]},
            {"method": IMAGE, "cells": ["110.0 [1, 2]", "10 s"], "order": [110, 10]},
        ],
    }


def domain(name, belief):
    share = {"share": [0, 0.5, 1], "low": [0, 0.4, 0.9], "high": [0.1, 0.6, 1]}
    names = [method["name"] for method in METHODS]
    return {
        "name": name,
        "title": f"Transfer-{name}",
        "about": IMAGE,
        "measure": "steps to goal",
        "better": "lower",
        "trials": 20,
        "seeds": "0–19",
        "steps": 10_000,
        "limits": [60, 160] if belief and belief["kind"] == "cells" else None,
        "claims": [{"claim": SCRIPT, "answer": "yes", "sentence": IMAGE, **DOUBT}],
        "unasked": SCRIPT,
        "methods": METHODS,
        "summary": summary(),
        "profile": {
            "label": "area",
            "thresholds": [80, 90, 100],
            "methods": [{"name": name, **share} for name in names],
        },
        "sweeps": [{"title": IMAGE, "series": METHODS[1:3]}],
        "belief": belief,
        "settings": [
            {"name": SCRIPT, "value": "0.95", "paper": "0.9", "origin": "deviation 3"}
        ],
        "facts": [["versions", IMAGE]],
        "figures": [["Learning curves", f"figures/{SCRIPT}.png"]],
    }


DATA = {
    "title": f"A report {SCRIPT}",
    "made": "2026-11-15 15:30 UTC",
    "command": f"policymix reproduce all --out '{IMAGE}'",
    "notes": [SCRIPT, "line\u2028separator & </script>"],
    "across": [{"method": IMAGE, "cell": "0.97 [0.95, 0.99]"}],
    "questions": [
        {"question": SCRIPT, "answer": answer, "sentence": IMAGE, **DOUBT}
        for answer in ("yes", "no", "not shown")
    ],
    "domains": [
        domain("maze", cells()),
        domain("cartpole", plane()),
        domain("lander", paths()),
    ],
}


# ---- The file --------------------------------------------------------------------


class Elements(HTMLParser):
    """Every element's name and attributes, and the text of the data."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.data = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.found and self.found[-1][1].get("id") == "data":
            self.data += data


def test_names_are_text_everywhere():
    page = render(DATA)
    assert SCRIPT not in page
    assert "<img" not in page
    assert "\u2028" not in page.split('id="data"')[1]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    elements = Elements(page).found
    assert sum(tag == "script" for tag, _ in elements) == 2
    assert not any(name.startswith("on") for _, attrs in elements for name in attrs)


def test_the_data_survive():
    assert json.loads(Elements(render(DATA)).data) == DATA


def test_nothing_is_loaded_from_elsewhere():
    elements = Elements(render(DATA)).found
    assert not any("src" in attrs for _, attrs in elements)
    links = [attrs["href"] for _, attrs in elements if "href" in attrs]
    assert all(link.startswith(("#", "./figures/", "data:")) for link in links)
    policy = next(a["content"] for _, a in elements if "http-equiv" in a)
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy


VENDORED = ("LICENSE", "uPlot.iife.min.js", "uPlot.min.css")


def test_the_chart_library_is_the_one_that_was_taken():
    record = (TEMPLATE / CHARTS / "SHA256SUMS").read_text("utf-8").splitlines()
    digests = {name: digest for digest, name in map(str.split, record)}
    assert set(digests) == set(VENDORED)
    for name, digest in digests.items():
        content = (TEMPLATE / CHARTS / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == digest


def test_a_page_carries_the_chart_library_with_its_licence():
    page = render(DATA)
    for name in VENDORED:
        assert (TEMPLATE / CHARTS / name).read_text("utf-8") in page


def test_our_own_part_of_the_page_stays_small():
    own = [(TEMPLATE / name).read_text("utf-8").splitlines() for name in SCRIPTS]
    style = (TEMPLATE / "report.css").read_text("utf-8").splitlines()
    assert {path.name for path in TEMPLATE.glob("*.js")} == set(SCRIPTS)
    assert sum(map(len, own)) <= 730
    assert len(style) <= 460
    assert max(len(line) for lines in (*own, style) for line in lines) <= 100


def test_a_link_stays_beside_the_report():
    data = copy.deepcopy(DATA)
    data["domains"][0]["figures"] = [["a", "javascript:alert(3)"], ["b", "//evil/x"]]
    page = render(data)
    assert 'href="./javascript%3Aalert%283%29"' in page
    assert 'href=".///evil/x"' in page


def minimal():
    bare = {"belief": None, "profile": None, "limits": None}
    empty = {key: [] for key in ("sweeps", "claims", "settings", "facts", "figures")}
    lone = {**domain("maze", None), **bare, **empty}
    return {**DATA, "notes": [], "across": [], "questions": [], "domains": [lone]}


def test_a_minimal_report_is_a_page_without_the_empty_parts():
    page = render(minimal())
    assert "Learning curves" in page
    for part in ("<nav", "Sweeps", "trusted where", "Performance profile", "Settings"):
        assert part not in page.split('id="data"')[0]


def test_what_is_missing_is_named():
    with pytest.raises(jinja2.UndefinedError, match="command"):
        render({key: value for key, value in DATA.items() if key != "command"})


def test_a_number_that_is_none_is_refused():
    data = minimal()
    data["domains"][0]["steps"] = float("nan")
    with pytest.raises(ValueError, match="not JSON compliant"):
        render(data)


# ---- In a browser ----------------------------------------------------------------


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render(DATA), "utf-8")
    return path


@pytest.fixture
def page(chromium, file):
    chromium.prefer(color_scheme="light")
    chromium.open(file)
    yield chromium
    assert problems(chromium) == []


TROUBLE = {
    "Runtime.exceptionThrown",
    "Runtime.consoleAPICalled",
    "Log.entryAdded",
    "Page.javascriptDialogOpening",
}


def problems(browser):
    """Errors, dialogs and requests beyond the file itself."""
    asked = "Network.requestWillBeSent"
    return [
        event
        for event in browser.events
        if event.get("method") in TROUBLE
        or (event.get("method") == asked and not is_local(event["params"]["request"]))
    ]


def is_local(request):
    return request["url"].startswith(("file:", "data:"))


def domain_js(index, selector):
    return f"document.querySelector('#domain-{index + 1} {selector}')"


def click(page, element):
    page.js(f"{element}.click()")
    page.settle()


def chart_js(part="curves"):
    return domain_js(0, f"[data-part={part}] .plot") + ".chart"


def lines(page, part="curves"):
    """Names of the lines that a chart of the first domain shows, and where they go.

    Every line has three series, of which the third is its middle.
    """
    return page.js(
        "(({ series, data, valToPos }) => {"
        " const at = (x, y) => [valToPos(x, 'x', true), valToPos(y, 'y', true)];"
        " const middles = [...series.keys()].filter((i) => i && i % 3 === 0);"
        " return Object.fromEntries(middles.filter((i) => series[i].show).map((i) =>"
        "   [series[i].label, data[i].map((y, j) => at(data[0][j], y))]));"
        f"}})({chart_js(part)})"
    )


def colours_around(page, point, reach=6):
    """Red, green and blue of a chart's canvas at and around a point."""
    x, y = (round(place) - reach for place in point)
    side = 2 * reach + 1
    data = page.js(f"[...{chart_js()}.ctx.getImageData({x}, {y}, {side}, {side}).data]")
    return [data[i : i + 3] for i in range(0, len(data), 4)]


def middle(page, element):
    """Scroll to an element; its rectangle in the window."""
    page.js(f"{element}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
    page.settle()
    return page.js(f"{element}.getBoundingClientRect().toJSON()")


def test_names_stay_text_in_the_page(page):
    assert page.js("document.querySelectorAll('script').length") == 2
    assert page.js("document.images.length") == 0
    assert page.js("document.querySelector('h1').textContent") == DATA["title"]
    names = page.js(
        "[...document.querySelectorAll('#domain-1 [data-part=curves] .method')]"
        ".map((button) => button.textContent)"
    )
    assert names == [method["name"] for method in METHODS]


def test_a_script_that_was_slipped_in_does_not_run(chromium, tmp_path):
    path = tmp_path / "report.html"
    injected = "<script>window.ran = 1; alert(1)</script><img src=https://e.org/x>"
    path.write_text(render(DATA).replace("</main>", injected), "utf-8")
    chromium.open(path)
    assert chromium.js("window.ran") is None
    failed = [e for e in chromium.events if e.get("method") == "Network.loadingFailed"]
    assert [event["params"]["blockedReason"] for event in failed] == ["csp"]
    assert "Page.javascriptDialogOpening" not in chromium.event_names()
    assert problems(chromium), "the watch for trouble sees it"


def test_a_button_hides_a_method_and_shows_it_again(page):
    before = lines(page)
    assert set(before) == {"mars", SCRIPT, IMAGE}
    mars = domain_js(0, "[data-part=curves] .method[data-name=mars]")
    click(page, mars)
    assert set(lines(page)) == set(lines(page, "profile")) == {SCRIPT, IMAGE}
    assert page.js(f"{mars}.getAttribute('aria-pressed')") == "false"
    click(page, mars)
    assert lines(page) == before


def test_shortcuts_choose_methods(page):
    def press(number):
        click(page, domain_js(0, f".shortcuts button:nth-child({number})"))
        return set(lines(page))

    everything = {method["name"] for method in METHODS}
    assert press(1) == everything
    assert press(2) == set()
    assert press(3) == everything - {"oracle"}


def test_a_line_is_drawn_in_its_colour_while_it_is_shown(page):
    def drawn():
        return any(
            abs(red - 0xD5) + abs(green - 0x5E) + abs(blue - 0x00) < 10
            for red, green, blue in colours_around(page, point)
        )

    point = lines(page)["mars"][-1]
    assert drawn()
    click(page, domain_js(0, ".shortcuts button:nth-child(2)"))
    assert not drawn()


@pytest.mark.parametrize("value", ["iqm", "log"])
def test_switches_change_the_lines(page, value):
    before = lines(page)
    click(page, domain_js(0, f"input[value={value}]"))
    assert lines(page)["mars"] != before["mars"]


def test_a_switch_says_what_the_lines_mean(page):
    def caption():
        return page.js(f"{domain_js(0, '.caption:not([hidden])')}.textContent")

    mean = "Over 20 trials: the mean; its band is one standard error."
    assert caption() == mean
    click(page, domain_js(0, "input[value=iqm]"))
    assert caption().startswith("Over 20 trials: the mean of the middle half;")


def test_log_axis_keeps_zero_and_opens_the_start(page):
    def share_of_the_first_gap():
        x = [point[0] for point in lines(page)["mars"]]
        return (x[1] - x[0]) / (x[-1] - x[0])

    assert share_of_the_first_gap() == pytest.approx(0.01)
    click(page, domain_js(0, "input[value=log]"))
    assert share_of_the_first_gap() > 0.1


def test_what_was_not_tested_alone_is_not_drawn(page):
    click(page, domain_js(0, "input[value=alone]"))
    drawn = lines(page)
    assert list(drawn) == ["mars"]
    slider = domain_js(0, ".stage input")
    page.js(f"{slider}.focus()")
    page.key("Home")
    text = page.js(f"{slider}.getAttribute('aria-valuetext')")
    assert "mars 150.0" in text


def reading(method):
    mean, low, high = (method[key][-1] for key in ("mean", "mean_low", "mean_high"))
    return f"{method['name']}{mean:.2f}[{low:.2f}, {high:.2f}]"


def test_the_tooltip_shows_the_values_in_order(page):
    box = middle(page, domain_js(0, ".u-over"))
    page.mouse("mouseMoved", box["right"] - 3, box["y"] + 100)
    tip = domain_js(0, ".tip")
    assert page.js(f"{tip}.querySelector('p').textContent") == "after 10,000 samples"
    rows = page.js(f"[...{tip}.querySelectorAll('tr')].map((row) => row.textContent)")
    shown = sorted(METHODS[:3], key=lambda method: method["mean"][-1])
    assert rows == [reading(method) for method in shown]
    page.mouse("mouseMoved", 5, 5)
    assert page.js(f"{tip}.hidden")


def test_arrow_keys_move_the_cursor(page):
    slider = domain_js(0, ".stage input")
    page.js(f"{slider}.focus()")
    page.key("Home")
    page.key("ArrowRight")
    text = page.js(f"{slider}.getAttribute('aria-valuetext')")
    assert text.startswith("after 100 samples, ")
    assert "mars 110.0" in text
    assert not page.js(f"{domain_js(0, '.tip')}.hidden")
    page.key("Escape")
    assert page.js(f"{domain_js(0, '.tip')}.hidden")


def test_the_table_sorts_with_gaps_last(page):
    def column(cell):
        return page.js(
            f"[...document.querySelectorAll('#domain-1 .summary tbody tr')]"
            f".map((row) => row.cells[{cell}].textContent)"
        )

    def press(cell):
        click(page, domain_js(0, f".summary thead th:nth-child({cell + 1}) button"))
        return column(0)

    assert press(1) == [SCRIPT, "mars", IMAGE]
    assert press(1) == [IMAGE, "mars", SCRIPT]
    assert press(2) == [SCRIPT, IMAGE, "mars"]
    assert press(2) == [IMAGE, SCRIPT, "mars"]
    assert column(1) == ["110.0 [1, 2]", "70.5 [1, 2]", "90.0 [1, 2]"]
    head = domain_js(0, ".summary thead th:nth-child(3)")
    assert page.js(f"{head}.getAttribute('aria-sort')") == "descending"


@pytest.mark.parametrize("index", [0, 1, 2], ids=["cells", "plane", "paths"])
def test_the_slider_moves_the_belief(page, index):
    def look(step):
        slider = domain_js(index, ".slider")
        page.js(f"{slider}.value = {step}; {slider}.dispatchEvent(new Event('input'))")
        canvas = page.js(f"{domain_js(index, '.belief canvas')}.toDataURL()")
        return canvas, page.js(f"{domain_js(index, '.when')}.textContent")

    pictures, labels = zip(*(look(step) for step in range(len(STEPS))), strict=True)
    assert len(set(pictures)) == len(STEPS)
    assert labels == tuple(f"after {step:,} samples" for step in STEPS)
    share = page.js(f"{domain_js(index, '.share')}.textContent").replace("\xa0", " ")
    assert share == [f"{IMAGE} 13 %, land 87 %", "land 100 %", "land 100 %"][index]


PLACES = (
    "row 1, column 1",
    "cart position x (m): 0.000; pole angle (rad): −0.200",
    "episode 1 at (0.000, 0.500)",
)


@pytest.mark.parametrize("index", [0, 1, 2], ids=["cells", "plane", "paths"])
def test_one_source_alone_and_its_weight_at_a_place(page, index):
    canvas = domain_js(index, ".belief canvas")
    box = middle(page, domain_js(index, ".belief .u-over"))
    mixed = page.js(f"{canvas}.toDataURL()")
    click(page, domain_js(index, ".source:last-of-type input"))
    assert page.js(f"{canvas}.toDataURL()") != mixed
    where = domain_js(index, ".where")
    assert page.js(f"{where}.textContent") == "Weights, mean of all places"
    x, y = [(0.5, 0.5), (0.5, 0.75), (0.5, 0.625)][index]
    page.mouse("mouseMoved", box["x"] + x * box["width"], box["y"] + y * box["height"])
    assert page.js(f"{where}.textContent") == f"Weights, {PLACES[index]}"
    value = page.js(f"{domain_js(index, '.source .value')}.textContent")
    assert value == "15\xa0%"


def test_arrow_keys_go_from_place_to_place_around_walls(page):
    where = domain_js(0, ".where")
    page.js(f"{domain_js(0, '.belief .plot')}.focus()")
    page.key("ArrowRight")
    assert page.js(f"{where}.textContent") == "Weights, row 0, column 0"
    page.key("ArrowRight")
    assert page.js(f"{where}.textContent") == "Weights, row 0, column 2"
    page.key("ArrowDown")
    assert page.js(f"{where}.textContent") == "Weights, row 1, column 2"
    page.key("Escape")
    assert page.js(f"{where}.textContent") == "Weights, mean of all places"


def test_play_starts_over_and_stops_at_the_end(page):
    player = domain_js(0, ".play")
    click(page, player)
    assert page.js(f"{player}.textContent") == "Pause"
    assert page.js(f"{domain_js(0, '.when')}.textContent") != "after 10,000 samples"
    page.js(
        "new Promise((done) => { const look = () =>"
        f" {player}.textContent === 'Play' ? done() : setTimeout(look, 50); look(); }})"
    )
    assert page.js(f"{domain_js(0, '.when')}.textContent") == "after 10,000 samples"


def background(page):
    return page.js("getComputedStyle(document.body).backgroundColor")


def test_dark_follows_the_system_until_it_is_overridden(page):
    light = background(page)
    page.prefer(color_scheme="dark")
    dark = background(page)
    assert dark != light
    click(page, "document.getElementById('theme')")
    assert background(page) == light
    page.prefer(color_scheme="light")
    click(page, "document.getElementById('theme')")
    assert background(page) == dark


def test_charts_follow_the_theme(page):
    def looks():
        kinds = ("[data-part=curves]", ".belief", "[data-part=sweeps]")
        canvas = [f"{domain_js(1, f'{kind} canvas')}.toDataURL()" for kind in kinds]
        return [page.js(one) for one in canvas]

    light = looks()
    click(page, "document.getElementById('theme')")
    dark = looks()
    assert all(one != other for one, other in zip(light, dark, strict=True))
    click(page, "document.getElementById('theme')")
    assert looks() == light


COLOURS = {colour for colour, _ in palette.STYLES.values()} | set(palette.SWEEP)


def luminance(colour):
    parts = [part / 255 for part in colour]
    light = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_line_stands_out_from_its_panel(page, theme):
    def painted(colour):
        """Red, green and blue of a colour of the style sheet, on a canvas."""
        return page.js(
            "((pen) => { pen.fillStyle = " + colour + "; pen.fillRect(0, 0, 1, 1);"
            " return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3); })"
            "(document.createElement('canvas').getContext('2d'))"
        )

    page.prefer(color_scheme=theme)
    panel = painted(f"getComputedStyle({domain_js(0, '.panel')}).backgroundColor")
    swatch = domain_js(0, ".swatch")
    for colour in sorted(COLOURS | {palette.YELLOW}):
        page.js(f"{swatch}.setAttribute('color', '{colour}')")
        line = painted(f"getComputedStyle({swatch}).stroke")
        low, high = sorted((luminance(panel), luminance(line)))
        assert (high + 0.05) / (low + 0.05) >= 3, colour


def test_a_phone_scrolls_only_downwards(page):
    page.resize(390)
    page.settle()
    assert page.js("document.documentElement.scrollWidth") <= 390
    box = middle(page, domain_js(0, ".stage"))
    page.mouse("mouseMoved", box["x"] + 200, box["y"] + 100)
    tip = page.js(f"{domain_js(0, '.tip')}.getBoundingClientRect().toJSON()")
    assert tip["left"] >= 0
    assert tip["right"] <= 390
    assert page.js("document.documentElement.scrollWidth") <= 390


def test_a_minimal_report_runs(chromium, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(render(minimal()), "utf-8")
    chromium.open(path)
    assert problems(chromium) == []
    assert set(lines(chromium)) == {"mars", SCRIPT, IMAGE}
