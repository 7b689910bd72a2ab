"""Figures: what is drawn is what was measured, and says so."""

import re
from itertools import combinations

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgb, to_rgba_array
from matplotlib.figure import Figure

from policymix.domains.maze.files import load_mazes
from policymix.environments.registry import find_domain
from policymix.environments.study import Cells, Plane, Points
from policymix.experiments.visited import view_of
from policymix.methods.recipes import METHODS
from policymix.reports import figures, palette
from policymix.reports.analysis import measure, profiles
from policymix.reports.figures import (
    PRINT,
    curves,
    rightness,
    summary,
    sweeps,
    thousands,
    write_figure,
)
from policymix.reports.maps import cells, drawings, mixture, plane, points
from policymix.reports.palette import style
from policymix.reports.results import Seen, put_together

from support.known import LOOKS, SHOWN
from support.made_runs import (
    EVERY,
    SOURCES,
    look_of,
    results_of,
    run_of,
    seen_of,
    spread,
)

PAPERS = ["mars", "mapse", "caps", "ucb", "phi1", "phi2", "phi3", "scratch"]
BEYOND = ["mars-explicit", "mars-lookahead", "mars-reward", "follow", "oracle"]
TRIALS, TESTS = 5, 11
DOMAINS = pytest.mark.parametrize("domain", SOURCES)


