"""Transfer-Acrobot: a double pendulum whose links are other ones in every machine."""
