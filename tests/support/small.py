"""An experiment of a second or two; a process of its own imports it too."""

from dataclasses import replace

from policymix.experiments.plans import Experiment, Part

from support.probes import MIXED, QUICK

SETTINGS = replace(QUICK, steps=200, refresh_every=50)
PIECES = (Part("scratch"), Part("mars"), Part("scratch", "ucb_reuse", 0.5))
SMALL = Experiment(MIXED, SETTINGS, 2, 5, PIECES)
