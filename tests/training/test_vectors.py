"""Continuous actions in `train`: candidates, who wins, both loops, saved agents."""

from dataclasses import replace

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.envs.classic_control import PendulumEnv

from policymix.agents.base import Experience
from policymix.agents.sac import SAC
from policymix.core import replay
from policymix.core.encoders import Identity
from policymix.core.errors import PolicymixError
from policymix.core.replay import Layout
from policymix.core.settings import Settings
from policymix.core.types import Box, Transition
from policymix.domains.pendulum.task import Moves, Pendulum, pendulum_family
from policymix.methods.recipes import mapse
from policymix.methods.rivals import FOLLOW, OWN, RULE
from policymix.sources.experts import SourceTask
from policymix.sources.library import SourceLibrary
from policymix.training.agent import TrainedAgent
from policymix.training.greedy import asks_sources, greedy
from policymix.training.recall import recall
from policymix.training.setup import build_setup
from policymix.training.step import choose
from policymix.training.task import TransferTask, prepare
from policymix.training.train import train
from policymix.training.trial import begin
from policymix.training.vectors import phi_of

from support.probes import calm

SMALL = Settings(
    steps=60,
    evaluate_every=30,
    evaluation_episodes=1,
    final_episodes=1,
    layers=(8,),
    batch=4,
    capacity=50,
    mixture_layers=(4,),
    refresh_every=30,
)
TORQUES = {"east": -1.5, "west": 0.5, "calm": 1.0}
HERE = jnp.array([1.0, 0.0, 0.0])


def pushes(torque):
    return lambda obs: jnp.array([torque]) + 0.0 * obs[:1]


def library():
    family = pendulum_family()
    winds = {**family.sources, "calm": Pendulum()}
    return SourceLibrary(
        [
            SourceTask(name, pushes(torque), Moves(winds[name]))
            for name, torque in TORQUES.items()
        ],
        encoder=Identity(),
    )


SHORT = Pendulum(left=1.0, right=-1.0, horizon=12)
TASK = prepare(TransferTask(SHORT, library()))


def begun(method, settings=SMALL):
    setup = build_setup(TASK, method, settings)
    return setup, begin(setup, jax.random.key(3), HERE)


def quiet(setup, noise=0.0, **changes):
    uniforms = calm(setup.method.leader.advised.size)
    return uniforms._replace(noise=jnp.array([noise]), **changes)


def own_action(setup, trial):
    return setup.agent.act(trial.agent, HERE, None)


