"""Replays cases that the authors' own parsers were run on against the recipes.

    python -m tests.support.recipe_replay FOLDER

Reads every `<family>.jsonl` of the folder (id, parser, reply, image_wh, point_frac or point_px or
null, may_be_fallback), `prompts.jsonl`, `resize.jsonl` and `zoom.jsonl`, and prints for each family
and parser how many are equal, are documented fallbacks (the authors' code returns a corner for
"nothing found", the recipe None) and are different. The exit status is 1 if anything is different;
parsers and prompts that no recipe follows are named, with the reason where there is one, and fail
nothing. Cases of agents (`code`, `action`) are those of `agent_replay`.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections import Counter
from pathlib import Path

from models.recipes import all_recipes, phi_ground, ui_venus_1_0
from models.recipes.base import Limits, prompt_function
from utils.geometry.resizing import canvas_ratio, resized_wh, steps_of
from utils.geometry.targets import DECLINED
from utils.geometry.zooming import Zoom

EQUAL = "equal"
FALLBACK = "documented fallbacks"
DIFFERENT = "different"
NOT_FOLLOWED = "not followed"
OUTCOMES = (EQUAL, FALLBACK, DIFFERENT)
SHOWN = 5
"""The number of different cases of a kind that are printed."""
CORNER_PX = 3
CORNERS = ((0, 0), (-1, -1), (-0.001, -0.001))
"""Fractions that mean "nothing found"; in pixels (0, 0), or (-1, -1) if resized."""


def point_px(point, image_wh):
    """A point as a parse function returns it, in pixels of the file."""
    if point is None:
        return None
    if max(point) > 1:
        return tuple(point)
    return point[0] * image_wh[0], point[1] * image_wh[1]


def expected_px(case):
    """The point of the authors' code in pixels of the file."""
    if case.get("point_px") is not None:
        return tuple(case["point_px"])
    if case.get("point_frac") is not None:
        width, height = case["image_wh"]
        return case["point_frac"][0] * width, case["point_frac"][1] * height
    return None


def meta_of(case):
    """The `meta` of a parse function: sizes and limits as texts."""
    meta = {"image_size": str(list(case["image_wh"]))}
    for key in ("min_pixels", "max_pixels"):
        if case.get(key) is not None:
            meta[key] = str(case[key])
    return meta


def is_same(point, expected):
    """Whether two points in pixels are the same but for rounding, or both are None."""
    if point is None or expected is None:
        return point is expected
    return all(
        math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-6)
        for one, other in zip(point, expected, strict=True)
    )


def is_corner(case, expected):
    """Whether the authors' point is one of those that stand for nothing found."""
    if expected is None:
        return False
    if case.get("point_frac") is not None and tuple(case["point_frac"]) in CORNERS:
        return True
    return all(-CORNER_PX < value <= 0 for value in expected)


def outcome_of(case, parser):
    """EQUAL, FALLBACK or DIFFERENT, and the point in pixels of the file."""
    answer = parser.parse(case["reply"], meta_of(case))
    # The authors' code has no word for "not there": no point, or the corner.
    point = point_px(None if answer is DECLINED else answer, case["image_wh"])
    expected = expected_px(case)
    if is_same(point, expected):
        return EQUAL, point
    if point is None and parser.nothing_found and is_corner(case, expected):
        return FALLBACK, point
    return DIFFERENT, point


def sent_messages(messages):
    """Messages of an author's code as (role, parts) in which they reach a server.

    A part is a text or None for the image. The parts of a system message are one text, as chat
    templates join them; an image that no message shows, or "<image>", comes first.
    """
    chat = []
    for message in messages:
        content = message["content"]
        if isinstance(content, str):
            content = [{"type": "text", "text": content.removeprefix("<image>")}]
        parts = [part["text"] if part["type"] == "text" else None for part in content]
        if message["role"] == "system":
            parts = ["".join(parts)]
        chat.append((message["role"], parts))
    if not any(None in parts for _, parts in chat):
        first_of_user = next(parts for role, parts in chat if role != "system")
        first_of_user.insert(0, None)
    return chat


def sent_prompt(prompt):
    """A prompt of this program in the same form."""
    chat = []
    for message in prompt:
        if not chat or chat[-1][0] != message["role"] or message.get("turn") == "new":
            chat.append((message["role"], []))
        chat[-1][1].append(message["value"] if message["type"] == "text" else None)
    return chat


