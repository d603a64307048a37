"""Makes torchvision importable in an environment with the CPU build of vLLM; for tests alone.

That environment has a torch without CUDA, and there is no torchvision built for it: importing it
fails at two operators that nobody here calls. They are declared, without an implementation, just
before torchvision is loaded. `make test-vllm` copies this file into that environment.
"""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder


class _DeclaredFirst(MetaPathFinder):
    """Finds nothing; it only hears that torchvision is about to be imported."""

    def find_spec(self, name: str, path: object, target: object = None) -> None:
        if name != "torchvision":
            return
        sys.meta_path.remove(self)
        import torch

        operators = torch.library.Library("torchvision", "DEF")
        operators.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        operators.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        globals()["declared"] = operators  # they go when the library object goes


sys.meta_path.insert(0, _DeclaredFirst())
