"""The rules of recorded steps: what each forgives, and where its borders are."""

import pytest

from benchmarks.steps.action import StepAction, content_direction, finger_direction
from benchmarks.steps.chance import ClickRow, random_clicks
from benchmarks.steps.figures import figures
from benchmarks.steps.rules import (
    RULES,
    JudgedStep,
    StepVerdict,
    agentnetbench,
    clawgui,
    gui_r1,
    infigui_r1,
    odyssey_official,
)
from benchmarks.steps.rules.agentnetbench import DesktopAction
from benchmarks.steps.rules.matching import edit_distance, token_f1
from benchmarks.steps.truth import (
    StepTruth,
    TreeNode,
    published_form,
    truth_of_aitz_step,
    truth_of_odyssey_step,
    truth_of_step,
)

PHONE = (1080, 2400)
PER_MILLE = (1000, 1000)
WAIT, BACK = StepAction("wait"), StepAction("press", button="back")
HOME = StepAction("press", button="home")
FINISH = StepAction("finish", status="success")
ANDROID_CONTROL_RULES = (
    "os_atlas",
    "qwen",
    "ui_s1",
    "infigui_r1",
    "agentcpm",
    "clawgui",
    "os_genesis",
    "gui_r1",
    "curated_point",
    "curated_box",
)


def click(x_px, y_px, size=PHONE):
    return StepAction("click", point=(x_px / size[0], y_px / size[1]))


def swipe(direction, convention="content"):
    return StepAction.from_json({"kind": "swipe", "direction": direction, "convention": convention})


def typed(text):
    return StepAction("type", text=text)


def opened(name):
    return StepAction("open_app", text=name)


def recorded(size=PHONE, prompt="", **options):
    return truth_of_step({"check_options": options}, size, prompt)


def click_truth(x_px, y_px, *boxes_px, size=PHONE, action="click"):
    return recorded(size, action=action, coordinate=[x_px, y_px], candidate_bbox=[*boxes_px])


def type_truth(text):
    return recorded(action="type", text=text)


def open_truth(name, *boxes_px):
    return recorded(action="open", text=name, candidate_bbox=[*boxes_px])


def swipe_truth(direction, prompt=""):
    return recorded(action="swipe", direction=direction, prompt=prompt)


WAIT_TRUTH = recorded(action="wait", time=2)
BACK_TRUTH = recorded(action="system_button", button="Back")


def judged(rule, action, truth, size=PHONE):
    return RULES[rule].judge(action, truth, size)


def succeeds(rule, action, truth, size=PHONE):
    return judged(rule, action, truth, size).success


def triple(rule, action, truth, size=PHONE):
    verdict = judged(rule, action, truth, size)
    return verdict.type, verdict.grounding, verdict.success


# -- actions --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "record",
    [
        {"kind": "click", "point": [0.5, 0.25]},
        {"kind": "long_press", "point": None},
        {"kind": "swipe", "direction": "up", "convention": "content"},
        {"kind": "swipe", "start": [0.5, 0.5], "end": [0.5, 0.25]},
        {"kind": "type", "text": ""},
        {"kind": "open_app", "text": "Gmail"},
        {"kind": "press", "button": "recent"},
        {"kind": "wait"},
        {"kind": "finish", "text": "42", "status": "success"},
    ],
)
def test_an_action_is_read_and_written_alike(record):
    assert StepAction.from_json(record).as_json() == record


def test_a_direction_of_the_finger_is_kept_as_that_of_the_content():
    action = swipe("up", "finger")
    assert action.as_json() == {"kind": "swipe", "direction": "down", "convention": "content"}
    assert (content_direction(action, PHONE), finger_direction(action, PHONE)) == ("down", "up")


@pytest.mark.parametrize(
    "record",
    [
        {"kind": "tap"},
        {"kind": "swipe", "direction": "north"},
        {"kind": "swipe", "direction": "up", "convention": "page"},
    ],
)
def test_what_no_action_has_is_an_error(record):
    with pytest.raises(ValueError, match="is n"):
        StepAction.from_json(record)


def test_a_recorded_action_that_no_data_set_has_is_an_error():
    with pytest.raises(ValueError, match="'tap' is none of"):
        recorded(action="tap")
    with pytest.raises(ValueError, match="2 is none of"):
        aitz(2, (0, 0), (0, 0))
    with pytest.raises(ValueError, match="'TAP' is none of"):
        odyssey("TAP")


@pytest.mark.parametrize(
    ("end", "frame_wh", "direction"),
    [
        ((0.6, 0.55), PHONE, "down"),  # 108 px right, 120 px down
        ((0.6, 0.55), (1, 1), "right"),
        ((0.4, 0.5), PHONE, "left"),
        ((0.5, 0.5), PHONE, "nowhere"),
        ((0.75, 0.75), (1, 1), "down"),  # both axes equal
    ],
)
def test_a_drag_goes_along_its_longer_axis_in_the_frame_of_the_rule(end, frame_wh, direction):
    drag = StepAction("swipe", start=(0.5, 0.5), end=end)
    assert finger_direction(drag, frame_wh, when_still="nowhere") == direction


