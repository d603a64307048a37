"""What padding costs a batch where attention has no kernel for it (sdpa).

python -m perf.local_padding [--like 7b] [--batches 8x1024 8x4096 32x1024 8x16384] [--tokens 24]

Each batch is generated twice as it is and twice with its first sample one token shorter, so that
the whole batch needs a mask. Printed are the seconds of the prompt (prefill), of one more token
(decode), and the peak of memory above the weights; `doubles at` is the number of padded tokens at
which a decoding step would take twice as long, if what it takes grows in proportion.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import Any

from perf import full_size

LETTERS = 256


@dataclass(frozen=True)
class Cost:
    """Of one batch, or of one token more for it."""

    prefill_s: float
    decode_s: float
    peak_gb: float


def measure(model: Any, count: int, length: int, tokens: int, *, is_padded: bool) -> Cost:
    """Generate one token, then `tokens`; the faster of two rounds."""
    import torch

    on_cuda = model.device.type == "cuda"
    ids = torch.randint(0, LETTERS, (count, length), device=model.device)
    mask = torch.ones_like(ids)
    if is_padded:
        mask[0, 0] = 0

    def generate(new_tokens: int) -> float:
        began_s = time.monotonic()
        with torch.inference_mode():
            model.generate(
                input_ids=ids,
                attention_mask=mask,
                max_new_tokens=new_tokens,
                min_new_tokens=new_tokens,
                do_sample=False,
            )
        if on_cuda:
            torch.cuda.synchronize()
        return time.monotonic() - began_s

    weights_bytes = 0
    if on_cuda:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        weights_bytes = torch.cuda.memory_allocated()
    rounds = [(generate(1), generate(tokens)) for _ in range(2)]
    prefill_s = min(first for first, _ in rounds)
    whole_s = min(whole for _, whole in rounds)
    peak_bytes = torch.cuda.max_memory_allocated() - weights_bytes if on_cuda else 0
    return Cost(prefill_s, (whole_s - prefill_s) / (tokens - 1), peak_bytes / 1e9)


def main() -> None:
    """Measure each batch with and without padding, and print a line for it."""
    import torch

    parser = argparse.ArgumentParser()
    parser.add_argument("--like", choices=sorted(full_size.SIZES), default="7b")
    parser.add_argument("--batches", nargs="+", default=["8x1024", "8x4096", "32x1024", "8x16384"])
    parser.add_argument("--tokens", type=int, default=24)
    options = parser.parse_args()
    model = full_size.model(options.like)
    name = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    print(f"{options.like} in {model.dtype} with {model.config._attn_implementation} on {name}")
    measure(model, 2, 64, 4, is_padded=False)  # kernels are chosen, libraries loaded
    for batch in options.batches:
        count, length = map(int, batch.split("x"))
        equal, padded = (
            measure(model, count, length, options.tokens, is_padded=is_padded)
            for is_padded in (False, True)
        )
        extra = padded.decode_s / equal.decode_s - 1
        doubles_at = f"{count * length / extra:,.0f} tokens" if extra > 0 else "never"
        print(
            f"{batch}: prefill {equal.prefill_s:.3f} s, padded {padded.prefill_s:.3f} s; "
            f"decode {equal.decode_s * 1e3:.1f} ms, padded {padded.decode_s * 1e3:.1f} ms; "
            f"memory {equal.peak_gb:.2f} GB, padded {padded.peak_gb:.2f} GB; "
            f"doubles at {doubles_at}",
            flush=True,
        )


if __name__ == "__main__":
    main()
