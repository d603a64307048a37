"""One answer record of the log: its fields, and how they are filled.

key, trial, fingerprint, parts   which request it answers; see `utils.runs.log`
status, error                    how asking ended; a field, never a text to search for
raw, reply                       what the model said; for local models also after postprocessing
line, sizes                      truth and picture sizes: all that scoring needs
prompt                           the messages as the model was shown them, without pictures
finish_reason, usage, reasoning, latency_s, attempts, asked_at
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from utils.contracts import (
    CallError,
    Generation,
    Prepared,
    Record,
    Sample,
    Sizes,
    Status,
    UserFunctionError,
)


def new_record(
    sample: Sample, key: str, trial: int, prepared: Prepared | None, status: Status
) -> Record:
    """A record as far as it is known before asking; `prepared` None: not even that succeeded."""
    sizes = prepared.sizes if prepared else Sizes()
    return {
        "kind": "answer",
        "key": key,
        "trial": trial,
        "fingerprint": prepared.fingerprint if prepared else "",
        "parts": dict(prepared.parts) if prepared else {},
        "status": status,
        "asked_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds"),
        "raw": None,
        "reply": None,
        "line": sample.line,
        "prompt": list(prepared.prompt) if prepared else [],
        "sizes": _sizes_fields(sizes) | {"file": list(sample.file_wh)},
    }


def answer_fields(generation: Generation, sizes: Mapping[str, Any]) -> Record:
    """What an answer adds to a record; `sizes` are those known before."""
    known = {stage: wh for stage, wh in _sizes_fields(generation.sizes).items() if wh}
    fields: Record = {
        "raw": generation.text,
        "reply": generation.reply,
        "finish_reason": generation.finish_reason,
        "usage": dict(generation.usage),
        "sizes": {**sizes, **known, "file": sizes["file"]},
    }
    if generation.reasoning:
        fields["reasoning"] = generation.reasoning
    return fields


def user_error_fields(error: UserFunctionError) -> dict[str, Any]:
    """The `error` of a sample on which one of the user's functions raised."""
    return {"class": f"{error.stage} function", "message": error.summary, "trace": error.trace}


def call_error_fields(error: CallError) -> dict[str, Any]:
    """The `error` of a sample that a server refused, or a model could not answer."""
    fields = {"class": error.kind, "message": str(error), "status_code": error.status_code}
    return fields | ({"trace": error.trace} if error.trace else {})


def _sizes_fields(sizes: Sizes) -> dict[str, Any]:
    return {
        "file": sizes.file_wh and list(sizes.file_wh),
        "sent": sizes.sent_wh and list(sizes.sent_wh),
        "seen": sizes.seen_wh and list(sizes.seen_wh),
    }
