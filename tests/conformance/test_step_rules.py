"""Verdicts of the authors' own code on recorded steps, case by case and in total."""

from dataclasses import replace

import pytest

from benchmarks.actions.dialects import parse_pyautogui
from benchmarks.steps.action import KINDS
from benchmarks.steps.agentnetbench import AgentNetBench
from benchmarks.steps.chance import ClickRow, random_clicks
from benchmarks.steps.figures import figures
from benchmarks.steps.rules import (
    RULES,
    JudgedStep,
    agentnetbench,
    clawgui,
    gui_r1,
    infigui_r1,
    odyssey_official,
    odyssey_os_atlas,
    uground,
)
from benchmarks.steps.rules.agentnetbench import DesktopAction
from benchmarks.steps.truth import published_form, truth_of_step
from tests.support import step_cases
from tests.support.step_cases import action_of, by_action, official, size_of, truth_of

pytestmark = pytest.mark.skipif(
    not step_cases.FOLDER.is_dir(), reason=f"{step_cases.FOLDER} is not there"
)

BY_FILE = [
    ("os_atlas", "os_atlas", "expected", 830),
    ("qwen", "qwen", "expected", 835),
    ("ui_s1", "qwen", "expected_as_released", 835),
    ("infigui_r1", "infigui_r1", "expected", 834),
    ("agentcpm", "agentcpm", "expected", 736),
    ("clawgui", "clawgui", "expected", 833),
    ("os_genesis", "os_genesis", "expected", 457),
    ("gui_r1", "gui_r1", "expected", 516),
    ("odyssey_official", "odyssey_official", "expected", 276),
    ("odyssey_os_atlas", "odyssey_os_atlas", "expected", 264),
    ("odyssey_agentcpm", "odyssey_agentcpm", "expected", 280),
    ("aitz_agentcpm", "aitz_agentcpm", "expected", 260),
]


def triple(verdict):
    return verdict.type, verdict.grounding, verdict.success


def expected_triple(expected):
    return expected["type"], expected["grounding"], expected["success"]


def differences(cases, judge_case, field="expected"):
    """The cases that a judge sees otherwise than the official code."""
    verdicts = [(case, triple(judge_case(case))) for case in cases]
    return [
        (case["id"], verdict, case[field])
        for case, verdict in verdicts
        if verdict != expected_triple(case[field])
    ]


def judge_by(rule):
    return lambda case: RULES[rule].judge(action_of(case), truth_of(case), size_of(case))


def judged_rows(cases, judge_case, action=action_of):
    """Judged steps of cases whose episodes do not matter."""
    return [
        JudgedStep(case["id"], 0, action(case), truth_of(case), judge_case(case)) for case in cases
    ]


def counts_of(rows):
    """Numbers of right and of counted rows by figure."""
    return {
        name: (share.numerator, share.denominator)
        for name, share in figures(rows).items()
        if name in ("Type", "Grounding", "SR")
    }


@pytest.mark.parametrize(("rule", "file", "field", "count"), BY_FILE)
def test_every_case_is_judged_as_the_official_code_judges_it(rule, file, field, count):
    cases = by_action(official(file)[1])
    assert (differences(cases, judge_by(rule), field), len(cases)) == ([], count)


def judge_curated(case):
    rule = "curated_point" if case["variant"] == "point" else "curated_box"
    return RULES[rule].judge(action_of(case), truth_of(case), size_of(case))


def test_curated_cases_are_judged_by_point_or_box_as_the_official_code_does():
    cases = by_action(official("curated")[1])
    assert (differences(cases, judge_curated), len(cases)) == ([], 516)


def judge_uground(case):
    action = step_cases.grounded_action(case)
    return RULES["uground"].judge(action, truth_of(case), size_of(case))


def test_uground_cases_have_the_official_verdicts_and_counts():
    totals, cases = official("uground")
    rows = judged_rows(cases, judge_uground, step_cases.grounded_action)
    assert differences(cases, judge_uground) == []
    counts = [dict(row.verdict.counts) for row in rows]
    assert counts == [case["expected"]["counts"] for case in cases]
    accuracy, grounding = uground.official_figures(rows).values()
    assert accuracy == (totals["correct_steps"], totals["total_steps"])
    assert grounding == (totals["correct_grounding_steps"], totals["grounding_steps"])