def noise(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def looks(domain, upto=EVERY * (TESTS - 1)):
    """When the runner looks, and all trials but one are right ever more often."""
    times = [time for time in LOOKS[domain] if time <= upto]
    rights = [np.linspace(0.1, step / upto, TRIALS) for step in times]
    return [look_of(domain, *pair) for pair in zip(times, rights, strict=True)]


@pytest.fixture(scope="module")
def everything():
    """All methods, a sweep and looks for every domain."""
    return {domain: make(domain) for domain in SOURCES}


def make(domain):
    scores = {
        name: 60 - 2 * place + noise(place, TESTS, TRIALS)
        for place, name in enumerate([*PAPERS, *BEYOND])
    }
    main = run_of(domain, scores, seed=7)
    pieces = [
        run_of(
            *(domain, {method: 40 + noise(1, TESTS, TRIALS)}),
            sweep=(setting, value),
            seed=7,
        )
        for method, setting in (("mapse", "mapse_reuse"), ("ucb", "ucb_reuse"))
        for value in (0.995, 0.5)
    ]
    results = put_together(domain, [main, *pieces])
    seen = {name: seen_of(domain, looks(domain)) for name in ("mars", "mapse")}
    results.seen.update(seen)
    return results


def built(make_figure, *given):
    with rc_context(PRINT):
        return make_figure(*given)


def words_of(figure):
    """All titles of a figure."""
    titles = [axes.get_title() for axes in figure.axes]
    above = figure.get_suptitle()
    return " ".join([above, *titles])


def legend_of(axes):
    """What the legend names."""
    legend = axes.get_legend()
    return [text.get_text() for text in legend.get_texts()] if legend else []


def lines_of(axes):
    """Lines that have a name."""
    named = {str(line.get_label()): line for line in axes.get_lines()}
    return {name: line for name, line in named.items() if not name.startswith("_")}


def bands_of(axes):
    """By colour and order, the lowest and highest value of each band at each x."""
    found = []
    for band in axes.collections:
        assert isinstance(band, PolyCollection)
        corners = np.asarray(band.get_paths()[0].vertices)
        xs = np.unique(corners[:, 0])
        low, high = (
            np.array([pick(corners[corners[:, 0] == x, 1]) for x in xs])
            for pick in (np.min, np.max)
        )
        found.append((to_rgba_array(band.get_facecolor())[0, :3], xs, low, high))
    return found


def assert_drawn(axes, wanted):
    """Every curve's line is its mean, and its band one standard error about it."""
    lines, bands = lines_of(axes), bands_of(axes)
    assert set(lines) == set(wanted)
    assert len(bands) == len(wanted)
    for (name, line), (colour, xs, low, high) in zip(lines.items(), bands, strict=True):
        steps, scores = wanted[name]
        middle = scores.mean(axis=1)
        error = scores.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
        np.testing.assert_array_equal(line.get_xdata(), steps)
        np.testing.assert_allclose(line.get_ydata(), middle)
        assert colour == pytest.approx(to_rgb(line.get_color()))
        np.testing.assert_array_equal(xs, steps)
        np.testing.assert_allclose(low, middle - error)
        np.testing.assert_allclose(high, middle + error)


def scores_of(found):
    return {name: (curve.steps, curve.scores) for name, curve in found.items()}


# Learning curves


@DOMAINS
@pytest.mark.parametrize("figure_of", [curves, sweeps, summary, rightness])
def test_every_axis_has_its_labels_and_the_figure_says_what_it_shows(
    everything, domain, figure_of
):
    results = everything[domain]
    figure = built(figure_of, results)
    assert isinstance(figure, Figure)
    assert all(axes.get_xlabel() for axes in figure.axes)
    upright = figure.axes[1:] if figure_of is summary else figure.axes
    assert all(axes.get_ylabel() for axes in upright), "the summary's names are labels"
    words = words_of(figure)
    assert f" of {TRIALS} trials" in words
    band = "95 % interval" if figure_of is summary else "mean ± standard error"
    assert band in words
    assert {"maze": "Maze", "cartpole": "CartPole", "lander": "Lander"}[domain] in words


@DOMAINS
def test_curves_are_means_with_a_band_of_one_standard_error(everything, domain):
    results = everything[domain]
    left, right = built(curves, results).axes
    measured = results.facts["measure"]
    assert left.get_ylabel() == f"{measured} (test)"
    wanted = scores_of(results.curves)
    assert_drawn(left, {name: wanted[name] for name in PAPERS})
    assert_drawn(right, {name: wanted[name] for name in ["mars", *BEYOND]})
    assert right.get_ylabel() == left.get_ylabel()


@DOMAINS
def test_every_method_has_a_name_in_the_legend(everything, domain):
    left, right = built(curves, everything[domain]).axes
    assert sorted(legend_of(left)) == sorted(PAPERS)
    assert sorted(legend_of(right)) == sorted(["mars", *BEYOND])


def test_mars_is_drawn_last_so_that_nothing_covers_it(everything):
    for axes in built(curves, everything["maze"]).axes:
        assert list(lines_of(axes))[-1] == "mars"


def test_lines_have_the_colour_and_dashes_of_their_method(everything):
    with rc_context(PRINT):
        for axes in curves(everything["maze"]).axes:
            looks = {}
            for name, line in lines_of(axes).items():
                assert line.get_color() == style(name)[0]
                looks[name] = (line.get_color(), line.is_dashed(), dashes_of(line))
            assert len(set(looks.values())) == len(looks)


def dashes_of(line):
    """The pattern, in widths of the line."""
    pattern = line._unscaled_dash_pattern[1]
    return tuple(pattern) if pattern else ()


def test_the_papers_methods_alone_fill_one_panel():
    curve = {"mars": spread(50), "scratch": spread(60)}
    (axes,) = built(curves, results_of("maze", curve)).axes
    assert sorted(legend_of(axes)) == ["mars", "scratch"]


def test_forms_without_mars_are_drawn_by_themselves():
    (axes,) = built(curves, results_of("maze", {"oracle": spread(50)})).axes
    assert legend_of(axes) == ["oracle"]


def test_one_trial_has_a_line_without_a_band():
    results = results_of("maze", {"mars": spread(50, 1), "scratch": spread(60, 1)})
    (axes,) = built(curves, results).axes
    assert set(lines_of(axes)) == {"mars", "scratch"}
    assert not axes.collections


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (500, "500"), (1_000, "1K"), (2_500, "2.5K"), (200_000, "200K")],
)
def test_thousands_are_k(value, text):
    assert thousands(float(value)) == text


# Sweeps


