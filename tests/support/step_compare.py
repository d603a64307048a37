"""Comparison of runs of recorded steps with the authors' own code, case by case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.steps.rules import JudgedStep, StepVerdict, odyssey_official
from benchmarks.steps.rules.matching import is_contained_folded
from benchmarks.steps.truth import StepTruth
from tests.support import strict_os_atlas
from tests.support.grounding_compare import Comparison

Case = dict[str, Any]
Triple = tuple[Any, Any, Any]
FIGURES = ("Type", "Grounding", "SR")
PARTS = ("Type", "Grounding", "success")
TABLE_KINDS = {"open_app": "open", "press": "system_button"}
TABLE_RULES = {  # first words of the names in the cross table that are no rules of ours
    "ui_s1_as_released": "ui_s1",
    "infigui_r1_finger_truth": "infigui_r1_finger",
    "curated_smallest_candidate_box": "curated_box",
}
BY_RULE = ("rows", "type", "success")
MOST_NAMED = 20
STRICT_READERS: Mapping[str, Callable[[Case], Triple]] = {
    "os_atlas": strict_os_atlas.android_control,
    "odyssey_os_atlas": strict_os_atlas.odyssey,
}
"""Of rules whose scripts compare the texts of replies."""


@dataclass(frozen=True)
class Ran:
    """The output of a run for one data set."""

    score: dict[str, Any]
    lines: Mapping[str, dict[str, Any]]  # of the samples file, by id of the row
    analysis: Mapping[str, Any]

    def verdict(self, rule: str, row_id: str) -> StepVerdict:
        """The verdict of a rule on a row."""
        number = list(self.score["by_rule"]).index(rule)
        return StepVerdict(*self.lines[row_id]["details"]["verdicts"][number])

    def counts(self, rule: str) -> dict[str, tuple[float, float]]:
        """Right and counted rows of each figure, by the score file."""
        block = self.score["by_rule"][rule]
        return {
            name: ((block[name] or 0) * block[f"num_{name}"] / 100, block[f"num_{name}"])
            for name in FIGURES
        }

    def official(self, name: str) -> str:
        """A figure as the authors' script prints it: "3 of 4"."""
        return str(
            next(row["of"] for row in self.analysis["official"]["rows"] if row["name"] == name)
        )


def triple_of(verdict: StepVerdict) -> Triple:
    return verdict.type, verdict.grounding, verdict.success


def expected_triple(expected: Mapping[str, Any]) -> Triple:
    """The verdict that a case is expected to have; a row that is dropped counts nowhere."""
    if expected.get("dropped"):
        return None, None, None
    return expected["type"], expected["grounding"], expected["success"]


def is_compared(case: Case) -> bool:
    """Whether a verdict hangs neither on how a reply is read nor on a script that dies."""
    return not case.get("by_reply") and "crash" not in case["expected"]


def is_near(actual: float, expected: float) -> bool:
    return abs(actual - expected) < 1e-6


# -- official verdicts ----------------------------------------------------------------------------


def compare_cases(
    comparison: Comparison,
    file: str,
    rule: str,
    field: str,
    cases: Mapping[str, Case],
    ran: Ran,
    totals: Mapping[str, Any],
    all_cases: Sequence[Case] | None,
) -> None:
    """Compare the verdicts of a rule on the cases of a file, and their totals.

    Args:
        field: of a case with the expected verdict.
        cases: those of this rule, by id of their rows.
        totals: of the file.
        all_cases: all cases of the file; None: some were left out, so that its totals say nothing.
    """
    comparison.cell("rows with an answer", len({*cases} & {*ran.lines}), len(cases))
    comparison.cell("rows that failed", ran.score["counts"]["failed"], 0)
    if file == "agentnetbench":
        _compare_desktop(comparison, cases, ran, totals, all_cases)
        return
    equal: Counter[str] = Counter()
    compared = {row_id: case for row_id, case in cases.items() if is_compared(case)}
    for row_id, case in compared.items():
        verdict = ran.verdict(rule, row_id)
        pairs = zip(PARTS, triple_of(verdict), expected_triple(case[field]), strict=True)
        for part, actual, expected in pairs:
            comparison.cell(f"{case['id']}, {part}", actual, expected)
            equal[part] += actual == expected
        if "counts" in case[field]:
            comparison.cell(f"{case['id']}, counts", dict(verdict.counts), case[field]["counts"])
    comparison.remarks.append(
        f"{len(cases)} cases, {len(compared)} compared: "
        + ", ".join(f"{part} {equal[part]}" for part in PARTS)
        + " equal"
    )
    dropped = sum(bool(case["expected"].get("dropped")) for case in compared.values())
    if dropped:
        comparison.remarks.append(f"{dropped} of them the rule drops, here as there")
    _name(comparison, "by_reply", rule, field, cases, ran)
    _name(comparison, "crash", rule, field, cases, ran)
    _compare_totals(comparison, file, rule, field, cases, ran, totals, all_cases)


