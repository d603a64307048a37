"""HOW a run happens: config, engine, log, pictures, files.

Imports neither `benchmarks` nor `models`.
"""
