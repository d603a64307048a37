"""From a run's log to judged samples, scores, and the files derived from them.

Each sample passes once: judged, written to the spreadsheets and the samples file, and kept in the
columns from which table, intervals and audits are worked out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from utils.analysis.audits import audit_sections
from utils.analysis.columns import AuditSettings, SampleColumns
from utils.analysis.judge_reading import SECTION as SECOND_READING
from utils.analysis.judge_reading import with_reading
from utils.analysis.repeats import SECTION as REPEATS
from utils.analysis.repeats import repeats_section, table_with_means
from utils.contracts import Benchmark, DataSet, Facts, Record, repeat_of
from utils.errors import ScorerError, UserError
from utils.findings import FINDINGS, Finding, as_json, findings_in, note
from utils.functions.calling import as_scorer_error
from utils.functions.fingerprints import own_code
from utils.functions.names import dotted_name
from utils.protocol import IMPORTED, SINGLE, headline_figure, why_no_score
from utils.scoring.doubtful import SECTION as WITHOUT_DOUBTFUL
from utils.scoring.doubtful import DoubtfulRows, kept, section_of
from utils.scoring.imported import ImportAudit
from utils.scoring.rotations import ROTATIONS_SUFFIX, SECTION, are_all_answered, write_rotations
from utils.scoring.samples import (
    REPEAT,
    Clean,
    SamplesFile,
    prediction_columns,
    result_files,
)
from utils.scoring.scorer import WITHOUT_ANSWER, ScoredSample, Scorer, reply_of, shown_reply
from utils.scoring.servers import servers_section
from utils.scoring.sheets import Together, open_sheet, write_json
from utils.store.derived import CODE, SAMPLES_FORMAT, SAMPLES_SUFFIX, changed_files, read_json
from utils.store.folder import RunFolder
from utils.store.seals import checksums_of
from utils.store.strict_json import finite
from utils.store.view import COVERAGE, LogView, Selection
from utils.text import format_interval, format_percent

ANALYSIS_SUFFIX = "_analysis.json"


class SecondReader(Protocol):
    """Reads replies beside the parse function: a judge."""

    @property
    def is_whole(self) -> bool:
        """Whether it has read every reply that it was to read."""

    @property
    def no_score(self) -> str:
        """The reason why there is no figure with its readings; "": there is one."""

    def beside(self, record: Record, scored: ScoredSample) -> ScoredSample:
        """Return a sample with its reading among the facts."""

    def section(self, columns: SampleColumns, samples: Iterable[Facts]) -> Mapping[str, Any]:
        """Return the section of the analysis, but for the score table with its readings."""


class NothingToScore(UserError):
    """Of what is asked for, a log has no sample."""


@dataclass(frozen=True)
class ScoringTask:
    """The samples to score, and the settings of the scoring."""

    folder: RunFolder
    data: DataSet
    limit: int | None  # how many samples were asked for; None: all
    postprocess: Callable[[str], str]  # raw reply → text to parse
    scorer: Callable[[], Scorer]  # makes a scorer; circular evaluation needs a second one
    clean: Clean
    judged_by: Sequence[Callable[..., Any]]  # classes and functions whose code decides verdicts
    notes: Sequence[str] = ()  # what a reader of the score should know besides
    second_reader: SecondReader | None = None
    doubtful: DoubtfulRows | None = None  # rows that a second figure leaves out

    @property
    def name(self) -> str:
        """Of the data set."""
        return self.data.benchmark.name

    @property
    def has_earlier_files(self) -> bool:
        """Whether the folder holds files of an earlier scoring."""
        return any(
            self.folder.file(self.name, SAMPLES_SUFFIX, partial=part).exists()
            for part in (False, True)
        )


@dataclass(frozen=True)
class Scored:
    """The result of scoring a log."""

    analysis: dict[str, Any]  # sections by name: head, score table with intervals, audits, ...
    scorer: Scorer  # with counts and errors
    missing: int  # samples of the run without an answer so far
    notes: list[str]  # what the score leaves out or rests on, one line each
    is_whole: bool  # all that was asked for was answered and scored
    checksums: dict[str, str]  # of the files that were written, by name
    rotation_scorer: Scorer | None = None  # of rotations beyond the questions themselves

    @property
    def no_score(self) -> str:
        """The reason why no figure is shown; "": there are figures."""
        counts = self.scorer.counts
        return why_no_score(
            self.analysis["head"]["level"],
            counts["samples"],
            without_answer=sum(counts[kind] for kind in WITHOUT_ANSWER),
            environment_failures=counts["environment_failures"],
        )

    @property
    def findings(self) -> list[Finding]:
        """The findings in the sections of the analysis, without coverage (see `notes`)."""
        return [finding for name, finding in findings_in(self.analysis) if name != COVERAGE]


def write_predictions(task: ScoringTask, view: LogView) -> bool:
    """Write the predictions alone (`--mode infer`); return whether every sample has one."""
    is_whole = view.missing == 0
    is_partial = view.is_part(task.data.mode, task.limit)
    path = task.folder.file(task.name, ".xlsx", partial=is_partial)
    last_columns = [REPEAT] if view.repeats > 1 else []
    columns = prediction_columns(task.data.benchmark, view.columns)
    with open_sheet(path, [*columns, *last_columns]) as add:
        for record in view.records():
            reply, error = reply_of(record, task.postprocess)
            is_whole = is_whole and reply is not None
            prediction = shown_reply(record, error) if reply is None else reply
            row = {**record["line"], "prediction": prediction, REPEAT: repeat_of(record["key"])}
            add(task.clean(row))
    parts = [task.name] if is_partial else []
    task.folder.link_newest([path, task.folder.log(task.name)], parts)
    if is_whole and task.data.circular is not None:
        return are_all_answered(task.data.circular, view, task.postprocess)
    return is_whole


def score_data_set(task: ScoringTask, view: LogView) -> Scored:
    """Judge what a log holds of a data set, and write every file derived from it.

    Raises:
        StopRun: a user's function failed ten times in a row, or the disk is full; files from
            before stay as they were.
        UnknownLabels: there is nothing to score, as no row has a label of `only`.
        NothingToScore: there is nothing to score.
    """
    data, benchmark = task.data, task.data.benchmark
    is_partial = view.is_part(data.mode, task.limit)
    records = Selection(view, data, task.limit, task.notes)
    _check_not_empty(task, view, records)
    file = partial(task.folder.file, task.name, partial=is_partial)
    sheets = [file(".xlsx"), file(f"_{benchmark.result_suffix}.xlsx")]
    score_file, samples = file(f"_{benchmark.score_suffix}.json"), file(SAMPLES_SUFFIX)
    rotations, analysis_file = file(ROTATIONS_SUFFIX), file(ANALYSIS_SUFFIX)
    head = _head(task, view, is_partial=is_partial)
    # --mode eval with a config that says otherwise
    circular = data.rotations if view.is_circular and data.circular is None else data.circular
    scorer = task.scorer()
    rotation_scorer: Scorer | None = None
    imported = ImportAudit(view.run[IMPORTED], scorer) if IMPORTED in view.run else None
    with Together() as together:
        samples_file = SamplesFile(samples, head, task.clean, together)
        with result_files(
            samples_file, sheets, benchmark, view.columns, has_repeats=view.repeats > 1
        ) as add:
            columns, questions = _judged(
                task, records, scorer, add, keeps_facts=circular is not None, imported=imported
            )
        has_replies = imported is None or imported.has_replies
        analysis = _analysis(task, columns, head, scorer, view, has_replies=has_replies)
        if imported is not None:
            analysis[IMPORTED] = finite(as_json(imported.section()))
        is_whole = records.is_all(data.repeats) and not scorer.has_failures
        if task.second_reader is not None:
            analysis[SECOND_READING] = _second_reading(task, columns, questions)
            is_whole = is_whole and task.second_reader.is_whole
        if circular is not None:
            rotation_scorer = task.scorer()
            turns, missing = write_rotations(
                replace(samples_file, path=rotations), questions, circular, view, rotation_scorer
            )
            analysis[SECTION] = finite(as_json(circular.section(turns)))
            is_whole = is_whole and not (missing or rotation_scorer.has_failures)
        analysis |= {name: as_json(section) for name, section in records.section().items()}
        analysis |= finite(servers_section(view))
        analysis |= _replaced_sections(analysis_file, analysis)
        write_json(score_file, _scores(scorer, analysis), together)
        write_json(analysis_file, analysis, together)
    if circular is None:  # those of an earlier version are out of date beside the new samples
        rotations.unlink(missing_ok=True)
    derived = [*sheets, score_file, samples, rotations, analysis_file]
    _show_as_newest(task, derived, is_partial=is_partial)
    return Scored(
        analysis=analysis,
        scorer=scorer,
        missing=records.missing,
        notes=[f"{task.name}: {finding}" for finding in records.findings()],
        is_whole=is_whole,
        rotation_scorer=rotation_scorer,
        checksums=checksums_of([samples, rotations, score_file, analysis_file]),
    )


def _judged(
    task: ScoringTask,
    records: Iterable[Record],
    scorer: Scorer,
    add: Callable[[Record, ScoredSample], Facts],
    *,
    keeps_facts: bool,
    imported: ImportAudit | None = None,
) -> tuple[SampleColumns, list[Facts]]:
    """Judge samples and add them to the files of results; `imported` looks at each.

    Returns:
        The columns of all samples, and their facts if rotations or a second reader need them.
    """
    columns = SampleColumns()
    all_facts: list[Facts] = []
    for record in records:
        scored = scorer.judge(record)
        if imported is not None:
            imported.add(record, scored)
        if task.second_reader is not None:
            scored = task.second_reader.beside(record, scored)
        facts = add(record, scored)
        columns.add(facts)
        if keeps_facts or task.second_reader is not None:
            all_facts.append(facts)
    return columns, all_facts


def _head(task: ScoringTask, view: LogView, *, is_partial: bool) -> dict[str, Any]:
    """Return the first line of the samples file, and of the analysis."""
    head = {
        "kind": "head",
        "format": SAMPLES_FORMAT,
        "dataset": task.name,
        "level": task.data.benchmark.level,
        "model": task.folder.model,
        "mode": task.data.mode,
        "partial": is_partial,
        "sealed": True,
    }
    code: dict[str, str] = {}
    for target in task.judged_by:
        code |= own_code(target)
    if code:
        head[CODE] = code
    protocol = view.run.get("protocol", SINGLE)
    if protocol != SINGLE:
        head["protocol"] = protocol
    if IMPORTED in view.run:
        head[IMPORTED] = {name: view.run[IMPORTED].get(name) for name in ("file", "format")}
    return head


def _without_doubtful(
    task: ScoringTask, rows: DoubtfulRows, columns: SampleColumns, view: LogView
) -> dict[str, Any]:
    """Return the section of the figure without doubtful rows.

    Raises:
        UserError: the rows are of other annotations.
    """
    doubtful = rows.keys_of(task.name, (view.run.get("annotations") or {}).get("sha256"))
    part = columns.where(kept(columns["key"], doubtful))
    sections, _ = score_sections(task.data.benchmark, part, view.repeats)
    section: dict[str, Any] = finite(section_of(rows.file, sections, columns["key"], doubtful))
    return section


def _second_reading(
    task: ScoringTask, columns: SampleColumns, samples: Sequence[Facts]
) -> dict[str, Any]:
    """Return the section of the second reader, with the score table that its readings give."""
    assert task.second_reader is not None
    section = task.second_reader.section(columns, samples)
    result: dict[str, Any]
    if task.second_reader.no_score:
        result = finite(as_json({**section, "no_score": task.second_reader.no_score}))
        return result
    with_readings = SampleColumns()
    for facts in samples:
        with_readings.add(with_reading(facts))
    sections = task.data.benchmark.sections(with_readings, os.environ)
    table = {**sections["table"], "title": f"{sections['table']['title']} with the judge"}
    overall = sections["averages"]["overall"]
    bounds = format_interval(overall)
    interval = f" ({bounds})" if bounds else ""
    added = {
        "table": table,
        "overall": overall,
        "notes": [
            f"Overall with the judge: {format_percent(overall['value'])} %{interval}.",
            *section["notes"],
        ],
    }
    result = finite(as_json({**section, **added}))
    return result


def _analysis(
    task: ScoringTask,
    columns: SampleColumns,
    head: Mapping[str, Any],
    scorer: Scorer,
    view: LogView,
    *,
    has_replies: bool,
) -> dict[str, Any]:
    """Return the sections of a data set as JSON, and what the replies have shown.

    With several answers to each question, the values of the table are the means of
    those of single runs, of which a section tells more.
    """
    benchmark = task.data.benchmark
    settings = AuditSettings(
        task.name,
        task.folder.model,
        scorer.parser_setting,
        benchmark.scored_kinds,
        scorer.image_rule,
        scorer.as_option,
        has_replies=has_replies,
        is_read_by_recipe=scorer.is_read_by_recipe,
    )
    sections, single_runs = score_sections(benchmark, columns, view.repeats)
    analysis: dict[str, Any] = {"head": head, **sections}
    if task.doubtful is not None and task.name in task.doubtful.datasets:
        analysis[WITHOUT_DOUBTFUL] = _without_doubtful(task, task.doubtful, columns, view)
    for name, section in audit_sections(task.data.audits, columns, settings).items():
        analysis[name] = finite(as_json(section))
    if single_runs:
        title = analysis["table"]["title"]
        analysis[REPEATS] = finite(repeats_section(columns, title, single_runs))
    if findings := scorer.findings():
        analysis["replies"] = as_json({"title": "Replies", FINDINGS: findings})
    return analysis


def _check_not_empty(task: ScoringTask, view: LogView, records: Selection) -> None:
    """Raise an error where a log has nothing of what is asked for."""
    if next(iter(records), None) is not None:
        return
    if view.has(task.data.mode) and view.limit is None and not view.missing:
        task.data.benchmark.check_labels(record["line"] for record in view.records())
    raise NothingToScore(f"{task.name}: nothing to score: {records.why_empty()}")


def _replaced_sections(file: Path, analysis: Mapping[str, Any]) -> dict[str, Any]:
    """Return sections that say what was other in the scoring that this one replaces.

    Args:
        file: the analysis of the scoring before, which is replaced now.
        analysis: of this scoring.
    """
    before = read_json(file, must_be_whole=False)
    return {
        **_other_rule_section(before, analysis),
        **_other_code_section(before, analysis),
        **_without_judge_section(before, analysis),
    }


def _other_rule_section(
    analysis_before: Mapping[str, Any], analysis: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a section that says so where the scoring before was by another rule; else none."""
    before = (analysis_before.get("table") or {}).get("rule")
    rule = analysis["table"].get("rule")
    if before in (None, rule) or rule is None:
        return {}
    by_rule = analysis.get("rules") or {}
    if before in by_rule.get("words", ()):
        figures_note = f'figures by {before} are in the table "{by_rule["title"]}"'
    else:
        figures_note = f"figures by {before} are gone, because this scoring did not use this rule"
    finding = note(
        "other_rule.replaced",
        f"the score is by the rule {rule} now; the scoring before was by {before}. This scoring "
        f"replaced the files and the report; {figures_note}",
    )
    return {"other_rule": as_json({"title": "Rule of the score", FINDINGS: [finding]})}