# -- clicks ---------------------------------------------------------------------------------------


def at_fractions(x, y):
    """A click truth in fractions on a frame of per mille."""
    return click_truth(x, y, size=PER_MILLE)


@pytest.mark.parametrize(
    ("rule", "dx", "is_right"),
    [
        ("os_atlas", 140, True),
        ("os_atlas", 141, False),
        ("curated_point", 139, True),
        ("curated_point", 141, False),
        ("gui_r1", 139, True),
        ("gui_r1", 141, False),
        ("ui_s1", 39, True),
        ("ui_s1", 41, False),
    ],
)
def test_a_click_is_right_within_the_radius_of_the_rule(rule, dx, is_right):
    action = click(300 + dx, 500, PER_MILLE)
    assert succeeds(rule, action, at_fractions(300, 500), PER_MILLE) is is_right


def test_the_radius_of_os_atlas_is_closed_and_those_of_gui_r1_and_curated_are_open():
    truth, action = at_fractions(0, 0), StepAction("click", point=(0.14, 0.0))
    assert succeeds("os_atlas", action, truth, PER_MILLE) is True
    assert succeeds("gui_r1", action, truth, PER_MILLE) is False
    assert succeeds("curated_point", action, truth, PER_MILLE) is False


@pytest.mark.parametrize("rule", ["ui_s1", "qwen", "agentcpm"])
def test_the_radius_of_fractions_is_closed(rule):
    truth, size = click_truth(0, 0, size=PER_MILLE), PER_MILLE
    assert succeeds(rule, StepAction("click", point=(0.04, 0.0)), truth, size) is True
    assert succeeds(rule, StepAction("click", point=(0.0401, 0.0)), truth, size) is False


def test_os_atlas_rounds_the_recorded_point_down_to_per_mille():
    truth = click_truth(538, 1199)  # 498.1 and 499.6 per mille: 498 and 499
    assert succeeds("os_atlas", StepAction("click", point=(0.498, 0.639)), truth) is True
    assert succeeds("os_atlas", StepAction("click", point=(0.498, 0.64)), truth) is False
    assert succeeds("os_atlas", StepAction("click", point=(0.358, 0.499)), truth) is True


def test_a_click_is_right_in_a_box_only_where_the_rule_has_boxes():
    truth = click_truth(540, 2273, [456, 2211, 624, 2337], [0, 473, 1080, 2337])
    far = click(100, 900)
    by_rule = {rule: succeeds(rule, far, truth) for rule in ANDROID_CONTROL_RULES}
    assert [rule for rule, is_right in by_rule.items() if is_right] == [
        "qwen",
        "infigui_r1",
        "agentcpm",
        "clawgui",
    ]


@pytest.mark.parametrize(
    ("rule", "is_right"),
    [("qwen", True), ("infigui_r1", True), ("agentcpm", True), ("clawgui", False)],
)
def test_boxes_are_enlarged_by_a_fifth_except_in_clawgui(rule, is_right):
    truth = click_truth(500, 200, [0, 200, 1000, 1200])  # to 1300 at 1.2
    assert succeeds(rule, click(500, 1295), truth) is is_right
    assert succeeds(rule, click(500, 1305), truth) is False


def test_a_box_that_agentcpm_cuts_at_the_border_keeps_its_size():
    truth = click_truth(500, 100, [0, 0, 1000, 1000])
    assert succeeds("agentcpm", click(500, 1195), truth) is True  # 1.2 of the height from 0 on
    assert succeeds("qwen", click(500, 1195), truth) is False  # 1.1: the other fifth is above 0
    assert succeeds("qwen", click(500, 1095), truth) is True


def nodes(*boxes_px):
    return tuple(TreeNode(tuple(map(float, box))) for box in boxes_px)


def test_agentcpm_takes_the_five_boxes_nearest_to_the_recorded_point():
    near = [(480, 480 + 10 * index, 520, 520 + 10 * index) for index in range(5)]
    far = (0, 1000, 1080, 2400)
    truth = click_truth(500, 500)
    with_five = StepTruth(truth.action, truth.point_px, tree=nodes(*near, far))
    with_four = StepTruth(truth.action, truth.point_px, tree=nodes(*near[:4], far))
    assert succeeds("agentcpm", click(500, 2000), with_five) is False
    assert succeeds("agentcpm", click(500, 2000), with_four) is True


def test_agentcpm_measures_nearness_by_boxes_that_are_already_enlarged():
    # Cut at the corner, the large box has its centre 71 per mille away, and enlarged at the point.
    small = [(530 + index, 500, 531 + index, 501) for index in range(5)]
    point = click_truth(500, 500, size=PER_MILLE)
    truth = StepTruth(point.action, point.point_px, tree=nodes(*small, (0, 0, 900, 900)))
    assert succeeds("agentcpm", click(100, 100, PER_MILLE), truth, PER_MILLE) is True