def _name(
    comparison: Comparison, why: str, rule: str, field: str, cases: Mapping[str, Case], ran: Ran
) -> None:
    """Name the cases that are not compared, those whose verdict is another one first."""
    rows = {row_id: case for row_id, case in cases.items() if case.get(why)}
    if why == "crash":
        rows = {row_id: case for row_id, case in cases.items() if why in case["expected"]}
    if not rows:
        return
    read = STRICT_READERS.get(rule)
    if read is not None and why == "by_reply" and all("truth" in case for case in rows.values()):
        for case in rows.values():
            comparison.cell(f"{case['id']}, its text", read(case), expected_triple(case[field]))
        comparison.remarks.append(f"by_reply, compared through a strict reader: {len(rows)}")
        return
    others = [
        case["id"]
        for row_id, case in rows.items()
        if why == "crash" or triple_of(ran.verdict(rule, row_id)) != expected_triple(case[field])
    ]
    what = (
        "where the script dies"
        if why == "crash"
        else f"of which {len(others)} are judged otherwise"
    )
    names = ", ".join(others[:MOST_NAMED])
    comparison.remarks.append(f"{why}, not compared: {len(rows)}, {what}: {names}")


def counts_of(triples: Sequence[Triple]) -> dict[str, tuple[float, float]]:
    """Right and counted rows of each figure."""
    columns = zip(FIGURES, zip(*triples, strict=True), strict=True) if triples else ()
    counts = {name: [value for value in column if value is not None] for name, column in columns}
    return {name: (sum(map(float, values)), len(values)) for name, values in counts.items()}


def _compare_totals(
    comparison: Comparison,
    file: str,
    rule: str,
    field: str,
    cases: Mapping[str, Case],
    ran: Ran,
    totals: Mapping[str, Any],
    all_cases: Sequence[Case] | None,
) -> None:
    """Compare the file's totals with its cases, and the score file with both.

    Where a case is not compared, the run's own verdict stands in the sums.
    """
    before = len(comparison.different)
    triples = [
        expected_triple(case[field]) if is_compared(case) else triple_of(ran.verdict(rule, row_id))
        for row_id, case in cases.items()
    ]
    if len(cases) == len(ran.lines):
        actual = ran.counts(rule)
    else:  # the file's other cases are judged by another rule
        actual = counts_of([triple_of(ran.verdict(rule, row_id)) for row_id in cases])
        comparison.remarks.append("the file has cases for two rules: totals from the samples file")
    for name, (right, count) in counts_of(triples).items():
        are_equal = is_near(actual[name][0], right) and actual[name][1] == count
        rounded = (round(actual[name][0], 6), actual[name][1])
        comparison.cell(
            f"total of {name}", (right, count) if are_equal else rounded, (right, count)
        )
    if all_cases is not None:
        judged = [case for case in all_cases if "crash" not in case["expected"]]
        sums = counts_of([expected_triple(case[field]) for case in judged])
        for name, published in official_totals(file, field, totals, len(judged)).items():
            right, count = sums[name]
            if file.endswith("_published_rows"):  # rows without a success are in its count there
                count = published[1]
            cell = f"{name}: the cases beside the file's totals"
            comparison.cell(cell, (right, count), published)
        if file == "odyssey_official":
            _compare_odyssey_scores(comparison, cases, ran, totals)
        if file == "uground":
            _compare_uground_counts(comparison, ran, totals)
    totals_text = ", ".join(
        f"{name} {right:g} of {count:g}" for name, (right, count) in actual.items() if count
    )
    state = "equal" if len(comparison.different) == before else "DIFFERENT"
    comparison.remarks.append(f"totals {state}: {totals_text}")


