"""Does a server give a model the whole image, or did it shrink it?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

from utils.analysis.columns import AuditSettings, Row, SampleColumns, Section, percent
from utils.contracts import WH
from utils.coordinates import format_size
from utils.findings import Finding, warning
from utils.geometry.resizing import ResizeStep

TITLE = "Image tokens: prompts with fewer tokens than their image has"
ROW = "fewer tokens than the image has"
EFFECT = (
    "so the model misses details. If it replies in pixels, they are pixels of the smaller image"
)
FIX = (
    "raise the server's limits (vLLM: --mm-processor-kwargs), or lower kwargs.max_pixels to what "
    "the model sees: fewer than {:,} pixels"
)


def image_tokens(columns: SampleColumns, settings: AuditSettings) -> Section | None:
    """Return the section: how often a server counted too few tokens; None: it cannot be told.

    The image as it was sent, resized by the rule of the model's processor, has a token for each
    square of the rule's factor. A prompt with fewer tokens has another image in it.
    """
    rule = settings.image_rule
    if rule is None or rule.factor is None:
        return None
    samples = columns.where(_are_told(columns))
    if not len(samples):
        return None
    expected_counts = [tokens_of(rule, tuple(wh)) for wh in samples["sent_wh"]]
    is_shrunk = [
        count < expected
        for count, expected in zip(samples["prompt_tokens"], expected_counts, strict=True)
    ]
    shrunk_count = sum(is_shrunk)
    row: Row = {"name": ROW, "count": shrunk_count, "share": percent(shrunk_count / len(samples))}
    findings: list[Finding] = []
    if shrunk_count:
        worst = max(
            range(len(samples)),
            key=lambda number: expected_counts[number] - samples["prompt_tokens"][number],
        )
        fewest = min(compress(samples["prompt_tokens"], is_shrunk))  # with those of the text
        example = shrunk_text(rule, samples["sent_wh"][worst], samples["prompt_tokens"][worst])
        finding = warning(
            "image_tokens",
            f"the server shrank at least {shrunk_count:,} of {len(samples):,} images; {example}, "
            f"{EFFECT}",
            fix=FIX.format(fewest * rule.factor**2),
            topic="image tokens",
            row=ROW,
        )
        findings.append(finding)
    return {
        "title": TITLE,
        "rows": [row],
        "notes": [
            f"The server counted the tokens of {len(samples):,} prompts. An image has one token "
            f"for each {rule.factor}x{rule.factor} pixels."
        ],
        "findings": findings,
        "at": {ROW: samples.spans(is_shrunk)},
    }


def _are_told(columns: SampleColumns) -> list[bool]:
    """Mark the samples that were one request with a known image size and token count."""
    facts = zip(columns["prompt_tokens"], columns["sent_wh"], columns["zoom"], strict=True)
    return [type(tokens) is int and wh is not None and zoom is None for tokens, wh, zoom in facts]


def tokens_of(rule: ResizeStep, sent_wh: WH) -> int:
    """The number of tokens of an image of this size after a processor's resizing."""
    assert rule.factor is not None
    try:
        width, height = rule.resized_wh(sent_wh)
    except ValueError:  # so long an image is none of the rule
        return 0
    return width // rule.factor * (height // rule.factor)


def shrunk_text(rule: ResizeStep, sent_wh: Sequence[int], prompt_tokens: int) -> str:
    """The tokens of a prompt beside those that its image alone has, in words."""
    return (
        f"it counts {prompt_tokens:,} prompt tokens where the image of {format_size(sent_wh)} "
        f"alone has {tokens_of(rule, (sent_wh[0], sent_wh[1])):,}"
    )