def test_infigui_r1_has_a_circle_in_pixels_of_the_resized_image():
    truth = click_truth(540, 1200)
    assert succeeds("infigui_r1", click(540 + 90, 1200), truth) is True
    assert succeeds("qwen", click(540 + 90, 1200), truth) is False
    assert succeeds("infigui_r1", click(540 + 95, 1200), truth) is True  # 96.06 of 96.32 px
    assert succeeds("infigui_r1", click(540 + 96, 1200), truth) is False  # 97.07 px
    assert succeeds("infigui_r1", click(540, 1200 + 95), truth) is True
    assert succeeds("infigui_r1", click(540, 1200 + 97), truth) is False


def test_clawgui_and_os_genesis_allow_the_same_pixels_on_every_image():
    truth = click_truth(540, 1200)
    for rule in ("clawgui", "os_genesis"):
        assert succeeds(rule, click(540, 1200 + 367), truth) is True
        assert succeeds(rule, click(540, 1200 + 370), truth) is False
    size = (2160, 4800)
    large_truth = click_truth(1080, 2400, size=size)
    assert succeeds("clawgui", click(1080, 2400 + 700, size), large_truth, size) is True
    assert succeeds("os_genesis", click(1080, 2400 + 700, size), large_truth, size) is False


def test_clawgui_cuts_points_to_whole_per_mille_and_whole_pixels():
    truth = click_truth(0, 0)
    # 153.9 per mille are 369.4 px and count as 153, which are 367 px.
    assert succeeds("clawgui", StepAction("click", point=(0.0, 0.1539)), truth) is True
    assert succeeds("clawgui", StepAction("click", point=(0.0, 0.154)), truth) is False


def test_os_genesis_cuts_points_to_whole_pixels():
    truth = click_truth(0, 0)
    assert succeeds("os_genesis", click(0, 368.9), truth) is True
    assert succeeds("os_genesis", click(0, 369), truth) is False


def test_curated_by_box_takes_the_smallest_candidate_and_the_point_without_any():
    truth = click_truth(540, 2273, [456, 2211, 624, 2337], [0, 473, 1080, 2337])
    assert succeeds("curated_box", click(624, 2337), truth) is True  # on the border
    assert succeeds("curated_box", click(625, 2337), truth) is False
    assert succeeds("curated_point", click(625, 2337), truth) is True
    assert succeeds("curated_box", click(540, 1200 + 300), click_truth(540, 1200)) is True


def test_gui_r1_compares_the_origin_where_there_is_no_point():
    near_origin = click_truth(30, 60)
    assert triple("gui_r1", BACK, near_origin) == (False, True, True)
    assert triple("gui_r1", None, near_origin) == (False, True, True)
    assert triple("gui_r1", BACK, click_truth(540, 1200)) == (False, False, False)


def test_grounding_of_curated_and_gui_r1_does_not_ask_for_the_type():
    long_press = StepAction("long_press", point=(0.5, 0.5))
    truth = click_truth(540, 1200)
    assert triple("curated_point", long_press, truth) == (False, True, False)
    assert triple("gui_r1", long_press, truth) == (False, True, True)
    assert triple("qwen", long_press, truth) == (False, False, False)


@pytest.mark.parametrize("rule", ANDROID_CONTROL_RULES)
def test_a_click_without_a_point_is_a_miss(rule):
    verdict = judged(rule, StepAction("click"), click_truth(540, 1200))
    assert not verdict.success
    assert verdict.type is (rule != "infigui_r1")  # there an exception takes the type along
    assert verdict.grounding is {"infigui_r1": None, "os_genesis": None}.get(rule, False)


def test_a_click_opens_an_app_only_where_the_row_has_boxes():
    with_boxes = open_truth("Zoho", [100, 100, 300, 300], [0, 2000, 100, 2100])
    for rule in ("qwen", "infigui_r1"):
        assert triple(rule, click(200, 200), with_boxes) == (True, None, True)
        assert triple(rule, click(50, 2050), with_boxes) == (True, None, True)
        assert triple(rule, click(900, 900), with_boxes) == (True, None, False)
        assert triple(rule, click(200, 200), open_truth("Zoho")) == (False, None, False)
    assert triple("ui_s1", click(200, 200), with_boxes) == (False, None, False)
    assert judged("infigui_r1", click(200, 200), with_boxes).counts["click_match_num"] == 1