def test_a_row_keeps_a_vector():
    layout = Layout(Box((-1.0,) * 3, (1.0,) * 3), (2,), (2,))
    obs, action = jnp.arange(3.0), jnp.array([0.25, -7.5])
    flag = jnp.array(True)
    step = Transition(obs, action, jnp.array(4.0), obs + 1, flag, ~flag)
    row = layout.pack(step, [jnp.array([8.0, 9.0])])
    assert row.shape == (layout.width,) == (3 + 2 + 1 + 3 + 2 + 2,)
    assert row[layout.reward] == 4.0
    found, (extra,) = layout.unpack(row)
    for one, other in zip(found, step, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(extra, [8.0, 9.0])
    assert replay.empty(4, layout).rows.shape == (4, layout.width)


def test_own_actions_have_noise_in_training_and_none_in_tests():
    setup, trial = begun("scratch")
    calmly = choose(setup, trial, quiet(setup))[0]
    np.testing.assert_allclose(calmly, own_action(setup, trial), rtol=1e-5)
    assert choose(setup, trial, quiet(setup, noise=1.0))[0] != calmly
    np.testing.assert_array_equal(greedy(setup, trial, HERE), own_action(setup, trial))
    assert not asks_sources(setup)


@pytest.mark.parametrize(
    ("method", "torque"), [("follow", None), ("vote", 0.5), ("ucb", -1.5)]
)
def test_what_follows_takes_the_advised_action(method, torque):
    """The most trusted source's, the median of all, or that of the arm that leads."""
    setup, trial = begun(method)
    if torque is None:
        torque = list(TORQUES.values())[int(jnp.argmax(setup.weights(trial, HERE)))]
    always = quiet(setup, reuse=jnp.zeros(()), follow=jnp.array(0.5))
    assert float(choose(setup, trial, always)[0][0]) == torque


def test_a_source_alone_wins_if_its_scale_outweighs_the_values():
    setup, trial = begun("phi3", replace(SMALL, scale=1e6))
    assert greedy(setup, trial, HERE) == TORQUES["calm"]
    assert asks_sources(setup)
    np.testing.assert_array_equal(
        greedy(setup, trial, HERE, alone=True), own_action(setup, trial)
    )
    mute = replace(setup, method=replace(setup.method, scale=jnp.zeros(())))
    np.testing.assert_array_equal(greedy(mute, trial, HERE), own_action(setup, trial))


def test_the_potential_is_the_weight_of_those_who_agree():
    """One at a source's action, and 1/e of it half of the range away."""
    setup, trial = begun("phi3")
    advice = setup.advise(HERE)
    near = phi_of(setup, trial, HERE, advice, jnp.array([1.0]))
    far = phi_of(setup, trial, HERE, advice, jnp.array([-1.0]))
    np.testing.assert_allclose([near, far], [1.0, np.exp(-1.0)], rtol=1e-5)


def test_mapse_draws_sources_by_their_weights():
    setup, trial = begun(mapse)
    weights = np.cumsum(setup.weights(trial, HERE))
    for place, torque in enumerate(TORQUES.values()):
        below = weights[place] - 1e-3
        uniforms = quiet(setup, reuse=jnp.zeros(()), follow=jnp.array(below))
        assert float(choose(setup, trial, uniforms)[0][0]) == torque
    never = choose(setup, trial, quiet(setup))[0]
    np.testing.assert_allclose(never, own_action(setup, trial), rtol=1e-5)


def led(setup, trial, arm):
    return trial._replace(behaviour=trial.behaviour._replace(arm=jnp.array(arm)))


def test_mars_takes_the_advice_the_better_or_its_own():
    setup, trial = begun("mars")
    own = own_action(setup, trial)
    agent = setup.agent
    assert isinstance(agent, SAC)
    advised = choose(setup, led(setup, trial, FOLLOW), quiet(setup))[0]
    assert float(advised[0]) in TORQUES.values()
    np.testing.assert_allclose(
        choose(setup, led(setup, trial, OWN), quiet(setup))[0], own, rtol=1e-5
    )
    worth = [agent.value(trial.agent, HERE, a) for a in (own, advised)]
    ruled = choose(setup, led(setup, trial, RULE), quiet(setup))[0]
    better = own if worth[0] > worth[1] else advised
    np.testing.assert_allclose(ruled, better, rtol=1e-5)


@pytest.mark.parametrize("arm", [FOLLOW, OWN])
def test_a_student_of_mars_learns_what_has_proved_best(arm):
    """Advice and own policy have the same torque everywhere: it comes close to that."""
    setup, trial = begun("mars", replace(SMALL, learning_rate=1e-2))
    proved = jnp.where(jnp.arange(len(trial.behaviour.tries)) == arm, 3.0, 0.0)
    behaviour = trial.behaviour._replace(tries=proved, counts=proved, means=proved)
    trial = trial._replace(behaviour=behaviour)
    rows = jax.random.normal(jax.random.key(0), (16, 3))
    still = jnp.zeros(16)
    batch = Transition(rows, still[:, None], still, rows, still > 0, still > 0)
    advice = jax.vmap(setup.advise)(rows).reshape(16, -1)
    lesson = recall(setup, trial, Experience(batch), [advice, advice])
    assert lesson.shown is not None
    pairs = list(zip(rows, lesson.shown, strict=False))
    for row, torque in pairs:
        np.testing.assert_allclose(greedy(setup, trial, row), torque, rtol=1e-5)
    untaught = trial.agent

    @jax.jit
    def study(agent):
        noise = jnp.zeros((2, 16, 1))
        taught, _ = setup.agent.update(agent, lesson._replace(noise=noise))
        return untaught._replace(student=taught.student)

    for _ in range(300):
        trial = trial._replace(agent=study(trial.agent))
    for row, torque in pairs:
        alone = greedy(setup, trial, row, alone=True)
        np.testing.assert_allclose(alone, torque, atol=0.1)


def test_the_own_policy_of_mars_learns_as_if_there_were_no_student(keys):
    setup, trial = begun("mars")
    agent, state = setup.agent, trial.agent
    batch = Transition(
        jax.random.normal(keys(), (4, 3)),
        jnp.ones((4, 1)),
        jnp.ones(4),
        jax.random.normal(keys(), (4, 3)),
        *jnp.zeros((2, 4), bool),
    )
    lesson = Experience(batch, noise=jnp.zeros((2, 4, 1)), shown=jnp.ones((1, 1)))
    taught, _ = agent.update(state, lesson)
    alone, _ = replace(agent, studies=False).update(
        state._replace(student=None), lesson
    )
    assert taught.student.parameters.biases[-1] != 0.0
    for one, other in zip(
        jax.tree.leaves(taught._replace(student=None)),
        jax.tree.leaves(alone),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_advice_that_leads_is_followed_where_the_own_model_is_believed(monkeypatch):
    """What policies are worth their returns say, as among finitely many actions."""
    setup, trial = begun("mars")
    own = own_action(setup, trial)
    believed = jnp.array([0.3, 0.05, 0.05, 0.6])
    monkeypatch.setattr(type(setup), "weights", lambda *_: believed)
    advised = choose(setup, led(setup, trial, FOLLOW), quiet(setup))[0]
    np.testing.assert_array_equal(advised, setup.advise(HERE)[0])
    for arm in (RULE, OWN):
        action = choose(setup, led(setup, trial, arm), quiet(setup))[0]
        np.testing.assert_allclose(action, own, rtol=1e-5)


def test_mars_bootstraps_what_is_advised_by_the_beliefs_of_today():
    setup, trial = begun("mars")
    step = Transition(HERE, jnp.zeros(1), jnp.zeros(()), HERE, *jnp.zeros((2,), bool))
    batch = jax.tree.map(lambda x: x[None], step)
    advice = setup.advise(HERE).reshape(1, -1)
    told = recall(setup, trial, Experience(batch), [advice, advice])
    advised = choose(setup, led(setup, trial, FOLLOW), quiet(setup))[0]
    np.testing.assert_array_equal(told.rival, advised[None])
    np.testing.assert_array_equal(told.heard, [True])


@pytest.mark.parametrize("method", ["caps", "multipolar", "mars-lookahead"])
def test_methods_of_finitely_many_actions_say_so(method):
    with pytest.raises(PolicymixError, match=r"this method .* actions are Box"):
        build_setup(TASK, method, SMALL)


def test_actions_need_bounds_and_networks():
    spec = replace(TASK.domain.spec(), action=Box((-9.0,), (np.inf,)))
    loose = replace(TASK.sources, spec=spec)
    with pytest.raises(PolicymixError, match="whose action_space is a Box with finite"):
        build_setup(replace(TASK, sources=loose), "scratch", SMALL)
    with pytest.raises(PolicymixError, match="layers=None asks for a table"):
        build_setup(TASK, "scratch", replace(SMALL, layers=None))


class Windy(PendulumEnv):
    """Gymnasium's pendulum in the target's wind: the same task for the host."""

    def step(self, u):
        side = 1.0 if np.sin(self.state[0]) >= 0 else -1.0
        return super().step(np.asarray(u) + side)


def windy():
    return gymnasium.wrappers.TimeLimit(Windy(), 12)


@pytest.mark.learning
@pytest.mark.parametrize(
    ("target", "method", "updates"),
    [(SHORT, "mars", "step"), (windy, "mars", "step"), (SHORT, "scratch", "episode")],
    ids=["compiled", "host", "by-episode"],
)
def test_trials_learn_and_are_kept(tmp_path, target, method, updates):
    task = TransferTask(target, library())
    settings = replace(SMALL, updates=updates)
    trained = train(
        task, method, settings=settings, trials=2, seed=1000, progress=False
    )
    scores = [row.score for row in trained.rows]
    assert len(scores) == 6
    assert np.all(np.isfinite(scores))
    agent = trained.agents[1]
    rows = np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 3.0]], np.float32)
    actions = agent.predict(rows)
    assert actions.shape == (2, 1)
    assert np.all(np.abs(actions) <= 2.0)
    np.testing.assert_allclose(agent.predict(rows[0]), actions[0], rtol=1e-5)
    alone = agent.predict(rows, advised=False)
    assert np.isfinite(agent.evaluate(2))
    agent.save(tmp_path / "agent")
    again = TrainedAgent.load(tmp_path / "agent", task)
    np.testing.assert_array_equal(again.predict(rows), actions)
    np.testing.assert_array_equal(again.predict(rows, advised=False), alone)


@pytest.mark.learning
def test_a_trial_does_not_depend_on_those_beside_it():
    both = train(TASK, "scratch", settings=SMALL, trials=2, seed=7, progress=False)
    one = train(TASK, "scratch", settings=SMALL, seed=8, progress=False)
    pairs = zip([r for r in both.rows if r.seed == 8], one.rows, strict=True)
    for mine, other in pairs:
        np.testing.assert_allclose(mine.score, other.score, rtol=1e-4)
