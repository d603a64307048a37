"""Agents that know nothing (`tools.live_agents`), from which the documentation's chance comes."""

import random

import pytest

from benchmarks.worlds.office.world import APPS
from benchmarks.worlds.suites import suites_of
from tools.live_agents import anything, applications_of


@pytest.mark.parametrize(("suite", "app"), [("desktop", "GIMP"), ("office", "Mail")])
def test_an_agent_at_random_opens_the_applications_of_its_world(suite, app):
    apps = applications_of(suites_of("L4")[suite], "L4")
    chance = random.Random(0)

    opened = {anything(chance, "open_app", "a goal", apps).app for _ in range(200)}

    assert app in opened
    assert opened == set(apps)


def test_where_nothing_can_be_opened_it_tries_the_offices_names():
    assert applications_of(suites_of("L3")["miniwob"], "L3") == list(APPS)