# -- texts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "answer", "truth", "is_right"),
    [
        ("os_atlas", "Yahoo Zebra", "Yahoo Mail", True),  # first words
        ("os_atlas", "ZARA app", "ZARA", False),  # "[zara" is not "[zara]"
        ("os_atlas", "mail Yahoo", "Yahoo mail", False),
        ("qwen", "art", "Sculpture art", True),
        ("qwen", "", "Sculpture art", True),
        ("qwen", " SCULPTURE ART and more", "Sculpture art", True),
        ("qwen", "Sculpture of art", "Sculpture art", False),
        ("infigui_r1", "ART ", "Sculpture art", True),
        ("agentcpm", "ART ", "Sculpture art", True),
        ("clawgui", "Sculpture art", "sculpture art now please", True),  # 2/3
        ("clawgui", "a b", "a c", False),  # exactly 0.5
        ("clawgui", "", "", True),
        ("clawgui", "art", "Sculpture art", True),
        ("os_genesis", "a b", "a c", False),
        ("os_genesis", "A B", "a b", True),
        ("gui_r1", "a b", "a c", True),
        ("gui_r1", "[art]", "arts", True),  # one word on each side
        ("gui_r1", "Leonardo Da Vinci Mona", "Leonardo", False),  # 0.4
        ("gui_r1", "Leonardo Da Vinci", "Leonardo", True),  # 0.5
        ("curated_point", "a b", "a c", True),
        (
            "curated_point",
            "leonardo da vinci mona",
            "Leonardo",
            True,
        ),  # the truth is in small letters
        ("curated_point", "Leonardo Da Vinci Mona", "Leonardo", False),
        ("curated_point", "10:45", "10:30 meeting", True),  # nothing behind the colon counts
    ],
)
def test_typed_texts_match_as_the_rule_has_it(rule, answer, truth, is_right):
    assert succeeds(rule, typed(answer), type_truth(truth)) is is_right


@pytest.mark.parametrize(
    ("rule", "answer", "is_right"),
    [
        ("os_genesis", "pocketbook", False),  # whole objects are compared
        ("os_genesis", "PocketBook", True),
        ("qwen", "pocketbook", True),
        ("clawgui", "pocketbook", True),
        ("gui_r1", "Pocket", True),
        ("curated_point", "pocket", True),
    ],
)
def test_names_of_apps_match_as_the_rule_has_it(rule, answer, is_right):
    assert succeeds(rule, opened(answer), open_truth("PocketBook")) is is_right


def test_the_text_belongs_to_the_type_only_in_curated():
    truth = type_truth("Sculpture art")
    types = {rule: judged(rule, typed("xyz"), truth).type for rule in ANDROID_CONTROL_RULES}
    assert [rule for rule, is_right in types.items() if not is_right] == [
        "curated_point",
        "curated_box",
    ]


def test_gui_r1_does_not_ask_for_the_type_in_step():
    assert triple("gui_r1", typed("down"), swipe_truth("down")) == (False, None, True)
    assert triple("gui_r1", WAIT, WAIT_TRUTH) == (True, None, None)
    assert triple("gui_r1", None, type_truth("text")) == (False, None, True)  # "no input text"


def test_formulas_of_texts():
    assert token_f1("The cat", "the CAT sat") == pytest.approx(0.8)
    assert token_f1("", "a") == token_f1("a", "b") == 0
    assert token_f1("a a a b", "a b") == 1  # sets
    assert edit_distance("kitten", "sitting") == 3
    assert edit_distance("", "abc") == 3


# -- swipes, buttons, ends ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "direction", "is_right"),
    [
        ("os_atlas", "down", True),
        ("os_atlas", "up", False),
        ("agentcpm", "down", True),
        ("agentcpm", "up", False),
        ("clawgui", "down", True),
        ("clawgui", "up", False),
        ("os_genesis", "down", True),
        ("os_genesis", "up", False),
        ("gui_r1", "down", True),
        ("gui_r1", "up", False),
        ("curated_point", "down", True),
        ("curated_point", "up", False),
        ("infigui_r1", "up", True),  # the drag goes down, as the annotation says
        ("infigui_r1", "down", False),
        ("infigui_r1_finger", "down", True),
        ("infigui_r1_finger", "up", False),
        ("qwen", "left", True),
        ("ui_s1", "up", True),
    ],
)
def test_the_content_moves_as_annotated_except_where_the_rule_compares_otherwise(
    rule, direction, is_right
):
    assert succeeds(rule, swipe(direction), swipe_truth("down")) is is_right


def test_drags_are_turned_to_the_convention_of_the_rule():
    drag_up = StepAction("swipe", start=(0.5, 0.75), end=(0.5, 0.25))
    truth = swipe_truth("down")
    assert [
        rule
        for rule in ("os_atlas", "clawgui", "agentcpm", "infigui_r1")
        if succeeds(rule, drag_up, truth)
    ] == ["os_atlas", "clawgui", "agentcpm"]
    still = StepAction("swipe", start=(0.5, 0.5), end=(0.5, 0.5))
    assert succeeds("infigui_r1", still, swipe_truth("up")) is True


def test_os_genesis_takes_the_direction_of_the_prompt():
    prompted = swipe_truth("down", "goal. Scroll up to see more")
    assert succeeds("os_genesis", swipe("up"), prompted) is True
    assert succeeds("os_genesis", swipe("down"), prompted) is True
    assert succeeds("os_genesis", swipe("left"), prompted) is False
    assert succeeds("os_genesis", swipe("left"), swipe_truth("down", "Scroll left")) is False