def judge_coat(case):
    action, truth = step_cases.coat_case(case)
    return RULES["aitz_coat_broken"].judge(action, truth, size_of(case))


def test_coat_as_committed_has_the_official_verdicts():
    cases = by_action(official("aitz_coat")[1])
    assert (differences(cases, judge_coat), len(cases)) == ([], 114)


# -- rows as GUI-R1 and Curated publish them ------------------------------------------------------


def judge_published(rule):
    def judge_case(case):
        truth = published_form(
            truth_of(case), size_of(case), texts="first_word", points="per_mille"
        )
        return RULES[rule].judge(action_of(case), truth, size_of(case))

    return judge_case


@pytest.mark.parametrize(
    ("rule", "file"),
    [("gui_r1", "gui_r1_published_rows"), ("curated_point", "curated_published_rows")],
)
def test_published_rows_are_judged_with_cut_texts_and_points(rule, file):
    totals, cases = official(file)
    assert (differences(cases, judge_published(rule)), len(cases)) == ([], 240)
    verdicts = [judge_published(rule)(case) for case in cases]
    assert sum(verdict.type for verdict in verdicts) == totals["type"]
    assert sum(bool(verdict.success) for verdict in verdicts) == totals["success"]


@pytest.mark.parametrize(
    ("keeps_blank", "expected"),
    [
        (True, {"gui_r1": 101, "curated_point": 70}),  # 13 texts begin with one: nothing is left
        (False, {"gui_r1": 91, "curated_point": 72}),
    ],
)
def test_the_whole_right_text_is_wrong_on_many_published_rows(keeps_blank, expected):
    wrong = dict.fromkeys(expected, 0)
    for row in step_cases.os_atlas_ids():
        size = (1080, 2400)
        truth = truth_of_step(step_cases.android_control_steps()[row], size)
        whole = truth.action
        if whole.kind not in ("type", "open_app"):
            continue
        if not keeps_blank:
            truth = replace(truth, action=replace(whole, text=whole.text.lstrip()))
        published = published_form(truth, size, texts="first_word")
        for rule in wrong:
            wrong[rule] += not RULES[rule].judge(whole, published, size).success
    assert wrong == expected


# -- totals ---------------------------------------------------------------------------------------


def expected_counts(cases, field="expected"):
    """What all cases come to by the official verdicts, less those that hang on the reply."""
    rows = [expected_triple(case[field]) for case in by_action(cases)]
    grounded = [grounding for _, grounding, _ in rows if grounding is not None]
    successes = [success for _, _, success in rows if success is not None]
    return {
        "Type": (sum(right for right, _, _ in rows), len(rows)),
        "Grounding": (sum(grounded), len(grounded)),
        "SR": (sum(successes), len(successes)),
    }


@pytest.mark.parametrize(("rule", "file", "field", "count"), BY_FILE)
def test_figures_add_up_the_official_verdicts(rule, file, field, count):
    cases = by_action(official(file)[1])
    rows = judged_rows(cases, judge_by(rule))
    assert counts_of(rows) == expected_counts(cases, field)


def test_totals_of_files_in_which_nothing_hangs_on_the_reply_are_the_official_ones():
    totals, cases = official("os_genesis")
    counts = counts_of(judged_rows(cases, judge_by("os_genesis")))
    assert counts["Type"] == (totals["type"], totals["rows"])
    assert counts["SR"] == (totals["full"], totals["rows"])
    for rule in ("agentcpm", "aitz_agentcpm", "odyssey_agentcpm"):
        totals, cases = official(rule)
        shares = figures(judged_rows(by_action(cases), judge_by(rule)))
        assert round(shares["Type"].value, 4) == totals["total"]["type_acc"]
        assert round(shares["SR"].value, 4) == totals["total"]["exact_acc"]
        assert shares["SR"].denominator == totals["total"]["count"]