def _without_judge_section(
    analysis_before: Mapping[str, Any], analysis: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a section that names a judge's score that this scoring has no more; else none."""
    overall = (analysis_before.get(SECOND_READING) or {}).get("overall")
    if not overall or SECOND_READING in analysis:
        return {}
    finding = note(
        "without_judge.replaced",
        f"the score with the judge ({format_percent(overall['value'])} %) is gone, because this "
        "scoring has no judge",
        detail="the judge's replies are kept; the same command with the judge in the config asks "
        "for none of them again",
    )
    return {"without_judge": as_json({"title": "Score with a judge", FINDINGS: [finding]})}


def _other_code_section(
    analysis_before: Mapping[str, Any], analysis: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a section that names changed files of the user's that judge, if any changed."""
    files = changed_files(analysis_before.get("head") or {}, analysis["head"])
    if not files:
        return {}
    _, cell = headline_figure(analysis)
    _, cell_before = headline_figure(analysis_before)
    figures = ""
    if cell and cell_before and cell.get("samples") == cell_before.get("samples"):
        before, now = _last_cells(analysis_before), _last_cells(analysis)
        changes = [
            f"{name} was {before[name]} % and is {now[name]} % now"
            for name in now
            if name in before and before[name] != now[name]
        ]
        changes += [f"{name} is new" for name in now if name not in before]
        figures = "; ".join(changes) or "no figure of the score table has changed"
    finding = note(
        "other_code.replaced",
        f"these scores are by another version of {files} than the scores before",
        detail=figures,
    )
    return {"other_code": as_json({"title": "Version of your files", FINDINGS: [finding]})}


def _last_cells(analysis: Mapping[str, Any]) -> dict[str, str]:
    """The figures in the last column of the score table, over all samples, by row."""
    rows = (analysis.get("table") or {}).get("rows", ())
    cells = {row["name"]: row["cells"][-1] for row in rows if row["cells"]}
    return {name: format_percent(cell["value"]) for name, cell in cells.items() if cell}


def _check_cells(benchmark: Benchmark, sections: Mapping[str, Any]) -> None:
    """Raise a ScorerError where the score table has a cell that is no figure."""
    for row in (sections.get("table") or {}).get("rows", ()):
        for cell in row["cells"]:
            if cell is not None and not (isinstance(cell, Mapping) and "value" in cell):
                raise ScorerError(
                    f"{dotted_name(type(benchmark))}.sections returned the "
                    f"cell {cell!r:.100} in the row {row['name']!r}; expected the result of "
                    "utils.analysis.columns.share, or None"
                )


def score_sections(
    benchmark: Benchmark, columns: SampleColumns, repeats: int
) -> tuple[dict[str, Any], list[Mapping[str, Any]]]:
    """Return the benchmark's own sections as JSON, and those of each single run of several.

    Args:
        benchmark: that has judged the samples.
        columns: of all samples.
        repeats: how many answers each question has; values of the table are then the means of
            those of the single runs.
    """
    single_runs: list[Mapping[str, Any]] = []
    try:
        sections = {
            name: finite(as_json(section))
            for name, section in benchmark.sections(columns, os.environ).items()
        }
        _check_cells(benchmark, sections)
        for number in range(1, repeats + 1) if repeats > 1 else ():
            of_run = columns.where([n == number for n in columns[REPEAT]])
            single_runs.append(benchmark.sections(of_run, os.environ))
    except Exception as failure:  # noqa: BLE001 - it is raised again, as the user's or as ours
        raise as_scorer_error(benchmark, "sections", failure) from None
    if single_runs:
        tables = [run["table"] for run in single_runs]
        sections["table"] = finite(table_with_means(sections["table"], tables))
    return sections, single_runs


def _scores(scorer: Scorer, analysis: Mapping[str, Any]) -> dict[str, Any]:
    """Return the score object, with what several answers to each question show."""
    scores = scorer.scores(os.environ)
    section = analysis.get(REPEATS)
    if section is None:
        return scores
    names = ("answers", "questions", "single_runs", "deviations")
    figures = {
        row["name"]: {name: cell for name, cell in row.items() if name != "name"}
        for row in section["rows"]
    }
    return {**scores, REPEATS: {**{name: section[name] for name in names}, "figures": figures}}


def _show_as_newest(task: ScoringTask, derived: Sequence[Path], *, is_partial: bool) -> None:
    """Link the files of a scoring as the newest of the model."""
    folder = task.folder
    if not is_partial:  # those of an earlier --limit are out of date beside the full ones
        folder.drop_partial(task.name, [file.name for file in derived])
    folder.link_newest([*derived, folder.log(task.name)], [task.name])