def test_a_wrong_button_has_the_right_type_in_some_rules():
    types = {rule: judged(rule, HOME, BACK_TRUTH).type for rule in ANDROID_CONTROL_RULES}
    assert [rule for rule, is_right in types.items() if is_right] == [
        "qwen",
        "ui_s1",
        "infigui_r1",
        "agentcpm",
        "clawgui",
    ]
    assert not any(succeeds(rule, HOME, BACK_TRUTH) for rule in ANDROID_CONTROL_RULES)
    assert triple("agentcpm", BACK, BACK_TRUTH) == (True, None, True)


def test_agentcpm_takes_an_end_for_waiting_and_drops_rows_that_open_apps():
    assert triple("agentcpm", FINISH, WAIT_TRUTH) == (True, None, True)
    assert triple("agentcpm", opened("Zoho"), open_truth("Zoho")) == (None, None, None)
    others = set(ANDROID_CONTROL_RULES) - {"agentcpm", "gui_r1"}
    assert not any(succeeds(rule, FINISH, WAIT_TRUTH) for rule in others)


def test_agentcpm_has_no_long_presses_on_android_control():
    truth = click_truth(540, 1200, action="long_press")
    long_press = StepAction("long_press", point=(0.5, 0.5))
    assert triple("agentcpm", long_press, truth) == (False, False, False)
    assert triple("agentcpm", click(540, 1200), truth) == (True, True, True)
    assert triple("agentcpm", long_press, click_truth(540, 1200)) == (False, False, False)


def test_long_presses_are_in_the_grounding_of_some_rules():
    truth = click_truth(540, 1200, action="long_press")
    long_press = StepAction("long_press", point=(0.5, 0.5))
    grounded = {rule: judged(rule, long_press, truth).grounding for rule in ANDROID_CONTROL_RULES}
    assert [rule for rule, grounding in grounded.items() if grounding] == [
        "clawgui",
        "gui_r1",
        "curated_point",
        "curated_box",
    ]


@pytest.mark.parametrize("rule", ANDROID_CONTROL_RULES)
def test_an_unread_answer_is_wrong_in_type_and_success(rule):
    for truth in (click_truth(540, 1200), swipe_truth("up"), WAIT_TRUTH, BACK_TRUTH):
        verdict = judged(rule, None, truth)
        assert verdict.type is False
        assert not verdict.success
    grounding = judged(rule, None, click_truth(540, 1200)).grounding
    unasked = {"os_atlas", "infigui_r1", "clawgui", "os_genesis"}
    assert grounding is (None if rule in unasked else False)


def test_clawgui_reads_two_buttons_and_no_end():
    truth = click_truth(540, 1200)
    recent = StepAction("press", button="recent")
    groundings = [judged("clawgui", action, truth).grounding for action in (recent, FINISH, BACK)]
    assert groundings == [None, None, False]


# -- UGround --------------------------------------------------------------------------------------

TREE = (
    TreeNode((0, 0, 1080, 2400), None, "screen"),
    TreeNode((100, 100, 300, 300), "Zoho Mail", None),
    TreeNode((150, 150, 200, 200), None, None),
    TreeNode((0, 2000, 100, 2100), None, "Navigate BACK"),
)


def uground_truth(action, point_px=None):
    return StepTruth(action, point_px=point_px, tree=TREE)


def test_uground_wants_the_smallest_node_that_holds_the_recorded_point():
    truth = uground_truth(StepAction("click"), (110, 110))
    assert triple("uground", click(300, 300), truth) == (True, True, True)
    assert triple("uground", click(301, 300), truth) == (True, False, False)
    inner = uground_truth(StepAction("click"), (160, 160))
    assert triple("uground", click(210, 210), inner) == (True, False, False)
    assert triple("uground", StepAction("click"), inner) == (True, False, False)


def test_uground_takes_a_click_on_the_name_for_opening_and_on_back_for_going_back():
    opening, back = uground_truth(opened("ZOHO")), uground_truth(BACK)
    assert triple("uground", click(110, 110), opening) == (False, True, True)
    assert triple("uground", click(160, 160), opening) == (False, False, False)
    assert triple("uground", click(50, 2050), back) == (False, True, True)
    assert triple("uground", click(500, 500), back) == (False, False, False)
    assert triple("uground", opened("Zoho"), opening) == (True, None, False)  # case counts


def test_uground_compares_the_text_of_typing_too():
    truth = uground_truth(typed("abc"), (110, 110))
    same_text = StepAction("type", text="abc", point=(0.1, 0.05))
    other = StepAction("type", text="abd", point=(0.1, 0.05))
    assert triple("uground", same_text, truth) == (True, True, True)
    assert triple("uground", other, truth) == (True, False, False)


# -- GUI-Odyssey ----------------------------------------------------------------------------------


