"""The pictures of README, concepts and how-to, each drawn from what the library does.

    python docs/pictures/make.py [name …]

writes docs/images/NAME.png, all of them without a name. The pictures of a page are in
the file of its name. Every picture has two functions: one finds its numbers, which
tests/docs/test_pictures.py asks the picture's claim of, and one draws them.
"""

import sys
import time
from collections.abc import Callable

import concepts_forms
import concepts_index
import concepts_mixture
import concepts_potential
import concepts_sources
import howto_is_it_hurting
import howto_which_source
import matplotlib
import readme
from look import PHONE, ROOT
from matplotlib.figure import Figure

PAGES = (
    readme,
    concepts_index,
    concepts_sources,
    concepts_mixture,
    concepts_potential,
    concepts_forms,
    howto_which_source,
    howto_is_it_hurting,
)
PICTURES: dict[str, Callable[[], Figure]] = {
    name: draw for page in PAGES for name, draw in page.PICTURES.items()
}
"""By the name of the file."""


def main() -> None:
    """Draw what was asked for."""
    images = ROOT / "docs" / "images"
    for name in sys.argv[1:] or PICTURES:
        started = time.perf_counter()
        with matplotlib.rc_context(PHONE):
            figure = PICTURES[name]()
            figure.savefig(images / f"{name}.png", dpi=160, metadata={"Software": None})
        print(f"{name}: {time.perf_counter() - started:.1f} s", flush=True)


if __name__ == "__main__":
    main()
