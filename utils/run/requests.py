"""What one model is asked of one data set: its requests, what decides them, where they go."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from utils import PROJECT
from utils.config.text import key_path
from utils.contracts import FollowUp, PromptOf, Record, ReplyParsing, Sample
from utils.coordinates import PIXEL_LIMITS
from utils.engine.jobs import Job, Questions
from utils.engine.worlds import Worlds
from utils.functions.calling import one_at_a_time
from utils.functions.fingerprints import READING, code_digest, digest
from utils.functions.follow_up import CropFolder, UserStages, ZoomStage, reply_text
from utils.functions.prompting import prompt_builder, readable_messages
from utils.functions.signatures import takes_settings
from utils.import_utils import resolve
from utils.run.plan import Plan, entry_of_run, parser_of_run, zoom_of_run
from utils.runs.folder import RunFolder, all_logs
from utils.runs.log import AnswerIndex, LoggedRun, RunLog
from utils.runs.provenance import (
    RunSpec,
    git_state,
    is_prompt_digest,
    made_with,
    prompting_digest,
    run_spec_of,
)
from utils.runs.records import run_record, sizes_of
from utils.runs.view import LogView
from utils.scoring.scorer import meta_of_record

KEYS_OF_ASKING = (
    "imp_type",
    "model_path",
    "api",
    "generate_cfg",
    "preprocess_function",
    "kwargs",
)
"""Of a model's entry: what decides about its answers, besides the prompt."""
KEYS_WITHOUT_EFFECT = {"timeout_s", "serve_timeout_s"}
SCREENSHOTS = "screenshots"  # folder of a run: what its episodes saw
MOST_WORLDS = 8  # without --worlds; each keeps half a core busy, and half a gigabyte


def questions_of(
    plan: Plan, name: str, dataset: str, folder: RunFolder, shots: Path | None = None
) -> Questions:
    """Return what one model is asked of one data set, and what it has answered before.

    Screenshots of its episodes go to the folder `shots`, else to one in the run's.
    """
    data = plan.data[dataset]
    benchmark = data.benchmark
    system_prompt, custom, prompt_settings = prompting_of(plan, name, dataset)
    episode = benchmark.episode
    worlds = read_reply = fingerprint = follow_up = None
    if benchmark.acts:  # whole episodes are reused, not the answers to their prompts
        fingerprint = partial(
            _of_episode, settings_of(plan, name, dataset), prompting_digest(custom, prompt_settings)
        )
        # Workers make the prompts of whole episodes, several at a time.
        custom = custom and one_at_a_time(custom, threading.Lock(), copy_result=True)
        places = plan.options.worlds or min(os.cpu_count() or 1, MOST_WORLDS)
        worlds = Worlds(partial(benchmark.open_world, shots or folder.path / SCREENSHOTS), places)
        reading = ReplyParsing(  # by workers, several at a time
            plan.models[name].postprocess(dataset),
            one_at_a_time(plan.parse(name, dataset), threading.Lock()),
            _pixel_limits(plan, name),
        )
        episode = partial(episode, reading=reading)
        read_reply = partial(benchmark.read_reply, reading)
    prompt_of = prompt_builder(
        benchmark, system_prompt=system_prompt, custom=custom, settings=prompt_settings
    )
    if not benchmark.acts:
        crops = CropFolder(folder.path, dataset)
        follow_up = _follow_up_of(plan, name, dataset, prompt_of, crops)
    return Questions(
        dataset=dataset,
        samples=data.requested(plan.options.limit),
        episode=partial(episode, prompt_of=prompt_of),
        answers=AnswerIndex(
            all_logs(plan.options.work_dir, name, dataset), own_log=folder.log(dataset)
        ),
        worlds=worlds,
        fingerprint=fingerprint,
        read_reply=read_reply,
        follow_up=follow_up,
    )