def odyssey(action, info="", box=()):
    return truth_of_odyssey_step({"action": action, "info": info, "sam2_bbox": [*box]})


def test_odyssey_wants_the_box_or_the_radius_and_is_lost_without_a_box():
    truth = odyssey("CLICK", [[500, 500], [500, 500]], (480, 480, 900, 520))
    for x, is_right in ((900, True), (640, True), (901, False)):
        assert succeeds("odyssey_official", click(x, 500, PER_MILLE), truth) is is_right
    assert succeeds("odyssey_official", click(500, 639, PER_MILLE), truth) is True
    assert succeeds("odyssey_official", click(500, 641, PER_MILLE), truth) is False
    corner = odyssey("CLICK", [[0, 0]], (0, 0, 1, 1))
    assert succeeds("odyssey_official", StepAction("click", point=(0.14, 0.0)), corner) is True
    boxless = odyssey("CLICK", [[500, 500], [500, 500]])
    same = click(500, 500, PER_MILLE)
    assert triple("odyssey_official", same, boxless) == (True, False, False)
    assert triple("odyssey_os_atlas", same, boxless) == (True, True, True)
    assert triple("odyssey_agentcpm", same, boxless) == (True, True, True)


@pytest.mark.parametrize(
    ("answer", "truth", "official", "os_atlas", "agentcpm"),
    [
        ("10", "10:30 meeting", True, False, True),
        ("10:99", "10:30 meeting", True, False, False),  # what stands behind a colon is lost
        ("nore dame", "notre dame", True, True, False),
        ("NOTRE DAME", "notre dame", False, True, True),
        ("", "notre dame", True, False, True),
        ("abcd", "abxy", True, False, False),  # half alike
        ("abcde", "abxyz", False, False, False),
        ("notre", "notre dame", True, False, True),  # of 2 and 3 words one is the same: 0.4
        ("x dame", "notre dame", True, True, False),  # TYPE and one of two words: 2/3
    ],
)
def test_odyssey_texts_match_as_each_rule_has_it(answer, truth, official, os_atlas, agentcpm):
    recorded_text = odyssey("TEXT", truth)
    rules = ("odyssey_official", "odyssey_os_atlas", "odyssey_agentcpm")
    verdicts = [succeeds(rule, typed(answer), recorded_text) for rule in rules]
    assert verdicts == [official, os_atlas, agentcpm]


def test_odyssey_swipes_are_those_of_the_finger_and_ties_are_vertical():
    tie = odyssey("SCROLL", [[712, 795], [862, 945]])
    flat = odyssey("SCROLL", [[500, 500], [500, 500]])
    for rule in ("odyssey_official", "odyssey_os_atlas"):
        assert succeeds(rule, swipe("down", "finger"), tie) is True
        assert succeeds(rule, swipe("up", "finger"), tie) is False
        assert succeeds(rule, swipe("down", "finger"), flat) is True


def test_odyssey_ends_differ_except_for_agentcpm_who_has_no_recent_apps():
    impossible = odyssey("INCOMPLETE")
    recent = odyssey("CLICK", "KEY_APPSELECT")
    rules = ("odyssey_official", "odyssey_os_atlas", "odyssey_agentcpm")
    assert [succeeds(rule, FINISH, impossible) for rule in rules] == [False, False, True]
    assert [succeeds(rule, HOME, recent) for rule in rules] == [False, False, True]
    pressed = StepAction("press", button="recent")
    assert [succeeds(rule, pressed, recent) for rule in rules] == [True, True, False]


def test_an_unread_point_is_the_origin_for_os_atlas_on_odyssey():
    assert succeeds("odyssey_os_atlas", StepAction("click"), odyssey("CLICK", [[98, 99]])) is True
    assert succeeds("odyssey_os_atlas", StepAction("click"), odyssey("CLICK", [[99, 99]])) is False


def test_odyssey_scores_leave_out_episodes_that_were_not_scored_whole():
    def row(episode, step, success):
        verdict = StepVerdict(True, None, success)
        return JudgedStep(episode, step, WAIT, WAIT_TRUTH, verdict)

    rows = [row("a", 0, True), row("a", 1, True), row("b", 0, True), row("c", 0, False)]
    lengths = {"a": 2, "b": 2, "c": 1}
    scores = odyssey_official.official_scores(rows, dict.fromkeys("abc", "x"), lengths)
    assert scores == {"macro AMS": 75, "macro SR": 50, "micro AMS": None, "micro SR": None}


# -- AITZ and CAGUI -------------------------------------------------------------------------------


def aitz(number, touch=(-1, -1), lift=(-1, -1), text="", boxes=()):
    return truth_of_aitz_step(
        {
            "result_action_type": number,
            "result_touch_yx": f"[{touch[1]}, {touch[0]}]",
            "result_lift_yx": [lift[1], lift[0]],
            "result_action_text": text,
            "ui_positions": [[y, x, height, width] for x, y, width, height in boxes],
        }
    )