def official_totals(
    file: str, field: str, totals: Mapping[str, Any], judged: int
) -> dict[str, tuple[float, float]]:
    """The totals of a file as right and counted rows of each figure.

    Args:
        field: of its cases with the expected verdict.
        judged: how many of its cases were judged.
    """
    if file == "qwen":
        totals = totals["with_boxes" if field == "expected" else "as_released"]
    if file == "clawgui":
        overall, grounding = totals["overall"], totals["grounding"]
        return {
            "Type": (overall["type_match"], overall["total"]),
            "SR": (overall["correct"], overall["total"]),
            "Grounding": (grounding["correct"], grounding["total"]),
        }
    if file == "odyssey_official":
        right, count = map(int, totals["macro_as_called"]["action_type"].split("=")[0].split("/"))
        return {"Type": (right, count)}
    if "total" in totals:  # shares of AgentCPM-GUI and CoAT, to four places
        total = totals["total"]
        count = total.get("count", judged)
        shares = {"Type": total["type_acc"], "SR": total["exact_acc"]}
        return {figure: (round(value * count), count) for figure, value in shares.items()}
    if file == "uground":
        return {"SR": (totals["correct_steps"], totals["total_steps"])}
    rows = totals["rows"]
    right_type = totals.get("type", totals.get("type_match"))
    counts = {"Type": (right_type, rows)}
    for name, right, count in (
        ("SR", "success", "rows"),
        ("SR", "full", "rows"),
        ("SR", "extract_match", "rows"),
        ("SR", "step", "step_rows"),
        ("Grounding", "click_all_match", "click_type_match"),
        ("Grounding", "click_right", "click_rows"),
        ("Grounding", "gr", "gr_rows"),
        ("Grounding", "box", "box_rows"),
    ):
        if right in totals and count in totals:
            counts[name] = (totals[right], totals[count])
    return counts


def _compare_odyssey_scores(
    comparison: Comparison, cases: Mapping[str, Case], ran: Ran, totals: Mapping[str, Any]
) -> None:
    """Compare AMS and SR; the run's verdict stands where a case is not compared."""

    def scores(verdict_of: Callable[[str, Case], StepVerdict]) -> dict[str, float | None]:
        rows = [
            JudgedStep(case["episode_id"], case["step"], None, UNKNOWN, verdict_of(row_id, case))
            for row_id, case in cases.items()
        ]
        categories = {case["episode_id"]: case["category"] for case in cases.values()}
        lengths = {case["episode_id"]: case["step_length"] for case in cases.values()}
        return odyssey_official.official_scores(rows, categories, lengths)

    def official(_row_id: str, case: Case) -> StepVerdict:
        return StepVerdict(*expected_triple(case["expected"]))

    def of_run(row_id: str, case: Case) -> StepVerdict:
        compared = official(row_id, case)
        return compared if is_compared(case) else ran.verdict("odyssey_official", row_id)

    published = {
        f"{part} {figure}": totals[f"{part}_as_called"][figure]
        for part in ("macro", "micro")
        for figure in ("AMS", "SR")
    }
    sums = {name: value and round(value, 2) for name, value in scores(official).items()}
    comparison.cell("AMS and SR: the cases beside the file's totals", sums, published)
    actual = {name: value and round(value, 6) for name, value in ran.score["official"].items()}
    expected = {name: value and round(value, 6) for name, value in scores(of_run).items()}
    comparison.cell("AMS and SR of the score file", actual, expected)


UNKNOWN = StepTruth(action=None)  # type: ignore[arg-type]


