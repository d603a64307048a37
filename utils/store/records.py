"""The six kinds of record that a run's log holds: their fields, and how they are filled.

Every record has `kind` and `seq`: the number of the run that wrote it. It only grows over all logs
of a model, so that it orders runs and answers whatever clocks say. The log adds `crc`.

run      opens a run: started_at, model, dataset, mode, limit, circular (whether all rotations of
         the questions are asked; in older logs only the config says so), repeats (how often each
         question is asked, where that is more than once), fresh (by `--fresh`), protocol
         ("single", or "zoom", "follow-up" where more is asked after a reply); samples (keys of
         all questions
         that it covers, in file order), turns (of each, see `utils.sampling`), bad (left out,
         one line each); asking (what its requests depend on, as short hashes: settings, prompt,
         annotations, pictures; see `utils.store.provenance`); code_version (how code was hashed for
         them; not in older logs); function_code (hashes of the code of the prompt, preprocess and
         follow-up functions, by stage; not in older logs);
         imported (of answers made elsewhere: file, sha256, format, rows,
         counts of findings, read_at, ...);
         annotations, pictures (checksums); config (resolved, without secrets), config_file,
         arguments, git, versions, hardware, environment
answer   one request of one sample, a rotation or step of which has the key `<sample>~<number>`;
         later answers to one question are samples with the keys `<question>+2`, `<question>+3`:
           key, trial (0), fingerprint, parts   which request it answers
           status, error                    how asking ended; a field, never a text to search for
           raw, reply                       what the model said; of local models also after
                                            postprocessing
           line, sizes                      truth and image sizes: all that scoring needs
           image_digest                     of the sample's image as the model was asked about it
           image_sizes                      of all images of the prompt, where it has several
           image_changes                    where no setting asks for it: "orientation" (a tag
                                            that says how to turn an image was overwritten), "png"
                                            (sent as PNG, its first frame)
           prompt                           the messages as the model saw them, without images
           finish_reason, usage, reasoning, latency_s, attempts, asked_at; the finish reason of a
                                            reply that was cut off is always "length", of one that
                                            was withheld "content_filter"
           tool_calls                       native ones (id, name, arguments); `raw` has them, too
           more                             another stage of the sample follows, as `<key>~<n>`
           crop                             of a second look: the zoom's settings, the edges of the
                                            part (left, top, right, bottom in pixels of the file)
                                            and the size in which it was sent; not in older logs
           runs_with                        device, dtype and attention of a local model
         server                           that was asked last, where there are several: host:port
           origin                           of an answer made elsewhere, in place of prompt,
                                            asked_at, latency_s and attempts: line, file (where
                                            there are several), verdict (of the file), box_px,
                                            image_wh (where the table says otherwise). Its
                                            fingerprint is
                                            "import:<sha256>:<line>", which no request has
           point                            likewise the point that the file has: pixels of the
                                            image, or fractions of it if both numbers are 0..1
episode  a sample of many turns is over: key, trial, fingerprint (of task and settings), parts,
         status, error; turns (how many answers it took), returned (what is judged); line, sizes,
         asked_at; what the try that counts has cost (in newer logs): requests (repeated ones, too),
         usage, latency_s (of the model), wall_s
served   what several servers serve, as far as they say so: served (model, root, max_model_len,
         version, prompt_tokens and picture_tokens of a test); written before they are asked
end      the run has asked everything: ended_at, wall_s, cpu_s, asked (samples by reason), reused;
         served, as above (of one server its version); of several servers also servers (a row
         each: server, answers, prompt_tokens, completion_tokens, latency_median_s, latency_p95_s,
         moved, joined_at, left_at, outages (that ended) and outages_s, serving_s, state, reason,
         version)
rank     opens the log of one rank of a group, until it is merged: rank; its seq is that of the run
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from utils.contracts import (
    CallError,
    Generation,
    Prepared,
    Prompt,
    Record,
    Sample,
    Sizes,
    Status,
    UserFunctionError,
)
from utils.geometry.images import image_digest

MORE = "more"
SIZES = ("file", "sent", "seen")  # of an image, in a record and in `Sizes`
_IS_URL = ("data:", "http://", "https://")


def run_record(seq: int, **fields: Any) -> Record:
    """The record that opens a run in its log; its fields stand at the top of this module.

    Args:
        seq: one more than that of any run of this model before.
    """
    return {"kind": "run", "seq": seq, "started_at": now(), **fields}


def new_record(
    sample: Sample, key: str, prompt: Prompt | None, prepared: Prepared | None, status: Status
) -> Record:
    """Return a record as far as it is known before asking; `prepared` None: that failed, too."""
    image_sizes = prepared.image_sizes if prepared else ()
    sizes, sizes_by_image = _image_fields(prompt, image_sizes)
    if sample.file_wh:
        sizes["file"] = list(sample.file_wh)
    record = {
        "kind": "answer",
        "key": key,
        "trial": 0,
        "fingerprint": prepared.fingerprint if prepared else "",
        "parts": dict(prepared.parts) if prepared else {},
        "status": status,
        "asked_at": now(),
        "raw": None,
        "reply": None,
        "line": sample.line,
        "prompt": list(prepared.prompt) if prepared else [],
        "sizes": sizes,
    }
    if sample.image is not None:
        with suppress(OSError):  # without the image the request fails, and says so
            record["image_digest"] = image_digest(sample.image)
    if prepared is not None and prepared.image_changes:
        record["image_changes"] = list(prepared.image_changes)
    if len(image_sizes) > 1:
        record["image_sizes"] = sizes_by_image
    if prompt is not None and prompt.crop is not None:
        record["crop"] = dict(prompt.crop)
    return record


def _image_fields(
    prompt: Prompt | None, image_sizes: Sequence[Sizes]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the sizes of the image that an answer is about, and of all images of its prompt."""
    sizes_by_image = [
        {
            stage: list(wh) if wh else None
            for stage, wh in zip(SIZES, (sizes.file_wh, sizes.sent_wh, sizes.seen_wh), strict=True)
        }
        for sizes in image_sizes or [Sizes()]
    ]
    own_sizes = sizes_by_image[-1]
    if prompt is not None and prompt.image is not None and len(image_sizes) > 1:
        images = [message["value"] for message in prompt.messages if message["type"] == "image"]
        own_image = os.path.realpath(prompt.image)
        for image, sizes_of_image in zip(images, sizes_by_image, strict=False):
            if not image.startswith(_IS_URL) and os.path.realpath(image) == own_image:
                own_sizes = sizes_of_image
                break
    return dict(own_sizes), sizes_by_image


