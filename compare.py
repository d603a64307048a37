"""Compares finished runs.

    python compare.py outputs/model-a outputs/model-b

scores · paired differences · flipped samples, as text, CSV and a page
"""

from __future__ import annotations

import sys

if __name__ == "__main__":  # ahead of the imports that would end in a traceback
    from utils.starting import interruptible_imports, stop_unless_ready

    interruptible_imports()
    stop_unless_ready("PIL", "blake3", "numpy", "rapidjson", program="compare.py")

from utils.session.compare import main

if __name__ == "__main__":
    sys.exit(main())
