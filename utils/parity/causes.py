"""Why one sample came out differently on the two sides: the first difference on its way."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from utils.contracts import Facts
from utils.coordinates import shown_wh
from utils.parity.sides import Side, precision_differences, setting_differences

LONGEST_SHOWN_TEXT = 80  # characters
_SPECIAL_TOKEN = re.compile(r"<\|[^|<>]*\|>")


@dataclass(frozen=True, slots=True)
class Pair:
    """One sample on both sides.

    Attributes:
        cause: kind of the first difference; None where nothing differs.
        detail: that difference in words.
    """

    a: Facts
    b: Facts
    cause: str | None = None
    detail: str = ""

    @property
    def answers_equal(self) -> bool:
        """Whether both said the same, but for special tokens, blanks and a torn last character."""
        return _said(self.a) == _said(self.b)

    @property
    def verdicts_equal(self) -> bool:
        """Whether both count the same."""
        return bool(self.a["hit"] == self.b["hit"])


def explained(pairs: Sequence[tuple[Facts, Facts]], a: Side, b: Side) -> list[Pair]:
    """Every sample with the first thing that differs between its two ways.

    In the order in which a sample passes them: messages, picture sent, picture resized, prompt
    text after the template, generation settings, arithmetic.
    """
    gaps = [_token_gap(ours, theirs) for ours, theirs in pairs]
    changes = len({gap for gap in gaps if gap is not None}) > 1
    one_size = len({tuple(ours["file_wh"]) for ours, _ in pairs}) == 1
    return [
        Pair(ours, theirs, *_first_difference(ours, theirs, a, b, gap, changes, one_size))
        for (ours, theirs), gap in zip(pairs, gaps, strict=True)
    ]


def _first_difference(
    ours: Facts, theirs: Facts, a: Side, b: Side, gap: int | None, changes: bool, one_size: bool
) -> tuple[str | None, str]:
    """Kind and words of it.

    Args:
        gap: prompt tokens of the one less those of the other; None: not known on both sides.
        changes: whether that number is another one for other samples.
        one_size: whether all pictures have one size, so that it could not change with them.
    """
    if ours["status"] != "ok" or theirs["status"] != "ok":
        states = f"{ours['status']} in {a.name}, {theirs['status']} in {b.name}"
        return "no answer", states
    if detail := _messages(ours["prompt"], theirs["prompt"], a, b):
        return "messages", detail
    sent = (ours.get("sent_wh") or ours["file_wh"], theirs.get("sent_wh") or theirs["file_wh"])
    if sent[0] != sent[1]:
        return (
            "picture sent",
            f"{shown_wh(sent[0])} from {a.name}, {shown_wh(sent[1])} from {b.name}",
        )
    if detail := _resize(ours, theirs, a, b, gap, changes):
        return "pixel limits", detail
    if gap:
        counts = (
            f"{prompt_tokens(ours)} prompt tokens in {a.name}, {prompt_tokens(theirs)} in {b.name}"
        )
        if one_size and not (ours.get("seen_wh") and theirs.get("seen_wh")):
            return "template or pixel limits", (
                f"{counts}, with the same messages; all pictures have one size, so the numbers do "
                "not tell a chat template from another resize. Compare samples of several sizes"
            )
        return "template", (
            f"{counts}, with the same messages and picture size: the chat templates differ (a "
            "default system message, the generation prompt), or one side adds special tokens"
        )
    if _said(ours) == _said(theirs):
        return None, ""
    if different := setting_differences(a, b):
        return "generation settings", "; ".join(different)
    if rounding := precision_differences(a, b):
        return "arithmetic", f"same messages, pictures and settings, but {'; '.join(rounding)}"
    unknown = "" if gap is not None else ", prompt tokens are not known on both sides"
    return "arithmetic", (
        "same messages, pictures and settings"
        f"{unknown}: dtype, attention kernel or batching (rounding), or other weights"
    )


def _messages(
    ours: Sequence[Mapping[str, str]], theirs: Sequence[Mapping[str, str]], a: Side, b: Side
) -> str:
    if not ours or not theirs:
        return ""
    if _has_system(ours) != _has_system(theirs):
        with_one, without = (a, b) if _has_system(ours) else (b, a)
        return f"{with_one.name} sends a system message, {without.name} none"
    for mine, his in zip(ours, theirs, strict=False):
        if [mine["role"], mine["type"], mine["value"]] != [his["role"], his["type"], his["value"]]:
            return f"{a.name} sends {_shown(mine)}, {b.name} {_shown(his)}"
    if len(ours) != len(theirs):
        return f"{len(ours)} messages from {a.name}, {len(theirs)} from {b.name}"
    return ""


def _resize(ours: Facts, theirs: Facts, a: Side, b: Side, gap: int | None, changes: bool) -> str:
    """Whether the pictures were resized differently, where sizes or token counts can tell."""
    seen = (ours.get("seen_wh"), theirs.get("seen_wh"))
    if seen[0] and seen[1]:
        if seen[0] == seen[1]:
            return ""
        return (
            f"{a.name} sees {shown_wh(seen[0])}, {b.name} {shown_wh(seen[1])}; "
            f"{_limits_of(a, a.limits[:1])}, {_limits_of(b, b.limits[:1])}"
        )
    if not gap:
        return ""
    for known, other, facts, excess in ((a, b, ours, gap), (b, a, theirs, -gap)):
        factor = known.factor
        wh = facts.get("seen_wh")
        if not factor or not wh:
            continue
        tokens = (wh[0] // factor) * (wh[1] // factor)
        # The other side runs the same checkpoint, or a comparison would be beside the point.
        twin = Side(other.name, other.kind, other.sampling, factor, other.limits or known.limits)
        for limits in (*other.limits, *known.limits):
            if twin.picture_tokens(tuple(facts["file_wh"]), limits) == tokens - excess:
                return (
                    f"{known.name} resizes the picture to {shown_wh(wh)} ({tokens} tokens, "
                    f"{known.limits[0]}); the prompt tokens of {other.name} are those of "
                    f"{limits}: set the same min_pixels and max_pixels on both sides"
                )
        if changes:
            more = "fewer" if excess > 0 else "more"
            return (
                f"{known.name} resizes the picture to {shown_wh(wh)} ({tokens} tokens); "
                f"{other.name} has {abs(excess)} prompt tokens {more}, a number that changes from "
                "picture to picture: it resizes within other limits"
            )
    return ""


def _limits_of(side: Side, limits: Sequence[Any]) -> str:
    return f"{side.name} within {limits[0] if limits else 'unknown limits'}"


def _token_gap(ours: Facts, theirs: Facts) -> int | None:
    counts = (prompt_tokens(ours), prompt_tokens(theirs))
    return None if counts[0] is None or counts[1] is None else counts[0] - counts[1]


def prompt_tokens(facts: Facts) -> int | None:
    """As the model or its server has counted them; None where it has not."""
    value = (facts.get("usage") or {}).get("prompt_tokens")
    return value if isinstance(value, int) and value > 0 else None


def _said(facts: Facts) -> str:
    # Some servers leave special tokens in the text; vLLM leaves out a character that the token
    # limit has torn, others write U+FFFD for it.
    text = _SPECIAL_TOKEN.sub("", facts.get("raw") or facts["prediction"])
    return text.rstrip("\ufffd").strip()


def _has_system(messages: Sequence[Mapping[str, str]]) -> bool:
    return any(message["role"] == "system" for message in messages)


def _shown(message: Mapping[str, str]) -> str:
    text = message["value"]
    if len(text) > LONGEST_SHOWN_TEXT:
        text = text[:LONGEST_SHOWN_TEXT] + "…"
    return f"{message['role']} {message['type']} {text!r}"