def _follow_up_of(
    plan: Plan, name: str, dataset: str, prompt_of: PromptOf, crops: CropFolder
) -> FollowUp | None:
    """Return what a model is asked after a reply, if anything; workers call it, several at once."""
    postprocess = plan.models[name].postprocess(dataset)
    benchmark = plan.data[dataset].benchmark
    entry = plan.config.model[name]
    if dataset in entry.follow_up:
        role = key_path("model", name, "follow_up", dataset)
        function = one_at_a_time(resolve(entry.follow_up[dataset], role=role), threading.Lock())
        return UserStages(function, postprocess, benchmark.image_root)
    zoom = plan.zoom(name, dataset)
    if zoom is None:
        return None
    parse = one_at_a_time(plan.parse(name, dataset), threading.Lock())

    def point_of(record: Record) -> Any:
        reply = reply_text(record, postprocess)
        sizes = sizes_of(record)
        point, _ = benchmark.read(
            record["line"], sizes, reply, parse, meta_of_record(record, sizes, entry.kwargs)
        )
        return point

    return ZoomStage(zoom, one_at_a_time(prompt_of, threading.Lock()), point_of, crops)


def _of_episode(settings: str, prompt_code: str, sample: Sample) -> str:
    """Return the fingerprint of a whole episode: of its task, and all that decides how it goes.

    The number of a task is no part of it: another one that is put before it changes nothing.
    """
    line = {name: value for name, value in sample.line.items() if name != "index"}
    return digest([settings, prompt_code, sample.key, line])


def settings_of(plan: Plan, name: str, dataset: str) -> str:
    """Return a hash of what decides, besides prompt function and samples, about a model's answers.

    In a data set that acts, the next request depends on how the last reply was read and on how an
    episode goes, so that belongs to the settings, too.
    """
    settings = plan.models[name].settings_digest()
    data = plan.data[dataset]
    benchmark = data.benchmark
    if not benchmark.acts:
        return _with_follow_up(plan, name, dataset, settings)
    dotted = plan.config.model[name].postprocess_function
    role = key_path("model", name, "postprocess_function")
    postprocess = resolve(dotted, role=role) if dotted else None
    system_prompt, _, _ = prompting_of(plan, name, dataset)
    default_prompt = prompt_builder(benchmark, system_prompt=system_prompt, custom=None)
    any_line = data.samples[0].line if data.samples else {}
    blank = {**any_line, "instruction": "", "task_id": ""}  # the wording is what is left
    return digest(
        [
            settings,
            benchmark.rules_digest(),
            readable_messages(default_prompt(blank).messages),
            code_digest(_parse_function(plan, name, dataset), also=READING),
            code_digest(postprocess),
            _pixel_limits(plan, name),
        ]
    )


def _with_follow_up(plan: Plan, name: str, dataset: str, settings: str) -> str:
    """Return the hash of settings with what is asked after a reply, which depends on its reading.

    Requests do not depend on it: a first reply counts, however it is followed up.
    """
    zoom = plan.zoom(name, dataset)
    dotted = plan.config.model[name].follow_up.get(dataset)
    if zoom is None and dotted is None:
        return settings
    role = key_path("model", name, "follow_up", dataset)
    function = resolve(dotted, role=role) if dotted else None
    follow_up = zoom.as_settings() if zoom is not None else code_digest(function)
    reading = code_digest(_parse_function(plan, name, dataset), also=READING)
    return digest([settings, follow_up, reading])


def _parse_function(plan: Plan, name: str, dataset: str) -> Callable[..., Any]:
    """Return what reads the replies of a model: the user's function as it is, or the default."""
    dotted, key = plan.config.parser_of(name, dataset)
    return resolve(dotted, role=key) if dotted else plan.data[dataset].parse


def _pixel_limits(plan: Plan, name: str) -> dict[str, Any]:
    kwargs = plan.config.model[name].kwargs
    return {key: kwargs[key] for key in PIXEL_LIMITS if key in kwargs}


def run_specs(plan: Plan, name: str) -> dict[str, RunSpec]:
    """Return what a model's run requests of each data set."""
    limit = plan.options.limit
    return {
        dataset: run_spec_of(
            data, limit, settings_of(plan, name, dataset), *prompting_of(plan, name, dataset)
        )
        for dataset, data in plan.data.items()
    }


def folder_of(plan: Plan, name: str, specs: Mapping[str, RunSpec]) -> tuple[RunFolder, str | None]:
    """Return the folder in which a model's run goes on or begins, and why it is not today's."""
    return RunFolder.of_experiment(plan.options.work_dir, name, git_state(PROJECT)["commit"], specs)


