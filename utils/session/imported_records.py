"""Records of answers made elsewhere, as the log of an import has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from utils.contracts import WH, Point, Record, Sample, Status, repeat_key
from utils.coordinates import Frame, in_frame, px_to_frac
from utils.exchange.answers import Answer, WorldEpisode
from utils.exchange.gathering import Gathered
from utils.exchange.worlds import WorldResults
from utils.functions.fingerprints import digest
from utils.scoring.scorer import POINT
from utils.session.evaluation import Evaluation
from utils.store.records import imported_answer
from utils.text import counted

FINGERPRINT = "import:{checksum}:{line}"  # that no request has
CHECKSUM_LENGTH = 16
MISSING_LINE = "-"


def keys_of(samples: Sequence[Sample]) -> list[str]:
    """The keys of samples."""
    return [sample.key for sample in samples]


def points_problem(evaluation: Evaluation, gathered: Gathered, frame: str) -> list[str]:
    """The problems with the points of a file: an unknown frame, or an unknown image size."""
    problems: list[str] = []
    dataset = evaluation.dataset
    if gathered.without_frame and not frame:
        problems.append(
            f"{dataset}: {counted(gathered.without_frame, 'row')} have x and y in an unknown "
            "unit. Name it: --frame fractions, --frame pixels, --frame per_mille, ..."
        )
    samples = evaluation.data.samples
    sizes = sizes_by_image({sample.key: sample for sample in samples}, gathered.answers)
    without_size = [
        sample
        for sample in samples
        if size_of(sample, gathered.answers.get((sample.key, 1)), sizes) is None
    ]
    if without_size and evaluation.benchmark.recipe_form == "grounding":
        example = without_size[0].line.get("image_path")
        problems.append(
            f"{dataset}: the size of {counted(len(without_size), 'image')} is not known, such as "
            f"{example}: neither the table nor the import has it. Put the images into the folder "
            'of the data set, or a file image_sizes.json: {"name of the image": [width, height], '
            "...}"
        )
    return problems


def sizes_by_image(
    samples: Mapping[str, Sample], answers: Mapping[tuple[str, int], Answer]
) -> dict[Any, WH]:
    """The sizes of images, by their names in the table, as far as rows of the file have them."""
    sizes: dict[Any, WH] = {}
    for (key, _), answer in answers.items():
        if answer.image_wh is not None and key in samples:
            sizes.setdefault(samples[key].line.get("image_path"), answer.image_wh)
    return sizes


def size_of(sample: Sample, answer: Answer | None, sizes: Mapping[Any, WH]) -> WH | None:
    """The size of a sample's image; None where nobody knows it.

    The size of the table comes first, then that of the sample's own row, then that of another row
    about the same image: `sizes`.
    """
    if sample.file_wh is not None:
        return sample.file_wh
    if answer is not None and answer.image_wh is not None:
        return answer.image_wh
    return sizes.get(sample.line.get("image_path"))


def answer_records(
    evaluation: Evaluation,
    samples: Mapping[str, Sample],
    answers: Mapping[tuple[str, int], Answer],
    differences: Mapping[tuple[str, int], Mapping[str, Any]],
    checksum: str,
    repeats: int,
) -> Iterator[Record]:
    """Yield a record for each sample and repeat, also for those that no row answers.

    Args:
        evaluation: of the data set.
        samples: by key, in file order.
        answers: by key and number of the repeat.
        differences: what of each answer's row stands in its record besides, by the same keys.
        checksum: of the imported files.
        repeats: how many answers each question is to have.
    """
    frame = Frame(evaluation.options.frame) if evaluation.options.frame else None
    sizes = sizes_by_image(samples, answers)
    for key, sample in samples.items():
        for number in range(1, repeats + 1):
            answer = answers.get((key, number))
            sized_sample = replace(sample, file_wh=size_of(sample, answer, sizes))
            origin = dict(differences.get((key, number), {}))
            yield _record(sized_sample, repeat_key(key, number), answer, origin, frame, checksum)


def _record(
    sample: Sample,
    key: str,
    answer: Answer | None,
    origin: dict[str, Any],
    frame: Frame | None,
    checksum: str,
) -> Record:
    line = MISSING_LINE if answer is None else f"{answer.file}:{answer.line}".removeprefix(":")
    fingerprint = FINGERPRINT.format(checksum=checksum[:CHECKSUM_LENGTH], line=line)
    if answer is None:
        return imported_answer(sample, key, fingerprint, Status.MISSING, origin={})
    row_origin: dict[str, Any] = {"line": answer.line}
    if answer.file:
        row_origin["file"] = answer.file
    if answer.verdict is not None:
        row_origin["verdict"] = answer.verdict
    fields: dict[str, Any] = {"origin": {**row_origin, **origin}}
    fields |= _of_request(answer, sample)
    if answer.error and answer.is_empty:
        fields["error"] = {"class": "import", "message": answer.error}
        return imported_answer(sample, key, fingerprint, Status.FAILED, **fields)
    point = None if answer.point is None else _stored_point(answer, sample, frame)
    if point is not None:
        fields[POINT] = list(point)
    if answer.reply is not None:
        fields["raw"] = answer.reply
    elif point is None:
        fields["raw"] = ""
    return imported_answer(sample, key, fingerprint, Status.OK, **fields)


def _of_request(answer: Answer, sample: Sample) -> dict[str, Any]:
    """The facts in a row about the request that it answers, in the form of records."""
    fields: dict[str, Any] = {}
    if answer.usage:
        fields["usage"] = dict(answer.usage)
    if answer.sent_wh or answer.seen_wh:
        sizes = {"file": sample.file_wh, "sent": answer.sent_wh, "seen": answer.seen_wh}
        fields["sizes"] = {stage: wh and list(wh) for stage, wh in sizes.items()}
    if answer.finish_reason:
        fields["finish_reason"] = answer.finish_reason
    return fields


def _stored_point(answer: Answer, sample: Sample, frame: Frame | None) -> Point:
    """A point as records have it: pixels of the image, or fractions if both numbers are 0..1."""
    assert answer.point is not None
    if min(answer.point) < 0:  # nothing to click
        return answer.point
    own_frame = answer.frame or frame or Frame.PIXELS
    file_wh = sample.file_wh
    if file_wh is None:
        return answer.point
    if own_frame is Frame.PIXELS and frame is Frame.PIXELS_SENT and answer.image_wh:
        own_frame = frame
    if own_frame is Frame.PIXELS:
        return px_to_frac(answer.point, file_wh) if max(answer.point) <= 1 else answer.point
    return in_frame(own_frame, answer.point, {"image_size": file_wh, "sent_size": answer.image_wh})


def episode_records(
    evaluation: Evaluation, results: WorldResults, checksum: str
) -> tuple[list[Sample], Iterator[Record]]:
    """The samples that the episodes of a live world are, and a record for each."""
    samples: list[Sample] = []
    episodes: list[WorldEpisode] = []
    for number, episode in enumerate(results.episodes):
        key = digest([evaluation.dataset, episode.domain, episode.task, episode.number])[:16]
        line = {
            "index": number,
            "task": episode.task,
            "domain": episode.domain,
            "instruction": episode.instruction,
            "steps": episode.steps,
            "error": episode.error,
            "image_path": None,
        }
        samples.append(Sample(key, line, None, None))
        episodes.append(episode)
    pairs = zip(samples, episodes, strict=True)
    return samples, (_episode_record(sample, episode, checksum) for sample, episode in pairs)


def _episode_record(sample: Sample, episode: WorldEpisode, checksum: str) -> Record:
    fingerprint = FINGERPRINT.format(checksum=checksum[:CHECKSUM_LENGTH], line=episode.file)
    fields: dict[str, Any] = {"origin": {"file": episode.file}}
    if episode.score is None:
        message = episode.error or "the episode has no result"
        fields["error"] = {"class": "unfinished", "message": message}
        return imported_answer(sample, sample.key, fingerprint, Status.FAILED, **fields)
    return imported_answer(sample, sample.key, fingerprint, Status.OK, raw=episode.score, **fields)
