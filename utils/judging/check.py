"""`--check` of a judge: what it is, and with `--ping` whether it reads a reply."""

from __future__ import annotations

from utils.config.text import key_path
from utils.contracts import CallError
from utils.errors import UserError
from utils.judging.judge import Judge
from utils.judging.questions import PROMPT_VERSION, ReplyToRead, UnusableReply, read_choice

EASY_REPLY = ReplyToRead(
    "Which colour is the button?", {"A": "red", "B": "blue"}, "It is the blue one."
)
RIGHT_CHOICE = "B"


def check_judge(dataset: str, judge: Judge, *, is_pinged: bool) -> list[str]:
    """Print what a judge would do and return what is wrong with it."""
    limits = (
        f"at most {judge.max_requests} requests a run: first for unparsed replies, then for at "
        f"most {judge.audit_samples} others, to compare the judge with the parse function"
    )
    print(f"\n{dataset}: judge, prompt {PROMPT_VERSION}; {limits}")
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
