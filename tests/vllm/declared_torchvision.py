"""Makes torchvision importable in an environment with the CPU build of vLLM; for tests alone.

Where the package index has no torchvision for its torch without CUDA, the one for CUDA is there, and
importing it fails at two operators that nobody here calls: they are declared just before. `make
test-vllm` copies this file there, beside a .pth file that imports it at every start: a `sitecustomize`
would stay unread where the system's Python brings one of its own.
"""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from importlib.metadata import version


class _DeclaredFirst(MetaPathFinder):
    """Finds nothing; it only hears that torchvision is about to be imported."""

    def find_spec(self, name: str, path: object, target: object = None) -> None:
        if name != "torchvision":
            return
        sys.meta_path.remove(self)
        if version("torchvision").endswith("+cpu"):
            return  # built for this torch: it declares its operators itself
        import torch

        operators = torch.library.Library("torchvision", "DEF")
        operators.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        operators.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        globals()["declared"] = operators  # they go when the library object goes


sys.meta_path.insert(0, _DeclaredFirst())
