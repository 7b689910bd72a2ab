"""Transfer-Pendulum: swing up in a wind that depends on the side one is on."""
