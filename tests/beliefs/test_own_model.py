"""Where no source fits, and only there, the target's own model takes the weight."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from policymix.beliefs.dirichlet import DirichletMixture
from policymix.beliefs.mixture import Evidence
from policymix.beliefs.network import NetworkMixture
from policymix.beliefs.own_model import OwnNetwork, OwnSoftmax, OwnTable, WithOwnModel
from policymix.core.encoders import Identity, OneHot
from policymix.core.errors import PolicymixError
from policymix.core.kernels import Gaussian, Indicator
from policymix.sources.experts import SourceTask
from policymix.sources.library import SourceLibrary
from policymix.training.task import TransferTask, prepare
from policymix.training.train import train

from support.own_probes import BRIEF, LineDomain
from support.own_probes import task as own_task
from support.own_probes import unoptimised as unoptimised
from support.probes import LONG, QUICK, RIGHT, model_of

pytestmark = pytest.mark.usefixtures("unoptimised")

PRECISION = 500.0


def target(obs, action):
    """Left of zero the target drifts up; right of it, down."""
    drift = jnp.where(obs[0] < 0, 0.5, -0.5) * (2.0 * action - 1.0)
    return obs + jnp.array([0.0, 1.0]) * drift


def source(obs, action):
    """Right on the left side only."""
    return obs + jnp.array([0.0, 0.5]) * (2.0 * action - 1.0)


@pytest.fixture(scope="module")
def evidence():
    obs_key, action_key = jax.random.split(jax.random.key(5))
    obs = jax.random.uniform(obs_key, (2048, 2), minval=-1, maxval=1)
    action = jax.random.randint(action_key, (2048,), 0, 2)
    next_obs = jax.vmap(target)(obs, action)
    kernel = Gaussian(PRECISION)
    likelihoods = jax.vmap(kernel)(jax.vmap(source)(obs, action), next_obs)
    return Evidence(obs, action, next_obs, likelihoods[:, None])


def test_own_model_takes_over_where_no_source_fits(evidence):
    mixture = WithOwnModel(
        NetworkMixture(Identity(), 2, 2, epochs=3),
        OwnNetwork(Identity(), Gaussian(PRECISION), 2, 2),
    )

    def step(state, key):
        rows = jax.random.randint(key, (64,), 0, len(evidence.obs))
        return mixture.update(state, jax.tree.map(lambda x: x[rows], evidence))

    init_key, batch_key = jax.random.split(jax.random.key(0))
    keys = jax.random.split(batch_key, 1500)
    train = jax.jit(lambda: jax.lax.scan(step, mixture.init(init_key), keys)[0])
    state = train()
    probes = jnp.array([[-0.7, 0.0], [-0.4, 0.5], [0.4, 0.5], [0.7, -0.5]])
    weights = jax.vmap(mixture.weights, in_axes=(None, 0))(state, probes)
    assert np.all(weights[:2, 0] > 0.9), "the source is exact on the left"
    assert np.all(weights[2:, 1] > 0.9), "nobody else knows the right"


def test_exact_mixture_with_counts():
    """State 0: the source is right. State 1: it is always wrong."""
    mixture = WithOwnModel(DirichletMixture(2, 2), OwnTable(2, 1))
    kernel = Indicator(1e-3)
    encode = OneHot(2)
    state = mixture.init(jax.random.key(0))
    update = eqx.filter_jit(mixture.update)
    for _ in range(30):
        obs = jnp.array([0, 1])
        likelihood = jax.vmap(lambda s: kernel(encode(jnp.array(0)), encode(s)))(obs)
        evidence = Evidence(obs, jnp.zeros(2, int), obs, likelihood[:, None])
        state, _ = update(state, evidence)
    assert mixture.weights(state, jnp.array(0))[0] > 0.9
    assert mixture.weights(state, jnp.array(1))[1] > 0.9


def test_counts_are_frequencies():
    table = OwnTable(num_states=3, num_actions=2, pseudo_count=0.5)
    model = table.init(jax.random.key(0))
    obs, action, next_obs = (
        jnp.array([1, 1, 1]),
        jnp.array([0, 0, 1]),
        jnp.array([2, 0, 0]),
    )
    model = table.update(model, Evidence(obs, action, next_obs, jnp.zeros((3, 0))))
    likelihood = table.log_likelihood(model, jnp.array(1), jnp.array(0), jnp.array(2))
    np.testing.assert_allclose(jnp.exp(likelihood), (1 + 0.5) / (2 + 1.5), rtol=1e-5)
    unseen = table.log_likelihood(model, jnp.array(0), jnp.array(0), jnp.array(2))
    np.testing.assert_allclose(jnp.exp(unseen), 1 / 3, rtol=1e-5)


def test_handicap_is_what_the_own_model_must_be_better_by(evidence):
    table, key = OwnTable(2, 1), jax.random.key(0)
    free = WithOwnModel(DirichletMixture(2, 2), table, handicap=0.0)
    charged = WithOwnModel(DirichletMixture(2, 2), table, handicap=1.5)
    obs = jnp.array(0)
    one = Evidence(obs, jnp.array(0), obs, jnp.array([-0.3]))
    state = free.init(key)
    difference = free.log_likelihoods(state, one) - charged.log_likelihoods(state, one)
    np.testing.assert_allclose(difference, [0.0, 1.5], rtol=1e-6)


def test_replay_and_counting_do_not_mix():
    with pytest.raises(PolicymixError, match="do not go together"):
        WithOwnModel(NetworkMixture(Identity(), 2, 2), OwnTable(2, 1))


CHAIN = np.stack(
    [np.roll([[0.7, 0.3, 0.0], [0.0, 0.2, 0.8]], state, axis=1) for state in range(3)]
)
"""Probabilities of the next of three states, by state and action."""


def test_softmax_learns_the_probabilities_of_a_chain(keys):
    model = OwnSoftmax(OneHot(3), 3, 2, 3, layers=(16,), learning_rate=3e-3)
    rng = np.random.default_rng(0)
    obs, action = rng.integers(3, size=4_000), rng.integers(2, size=4_000)
    next_obs = np.array([rng.choice(3, p=p) for p in CHAIN[obs, action]])
    evidence = Evidence(
        *(jnp.asarray(obs), jnp.asarray(action), jnp.asarray(next_obs)),
        jnp.zeros((4_000, 0)),
    )

    def step(state, key):
        rows = jax.random.randint(key, (128,), 0, 4_000)
        return model.update(state, jax.tree.map(lambda x: x[rows], evidence)), None

    start = model.init(keys())
    learned = jax.jit(lambda start, keys: jax.lax.scan(step, start, keys)[0])(
        start, jax.random.split(keys(), 1_500)
    )
    likely = jax.vmap(model.log_likelihood, (None, None, None, 0))
    for state in range(3):
        for chosen in range(2):
            pair = jnp.array(state), jnp.array(chosen)
            found = jnp.exp(likely(learned, *pair, jnp.arange(3)))
            np.testing.assert_allclose(found, CHAIN[state, chosen], atol=0.06)


def corridor_task(*sources):
    return prepare(TransferTask(LONG, SourceLibrary(sources)))


def random_policy(obs):
    return np.random.default_rng().integers(2)


TRUE = np.asarray(model_of(LONG).next_obs)
UNTESTED = {"evaluate_every": 1_000, "evaluation_episodes": 1, "final_episodes": 1}
"""What is learned does not depend on tests, whose every step asks Python."""
OWN = replace(QUICK, own_model=True, **UNTESTED)


def weights_after(task):
    agent = train(task, "mars-explicit", settings=OWN, progress=False).agents[0]
    return agent.belief.weights_of(np.arange(LONG.length))


@pytest.mark.learning
def test_useless_sources_are_left_to_the_own_model():
    """Both act by chance; one predicts the other direction, one a leap."""
    leap = np.tile(np.arange(LONG.length)[:, None] + 2, 2) % LONG.length
    weights = weights_after(
        corridor_task(
            SourceTask("mirrored", random_policy, TRUE[:, ::-1], Indicator()),
            SourceTask("elsewhere", random_policy, leap, Indicator()),
        )
    )
    assert weights.shape == (LONG.length, 3)
    assert np.all(weights[:, -1] > 0.9)


@pytest.mark.learning
def test_an_exact_source_keeps_the_weight():
    weights = weights_after(
        corridor_task(
            SourceTask("exact", np.array(RIGHT), TRUE, Indicator()),
            SourceTask("mirrored", random_policy, TRUE[:, ::-1], Indicator()),
        )
    )
    assert np.all(weights[:, 0] > 0.9)


@pytest.mark.learning
def test_vectors_without_a_useful_source_are_left_to_the_own_model():
    def elsewhere(obs, action):
        return obs + jnp.array([3.0, 0.0])

    useless = own_task(random_policy, elsewhere, LineDomain())
    more = {"own_model": True, "steps": 1_000, "mixture_rate": 1e-2, **UNTESTED}
    settings = replace(BRIEF, **more)
    trained = train(useless, "mars-explicit", settings=settings, progress=False)
    belief = trained.agents[0].belief
    places = np.stack([np.linspace(-2, 2, 9), np.ones(9)], axis=1)
    assert np.all(belief.weights_of(places.astype(np.float32))[:, -1] > 0.9)
