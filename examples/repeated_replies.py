"""An audit to copy: does a model give the same reply to all questions?

    "data": {"GUIElementGrounding": {"audits": ["examples.repeated_replies.repeated_replies"]}}

docs/audits.md says what an audit gets and returns.
"""

from __future__ import annotations

from collections import Counter

from utils.analysis.columns import AuditSettings, SampleColumns, Section, percent
from utils.findings import warning

FEWEST_REPLIES = 10
LARGEST_SHARE = 0.5
ROW = "the most frequent reply"


def repeated_replies(columns: SampleColumns, settings: AuditSettings) -> Section | None:
    """Count the most frequent reply; return None if there are too few replies."""
    answered = columns.answered()
    replies = [str(reply).strip() for reply in answered["prediction"]]
    if len(replies) < FEWEST_REPLIES:
        return None
    [(reply, count)] = Counter(replies).most_common(1)
    findings = []
    if count > LARGEST_SHARE * len(replies):
        finding = warning(
            "repeated_replies",
            f"{count} of {len(replies)} replies of {settings.model} are {reply!r:.60}",
            fix="look at some of them: the model may not see the images",
            topic="repeated replies",
            row=ROW,
        )
        findings.append(finding)
    row = {
        "name": ROW,
        "count": count,
        "reply": f"{reply:.60}",
        "share": percent(count / len(replies)),
    }
    is_frequent = [other == reply for other in replies]
    return {
        "title": "Repeated replies: one reply again and again",
        "rows": [row],
        "notes": [f"Of {len(replies)} replies; blanks around them do not count."],
        "findings": findings,
        "at": {ROW: answered.spans(is_frequent)},
        "clear": "replies differ from sample to sample",
    }
