"""Transfer-SparseLunarLander: hover, then land; the return comes at the end."""