def note_on_changed_settings(plan: Plan, name: str, dataset: str, view: LogView) -> list[str]:
    """Say in one line that the run of a log asked otherwise than the config says, if it did."""
    before = entry_of_run(view.run, name)
    changed: list[str] = []
    for key in KEYS_OF_ASKING:
        changed += _changed_keys(key, before.get(key), plan.dump["model"][name].get(key))
    changed += _changed_follow_up(plan, name, dataset, view.run)
    record = next(view.records(), None)
    prompt = (view.run.get("asking") or {}).get("prompt")
    if record is not None and prompt is not None:
        prompting = prompting_of(plan, name, dataset)
        benchmark = plan.data[dataset].benchmark
        if not is_prompt_digest(prompt, benchmark, record["line"], *prompting):
            changed.append("prompt")
    repeats = plan.data[dataset].repeats
    if view.repeats != repeats:
        changed.append(f"repeats {view.repeats}, not {repeats}")
    if not before or not changed:
        return []
    return [
        f"the log was asked with other settings than this config has ({', '.join(changed)}); "
        "the scores are those of the log"
    ]


def _changed_follow_up(plan: Plan, name: str, dataset: str, run: Record) -> list[str]:
    """Return the keys that decide what is asked after a reply, where they have other values."""
    before = entry_of_run(run, name)
    changed: list[str] = []
    now = plan.zoom(name, dataset)
    asked = zoom_of_run(run, name)
    if asked != now:
        settings = [zoom and zoom.as_settings() for zoom in (asked, now)]
        changed += _changed_keys("zoom", *settings)
    function = plan.config.model[name].follow_up.get(dataset)
    if (before.get("follow_up") or {}).get(dataset) != function:
        changed.append(f"follow_up.{dataset}")
    parser, _ = plan.config.parser_of(name, dataset)
    if asked is not None and parser_of_run(run, name, dataset) != parser:
        changed.append("parse_function")
    return changed


def _changed_keys(key: str, before: Any, now: Any) -> list[str]:
    """Return the keys below one of a model's entry that have other values."""
    if isinstance(before, dict) and isinstance(now, dict):
        return [
            changed
            for name in sorted({*before, *now} - KEYS_WITHOUT_EFFECT)
            for changed in _changed_keys(f"{key}.{name}", before.get(name), now.get(name))
        ]
    return [] if before == now else [key]


def open_job(
    plan: Plan, name: str, questions: Questions, log: RunLog, spec: RunSpec, seq: int
) -> Job:
    """Open a run in its log."""
    data = plan.data[questions.dataset]
    for note in questions.answers.notes:
        print(f"warning: {note}")
    keys = [sample.key for sample in data.chosen(spec.limit)]
    ranks = data.limit_ranks()
    repeats = {"repeats": spec.repeats} if spec.repeats > 1 else {}
    record = run_record(
        seq=seq,
        model=name,
        dataset=questions.dataset,
        mode=spec.mode,
        limit=spec.limit,
        circular=spec.is_circular,
        **repeats,
        protocol=plan.protocol(name, questions.dataset),
        samples=keys,
        turns=[ranks[key] for key in keys],
        bad=data.bad,
        asking=spec.request_hashes,
        made_with=made_with(
            plan.dump, plan.options.config_text, plan.options.arguments, spec.inputs
        ),
    )
    log.append(record)
    return Job(**vars(questions), log=log, run=LoggedRun(record, {}))


def prompting_of(
    plan: Plan, name: str, dataset: str
) -> tuple[str | None, Callable[..., Any] | None, Mapping[str, Any]]:
    """Return a model's system prompt, and the prompt function for a data set with its settings."""
    entry = plan.config.model[name]
    dotted = entry.custom_prompt.get(dataset)
    role = key_path("model", name, "custom_prompt", dataset)
    function = resolve(dotted, role=role) if dotted else None
    settings: Mapping[str, Any] = {}
    if function and takes_settings(function):
        settings = {k: v for k, v in entry.kwargs.items() if k not in KEYS_WITHOUT_EFFECT}
    return entry.kwargs.get("system_prompt"), function, settings