def sizes_of(record: Record) -> Sizes:
    """Return the sizes of the image of a record that its answer is about, as far as known."""
    stages = [record["sizes"].get(stage) for stage in SIZES]
    return Sizes(*(wh and tuple(wh) for wh in stages))


def answer_fields(generation: Generation, prompt: Prompt, sizes: Mapping[str, Any]) -> Record:
    """The fields that an answer to `prompt` adds to a record; `sizes` are those known before."""
    own_sizes, sizes_by_image = _image_fields(prompt, generation.image_sizes)
    new_sizes = {stage: wh for stage, wh in own_sizes.items() if wh and stage != "file"}
    extras = {
        "image_sizes": sizes_by_image if len(sizes_by_image) > 1 else [],
        "reasoning": generation.reasoning,
        "tool_calls": [dict(call) for call in generation.tool_calls],
        "runs_with": dict(generation.runs_with or {}),
    }
    return {
        "raw": generation.response if generation.tool_calls else generation.text,
        "reply": generation.reply,
        "finish_reason": generation.finish_reason,
        "usage": dict(generation.usage),
        "sizes": {**sizes, **new_sizes},
        **{name: value for name, value in extras.items() if value},
    }


def episode_record(sample: Sample, fingerprint: str, **outcome: Any) -> Record:
    """Return the record that closes a sample of many turns.

    Args:
        sample: the sample.
        fingerprint: of its task and the settings.
        outcome: status, turns, returned, error.
    """
    return {
        "kind": "episode",
        "key": sample.key,
        "trial": 0,
        "fingerprint": fingerprint,
        "parts": {"settings": fingerprint},
        "asked_at": now(),
        "line": sample.line,
        "sizes": {"file": sample.file_wh and list(sample.file_wh)},
        **outcome,
    }


