"""Every core a device of JAX's: commands and calls ask for it, importing does not."""

import os


def use_every_core() -> None:
    """Let JAX see each CPU core as a device; call it before JAX's first computation.

    Leaves a choice of the user's (JAX_NUM_CPU_DEVICES, or the setting of that name)
    alone, and does nothing once JAX has started.
    """
    import jax

    chosen = jax.config.values["jax_num_cpu_devices"] > 0
    if chosen or os.environ.get("JAX_NUM_CPU_DEVICES"):
        return
    try:
        jax.config.update("jax_num_cpu_devices", len(os.sched_getaffinity(0)))
    except RuntimeError:
        return
