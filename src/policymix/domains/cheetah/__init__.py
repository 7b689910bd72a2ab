"""Transfer-Cheetah: a runner on a track whose gravity changes half-way round."""