def imported_answer(
    sample: Sample, key: str, fingerprint: str, status: Status, **fields: Any
) -> Record:
    """Return the record of an answer made elsewhere.

    Args:
        sample: that it answers.
        key: of the sample, or of a repeat.
        fingerprint: of file and line; no request has one like it.
        status: whether there is an answer.
        fields: raw, reply, point, origin, error, usage, finish_reason, sizes.
    """
    return {
        "kind": "answer",
        "key": key,
        "trial": 0,
        "fingerprint": fingerprint,
        "parts": {},
        "status": status,
        "raw": None,
        "reply": None,
        "line": sample.line,
        "sizes": {"file": sample.file_wh and list(sample.file_wh)},
        **fields,
    }


def end_record(wall_s: float, cpu_s: float, *, queried: Mapping[str, int], reused: int) -> Record:
    """Return the record that closes a run's inference part; its cost is that of all data sets."""
    return {
        "kind": "end",
        "ended_at": now(),
        "wall_s": round(wall_s, 4),
        "cpu_s": round(cpu_s, 4),
        "asked": dict(queried),
        "reused": reused,
    }


def episode_cost(answers: Sequence[Record], wall_s: float) -> Record:
    """Return the fields of an episode's record that say what one try at it has cost.

    Args:
        answers: to its prompts, and failures to get one.
        wall_s: how long it took.
    """
    return {
        "requests": sum(answer.get("attempts", 1) for answer in answers),
        "usage": _summed([answer.get("usage") or {} for answer in answers]),
        "latency_s": round(sum(answer.get("latency_s") or 0.0 for answer in answers), 4),
        "wall_s": round(wall_s, 4),
    }


def user_error_fields(error: UserFunctionError) -> dict[str, Any]:
    """Return the `error` of a sample on which one of the user's functions raised."""
    return {"class": f"{error.stage} function", "message": error.summary, "trace": error.trace}


def call_error_fields(error: CallError) -> dict[str, Any]:
    """Return the `error` of a sample that a server refused, or a model could not answer."""
    trace = {"trace": error.trace} if error.trace else {}
    return {"class": error.kind, "message": str(error), "status_code": error.status_code, **trace}


def error_text(error: Mapping[str, Any]) -> str:
    """Return the `error` of a record in one line."""
    between = " " if error["class"].endswith(" function") else ": "
    return f"{error['class']}{between}{error['message']}"


def now() -> str:
    """Return the time as records have it."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")


def joined(first: Record, later: Sequence[Record]) -> Record:
    """Return one record for a sample that was asked in several stages.

    It has the reply of the last stage, or of the first that failed; cost and attempts are those of
    all together. `stages` are the records themselves.
    """
    stages = [first, *later]
    last = next((stage for stage in stages if stage["status"] != "ok"), stages[-1])
    usage = _summed([stage.get("usage") or {} for stage in stages])
    latencies_s = [stage["latency_s"] for stage in stages if stage.get("latency_s") is not None]
    fields = ("status", "error", "raw", "reply", "finish_reason", "reasoning")
    return {
        **{name: value for name, value in first.items() if name not in fields},
        **{name: last[name] for name in fields if name in last},
        "usage": usage,
        "latency_s": round(sum(latencies_s), 4),
        "attempts": 1 + sum(stage.get("attempts", 1) - 1 for stage in stages),
        "stages": stages,
    }


def _summed(usages: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the token counts of several answers together."""
    total: dict[str, int] = {}
    for usage in usages:
        for kind, count in usage.items():
            if isinstance(count, int):
                total[kind] = total.get(kind, 0) + count
    return total
