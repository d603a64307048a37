"""`--import`: answers that were made elsewhere become records, and are scored as a run is.

files → answers → samples of the tables → records in a log of their own → scores, files, report
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from utils import PROJECT
from utils.config.options import Options
from utils.contracts import Record
from utils.coordinates import Frame, frame_parser, parse_function_name
from utils.errors import DONE, SOME_FAILED, UserError, problem_report
from utils.exchange.answers import Answer, verdicts_problem
from utils.exchange.gathering import MOST_ASKED_OTHERWISE, Gathered, torn_lines
from utils.exchange.sources import AnswerFile, Import, checksum_of, open_import, read_order
from utils.exchange.worlds import WORLDS, WorldResults, read_world
from utils.findings import FINDINGS
from utils.functions.fingerprints import CODE_VERSION, digest
from utils.functions.prompting import short_digest
from utils.import_utils import resolve, search_beside
from utils.pages.all_runs import index_after_run
from utils.program import EVALUATE
from utils.protocol import IMPORTED
from utils.scoring.imported import ORIGIN, ImportAudit
from utils.session.evaluation import Evaluation, UserFunction
from utils.session.imported_records import answer_records, episode_records, keys_of, points_problem
from utils.session.imported_tables import (
    Table,
    left_out_line,
    model_name,
    table_of,
    tables_here,
)
from utils.session.prepare import BenchmarkRoom, ModelRoom, prepare
from utils.session.result import Result
from utils.session.runner import finish_folders
from utils.session.score import rescore, score
from utils.session.source_copies import copy_sources
from utils.store.derived import read_json
from utils.store.find import is_import
from utils.store.folder import RunFolder, choosing, logs_by_age
from utils.store.log import LoggedRun, RunLog
from utils.store.logged_config import entry_of_run
from utils.store.provenance import git_state, made_with
from utils.store.records import end_record, now, run_record
from utils.text import counted, listed

CONFIG_NAME = "config.json"  # in the folder of an import: what `--mode eval` scores it with
MODEL_CLASS = "models.imported.AnswersMadeElsewhere"
WORLD_CLASS = "benchmarks.imported_worlds.ImportedEpisodes"


@dataclass
class ImportedSet:
    """One data set of an import: its evaluation, and the answers to it.

    Attributes:
        limit: of the run that a bundle is of; None: it had none.
        gathered: of a table; None: it is a live world.
    """

    evaluation: Evaluation
    sources: Sequence[AnswerFile] = ()
    limit: int | None = None
    gathered: Gathered | None = None
    results: WorldResults | None = None
    counts: dict[str, int] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    is_torn: bool = False

    @property
    def has_replies(self) -> bool:
        """Whether there are replies, which another reader may read differently from this one."""
        answers = self.gathered.answers.values() if self.gathered is not None else ()
        return any(answer.reply is not None for answer in answers)


def run_import(options: Options, benchmarks: BenchmarkRoom, models: ModelRoom) -> int:
    """Import what `--import` names, or score an import again; return the exit code.

    Raises:
        UserError: it cannot be read or matched; nothing was written.
    """
    path = options.import_path
    assert path is not None
    if options.mode == "eval":
        return _score_again(options, path, benchmarks, models)
    function = None
    if "." in options.format:
        search_beside(options.config)
        function = resolve(options.format, role="--format")
    imported = open_import(path, options.format, function)
    sets = _sets(imported, options, benchmarks, models)
    order = read_order(options.import_order)
    for one in sets:
        _gather(one, options, order, benchmarks)
        for line in one.lines:
            print(f"{one.evaluation.dataset}: {line}")
    problems = [problem for one in sets for problem in one.problems]
    if problems:
        raise UserError(problems)
    if options.check:
        are_read = [_show_audit(imported, one) for one in sets]
        print("\nNothing was written (--check).")
        is_clean = all(are_read) and not any(one.is_torn for one in sets)
        return DONE if is_clean else SOME_FAILED
    return _write(imported, sets, options)


# -- which data sets, which reader ----------------------------------------------------------------


def _sets(
    imported: Import, options: Options, benchmarks: BenchmarkRoom, models: ModelRoom
) -> list[ImportedSet]:
    """The data sets that an import has answers to, each with what reads and judges them."""
    has_config = bool(options.config.name)
    if imported.world:
        if has_config:
            raise UserError(
                "--import of a live world's results takes no --config: the scores are read from "
                "the files"
            )
        results = read_world(imported.path, imported.world)
        title = WORLDS[imported.world].title
        entry = {"benchmark": WORLD_CLASS, "world": imported.world}
        evaluations = _evaluations(options, {title: entry}, imported, benchmarks, models)
        return [ImportedSet(evaluations[title], results=results)]
    if has_config:
        plain = _planned(options, benchmarks, models)
        tables = {name: Table(name, evaluation.data) for name, evaluation in plain.items()}
        sources_by_table = _assigned(imported, tables, benchmarks, is_named=True)
        evaluations = plain
    else:
        tables = tables_here(options.data, benchmarks)
        is_named = bool(options.data)
        sources_by_table = _assigned(imported, tables, benchmarks, is_named=is_named)
        entries = {name: tables[name].entry for name in sources_by_table}
        evaluations = _evaluations(options, entries, imported, benchmarks, models)
    sets = [
        ImportedSet(evaluations[name], sources, imported.limits.get(name))
        for name, sources in sources_by_table.items()
    ]
    if not has_config and not options.frame and not options.recipe:
        for one in sets:
            if reader := imported.readers.get(one.evaluation.dataset):
                one.lines.append(
                    f"the archive was scored with {reader}. To score it in the same way, unpack "
                    f"its {CONFIG_NAME} and add --config {CONFIG_NAME}"
                )
    return sets


def _assigned(
    imported: Import, tables: Mapping[str, Table], benchmarks: BenchmarkRoom, *, is_named: bool
) -> dict[str, list[AnswerFile]]:
    """The sources by data set; each file has answers to one."""
    sources_by_table: dict[str, list[AnswerFile]] = {}
    problems: list[str] = []
    has_named = is_named and any(source.dataset in tables for source in imported.sources)
    for source in imported.sources:
        if source.dataset in tables:
            name = source.dataset
        elif source.dataset and has_named:
            print(f"{source.dataset}: left out, because --data or the config names other data sets")
            continue
        else:
            try:
                name = table_of(source, tables, benchmarks, is_named=is_named)
            except UserError as error:
                problems += error.problems
                continue
        sources_by_table.setdefault(name, []).append(source)
    if problems:
        raise UserError(problems)
    if is_named:
        for name, table in tables.items():
            if name not in sources_by_table:
                print(left_out_line(table, benchmarks))
    return {name: sources_by_table[name] for name in tables if name in sources_by_table}


def _evaluations(
    options: Options,
    data: Mapping[str, Any],
    imported: Import,
    benchmarks: BenchmarkRoom,
    models: ModelRoom,
) -> dict[str, Evaluation]:
    """The evaluations of a config that is made for an import."""
    name = options.as_name or imported.model or model_name(imported.path)
    model = {"imp_type": "custom", "model_path": MODEL_CLASS}
    if options.recipe:
        model["recipe"] = options.recipe
    content = json.dumps({"model": {name: model}, "data": {**data}})
    import_options = replace(options, config=Path("import"), content=content, data=(), model=())
    return _planned(import_options, benchmarks, models)


def _planned(
    options: Options, benchmarks: BenchmarkRoom, models: ModelRoom
) -> dict[str, Evaluation]:
    """The evaluations of one model by data set, under the name of `--as`, with `--frame`'s reader.

    Raises:
        UserError: the config is wrong, or has several models.
    """
    plan = prepare(replace(options, mode="eval"), benchmarks, models)
    if len(plan.models) > 1:
        raise UserError(
            f"--import: the config has the models {listed([*plan.models])}; name the one whose "
            "entry reads the answers: --model NAME"
        )
    for evaluation in next(iter(plan.evaluations.values())):
        if evaluation.data.circular is not None or evaluation.judge is not None:
            raise UserError(
                f"--import: data.{evaluation.dataset} sets circular evaluation or a judge. "
                "Imported answers can have neither; leave that setting out"
            )
    evaluations = next(iter(plan.evaluations.values()))
    entry = evaluations[0].shown_entry  # found by the model's name, which all of them share
    return {
        evaluation.dataset: _renamed(evaluation, entry, replace(options, mode="all"))
        for evaluation in evaluations
    }


def _renamed(
    evaluation: Evaluation, shown_entry: Mapping[str, Any], options: Options
) -> Evaluation:
    """An evaluation under the name of `--as`, with the reader of `--frame`."""
    name = options.as_name or evaluation.name
    entry = dict(shown_entry)
    functions = dict(evaluation.functions)
    if options.frame and evaluation.benchmark.recipe_form == "grounding":
        frame = Frame(options.frame)
        dotted = parse_function_name(frame)
        entry["parse_function"] = {**entry["parse_function"], evaluation.dataset: dotted}
        functions["parse"] = UserFunction(dotted, frame_parser(frame))
    evaluation.model.name = name
    config = {**evaluation.config, "model": {name: entry}}
    return replace(evaluation, options=options, config=config, functions=functions)


# -- matching -------------------------------------------------------------------------------------


def _gather(
    one: ImportedSet, options: Options, order: Sequence[str], benchmarks: BenchmarkRoom
) -> None:
    """Match the rows of a data set; say what was found."""
    evaluation = one.evaluation
    if one.results is not None:
        _gather_episodes(one, order)
        return
    notes, problems = benchmarks.load_samples(evaluation.data, needs_images=False)
    if problems:
        raise UserError(problems)
    one.lines += notes
    if one.limit is not None:
        evaluation.data.samples = evaluation.data.chosen(one.limit)
        one.lines.append(f"scored as a part, like the exported run: --limit {one.limit}")
    table = Table(evaluation.dataset, evaluation.data)
    gathered = Gathered(table.matcher(order))
    for source in one.sources:
        answers = _answers_to(evaluation.dataset, source)
        gathered.add_all(answers, keep=options.duplicates or "first")
    gathered.finish(has_frame=bool(options.frame))
    if all(source.has_parts for source in one.sources):
        part = table.part_of([key for key, _ in gathered.answers])
        if part:
            evaluation.data.mode = part
            evaluation.data.samples = table.samples_of(part)
            gathered.counts["samples"] = len(evaluation.data.samples)
            gathered.counts["missing"] = len(evaluation.data.samples) - len(
                {key for key, _ in gathered.answers}
            )
            one.lines.append(
                f'all matched rows belong to the part "{part}"; only this part is scored'
            )
    one.gathered = gathered
    one.lines += gathered.lines()
    torn = {source.name or str(source.path): source.torn for source in one.sources}
    one.lines += torn_lines(torn)
    one.is_torn = any(torn.values())
    one.counts = {name.replace("_", " "): count for name, count in gathered.counts.items()}
    one.counts["torn"] = sum(map(len, torn.values()))
    one.problems += _problems(one, gathered, options)


def _answers_to(dataset: str, source: AnswerFile) -> Iterator[Answer]:
    """Yield the answers of a file, without rows that it assigns to other data sets.

    Names of other programs may differ: they count only in a file that has the name of the data set.
    """
    has_names = any(answer.dataset for answer in source.first_answers())
    if has_names and any(answer.dataset == dataset for answer in source.answers()):
        return (answer for answer in source.answers() if answer.dataset == dataset)
    return source.answers()


def _gather_episodes(one: ImportedSet, order: Sequence[str]) -> None:
    results = one.results
    assert results is not None
    scored = sum(episode.score is not None for episode in results.episodes)
    one.lines.append(
        f"{counted(len(results.episodes), 'episode')}, {scored} with a score; "
        f"{results.world.title}'s own figure: {results.world.own_figure}"
    )
    one.lines += [f"refused: {reason}" for reason in results.refused]
    played = {episode.task for episode in results.episodes}
    missing = [task for task in order if task not in played]
    if missing:
        one.lines.append(
            f"missing: {len(missing)} of {len(order)} tasks of --import-order: {listed(missing, 5)}"
        )
    one.counts = {
        "rows": len(results.episodes),
        "with a score": scored,
        "unfinished": len(results.episodes) - scored,
        "refused": len(results.refused),
        "missing": len(missing),
    }
    one.is_torn = bool(results.refused)


def _problems(one: ImportedSet, gathered: Gathered, options: Options) -> list[str]:
    """The problems that stop an import of a data set."""
    counts, dataset = gathered.counts, one.evaluation.dataset
    problems: list[str] = []
    if not gathered.answers:
        problems.append(f"{dataset}: no row matches a sample")
    verdicts = gathered.verdicts_alone
    if verdicts and len(verdicts) == len(gathered.answers):
        problems.append(f"{dataset}: {verdicts_problem(verdicts)}")
    if counts["answered otherwise"] and not options.duplicates:
        examples = "".join(
            f"\n    {twice.first.text()} and row {twice.second.line}: "
            f"{_verdicts(one.evaluation, twice)}"
            for twice in gathered.twice
        )
        problems.append(
            f"{dataset}: two rows with different replies to "
            f"{counted(counts['answered otherwise'], 'sample')}; choose one: --duplicates first or "
            f"--duplicates last{examples}"
        )
    share = counts["asked otherwise"] / max(1, counts["matched"])
    if share > MOST_ASKED_OTHERWISE and not options.anyway:
        problems.append(
            f"{dataset}: {counts['asked otherwise']} of {counts['matched']} rows have another "
            "instruction than their sample. They may belong to another data set, or to another "
            "setting of this one (language, instructions, split). Name the right one with "
            "--data, or score them nevertheless with --anyway"
        )
    return problems + points_problem(one.evaluation, gathered, options.frame)


def _verdicts(evaluation: Evaluation, twice: Any) -> str:
    """The verdicts of two answers to one sample, in words."""
    scorer = evaluation.scorer(skip_errors=True)
    verdicts = []
    for answer in (twice.first, twice.second):
        record = next(
            answer_records(
                evaluation,
                {twice.sample.key: twice.sample},
                {(twice.sample.key, 1): answer},
                {},
                "",
                1,
            )
        )
        verdicts.append(str(scorer.judge(record).judgement.verdict or record["status"]))
    return " and ".join(verdicts)


def _show_audit(imported: Import, one: ImportedSet) -> bool:
    """Print how the answers of a file are read, and compare with its own points and verdicts.

    Returns:
        Whether no function of the user's failed.
    """
    if one.gathered is None:
        return True
    evaluation, gathered = one.evaluation, one.gathered
    samples = {sample.key: sample for sample in evaluation.data.samples}
    scorer = evaluation.scorer(skip_errors=True)
    facts = {"file": imported.path.name, "format": one.sources[0].format_name, "counts": one.counts}
    audit = ImportAudit(facts, scorer)
    records = answer_records(
        evaluation, samples, gathered.answers, gathered.differences, "", gathered.repeats
    )
    for record in records:
        audit.add(record, scorer.judge(record))
    failures = {kind: count for kind, (count, trace) in scorer.errors.items() if trace}
    for kind, count in failures.items():
        print(f"warning: {evaluation.dataset}: {count} x {kind}")
    for finding in [*scorer.findings(), *audit.section()[FINDINGS]]:
        if finding.code != ORIGIN:
            print(f"{finding.severity}: {evaluation.dataset}: {finding}")
    return not failures


# -- writing --------------------------------------------------------------------------------------


def _write(imported: Import, sets: Sequence[ImportedSet], options: Options) -> int:
    """Write the log of each data set and all that follows from it; return the exit code."""
    first = sets[0].evaluation
    work_dir, name = options.work_dir, first.name
    paths = [source.path for one in sets for source in one.sources] or [imported.path]
    with ExitStack() as stack, choosing(work_dir, name):
        described = {one.evaluation.dataset: _described(one, imported, options) for one in sets}
        new_runs = {dataset: LoggedRun(record, {}) for dataset, (record, _) in described.items()}
        commit = git_state(PROJECT)["commit"]
        folder = RunFolder.of_import(work_dir, name, commit, new_runs)
        print(f'\nmodel "{name}", answers made elsewhere → {folder.path}')
        logs = logs_by_age(work_dir, name, imported=True)
        seq = 1 + max((run.seq for _, runs in logs for run in runs), default=0)
        for one in sets:
            dataset = one.evaluation.dataset
            log = RunLog(folder.log(dataset), clean=one.evaluation.secrets.clean_object)
            stack.enter_context(closing(log))
            record, records = described[dataset]
            log.append(run_record(seq, **record))
            for answer in records:
                log.append(answer)
            log.append(end_record(0.0, 0.0, queried={}, reused=0))
            log.sync()
        copy_sources(folder.path, paths, first.secrets)
        _write_config(folder, sets)
    code = _scored(
        [one.evaluation for one in sets], folder, is_torn=any(one.is_torn for one in sets)
    )
    if first.benchmark.recipe_form and any(one.has_replies for one in sets):
        print(f"To score again with another parse function: {_again(folder)}")
    return code


def _scored(evaluations: Sequence[Evaluation], folder: RunFolder, *, is_torn: bool) -> int:
    options = evaluations[0].options
    with folder.scoring():
        outcomes = [score(evaluation, folder) for evaluation in evaluations]
        finish_folders(options, evaluations, outcomes, is_only_model=True)
    index_after_run(options.work_dir)
    return max([SOME_FAILED if is_torn else DONE, *(outcome.code for outcome in outcomes)])


def _again(folder: RunFolder) -> str:
    options = "--mode eval --config FILE (or --recipe NAME, --frame UNIT)"
    return f"{EVALUATE} --import {folder.path} {options}"


def _described(
    one: ImportedSet, imported: Import, options: Options
) -> tuple[Record, Iterator[Record]]:
    """The record of the run of an import but for its number, and the records of its answers."""
    evaluation = one.evaluation
    data = evaluation.data
    checksum = _checksum(one, imported)
    if one.results is not None:
        samples, records = episode_records(evaluation, one.results, checksum)
        annotations: dict[str, Any] = {"file": f"{one.results.world.title} results"}
        repeats = 1
    else:
        assert one.gathered is not None
        samples = list(data.samples)
        name, content = data.benchmark.source()
        annotations = _checksums(name, content)
        repeats = one.gathered.repeats
        by_key = {sample.key: sample for sample in samples}
        records = answer_records(
            evaluation, by_key, one.gathered.answers, one.gathered.differences, checksum, repeats
        )
    data.samples = samples
    limit_ranks = data.limit_ranks()
    settings = digest([checksum, options.frame, options.duplicates, options.as_name, one.counts])
    record: Record = {
        "model": evaluation.name,
        "dataset": evaluation.dataset,
        "mode": data.mode,
        "limit": one.limit,
        "circular": False,
        **({"repeats": repeats} if repeats > 1 else {}),
        "protocol": IMPORTED,
        "samples": keys_of(samples),
        "turns": [limit_ranks[sample.key] for sample in samples],
        "bad": data.bad,
        "asking": {
            "settings": short_digest(settings),
            "annotations": short_digest(str(annotations.get("sha256", checksum))),
        },
        "code_version": CODE_VERSION,
        IMPORTED: {
            "file": imported.path.absolute().name,
            "sha256": checksum,
            "format": imported.world or one.sources[0].format_name,
            "files": [source.name for source in one.sources if source.name],
            "rows": one.counts["rows"],
            "frame": options.frame or None,
            "read_at": now(),
            "counts": one.counts,
        },
        **made_with(
            evaluation.config,
            options.config_text if options.config.name else b"",
            options.arguments,
            {"annotations": annotations},
        ),
    }
    return record, records


def _checksum(one: ImportedSet, imported: Import) -> str:
    if one.results is not None:
        return digest([str(episode) for episode in one.results.episodes])
    paths = [source.path for source in one.sources]
    files = [path for path in dict.fromkeys(paths) if path.is_file()]
    return checksum_of(files) if files else digest([str(imported.path), one.counts])


def _checksums(name: str, content: bytes) -> dict[str, Any]:
    import hashlib

    return {
        "file": name,
        "bytes": len(content),
        "md5": hashlib.md5(content, usedforsecurity=False).hexdigest(),
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def _write_config(folder: RunFolder, sets: Sequence[ImportedSet]) -> None:
    """Write the config that an import is scored again with.

    Data sets that an earlier import of the same file had besides stay in it.
    """
    from utils.scoring.sheets import write_json

    first = sets[0].evaluation
    path = folder.path / CONFIG_NAME
    before = read_json(path, must_be_whole=False)
    datasets = [one.evaluation.dataset for one in sets]
    data = {name: dict(first.config["data"][name]) for name in datasets}
    for one in sets:
        data[one.evaluation.dataset]["mode"] = one.evaluation.data.mode
    parsers = dict(entry_of_run({"config": before}, first.name).get("parse_function") or {})
    for one in sets:  # each has its own reader
        parsers.pop(one.evaluation.dataset, None)
        parsers |= one.evaluation.shown_entry["parse_function"]
    entry = {**first.shown_entry, "parse_function": parsers}
    data = {**(before.get("data") or {}), **data}
    write_json(path, {"model": {**first.config["model"], first.name: entry}, "data": data})


# -- scoring again --------------------------------------------------------------------------------


def _score_again(
    options: Options, folder: Path, benchmarks: BenchmarkRoom, models: ModelRoom
) -> int:
    """Score an import again, with the reader that it had, or another one."""
    if not is_import(folder.resolve()) or not folder.is_dir():
        raise UserError(
            f"--import {folder}: with --mode eval it must be the folder of an import, "
            "<work-dir>/<model>/I<date>_G<commit>"
        )
    folder = folder.resolve()
    work_dir = folder.parents[1]
    scoring_options = replace(options, work_dir=work_dir)
    if not options.config.name:
        content = _config_of(folder, options)
        scoring_options = replace(scoring_options, config=folder / CONFIG_NAME, content=content)
    evaluations = [
        replace(evaluation, options=replace(evaluation.options, mode="eval"))
        for evaluation in _planned(scoring_options, benchmarks, models).values()
    ]
    with ExitStack() as stack:
        outcomes: list[Result] = rescore(evaluations, stack, folder)
        finish_folders(evaluations[0].options, evaluations, outcomes, is_only_model=True)
    index_after_run(work_dir)
    problems = [problem for outcome in outcomes for problem in outcome.problems]
    if problems:
        print(problem_report(problems, ran=True), file=sys.stderr)
    return max(outcome.code for outcome in outcomes)


def _config_of(folder: Path, options: Options) -> str:
    """The config in the folder of an import, with another recipe if one is named."""
    try:
        config = json.loads((folder / CONFIG_NAME).read_text("utf-8"))
        (entry,) = config["model"].values()
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise UserError(
            f"{folder / CONFIG_NAME}: cannot be read ({error}); name a --config"
        ) from None
    if options.recipe:
        entry |= {"recipe": options.recipe, "parse_function": {}, "custom_prompt": {}}
    return json.dumps(config)
