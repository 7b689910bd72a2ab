"""The numbers of an experiment; a domain's own are in its `experiment` module."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Settings:
    """Numbers of one experiment; every method reads those that concern it."""

    steps: int = 50_000
    """Target samples of a trial."""
    evaluate_every: int = 1_000
    """Samples between two tests."""
    evaluation_episodes: int = 10
    """Episodes of a test; no other test and no other trial has their starts."""
    final_episodes: int = 20
    """Episodes of the last test, which says what was reached."""
    discount: float = 0.99
    """γ of the learner."""
    epsilon_start: float = 1.0
    """Share of random actions in the first episode."""
    epsilon_decay: float = 0.99
    """Factor of that share after each episode."""
    epsilon_floor: float = 0.01
    """What that share does not fall below."""
    layers: tuple[int, ...] | None = (64, 64)
    """Hidden layers of the DQN; None learns a table."""
    initial_value: float = 0.0
    """What every entry of a table begins with."""
    learning_rate: float = 5e-4
    """Step towards each target: of a table, or of a network's Adam."""
    shaped_rate: float = 2e-4
    """Learning rate of methods whose values are guided by a potential."""
    batch: int = 32
    """Transitions in an update of a network, be it of values or of the mixture."""
    capacity: int = 20_000
    """Transitions that the replay holds."""
    refresh_every: int = 500
    """Steps between copies of the target network."""
    target_rate: float = 0.005
    """Where actions are continuous: how far SAC's critics of targets follow the others
    in an update."""
    penalty: float = 1e-6
    """Weight of the squared parameters in the loss of the DQN."""
    double: bool = False
    """Whether one network chooses the next action and the other values it."""
    huber: bool = False
    """Whether large errors of the DQN count linearly instead of squared."""
    clip: float = 0.0
    """Largest norm of a gradient of the DQN; 0 leaves it as it is."""
    replay: bool = False
    """Whether a table repeats remembered transitions, as a network does."""
    updates: int | str = "step"
    """One update per "step"; after each "episode" as many as it had steps; or a number
    of updates after each episode."""
    learn_every: int = 1
    """Samples between two updates where they come by "step"."""
    mixture: str = "network"
    """What believes: a "network" over states, or "dirichlet", which is exact and keeps
    beliefs for each of finitely many states."""
    mixture_prior: str = "uniform"
    """P(θ) of the mixture's network: "uniform", "gaussian" or "laplace"; or "coverage",
    where weights begin with what each source has seen."""
    prior_strength: float = 1e-3
    """Of a prior that is not uniform."""
    precision: str = "fixed"
    """Of the kernels: "fixed", "learned" for each source, or learned "per-state"."""
    concentration: float = 1.0
    """α of the exact mixture; less than 1 prefers a single source in each state."""
    mixture_layers: tuple[int, ...] = (30, 30)
    """Hidden layers of the mixture's network."""
    mixture_rate: float = 1e-3
    """Learning rate of the mixture."""
    epochs: int = 3
    """Steps of Adam on each batch of the mixture."""
    heads: int = 4
    """Value functions of `mars`: half of them pick its own action, half judge it; of
    tables one picks and twice as many judge."""
    caution: float = 1.5
    """β of `mars`: how many deviations above zero the judges' mean must be before its
    own action is taken instead of the advised one."""
    scale: float = 2.0
    """Weight c of the potential; it competes with differences of values."""
    guidance: float = 0.0
    """Share of exploration that the sources lead in turn, wherever advice counts."""
    gate_bonus: float = 0.03
    """How eagerly the gate tries the arm that it has tried less."""
    gate_keep: float = 0.8
    """How much of the past counts after each episode."""
    gate_burden: float = 0.1
    """By what share of the range of returns advice must be better to lead on."""
    gate_margin: float = 0.05
    """By what share of that range it must be worse to be left in tests."""
    gate_patience: float = 0.5
    """Advice leads as long as the share of random actions is above this."""
    own_model: bool = False
    """Whether the mixture has an (n+1)-st component, a model learned from the target
    itself, which takes over where no source explains the target."""
    mapse_reuse: float = 0.85
    """How often a source's action is taken, to the power of the episode."""
    ucb_reuse: float = 0.85
    """The same for the source that UCB picked."""
    exit_rate: float = 0.01
    """Learning rate of the termination in CAPS."""
    prql_reuse: float = 0.95
    """Per step of an episode."""
    prql_growth: float = 0.05
    """Of the inverse temperature, per episode."""
    jumpstart_shrink: float = 0.95
    """Of the led part of an episode, per episode."""


DEFAULTS = Settings(own_model=True, shaped_rate=Settings.learning_rate)
"""For targets of the user's own. Where no source is any good, a method that is left to
itself then learns as no transfer does; the paper's slower rate for guided methods cost
a quarter of the area there and gained one per cent with good sources."""

TABLE_DEFAULTS = replace(
    DEFAULTS, layers=None, learning_rate=0.1, shaped_rate=0.1, replay=True
)
"""The same where the target's observations and actions are numbers: tables with a
replay, as in the package's own domains of that kind. A network that sees one of 500
states took more than 1.6 times their processor time."""
