"""How XLA is told to compile for a processor."""

ALONE = {"xla_cpu_multi_thread_eigen": False}
"""Every shard keeps to its own core: they are all busy."""
BRIEF = {**ALONE, "xla_cpu_enable_concurrency_optimized_scheduler": False}
"""A program of a few hundred microseconds gains nothing from several threads either,
and loses as much by waking them."""
