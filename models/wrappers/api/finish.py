"""Endings of replies: the words of all servers, reduced to a few kinds.

Servers behind an OpenAI-style address hand on the words of the API behind them: Gemini's
`MAX_TOKENS`, Claude's `refusal`, `FinishReason.SAFETY` of a Python enumeration.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache


class Ending(StrEnum):
    """The kind of ending of a reply. The first two values are stored; they are OpenAI's words."""

    CUT_OFF = "length"  # the tokens were used up
    WITHHELD = "content_filter"  # a filter, or the model itself, refused
    WHOLE = "stop"  # the model had nothing more to say
    BROKEN_OFF = "broken off"  # something failed on the way; another try may go through
    UNKNOWN = "unknown"


# In letters alone: neither case nor separators count.
_CUT_OFF = (
    "length maxtokens maxoutputtokens maxcompletiontokens maxnewtokens maxlength modellength "
    "contextlength tokenlimit maxtokensreached modelcontextwindowexceeded contextwindowexceeded "
    "contextlengthexceeded contextlimit"
)
_WITHHELD = (
    "contentfilter contentfiltered contentpolicyviolation safety refusal refused sensitive "
    "prohibitedcontent recitation blocklist blocked spii moderation censored toxic errortoxic "
    "guardrail guardrailintervened modelarmor imagesafety imageprohibitedcontent imagerecitation"
)
_WHOLE = (
    "stop stopped endturn eos eostoken stopsequence stopstring complete completed end ended done "
    "finish finished toolcalls tooluse functioncall"
)
_BROKEN_OFF = (
    "error abort aborted networkerror servererror internalerror engineerror timeout interrupted "
    "cancel cancelled canceled insufficientsystemresource overloaded"
)
_ENDINGS = {
    word: ending
    for ending, words in (
        (Ending.CUT_OFF, _CUT_OFF),
        (Ending.WITHHELD, _WITHHELD),
        (Ending.WHOLE, _WHOLE),
        (Ending.BROKEN_OFF, _BROKEN_OFF),
    )
    for word in words.split()
}


def ending_of(finish_reason: object) -> Ending:
    """The end of a reply whose server says `finish_reason`.

    Of words in several parts (`content_filter: PROHIBITED_CONTENT`, `FinishReason.SAFETY`) the
    first part that is known counts.
    """
    return _ending_of(finish_reason) if isinstance(finish_reason, str) else Ending.UNKNOWN


@lru_cache(100)
def _ending_of(finish_reason: str) -> Ending:
    for part in (finish_reason, *re.split(r"[:.;,/|()]", finish_reason)):
        word = re.sub(r"[^a-z]", "", part.lower()).removeprefix("finishreason")
        if word in _ENDINGS:
            return _ENDINGS[word]
    return Ending.UNKNOWN


def stored_finish_reason(finish_reason: object) -> str | None:
    """Return a finish reason as records have it: one word each for cut off and withheld."""
    ending = ending_of(finish_reason)
    if ending in (Ending.CUT_OFF, Ending.WITHHELD):
        return ending.value
    return finish_reason if isinstance(finish_reason, str) else None