def test_a_touch_that_lifts_elsewhere_is_a_swipe():
    assert aitz(4, (0.5, 0.5), (0.53, 0.5)).action.kind == "click"
    drag = aitz(4, (0.5, 0.5), (0.55, 0.5))
    assert finger_direction(drag.action, (1, 1)) == "right"
    assert succeeds("aitz_agentcpm", swipe("right", "finger"), drag) is True
    assert succeeds("aitz_agentcpm", swipe("right"), drag) is False


def test_aitz_counts_only_enlarged_boxes_that_hold_the_recorded_point():
    holds, other = (0.4, 0.4, 0.5, 0.2), (0.0, 0.7, 1.0, 0.2)
    truth = aitz(4, (0.5, 0.59), (0.5, 0.59), boxes=[holds, other])

    def answered(x, y):
        return triple("aitz_agentcpm", StepAction("click", point=(x, y)), truth)

    assert answered(0.93, 0.5) == (True, True, True)  # 0.35 to 0.95
    assert answered(0.96, 0.5) == (True, False, False)
    assert answered(0.1, 0.8) == (True, False, False)
    assert answered(0.5, 0.729) == (True, True, True)  # within 0.14


def test_the_ends_of_aitz_are_all_one():
    for number in (1, 10, 11):
        for action in (WAIT, FINISH, StepAction("finish", status="failure")):
            assert triple("aitz_agentcpm", action, aitz(number)) == (True, None, True)
    enter = StepAction("press", button="enter")
    assert triple("aitz_agentcpm", enter, aitz(7)) == (True, None, True)
    assert triple("aitz_agentcpm", enter, aitz(5)) == (True, None, False)


def test_coat_as_committed_knows_only_the_corner():
    truth = StepTruth(StepAction("click", point=(0.5, 0.5)))
    right_there = StepAction("click", box_frac=(0.4, 0.4, 0.6, 0.6))
    corner = StepAction("click", box_frac=(0.0, 0.0, 0.1, 0.1))
    assert triple("aitz_coat_broken", right_there, truth) == (True, None, False)
    assert triple("aitz_coat_broken", corner, truth) == (True, None, True)
    text = StepTruth(typed("notre dame"))
    for answer, is_right in (("notre", True), ("NOTRE DAME", False), ("note dame", True)):
        assert succeeds("aitz_coat_broken", typed(answer), text) is is_right


# -- AgentNetBench --------------------------------------------------------------------------------


def desktop(kind, x=0.5, **fields):
    return DesktopAction(kind, point=(x, 0.5), **fields)


@pytest.mark.parametrize(
    ("answered", "recorded_actions", "total"),
    [
        ([desktop("click", 0.514)], [desktop("click")], 1),  # up to 0.01414
        ([desktop("click", 0.6)], [desktop("click", boxes_frac=((0.4, 0.4, 0.6, 0.6),))], 1),
        ([desktop("click", 0.52414213562)], [desktop("click")], pytest.approx(0.3011942)),
        ([desktop("click")], [desktop("doubleclick")], 0),
        ([], [desktop("scroll")], 0),
        ([desktop("scroll")], [desktop("scroll")], 1),
        ([DesktopAction("write", text="milk")], [DesktopAction("write", text="note: milk")], 0.5),
        ([DesktopAction("write", text="  abcd")], [DesktopAction("write", text="ABCDE\n")], 1),
        (
            [DesktopAction("write", text="a")],
            [DesktopAction("write", text="a"), DesktopAction("press", keys=("Enter",))],
            1,
        ),
        (
            [DesktopAction("hotkey", keys=("S", "ctrl"))],
            [DesktopAction("hotkey", keys=("ctrl", "s"))],
            1,
        ),
        ([DesktopAction("hotkey", keys=("esc",))], [DesktopAction("press", keys=("esc",))], 0),
        (
            [DesktopAction("terminate", status="success")],
            [DesktopAction("terminate", status="failure")],
            0,
        ),
        ([desktop("moveto")], [desktop("moveto"), desktop("dragto", 0.1)], 0.5),
        ([desktop("click"), desktop("dragto")], [desktop("moveto"), desktop("dragto")], 0),
        (
            [desktop("moveto"), desktop("scroll"), desktop("dragto")],
            [desktop("moveto"), desktop("moveto"), desktop("dragto")],
            0.75,  # of types: 1/2 and 1
        ),
    ],
)
def test_a_desktop_step_scores_between_nothing_and_one(answered, recorded_actions, total):
    assert agentnetbench.judge(answered, [recorded_actions]).total == total


def test_the_best_alternative_counts_and_columns_have_means_of_their_types():
    right = agentnetbench.judge([desktop("click")], [[desktop("scroll")], [desktop("click")]])
    wrong = agentnetbench.judge([desktop("click")], [[desktop("scroll")]])
    assert agentnetbench.official_figures([right, wrong]) == {
        "Average": 0.5,
        "coordinate": 1,
        "content": None,
        "function": 0,
    }


