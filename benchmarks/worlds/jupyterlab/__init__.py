"""JupyterLab as a world: the real one, on loopback, without kernels and terminals."""
