"""Pictures for notebooks: what is drawn, and that they are pictures."""

import numpy as np

from policymix.core.colours import SOURCE_COLOURS
from policymix.core.pictures import colours_of, curve_picture, image_tag, trust_picture


def test_a_curve_is_the_mean_of_its_trials():
    scores = np.array([[0.0, 2.0], [4.0, 6.0]])
    (axes,) = curve_picture(np.array([0, 10]), scores, "a title", "return").axes
    *trials, mean = axes.lines
    assert np.asarray(mean.get_ydata()).tolist() == [1.0, 5.0]
    assert [np.asarray(t.get_ydata()).tolist() for t in trials] == [[0, 4], [2, 6]]
    assert (axes.get_ylabel(), axes.get_title()) == ("return", "a title")
    (axes,) = curve_picture(np.array([0, 10]), scores[:, :1], "", "return").axes
    assert len(axes.lines) == 1


def test_a_state_has_the_colour_of_the_source_that_is_trusted():
    weights = np.eye(2)[[0, 1, 1]]
    picture = trust_picture(np.zeros((3, 2)), weights, ("ice", "mud"), ("x", "v"))
    colours = np.asarray(picture.axes[0].collections[0].get_facecolor())
    assert np.array_equal(colours[1], colours[2])
    assert not np.array_equal(colours[0], colours[1])
    told = [text.get_text() for text in picture.legends[0].get_texts()]
    assert told == ["ice 33%", "mud 67%"]
    assert image_tag(picture).startswith('<img alt="" src="data:image/png;base64,iVBOR')


def test_many_sources_share_colours():
    assert colours_of(9)[-1] == SOURCE_COLOURS[0]