def test_the_figures_of_qwen_and_ui_s1_are_the_official_ones_but_for_one_reply():
    totals, cases = official("qwen")
    for rule, name in (("qwen", "with_boxes"), ("ui_s1", "as_released")):
        counts = counts_of(judged_rows(cases, judge_by(rule)))
        official_totals = totals[name]
        assert counts["Type"] == (official_totals["type_match"], official_totals["rows"])
        assert counts["Grounding"] == (
            official_totals["click_right"],
            official_totals["click_rows"],
        )
        # "Back." is read as the button here.
        assert counts["SR"] == (official_totals["extract_match"] + 1, official_totals["rows"])


def test_infigui_r1_counts_clicks_that_open_apps_as_right_clicks_as_officially():
    totals, cases = official("infigui_r1")
    rows = judged_rows(by_action(cases), judge_by("infigui_r1"))
    shares = infigui_r1.official_figures(rows)
    official_totals = totals["official"]
    left_out = [case for case in cases if case.get("by_reply")]
    judged = [case for case in left_out if case["expected"]["grounding"] is not None]
    assert shares["click_match_acc"] == (
        official_totals["click_match_num"],
        official_totals["all_click_num"] - len(judged),
    )
    # The official code also reads a kind without its fields, and judges it where the kinds differ.
    unjudged = [not case["expected"]["judged"] for case in by_action(cases)]
    errors = [row.verdict.counts["error_num"] for row in rows]
    assert sum(unjudged) == official_totals["error_num"]
    assert all(error for error, is_unjudged in zip(errors, unjudged, strict=True) if is_unjudged)


def test_clawgui_leaves_unread_rows_out_of_all_but_accuracy_as_officially():
    totals, cases = official("clawgui")
    rows = judged_rows(by_action(cases), judge_by("clawgui"))
    shares = clawgui.official_figures(rows)
    left_out = len(cases) - len(rows)
    overall = totals["overall"]
    assert shares["accuracy"] == (overall["correct"], overall["total"] - left_out)
    assert shares["type_acc"].numerator == overall["type_match"]
    grounding = totals["grounding"]
    assert shares["grounding"] == (grounding["correct"], grounding["total"])
    names = {"press": "button_press", "swipe": "scroll"}
    for kind in ("click", "long_press", "open_app", "press", "swipe", "type", "wait"):
        part = totals["by_action"][names.get(kind, kind)]
        assert shares[kind] == (part["correct"], part["total"]), kind


def test_gui_r1_comes_to_the_official_step_but_for_one_reply():
    totals, cases = official("gui_r1")
    shares = gui_r1.official_figures(judged_rows(by_action(cases), judge_by("gui_r1")))
    assert shares["Type"] == (totals["type"], totals["rows"] - 1)
    # The case that is left out is a right click in another quotation.
    assert shares["Step"] == (totals["step"] - 1, totals["step_rows"] - 1)
    assert shares["GR"] == (totals["gr"] - 1, totals["gr_rows"] - 1)


def test_odyssey_grounding_of_os_atlas_has_long_presses_below_the_line():
    totals, cases = official("odyssey_os_atlas")
    rows = judged_rows(by_action(cases), judge_by("odyssey_os_atlas"))
    shares = odyssey_os_atlas.official_figures(rows)
    left_out = [case for case in cases if case.get("by_reply")]
    assert shares["grounding"] == (
        totals["CLICK right"],
        totals["click_type (CLICK and LONG_PRESS of right type)"] - len(left_out),
    )


def test_odyssey_scores_are_the_official_ones():
    totals, cases = official("odyssey_official")
    rows = [
        JudgedStep(
            case["episode_id"],
            case["step"],
            action_of(case),
            truth_of(case),
            verdict_with_reply(case),
        )
        for case in cases
    ]
    scores = odyssey_official.official_scores(
        rows,
        {case["episode_id"]: case["category"] for case in cases},
        {case["episode_id"]: case["step_length"] for case in cases},
    )
    assert {name: round(value, 2) for name, value in scores.items()} == {
        "macro AMS": totals["macro_as_called"]["AMS"],
        "macro SR": totals["macro_as_called"]["SR"],
        "micro AMS": totals["micro_as_called"]["AMS"],
        "micro SR": totals["micro_as_called"]["SR"],
    }
    assert figures(rows)["Type"].numerator == 266


