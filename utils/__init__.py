"""HOW a run happens: config, engine, log, pictures, files.

Imports neither `benchmarks` nor `models`.
"""

from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
"""The folder of `evaluate.py`."""