def outcome_of_prompt(case, form):
    """Whether the messages, and what goes with them, are those of a filled-in prompt."""
    settings = {key: case.get(key) for key in ("min_pixels", "max_pixels")}
    named_wh = form.named_wh(tuple(case["image_wh"]), settings)
    is_equal = form.messages(case["instruction"], named_wh) == case["messages"]
    line = {"instruction": case["instruction"], "image_path": "a.png"}
    prompt = prompt_function(form)(line, "", file_size=case["image_wh"], **settings)
    expected = sent_messages(case["messages"])
    if "prefill" in case:
        expected.append(("assistant", [case["prefill"]]))
    is_equal = is_equal and (sent_prompt(prompt) == expected or form is phi_ground.OFFICIAL)
    if "prefill" in case:
        is_equal = is_equal and form.prefix == case["prefill"]
    if "tools" in case:
        is_equal = is_equal and list(form.tools) == case["tools"]
        is_equal = is_equal and form.tool_choice == case["tool_choice"]
    return EQUAL if is_equal else DIFFERENT


OWNERS = {  # recipes that say in `resize` what is done to an image, by the rule of a case
    "claude_target_image_size": "claude",
    "agentcpm_longest_1120": "agentcpm_gui",
    "infigui_g1_two_steps": "infigui_g1",
}
LIMITS_OF = {  # names of `for_` that are no module of a recipe
    "ui_venus_1_0_7b": ui_venus_1_0.LIMITS,
    "ui_venus_1_0_72b": ui_venus_1_0.LIMITS_72B,
}


def limits_of(recipe):
    """The limits of a recipe; of one that only resizes what is sent, those of that."""
    if recipe.limits or not recipe.resize:
        return recipe.limits
    return Limits(**recipe.resize[0])


def outcome_of_resize(case, recipes):
    """Whether a size comes out as in the authors' code, by the recipe's own limits if it has any."""
    image_wh = tuple(case["image_wh"])
    rule = case["rule"]
    if rule == "phi_ground_canvas_7":
        ratio = canvas_ratio(image_wh, phi_ground.CANVAS_WH)
        is_equal = math.isclose(ratio, case["reshape_ratio"])
        return EQUAL if is_equal and list(phi_ground.CANVAS_WH) == case["canvas_wh"] else DIFFERENT
    if rule in OWNERS:
        # As the program does it for an endpoint whose config names the recipe.
        steps = steps_of(recipes[OWNERS[rule]].entry("openai", "", {})["kwargs"])
        is_equal = list(resized_wh(steps, image_wh)) == case["resized_wh"]
        if "first_wh" in case:
            is_equal = is_equal and list(resized_wh(steps[:1], image_wh)) == case["first_wh"]
        return EQUAL if is_equal else DIFFERENT
    if rule != "qwen_smart_resize":
        return NOT_FOLLOWED
    limits = Limits(case["factor"], case["min_pixels"], case["max_pixels"])
    owner = case["for_"]
    own_limits = LIMITS_OF.get(owner) or (limits_of(recipes[owner]) if owner in recipes else limits)
    if own_limits != limits:
        return DIFFERENT
    try:
        resized = list(limits.grid_wh(image_wh))
    except ValueError:
        resized = None
    return EQUAL if resized == case["resized_wh"] else DIFFERENT


ZOOMS = {"gemini_kimi_zoom": ("gemini", "kimi_k2_5"), "seed_zoom": ("seed_1_8",)}


def outcome_of_zoom(case, recipes):
    """Whether a crop and the way back from it are those of the authors' code."""
    size = case["resize_to"]
    zoom = Zoom(case["crop_ratio"], tuple(size) if size else None, whole_per_mille=True)
    if case["family"] not in ZOOMS:
        return NOT_FOLLOWED
    if any(recipes[name].zoom != zoom for name in ZOOMS[case["family"]]):
        return DIFFERENT
    first_frac = tuple(value / 1000 for value in case["stage1_per_mille"])
    crop = zoom.crop(tuple(case["image_wh"]), first_frac)
    is_equal = list(crop.box_px) == case["crop_box_px"] and list(crop.sent_wh) == case["sent_wh"]
    if case["stage2_per_mille"] is not None:
        second_frac = tuple(value / 1000 for value in case["stage2_per_mille"])
        point = tuple(1000 * value for value in crop.in_image(second_frac))
        final = tuple(round(1000 * value) for value in zoom.answer(crop, second_frac))
        written = tuple(map(int, re.findall(r"\d+", case["final_reply"])))
        is_equal = is_equal and is_same(point, tuple(case["point_per_mille"])) and final == written
    return EQUAL if is_equal else DIFFERENT