def verdict_with_reply(case):
    """The rule's verdict, or the official one where that hangs on the reply."""
    verdict = judge_by("odyssey_official")(case)
    if not case.get("by_reply"):
        return verdict
    return type(verdict)(*expected_triple(case["expected"]))


# -- chance ---------------------------------------------------------------------------------------

LARGE_EPISODES = {
    *(4881, 4988, 6402, 6645, 6919, 6944, 7239, 8074, 9195, 9711, 10235, 10531, 10554, 10986),
    *(11217, 11673, 12571, 13390, 13805, 14940, 16124, 18894, 19088, 19928),
}
"""Of 1440 x 3120 pixels; all others have 1080 x 2400."""


@pytest.mark.parametrize(("rule", "percent"), [("gui_r1", 5.9), ("ui_s1", 0.5)])
def test_random_clicks_earn_what_is_published(rule, percent):
    rows = []
    for row, step in step_cases.android_control_steps().items():
        if step["check_options"]["action"] == "click":
            size = (1440, 3120) if int(row.split("_")[1]) in LARGE_EPISODES else (1080, 2400)
            rows.append(ClickRow(truth_of_step(step, size), size))
    share = random_clicks(RULES[rule].judge, rows, same_points=True)
    assert (share.denominator, round(100 * share.value, 1)) == (507400, percent)


# -- one answer file under all rules --------------------------------------------------------------

CROSS_TABLE = {
    "os_atlas": "os_atlas",
    "qwen": "qwen",
    "ui_s1": "ui_s1_as_released",
    "infigui_r1": "infigui_r1",
    "infigui_r1_finger": "infigui_r1_finger_truth",
    "clawgui": "clawgui",
    "os_genesis": 'os_genesis (prompt without "Scroll up/down")',
    "gui_r1": "gui_r1",
    "curated_point": "curated_point",
    "curated_box": "curated_smallest_candidate_box (point where a row has none)",
    "agentcpm": "agentcpm (boxes = candidate boxes, no finish rows)",
}
ROW_SETS = ("totals_all_rows", "totals_rows_of_the_os_atlas_subset")
TABLE_KINDS = {"open_app": "open", "press": "system_button"}


def cross_rows(rule, row_set="totals_all_rows"):
    """The answer file of the cross table judged by a rule."""
    rows = []
    for answer in step_cases.cross_table()["answers"]:
        if row_set != "totals_all_rows" and answer["id"] not in step_cases.os_atlas_ids():
            continue
        episode, _, step = answer["id"].rpartition("_screenshot_")
        size, action = size_of(answer), action_of(answer)
        truth = truth_of_step(step_cases.android_control_steps()[answer["id"]], size)
        verdict = RULES[rule].judge(action, truth, size)
        rows.append(JudgedStep(episode, int(step), action, truth, verdict))
    return rows


@pytest.mark.parametrize("row_set", ROW_SETS)
@pytest.mark.parametrize("rule", CROSS_TABLE)
def test_one_answer_file_comes_to_the_official_totals_under_every_rule(rule, row_set):
    totals = step_cases.cross_table()[row_set][CROSS_TABLE[rule]]
    shares = figures(cross_rows(rule, row_set))
    assert shares["Type"] == (totals["type"], totals["rows"])
    if "success" in totals:
        assert shares["SR"] == (totals["success"], totals["rows"])
    else:
        assert shares["SR"] == (totals["step_right"], totals["step_rows"])
    if "grounding_rows" in totals:
        expected = (totals["grounding_right"], totals["grounding_rows"])
        assert shares["Grounding"] == expected
    if "episodes_all_right" in totals:
        assert shares["Episodes"] == (totals["episodes_all_right"], totals["episodes"])
        progress = round(100 * shares["Progress"].value, 2)
        assert progress == totals["mean_progress_to_first_error"]


