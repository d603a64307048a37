"""The number of requests that may follow the first replies (`zoom`, `follow_up`), for `--check`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from utils.config.options import Options
from utils.contracts import Status, turn_key
from utils.engine.jobs import Job
from utils.functions.follow_up import MOST_STAGES, ZoomStage
from utils.store.index import StoredAnswer
from utils.store.records import MORE
from utils.text import counted


def requests_text(job: Job, to_ask: Mapping[str, int], size: str, open_samples: int) -> str:
    """Return the number of a run's requests in words: exact, or the least and the possible ones.

    Args:
        job: the samples and their follow-up.
        to_ask: first requests by reason.
        size: of these requests, in words; "" where it is not known.
        open_samples: the number of samples that may be queried again after a reply.
    """
    count = sum(to_ask.values())
    reasons = [f"{of_reason} {reason}" for reason, of_reason in to_ask.items()]
    details = [*reasons, size] if size and count else reasons
    detail = f" ({', '.join(details)})" if details else ""
    nouns = ("request to send", "requests to send")
    if job.episodes is not None:
        nouns = ("episode to play", "episodes to play")
    number = counted(count, *nouns)
    if not open_samples:
        return f"{number}{detail}"
    text = f"at least {number}{detail}"
    if isinstance(job.follow_up, ZoomStage):
        return f"{text}; {count + open_samples} with the second look"
    return (
        f"{text}; follow_up may send up to {MOST_STAGES - 1} more for each of "
        f"{counted(open_samples, 'sample')}"
    )


def open_samples(
    job: Job, answers: Iterable[tuple[str, StoredAnswer | str]], options: Options
) -> int:
    """Count the samples that may be queried again after a reply: their last reply is not stored.

    Args:
        job: the samples and their follow-up.
        answers: the stored first answer of each sample by its key, or why the model is asked.
        options: of the run.
    """
    if job.follow_up is None:
        return 0
    return sum(
        not isinstance(answer, StoredAnswer) or _is_open(job, key, answer, options)
        for key, answer in answers
    )


def _is_open(job: Job, key: str, answer: StoredAnswer, options: Options) -> bool:
    """Whether a sample with a stored first answer may be queried again.

    Args:
        job: the samples and their follow-up.
        key: of the sample.
        answer: its first answer, perhaps from the log of another run.
        options: of the run.
    """
    for number in range(MOST_STAGES):
        stage = job.answers.in_own_log(turn_key(key, number), job.run.request_hashes)
        if stage is None:
            return True
        if number == 0 and stage.status is not Status.OK and answer.status is Status.OK:
            return True  # the answer of the other run takes its place
        if stage.status is not Status.OK:
            return not stage.stands(options)
        if not stage.read().get(MORE):
            return False
    return False
