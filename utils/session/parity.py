"""`--parity`: two runs on the same samples, and why their replies differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from utils.config.options import Options
from utils.engine.ranks.group import Rank
from utils.errors import SOME_FAILED, UserError
from utils.session.plan import Plan
from utils.session.prepare import BenchmarkRoom, ModelRoom, prepare, read
from utils.session.runner import run_plan


def plans_of(
    options: Options, benchmarks: BenchmarkRoom, models: ModelRoom, rank: Rank | None
) -> list[Plan]:
    """Return the plan of the run that is requested; with `--parity` of both runs.

    Raises:
        UserError: anything that stands in the way, one line each.
    """
    if options.parity is None:
        return [prepare(options, benchmarks, models, rank)]
    if rank is not None and not rank.slurm_step:
        raise UserError("--parity compares in one process; start it without torchrun")
    from utils.comparing.why import two_models

    plans = []
    for config in (options.config, options.parity):
        options_of_one = replace(options, config=config)
        entries = read(options_of_one, benchmarks, models).models
        # A name of --model may be one of the other config.
        selected = tuple(name for name in options.model if name in entries)
        plans.append(prepare(replace(options_of_one, model=selected), benchmarks, models))
    names_by_config = [list(plan.models) for plan in plans]
    names = two_models([options.config, options.parity], names_by_config, options.model)
    return [
        replace(
            plan,
            models={name: plan.models[name]},
            evaluations={name: plan.evaluations[name]},
        )
        for plan, name in zip(plans, names, strict=True)
    ]


def run_and_compare(plans: Sequence[Plan]) -> int:
    """Run both plans, then print why their replies differ; return the exit code."""
    from utils.comparing.runs import PARITY, read_runs
    from utils.comparing.why import explain

    results = [run_plan(plan) for plan in plans]
    folders = [
        outcome.folder.path
        for _, outcomes in results
        for outcome in outcomes[:1]
        if outcome.folder is not None
    ]
    code = max(code for code, _ in results)
    if len(folders) < len(plans):
        return code
    baseline, run = read_runs(folders)
    is_same = explain(baseline, run, plans[0].options.work_dir / PARITY)
    return code if is_same else max(code, SOME_FAILED)
