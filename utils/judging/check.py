"""`--check` of a judge: what it is, and with `--ping` whether it reads a reply."""

from __future__ import annotations

from collections.abc import Mapping

from utils.config.text import key_path
from utils.contracts import CallError
from utils.errors import UserError
from utils.judging.judge import Judge
from utils.judging.questions import PROMPT_VERSION, ReplyToRead, UnusableReply, read_choice
from utils.text import counted

EASY_REPLY = ReplyToRead(
    "Which colour is the button?", {"A": "red", "B": "blue"}, "It is the blue one."
)
RIGHT_CHOICE = "B"


def check_judge(
    dataset: str, judge: Judge, requests: Mapping[str, int], *, is_pinged: bool
) -> list[str]:
    """Print what a judge would do and return what is wrong with it.

    Args:
        dataset: whose replies it reads.
        judge: the judge.
        requests: by model, how many it would get for the replies that are stored now.
        is_pinged: send it a reply to read.
    """
    limits = (
        f"one request for each unparsed reply, and for at most {judge.audit_samples} others, to "
        f"compare the judge with the parse function; at most {judge.max_requests:,} requests a run"
    )
    print(f"\n{dataset}: judge, prompt {PROMPT_VERSION}; {limits}")
    for model, count in requests.items():
        print(f"  for the stored replies of {model}: {counted(count, 'request')} to send")
    if not is_pinged:
        return []
    judge_key = key_path("data", dataset, "judge")
    try:
        request = judge.model.request(EASY_REPLY.messages(), dataset)
        text = judge.model.generate(request).text
        choice = read_choice(text, EASY_REPLY.options)
    except UnusableReply as error:
        return [f"{judge_key}: {error}"]
    except (CallError, UserError) as error:
        return [f"{judge_key}: the judge does not answer: {error}"]
    print(f"  the judge reads {EASY_REPLY.reply!r} as {choice}")
    if choice != RIGHT_CHOICE:
        return [
            f"{judge_key}: the judge reads {EASY_REPLY.reply!r} as {choice}, not {RIGHT_CHOICE}"
        ]
    return []