# -- published rows -------------------------------------------------------------------------------


def test_published_rows_have_first_words_and_points_through_per_mille():
    # 490.7 and 947.1 per mille
    truth = published_form(click_truth(530, 2273), PHONE, points="per_mille")
    assert truth.point_px == (529, 2272)
    assert truth.action.point == (529 / 1080, 2272 / 2400)
    cut = {
        text: published_form(type_truth(text), PHONE, texts="first_word").action.text
        for text in ("Leonardo Da Vinci", " Goa", "\xa0Word Office")
    }
    assert [*cut.values()] == ["Leonardo", "", "\xa0Word"]
    assert published_form(type_truth("a b"), PHONE) == type_truth("a b")


# -- figures --------------------------------------------------------------------------------------


def rows_of(rule, *answers):
    """Judged steps of one episode for each list of (action, truth)."""
    return [
        JudgedStep(str(episode), step, action, truth, judged(rule, action, truth))
        for episode, steps in enumerate(answers)
        for step, (action, truth) in enumerate(steps)
    ]


CLICK_TRUTH = click_truth(540, 1200)
RIGHT, MISS, UNREAD = (
    (click(540, 1200), CLICK_TRUTH),
    (click(1, 1), CLICK_TRUTH),
    (None, CLICK_TRUTH),
)


def test_unread_rows_stay_in_the_denominators_and_episodes_end_at_the_first_miss():
    rows = rows_of("ui_s1", [RIGHT, (WAIT, WAIT_TRUTH)], [RIGHT, UNREAD, RIGHT, RIGHT], [MISS])
    assert figures(rows) == {
        "Type": (6, 7),
        "Grounding": (4, 6),
        "SR": (5, 7),
        "Episodes": (1, 3),
        "Progress": (1.25, 3),
    }
    assert figures(rows[::-1])["Progress"] == (1.25, 3)  # steps are put in order
    assert figures([])["SR"].value is None


def test_dropped_rows_and_rows_without_a_success_are_in_no_denominator():
    opening = (opened("Zoho"), open_truth("Zoho"))
    rows = rows_of("agentcpm", [opening, RIGHT], [opening])
    assert figures(rows) == {
        "Type": (1, 1),
        "Grounding": (1, 1),
        "SR": (1, 1),
        "Episodes": (1, 1),
        "Progress": (1, 1),
    }
    rows = rows_of("gui_r1", [(WAIT, WAIT_TRUTH), RIGHT])
    assert (figures(rows)["Type"], figures(rows)["SR"]) == ((2, 2), (1, 1))


def test_official_figures_leave_rows_out_that_the_scripts_leave_out():
    opening = (click(200, 200), open_truth("Zoho", [100, 100, 300, 300]))
    rows = rows_of("infigui_r1", [RIGHT, opening, UNREAD])
    assert infigui_r1.official_figures(rows)["click_match_acc"] == (2, 1)  # above 100 %
    assert figures(rows)["Grounding"] == (1, 1)
    rows = rows_of("clawgui", [RIGHT, MISS, UNREAD])
    official = clawgui.official_figures(rows)
    assert (official["accuracy"], official["grounding"]) == ((1, 3), (1, 2))
    click_for_press = (click(1, 2399), click_truth(540, 1200, action="long_press"))
    rows = rows_of("gui_r1", [RIGHT, click_for_press, (WAIT, WAIT_TRUTH)])
    official = gui_r1.official_figures(rows)
    assert (official["GR"], figures(rows)["Grounding"]) == ((1, 1), (1, 2))


# -- chance ---------------------------------------------------------------------------------------


def test_random_clicks_hit_about_the_area_that_a_rule_accepts():
    rows = [ClickRow(click_truth(500, 500, size=PER_MILLE), PER_MILLE)] * 30
    share = random_clicks(RULES["os_atlas"].judge, rows)
    assert share.denominator == 3000
    assert share.value == pytest.approx(3.14159 * 0.14**2, abs=0.015)
    assert random_clicks(RULES["os_atlas"].judge, rows) == share


def test_step_of_gui_r1_says_which_kinds_have_left_it():
    rows = [
        JudgedStep(
            str(number), 0, None, StepTruth(StepAction(kind)), StepVerdict(True, None, is_right)
        )
        for number, (kind, is_right) in enumerate(
            [("click", True), ("swipe", False), ("wait", None), ("click", False)]
        )
    ]
    assert gui_r1.official_figures(rows)["Step"] == (1, 2)
    note = "without swipe, where not one is right; with them 1 of 3"
    assert gui_r1.official_notes(rows) == {"Step": note}


def test_an_answered_long_press_is_another_type_for_agentcpm_which_its_sentences_say():
    press = StepAction("long_press", point=(0.5, 0.5))
    truth = StepTruth(press)
    assert RULES["agentcpm"].judge(press, truth, PHONE).type is False
    assert "an answered long press is another type" in RULES["agentcpm"].sentences
