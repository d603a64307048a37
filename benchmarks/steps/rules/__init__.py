"""The rules by which answers at recorded steps are judged, by name, each with its module."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.steps.rules import (
    agentcpm,
    agentnetbench,
    aitz_coat,
    clawgui,
    curated,
    gui_r1,
    infigui_r1,
    odyssey_official,
    odyssey_os_atlas,
    os_atlas,
    os_genesis,
    qwen,
    uground,
)
from benchmarks.steps.rules.rule import JudgedStep as JudgedStep
from benchmarks.steps.rules.rule import Rule as Rule
from benchmarks.steps.rules.rule import Share as Share
from benchmarks.steps.rules.rule import StepVerdict as StepVerdict

RULES: Mapping[str, Rule] = {
    rule.name: rule
    for rule in (
        os_atlas.RULE,
        qwen.QWEN,
        qwen.UI_S1,
        infigui_r1.RULE,
        infigui_r1.FINGER,
        agentcpm.ANDROID_CONTROL,
        clawgui.RULE,
        os_genesis.RULE,
        gui_r1.RULE,
        uground.RULE,
        curated.POINT,
        curated.BOX,
        odyssey_official.RULE,
        odyssey_os_atlas.RULE,
        agentcpm.ODYSSEY,
        agentcpm.AITZ,
        aitz_coat.RULE,
    )
}
"""All rules that judge one action of a phone."""
ALL_RULES: Mapping[str, Rule] = {**RULES, agentnetbench.RULE.name: agentnetbench.RULE}
"""These, and the one that judges several actions of a desktop."""