def _compare_uground_counts(comparison: Comparison, ran: Ran, totals: Mapping[str, Any]) -> None:
    for name, right, count in (
        ("accuracy", "correct_steps", "total_steps"),
        ("grounding_accuracy", "correct_grounding_steps", "grounding_steps"),
    ):
        expected = f"{totals[right]} of {totals[count]}"
        comparison.cell(f"{name} of the analysis", ran.official(f"uground: {name}"), expected)


def _compare_desktop(
    comparison: Comparison,
    cases: Mapping[str, Case],
    ran: Ran,
    totals: Mapping[str, Any],
    all_cases: Sequence[Case] | None,
) -> None:
    """Compare the scores of steps, each between 0 and 1."""
    equal = 0
    for row_id, case in cases.items():
        verdict = ran.verdict("agentnetbench", row_id)
        expected = case["expected"]
        by_type = {name: round(value, 9) for name, value in expected["actions"].items()}
        actual = {name: round(value, 9) for name, value in verdict.counts.items()}
        comparison.cell(f"{case['id']}, score", float(verdict.success or 0), expected["total"])
        comparison.cell(f"{case['id']}, scores by type", actual, by_type)
        equal += is_near(float(verdict.success or 0), expected["total"])
    comparison.remarks.append(f"{len(cases)} cases, {len(cases)} compared: score {equal} equal")
    mean = sum(case["expected"]["total"] for case in cases.values()) / len(cases)
    average = ran.score["official"]["Average"] / 100
    comparison.cell("Average of the score file", average, mean)
    if all_cases is not None:
        comparison.cell("mean: the cases beside the file's total", mean, totals["mean_total"])
    comparison.remarks.append(f"Average {100 * average:.4f}")


def compare_rule_alone(
    comparison: Comparison, cases: Sequence[Case], judge: Callable[[Case], Triple]
) -> None:
    """Compare cases whose step stands in no recorded set by the rule alone."""
    for case in cases:
        if is_compared(case):
            expected = expected_triple(case["expected"])
            comparison.cell(f"{case['id']}, by the rule alone", judge(case), expected)
    comparison.remarks.append(
        f"{len(cases)} cases of a step that the authors add to episodes: by the rule alone"
    )


# -- one answer file under all rules --------------------------------------------------------------


def compare_cross_table(
    table: Mapping[str, Any], runs: Mapping[str, Ran], own_names: Mapping[str, str]
) -> list[Comparison]:
    """Compare the totals of each rule on all rows, on those of OS-Atlas, and by recorded action.

    Args:
        runs: "AllRows" and "OSAtlasRows".
        own_names: the rules' names by their names in the score file.
    """
    comparisons = []
    for name in table["totals_all_rows"]:
        word = name.partition(" ")[0]
        rule = TABLE_RULES.get(word, word)
        key = next((key for key, rule_name in own_names.items() if rule_name == rule), rule)
        comparison = Comparison(f"{rule} (cross_table.json)")
        for dataset, row_set in (
            ("AllRows", "totals_all_rows"),
            ("OSAtlasRows", "totals_rows_of_the_os_atlas_subset"),
        ):
            totals = table[row_set].get(name)
            if totals is not None:
                _compare_table_row(comparison, dataset, key, totals, runs[dataset])
        by_action = table["by_truth_action"].get(name)
        if by_action is not None:
            comparison.cell("by recorded action", _by_action(key, runs["AllRows"]), by_action)
            comparison.remarks.append(f"{len(by_action)} recorded actions compared")
        comparisons.append(comparison)
    return comparisons


