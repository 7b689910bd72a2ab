"""Inventory: the stock of a product whose demand nobody knows, only forecasts do.

A state is a month and a stock, numbered month · (capacity + 1) + stock. An action is an
order, which arrives at once. Then customers come, and what they find is sold.
"""

from collections.abc import Mapping, Sequence
from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from policymix.core.types import Discrete, DiscreteAction, Key, Scalar, TaskSpec
from policymix.environments.base import Family, Step
from policymix.environments.finite import FiniteDomain, Tables

MONTHS, CAPACITY = 12, 20
LARGEST_DEMAND = 40
FAMILY_NAME = "Inventory"


class Sales(eqx.Module):
    """Log-probability of what is left, given what was there: a forecast's likelihood.

    Sales are censored: an empty store tells only that demand was at least the stock.
    """

    demand: Float[Array, "months demands"]
    """P(D = d) in each month."""
    capacity: int = eqx.field(static=True)

    def __call__(
        self, obs: Int[Array, ""], action: DiscreteAction, next_obs: Int[Array, ""]
    ) -> Scalar:
        """Return log P(s'|s, a), −∞ where it is impossible."""
        size = self.capacity + 1
        month, available = obs // size, jnp.minimum(obs % size + action, self.capacity)
        next_month, left = next_obs // size, next_obs % size
        demands, sold = jnp.arange(self.demand.shape[1]), available - left
        fits = jnp.where(left == 0, demands >= sold, demands == sold)
        possible = (sold >= 0) & (next_month == (month + 1) % len(self.demand))
        return jnp.log(jnp.where(possible, jnp.sum(fits * self.demand[month]), 0.0))


class Inventory(FiniteDomain):
    """Order every month; pay for orders, for what is left and for what was missing.

    Action k orders k units; what does not fit into the store is not delivered. An
    episode begins in any month with an empty store. Reward is minus the cost.
    """

    demand: Float[Array, "months demands"]
    """P(D = d) in each month."""
    fixed_cost: float = 3.0
    """Of an order, however small."""
    holding_cost: float = 1.0
    """Of a unit that is left at the end of a month."""
    lost_cost: float = 5.0
    """Of a unit that was asked for in vain."""
    discount: float = 0.95
    capacity: int = eqx.field(static=True, default=CAPACITY)
    largest_order: int = eqx.field(static=True, default=14)
    horizon: int = eqx.field(static=True, default=24)

    @property
    def spec(self) -> TaskSpec:
        """A month and a stock in, an order out."""
        states = len(self.demand) * (self.capacity + 1)
        return TaskSpec(Discrete(states), Discrete(self.largest_order + 1))

    def initial(self, key: Key) -> Int[Array, ""]:
        """Any month, an empty store."""
        month = jax.random.randint(key, (), 0, len(self.demand))
        return month * (self.capacity + 1)

    def step(self, key: Key, obs: Int[Array, ""], action: DiscreteAction) -> Step:
        """Order, sell, count the cost."""
        size = self.capacity + 1
        month, stock = obs // size, obs % size
        demand = jax.random.categorical(key, jnp.log(self.demand[month]))
        left, cost = self.sell(stock, action, demand)
        next_month = (month + 1) % len(self.demand)
        return Step(next_month * size + left, -cost, jnp.array(False))

    def sell(
        self, stock: Int[Array, ""], order: DiscreteAction, demand: Int[Array, ""]
    ) -> tuple[Int[Array, ""], Scalar]:
        """What is left in the store, and what the month costs."""
        available = jnp.minimum(stock + order, self.capacity)
        left = jnp.maximum(available - demand, 0)
        missing = jnp.maximum(demand - available, 0)
        ordering = jnp.where(available > stock, self.fixed_cost, 0.0)
        return left, ordering + self.holding_cost * left + self.lost_cost * missing

    def tables(self) -> Tables:
        """Over all demands, in double precision."""
        demand = np.asarray(self.demand, float)
        demand /= demand.sum(axis=1, keepdims=True)
        months, demands = demand.shape
        size, orders = self.capacity + 1, self.largest_order + 1
        each = jax.vmap(self.sell, (None, None, 0))
        each = jax.vmap(jax.vmap(each, (None, 0, None)), (0, None, None))
        left, cost = each(jnp.arange(size), jnp.arange(orders), jnp.arange(demands))
        remains = np.eye(size)[np.asarray(left)]
        moves = np.einsum("md,sadl->msal", demand, remains)
        costs = np.einsum("md,sad->msa", demand, np.asarray(cost, float))
        transitions = np.zeros((months, size, orders, months, size))
        for month in range(months):
            transitions[month, :, :, (month + 1) % months] = moves[month]
        start = np.zeros((months, size))
        start[:, 0] = 1 / months
        states = months * size
        return Tables(
            transitions.reshape(states, orders, states),
            -costs.reshape(states, orders),
            start.ravel(),
        )


def poisson(means: Sequence[float | int]) -> Float[Array, "months demands"]:
    """Independent customers: so many in each month on average."""
    demands = np.arange(LARGEST_DEMAND + 1)
    factorials = np.cumsum(np.log(np.maximum(demands, 1)))
    logs = np.log(np.asarray(means))[:, None] * demands - factorials
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return jnp.asarray(shares / shares.sum(axis=1, keepdims=True), jnp.float32)


LOW, HIGH, EVEN = 1.5, 9.0, 5.0
FORECASTS: Mapping[str, tuple[float, ...]] = {
    "steady": (EVEN,) * 12,
    "summer": (LOW,) * 4 + (HIGH,) * 6 + (LOW,) * 2,
    "winter": (HIGH,) * 4 + (LOW,) * 6 + (HIGH,) * 2,
}
"""Mean demand from January to December."""
TRUTH = ("steady",) * 4 + ("summer",) * 4 + ("winter",) * 4
"""The forecast that the target follows in each month."""


@cache
def inventory_family() -> Family[Inventory]:
    """Three forecasts, and a product that follows each for a third of a year."""
    forecasts = {name: poisson(means) for name, means in FORECASTS.items()}
    truth = jnp.stack([forecasts[name][month] for month, name in enumerate(TRUTH)])
    sources = {name: Inventory(demand=demand) for name, demand in forecasts.items()}
    return Family(FAMILY_NAME, Inventory(demand=truth), sources)


DOZEN = 12


@cache
def unforeseen_family() -> Family[Inventory]:
    """The same forecasts, and a product that no forecast describes.

    In every other month, by chance, a single customer buys a dozen at once.
    """
    row = jnp.zeros(LARGEST_DEMAND + 1).at[jnp.array([0, DOZEN])].set(0.5)
    target = Inventory(demand=jnp.tile(row, (MONTHS, 1)))
    return Family(f"{FAMILY_NAME}, unforeseen", target, inventory_family().sources)


def right_forecast(names: Sequence[str], obs: Int[Array, ""]) -> Int[Array, ""]:
    """The place among the names of the forecast that holds in a state's month."""
    places = jnp.array([names.index(name) for name in TRUTH])
    return places[obs // (CAPACITY + 1)]