def cases_of(path):
    """The cases of a file of JSON lines."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def prompt_outcome(case, recipes):
    """The outcome of a filled-in prompt, of grounding or of an agent."""
    from tests.support import agent_replay  # which imports from here

    agent = agent_replay.agent_of(case["family"])
    if agent and case["variant"] in agent.prompts:
        return agent_replay.outcome_of_prompt(case, agent.prompts[case["variant"]])
    recipe = recipes.get(case["family"])
    form = recipe.prompts.get(case["variant"]) if recipe else None
    return outcome_of_prompt(case, form) if form else NOT_FOLLOWED


def reply_outcome(family, case, recipes):
    """The outcome of a reply, and what was read in it with what the authors' code reads."""
    from tests.support import agent_replay  # which imports from here

    agent = agent_replay.agent_of(family)
    if agent and case["parser"] in agent.parsers:
        outcome, actions = agent_replay.outcome_of_reply(case, agent.parsers[case["parser"]])
        return outcome, f"{actions}, expected {case}"
    recipe = recipes.get(family)
    parser = recipe.parsers.get(case["parser"]) if recipe else None
    if parser is None:
        return NOT_FOLLOWED, ""
    outcome, point = outcome_of(case, parser)
    return outcome, f"{point}, expected {expected_px(case)}"


def replay(folder):
    """Counts by (family or kind, parser) and outcome, and a text for each different case."""
    recipes = all_recipes()
    counts = {}
    differences = []

    def count(name, variant, outcome, text):
        counts.setdefault((name, variant), Counter())[outcome] += 1
        if outcome == DIFFERENT:
            differences.append(f"{name} {variant}: {text}")

    for path in sorted(Path(folder).glob("*.jsonl")):
        for case in cases_of(path):
            name = case.get("id", "")
            if path.stem == "prompts":
                outcome = prompt_outcome(case, recipes)
                count("prompts", f"{case['family']}/{case['variant']}", outcome, name)
            elif path.stem == "resize":
                outcome = outcome_of_resize(case, recipes)
                count("resize", case.get("for_", case["rule"]), outcome, name)
            elif path.stem == "zoom":
                count("zoom", case["family"], outcome_of_zoom(case, recipes), name)
            elif "parser" in case:
                outcome, what = reply_outcome(path.stem, case, recipes)
                count(path.stem, case["parser"], outcome, f"{name} {case['reply']!r:.150}: {what}")
    return counts, differences


def main(arguments):
    """Prints the table of a folder; returns the exit status."""
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print("usage: python -m tests.support.recipe_replay FOLDER")
        return 2
    from tests.support.agent_replay import REASONS

    counts, differences = replay(arguments[0])
    print(f"{'':50}{EQUAL:>8}{FALLBACK:>24}{DIFFERENT:>12}")
    for (name, variant), outcomes in counts.items():
        if NOT_FOLLOWED in outcomes:
            reason = REASONS.get(f"{name} {variant}", "")
            end = f": {reason}" if reason else ""
            print(
                f"{name + ' ' + variant:50}  no recipe follows it ({outcomes[NOT_FOLLOWED]}){end}"
            )
            continue
        equal, fallbacks, different = (outcomes[outcome] for outcome in OUTCOMES)
        print(f"{name + ' ' + variant:50}{equal:>8}{fallbacks:>24}{different:>12}")
    total = sum(counts.values(), Counter())
    print(", ".join(f"{total[outcome]} {outcome}" for outcome in (*OUTCOMES, NOT_FOLLOWED)))
    printed = Counter()
    for text in differences:
        kind = text.partition(":")[0]
        printed[kind] += 1
        if printed[kind] <= SHOWN:
            print(text)
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