def _compare_table_row(
    comparison: Comparison, dataset: str, rule: str, totals: Mapping[str, Any], ran: Ran
) -> None:
    if rule not in ran.score["by_rule"]:
        comparison.different.append(f"{dataset}: the program has no such rule")
        return
    block, counts = ran.score["by_rule"][rule], ran.counts(rule)
    cells = {
        "Type": (totals["type"], totals["rows"]),
        "SR": (
            totals.get("success", totals.get("step_right")),
            totals.get("step_rows", totals["rows"]),
        ),
    }
    if "grounding_rows" in totals:
        cells["Grounding"] = (totals["grounding_right"], totals["grounding_rows"])
    for name, expected in cells.items():
        right, count = counts[name]
        comparison.cell(f"{dataset}, {name}", (round(right, 6), count), expected)
    if "episodes_all_right" in totals:
        expected = (totals["episodes_all_right"], totals["episodes"])
        comparison.cell(f"{dataset}, Episodes", _episodes(block), expected)
        progress = totals["mean_progress_to_first_error"]
        comparison.cell(f"{dataset}, Progress", round(block["Progress"], 2), progress)
    if "num_successes" in totals:
        expected = (totals["num_successes"], totals["total_episodes"])
        comparison.cell(f"{dataset}, Episodes", _episodes(block), expected)
        progress = totals["goal_progress"]
        comparison.cell(f"{dataset}, Progress", round(block["Progress"] / 100, 4), progress)
    if "official" in totals:
        official = totals["official"]
        expected = f"{official['click_match_num']} of {official['all_click_num']}"
        actual = ran.official(f"{rule}: click_match_acc")
        comparison.cell(f"{dataset}, click_match_acc", actual, expected)
    counts_text = ", ".join(
        f"{name} {right:g} of {count}" for name, (right, count) in counts.items()
    )
    comparison.remarks.append(f"{dataset}: {counts_text}")


def _episodes(block: Mapping[str, Any]) -> tuple[int, int]:
    return round(block["Episodes"] * block["num_Episodes"] / 100), block["num_Episodes"]


def _by_action(rule: str, ran: Ran) -> dict[str, dict[str, int]]:
    """Rows, right types and right rows for each kind of recorded action, by the samples file."""
    counts: dict[str, dict[str, int]] = {}
    for row_id, line in ran.lines.items():
        kind = line["details"]["recorded"]["kind"]
        row = counts.setdefault(TABLE_KINDS.get(kind, kind), dict.fromkeys(BY_RULE, 0))
        verdict = ran.verdict(rule, row_id)
        row["rows"] += 1
        row["type"] += bool(verdict.type)
        row["success"] += bool(verdict.success)
    return counts


# -- real replies ---------------------------------------------------------------------------------


def compare_real(
    name: str, counts: Mapping[str, Mapping[str, Any]], rows: Mapping[str, Case], ran: Ran
) -> Comparison:
    """Compare the kinds of recorded and answered actions, counted by level."""
    comparison = Comparison(name)
    for level, expected in counts.items():
        pairs = [
            (row, ran.lines[row_id]["details"])
            for row_id, row in rows.items()
            if row["level"] == level
        ]
        actual = _real_counts(pairs)
        for key, value in expected.items():
            comparison.cell(f"{level}, {key}", actual.get(key, "not counted here"), value)
        comparison.remarks.append(
            f"{level}: {actual['type_match']} of {actual['rows']} kinds equal"
        )
    return comparison


def _real_counts(pairs: Sequence[tuple[Case, Mapping[str, Any]]]) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    confusion: Counter[str] = Counter()
    for row, details in pairs:
        recorded, answered = details["recorded"], details["answered"] or {"kind": "none"}
        is_equal = recorded["kind"] == answered["kind"]
        is_type_equal = is_equal and recorded.get("button") == answered.get("button")
        if row["at_the_end"]:
            counts["end_rows"] += 1
            counts["end_finish"] += is_equal
            continue
        counts["rows"] += 1
        counts["type_match"] += is_type_equal
        confusion[f"{recorded['kind']}>{answered['kind']}"] += 1
        if is_equal and recorded["kind"] == "swipe":
            counts["swipe_pairs"] += 1
            counts["swipe_same_direction"] += recorded["direction"] == answered["direction"]
        if is_equal and recorded["kind"] in ("type", "open_app"):
            text, true_text = answered["text"], recorded["text"]
            counts["text_pairs"] += 1
            counts["text_equal"] += text == true_text
            counts["text_containment"] += is_contained_folded(text, true_text)
    return {**counts, "confusion truth>said": dict(confusion)}
