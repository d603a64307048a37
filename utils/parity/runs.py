"""From two prepared runs to their comparison."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import replace

from utils.contracts import Facts
from utils.errors import DONE, SOME_FAILED, UserError
from utils.evaluation import Plan
from utils.parity.causes import explained
from utils.parity.sides import Side
from utils.parity.table import render, write_csv
from utils.runs.finished import SAMPLES_SUFFIX, open_samples
from utils.runs.folder import RunFolder, logs_by_age, newest_of, safe_name


def two_plans(plan: Plan, other: Plan, wanted: Sequence[str]) -> list[Plan]:
    """The two runs, each with the one model that is meant.

    Args:
        plan: of `--config`, with all its models.
        other: of `--parity`, likewise; may be of the same file.
        wanted: the names given with `--model`.

    Raises:
        UserError: it is not clear which models are meant, or both have one name.
    """
    unknown = [name for name in wanted if name not in plan.models and name not in other.models]
    if unknown:
        raise UserError(f"--model {', '.join(unknown)}: in neither config")
    is_same_file = plan.config.path.resolve() == other.config.path.resolve()
    if is_same_file:
        names = list(wanted or plan.models)
        if len(names) != 2 or not set(names) <= set(plan.models):
            raise UserError(
                f"--parity {other.config.path}: with the config itself name two of its models with "
                f"--model; it has {', '.join(plan.models)}"
            )
        return [replace(plan, models={name: plan.models[name]}) for name in names]
    chosen = [_with_one_model(each, wanted) for each in (plan, other)]
    if set(chosen[0].models) & set(chosen[1].models):
        [name] = chosen[0].models
        raise UserError(
            f'--parity: both configs call their model "{name}", so their results would share a '
            "folder; rename one"
        )
    return chosen


def _with_one_model(plan: Plan, wanted: Sequence[str]) -> Plan:
    names = [name for name in plan.models if name in wanted] or list(plan.models)
    if len(names) != 1:
        raise UserError(
            f"{plan.config.path}: has {len(names)} models ({', '.join(names)}); --parity compares "
            "one of each config, name them with --model"
        )
    return replace(plan, models={names[0]: plan.models[names[0]]})


def compare_plans(plans: Sequence[Plan], side_of: Callable[[Plan], Side]) -> int:
    """Compares what two runs have answered; prints it and writes a file for each data set.

    Args:
        plans: both have run.
        side_of: what is known of a plan's one model.

    Returns:
        0 if all answers are the same, else 1.
    """
    a, b = (side_of(plan) for plan in plans)
    work_dir = plans[0].options.work_dir
    code = DONE
    for dataset in plans[0].data:
        if dataset not in plans[1].data:
            print(f"\nparity: {dataset} is in one config only; left out")
            continue
        ours, theirs = (_samples(plan, dataset) for plan in plans)
        common = [(ours[key], theirs[key]) for key in ours if key in theirs]
        pairs = explained(common, a, b)
        print("\n" + "\n".join(render(dataset, a, b, pairs)))
        path = work_dir / "parity" / f"{safe_name(a.name)}_{safe_name(b.name)}_{dataset}.csv"
        write_csv(path, pairs)
        print(f"File: {path}")
        if not pairs or not all(pair.answers_equal for pair in pairs):
            code = SOME_FAILED
    return code


def _samples(plan: Plan, dataset: str) -> dict[str, Facts]:
    """The samples of the newest run, by key; none where it was not scored."""
    [name] = plan.models
    logs = logs_by_age(plan.options.work_dir, name, dataset)
    if not logs:
        return {}
    log, runs = logs[0]
    folder = RunFolder(name, log.parent)
    files = [folder.file(dataset, SAMPLES_SUFFIX, partial=part) for part in (False, True)]
    written = [path for path in files if path.exists()]
    if not written:
        return {}
    newest = max(written, key=lambda path: path.stat().st_mtime_ns)
    began_s = datetime.datetime.fromisoformat(newest_of(runs)[1]).timestamp()
    if newest.stat().st_mtime < began_s:  # scoring was stopped; these are of a run before
        return {}
    limit = plan.options.limit
    with open_samples(newest) as (_, rows):
        kept = [row for _, row in zip(range(limit or 1 << 60), rows, strict=False)]
    return {row["key"]: row for row in kept}