@DOMAINS
def test_a_sweep_draws_each_value_and_marks_the_domains_own(everything, domain):
    results = everything[domain]
    panels = built(sweeps, results).axes
    assert len(panels) == 2
    for axes, (key, values) in zip(panels, results.sweeps.items(), strict=True):
        own = results.facts["settings"][key[1]]
        assert list(values) == sorted([0.5, own, 0.995])
        labels = [f"{v:g}" + " (the paper's)" * (v == own) for v in values]
        assert legend_of(axes) == labels
        wanted = scores_of(dict(zip(labels, values.values(), strict=True)))
        assert_drawn(axes, wanted)
        assert {"mapse": "MAPSE", "ucb": "UCB"}[key[0]] in axes.get_title()
        colours = [line.get_color() for line in lines_of(axes).values()]
        assert len(set(colours)) == 3


# Summary


@DOMAINS
def test_the_summary_shows_the_table_with_the_best_on_top(everything, domain):
    results = everything[domain]
    left = built(summary, results).axes[0]
    table = measure(results)
    names = [label.get_text() for label in left.get_yticklabels()]
    assert names == [row.method for row in reversed(table)]
    whiskers, points = left.get_lines()[::2], left.get_lines()[1::2]
    for place, row in enumerate(reversed(table)):
        np.testing.assert_array_equal(points[place].get_xdata(), [row.area.estimate])
        np.testing.assert_array_equal(points[place].get_ydata(), [place])
        np.testing.assert_array_equal(whiskers[place].get_xdata(), row.area[1:])
    better = "lower" if domain == "maze" else "higher"
    assert f"({better} is better)" in left.get_xlabel()
    assert results.facts["measure"] in left.get_xlabel()


def test_the_summary_draws_every_profile(everything):
    results = everything["maze"]
    right = built(summary, results).axes[1]
    wanted = profiles(results, np.linspace(0, 1, 101))
    assert len(right.get_lines()) == len(wanted)
    for line, share in zip(right.get_lines(), wanted.values(), strict=True):
        np.testing.assert_array_equal(line.get_ydata(), share.estimate)


def test_every_profile_can_be_told_by_its_legend(everything):
    """Colours alone do not: all single sources are orange, four forms are blue."""
    results = everything["maze"]
    figure = built(summary, results)
    outside = [text.get_text() for box in figure.legends for text in box.get_texts()]
    named = outside or legend_of(figure.axes[1])
    assert sorted(named) == sorted(results.curves)


# Is it right?


@DOMAINS
def test_rightness_is_the_share_of_states_in_percent(everything, domain):
    results = everything[domain]
    (axes,) = built(rightness, results).axes
    wanted = {
        name: (seen.steps, 100 * seen.arrays["right"])
        for name, seen in results.seen.items()
    }
    assert_drawn(axes, wanted)
    assert sorted(legend_of(axes)) == ["mapse", "mars"]
    (chance,) = set(axes.get_lines()) - set(lines_of(axes).values())
    np.testing.assert_array_equal(chance.get_ydata(), 100 / len(SOURCES[domain]))
    ticks = axes.get_xticks()
    assert set(ticks) == {time for time in SHOWN[domain] if time <= 10_000}


# The mixture


def panels_of(figure):
    """Axes of pictures, without the colour bar."""
    return [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]


@DOMAINS
def test_the_mixture_has_a_column_for_each_moment_of_figure_3(everything, domain):
    results = everything[domain]
    figure = built(mixture, results)
    times = [time for time in SHOWN[domain] if time <= 10_000]
    assert 1 < len(times) < len(results.seen["mars"].steps)
    headings = [axes.get_title().split("\n")[0] for axes in panels_of(figure)]
    assert [h for h in headings if h] == [
        f"{thousands(float(time))} samples" for time in times
    ]
    rows = 1 if domain == "lander" else len(SOURCES[domain])
    assert len(panels_of(figure)) == rows * len(times)
    assert "mixture of mars, one trial (seed 7)" in words_of(figure)


@pytest.mark.parametrize("domain", ["maze", "cartpole"])
def test_the_mixture_has_a_row_for_each_source(everything, domain):
    figure = built(mixture, everything[domain])
    labels = [axes.get_ylabel() for axes in panels_of(figure)]
    assert [label for label in labels if label] == list(SOURCES[domain])


