"""Units that a network was trained in, taken up by its layers."""

from jaxtyping import Array, Float

from policymix.core.networks import MLP


def absorb_units(
    network: MLP,
    inputs: tuple[Float[Array, " in"], Float[Array, " in"]],
    outputs: tuple[Float[Array, " out"], Float[Array, " out"]],
) -> MLP:
    """A network on raw numbers that acts as `network` does on standardised ones.

    Args:
        network: from (x − centre) / spread to (y − centre) / spread.
        inputs: centre and spread of x.
        outputs: centre and spread of y.
    """
    (in_centre, in_spread), (out_centre, out_spread) = inputs, outputs
    first, last = network.weights[0] / in_spread[None, :], network.weights[-1]
    first_bias = network.biases[0] - first @ in_centre
    last_bias = out_centre + out_spread * network.biases[-1]
    return MLP(
        (first, *network.weights[1:-1], out_spread[:, None] * last),
        (first_bias, *network.biases[1:-1], last_bias),
    )