@pytest.mark.parametrize("row_set", ROW_SETS)
def test_official_figures_of_the_answer_file_are_those_of_the_scripts(row_set):
    totals = step_cases.cross_table()[row_set]
    official_totals = totals["infigui_r1"]["official"]
    shares = infigui_r1.official_figures(cross_rows("infigui_r1", row_set))
    for name in ("type_match_acc", "extact_match_acc", "click_match_acc"):
        assert 100 * shares[name].value == pytest.approx(official_totals[name], abs=1e-9), name
    assert shares["error_num"].numerator == official_totals["error_num"]
    agentcpm_totals = totals[CROSS_TABLE["agentcpm"]]
    shares = figures(cross_rows("agentcpm", row_set))
    assert shares["Episodes"] == (
        agentcpm_totals["num_successes"],
        agentcpm_totals["total_episodes"],
    )
    assert round(shares["Progress"].value, 4) == agentcpm_totals["goal_progress"]


@pytest.mark.parametrize(
    "rule", ["os_atlas", "qwen", "ui_s1", "infigui_r1", "clawgui", "curated_point"]
)
def test_the_answer_file_comes_to_the_official_totals_of_each_recorded_action(rule):
    totals = step_cases.cross_table()["by_truth_action"][CROSS_TABLE[rule]]
    counts = {}
    for kind in KINDS:
        rows = [row for row in cross_rows(rule) if row.truth.action.kind == kind]
        shares = figures(rows)
        if rows:
            counts[TABLE_KINDS.get(kind, kind)] = {
                "rows": shares["SR"].denominator,
                "type": shares["Type"].numerator,
                "success": shares["SR"].numerator,
            }
    assert counts == totals


# -- desktop --------------------------------------------------------------------------------------


def desktop_action(answer):
    name, value = answer[0].lower(), answer[1]
    if name in agentnetbench.POINTED:
        return DesktopAction(name, point=tuple(value))
    if name == "write":
        return DesktopAction(name, text=value)
    if name in ("press", "hotkey"):
        return DesktopAction(name, keys=tuple(value))
    if name == "terminate":
        return DesktopAction(name, status=value)
    return DesktopAction(name)


def test_steps_of_agentnetbench_have_the_official_scores():
    totals, cases = official("agentnetbench")
    scores = []
    for case in cases:
        recorded = [DesktopAction.of_record(record) for record in case["ground_truth_actions"]]
        answered = [desktop_action(answer) for answer in case["predicted_actions"]]
        score = agentnetbench.judge(answered, [recorded])
        expected = case["expected"]
        assert score.total == pytest.approx(expected["total"], abs=1e-12), case["id"]
        assert score.by_type == pytest.approx(expected["actions"], abs=1e-12), case["id"]
        scores.append(score)
    average = agentnetbench.official_figures(scores)["Average"]
    assert (average, len(scores)) == (pytest.approx(totals["mean_total"]), totals["rows"])


def as_code(answer):
    name, value = answer
    if name.lower() in agentnetbench.POINTED:
        return f"pyautogui.{name}(x={value[0]!r}, y={value[1]!r})"
    module = "computer" if name == "terminate" else "pyautogui"
    values = value if isinstance(value, list) else [value]
    return f"{module}.{name}({', '.join(map(repr, values))})"


def is_kept_as_action(answer):
    """A coordinate above 1 declares pixels, and a hotkey of one key is a press."""
    name, value = answer
    if name.lower() in agentnetbench.POINTED:
        return max(value) <= 1
    return name != "hotkey" or len(value) > 1


def test_answers_of_agentnetbench_as_pyautogui_code_have_the_official_scores(tmp_path):
    _, cases = official("agentnetbench")
    benchmark = AgentNetBench(tmp_path, "AgentNetBench")
    count = 0
    for case in cases:
        if not all(map(is_kept_as_action, case["predicted_actions"])):
            continue
        line = {"recorded": {"judged": [case["ground_truth_actions"]]}}
        code = "\n".join(map(as_code, case["predicted_actions"]))
        parsed = parse_pyautogui(code, {"image_size": "[1920, 1080]"})
        answer = benchmark.answer_of(parsed, (1920, 1080))
        score = agentnetbench.judge(answer or (), benchmark.truth_of(line, (1920, 1080)))
        assert score.total == pytest.approx(case["expected"]["total"], abs=1e-12), case["id"]
        count += 1
    assert count >= 200
