"""Transfer-CartPole: a pole on a track that is rough here and slippery there."""