def shown_in(everything, domain):
    """(panel, index of the moment, index of the source), and what was seen."""
    seen = everything[domain].seen["mars"]
    times = [time for time in seen.steps if time in SHOWN[domain]]
    panels = panels_of(built(mixture, everything[domain]))
    places = [
        (seen.steps.index(time), row)
        for row in range(len(panels) // len(times))
        for time in times
    ]
    return seen, list(zip(panels, places, strict=True))


def test_the_mazes_cells_show_the_weights_and_hide_the_walls(everything):
    seen, panels = shown_in(everything, "maze")
    walls = np.asarray(load_mazes().target.walls)
    for axes, (place, source) in panels:
        (image,) = axes.images
        weights = seen.arrays["weights"][place, :, source].reshape(29, 29)
        shown = np.ma.asarray(image.get_array())
        np.testing.assert_array_equal(np.ma.getmaskarray(shown), walls)
        np.testing.assert_array_equal(shown[~walls], weights[~walls])
        assert image.get_clim() == (0, 100)


def test_numbered_states_that_fill_no_rectangle_end_in_nothing():
    view = view_of({"cells": 5, "columns": 3})
    assert isinstance(view, Cells)
    arrays = {"weights": np.arange(5)[None, :, None]}
    figure = cells(view, Seen((0,), ("only",), arrays, view), [0])
    shown = np.ma.asarray(figure.axes[0].images[0].get_array())
    assert shown.tolist() == [[0, 1, 2], [3, 4, None]]


def test_cartpoles_plane_has_position_across_and_angle_up(everything):
    seen, panels = shown_in(everything, "cartpole")
    for axes, (place, source) in panels:
        (image,) = axes.images
        weights = seen.arrays["weights"][place, :, :, source]
        np.testing.assert_array_equal(image.get_array(), weights)
        assert image.origin == "lower"
        assert image.get_extent() == pytest.approx([-2.425, 2.425, -0.20625, 0.20625])
        assert image.get_clim() == (0, 100)
    figure = panels[0][0].get_figure(root=True)
    assert figure is not None
    assert figure.get_supylabel() == "pole angle (rad)"
    assert figure.get_supxlabel() == "cart position x (m)"
    assert not any(axes.get_xlabel() for axes, _ in panels)


def boxes_of(figure):
    """What is written at the sides and above, by its place on the drawn figure."""
    figure.draw_without_rendering()
    axes = panels_of(figure)
    texts = [*figure.texts, *(a.yaxis.label for a in axes), *(a.title for a in axes)]
    return [text.get_window_extent() for text in texts if text.get_text()]


@pytest.mark.parametrize("shown", [(0,), (0, 500)])
@pytest.mark.parametrize("domain", ["cheetah", "pendulum"])
def test_no_label_of_a_map_runs_into_another_or_off_the_figure(domain, shown):
    sources, view = ("earth", "light", "own model"), find_domain(domain).study.view
    weights = np.zeros((len(shown), 33, 65, len(sources)))
    assert isinstance(view, Plane)
    figure = plane(
        view, Seen(shown, sources, {"weights": weights}), [*range(len(shown))]
    )
    figure.suptitle(f"Transfer-{domain}: mixture of mars, one trial (seed 0)", size=10)
    boxes, page = boxes_of(figure), figure.bbox
    assert len(boxes) == 3 + len(sources) + len(shown)
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    assert all(page.contains(*box.min) and page.contains(*box.max) for box in boxes)


def test_visited_states_have_the_names_of_their_numbers_at_the_sides():
    arrays = {"visited": np.zeros((1, 4, 3)), "weights": np.zeros((1, 4, 2))}
    view = Points(("x", "y", "speed"), (2, 0))
    figure = points(view, Seen((0,), ("one", "other"), arrays, view), [0])
    assert (figure.get_supxlabel(), figure.get_supylabel()) == ("speed", "x")


def test_the_landers_paths_are_where_it_flew(everything):
    seen, panels = shown_in(everything, "lander")
    for axes, (place, _) in panels:
        tracks = [part for part in axes.collections if isinstance(part, LineCollection)]
        flown = seen.arrays["places"][place]
        assert len(tracks) == len(flown)
        for track, way in zip(tracks, flown, strict=True):
            segments = np.array(track.get_segments())
            np.testing.assert_allclose(segments[:, 0], way[:-1])
            np.testing.assert_allclose(segments[:, 1], way[1:])
        mean = seen.arrays["scores"][place].mean()
        assert axes.get_title().endswith(f"return {mean:.0f}")
    assert panels[0][0].get_ylabel() == "altitude"
    assert all(axes.get_xlabel() == "horizontal position" for axes, _ in panels)


def test_a_path_has_the_colour_of_the_source_that_is_trusted(everything):
    seen = everything["lander"].seen["mars"]
    sure = np.zeros_like(seen.arrays["weights"])
    for episode in range(3):
        sure[:, episode, :, episode] = 100
    sure[:, 3, :, :2] = 50
    arrays = seen.arrays | {"weights": sure}
    results = results_of(
        "lander",
        {"mars": spread(0)},
        seen={"mars": Seen(seen.steps, seen.sources, arrays)},
    )
    figure = built(mixture, results)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == list(SOURCES["lander"])
    colours = np.array([to_rgb(line.get_color()) for line in legend.get_lines()])
    wanted = [*colours, colours[:2].mean(axis=0)]
    for track, colour in zip(panels_of(figure)[0].collections, wanted, strict=False):
        found = np.unique(to_rgba_array(track.get_edgecolor())[:, :3], axis=0)
        np.testing.assert_allclose(found, colour[None])


def test_a_moment_that_was_not_looked_at_has_no_column():
    seen = {"mars": seen_of("cartpole", [look_of("cartpole", t) for t in (0, 77, 500)])}
    results = results_of("cartpole", {"mars": spread(50)}, seen=seen)
    titles = [axes.get_title() for axes in panels_of(built(mixture, results))]
    assert [title for title in titles if title] == ["0 samples", "500 samples"]


def test_the_mazes_are_all_drawn():
    maze = results_of("maze", {"mars": spread(50)})
    figure = built(drawings, maze)
    names = [axes.get_title() for axes in figure.axes]
    assert sorted(names) == sorted([*SOURCES["maze"], "target"])
    assert all(len(axes.images) == 1 for axes in figure.axes)


# Files


@pytest.mark.parametrize("part", [curves, mixture])
def test_a_figure_is_written_twice_with_the_same_bytes(
    part, everything, tmp_path, monkeypatch
):
    monkeypatch.setattr(figures, "DPI", 40)
    results = everything["lander"]
    for name in ("one", "two"):
        path = write_figure(tmp_path / name, "it", lambda: part(results))
        assert path == tmp_path / name / "it.png"
    for suffix, magic in ((".png", b"\x89PNG"), (".pdf", b"%PDF")):
        one, two = (
            (tmp_path / name / f"it{suffix}").read_bytes() for name in ("one", "two")
        )
        assert one.startswith(magic)
        assert one == two


def test_a_name_with_dollars_is_no_formula(tmp_path):
    """Matplotlib takes $…$ for mathematics, and fails where it is none."""
    look = seen_of("lander", [look_of("lander", 0)])
    seen = {"mars": Seen(look.steps, ("$\\no$", "land", "5 $ or 7 $"), look.arrays)}
    results = results_of("lander", {"mars": spread(0)}, seen=seen)
    assert write_figure(tmp_path, "it", lambda: mixture(results)).exists()


# Colours


def test_methods_can_be_told_apart():
    names = [*METHODS, "phi1", "phi2", "phi3", "phi4"]
    assert len({style(name) for name in names}) == len(names)


def test_colours_are_colours():
    named = [style(name)[0] for name in (*METHODS, "phi1", "nobody")]
    for colour in (*named, *palette.SOURCE_COLOURS, *palette.SWEEP):
        assert re.fullmatch(r"#[0-9a-f]{6}", colour)
    assert len(set(palette.SOURCE_COLOURS)) == len(palette.SOURCE_COLOURS)
    assert len(set(palette.SWEEP)) == len(palette.SWEEP)
