"""Replies of the forms that models are known to write are read as they are meant."""

import random

import pytest

from benchmarks.actions import dialects
from benchmarks.actions.reading import read_actions
from tests.support.reply_forms import ACTION_FORMS, FORMS, LETTERS, POINT_FORMS, reply_of
from utils.coordinates import numbers_of_reply
from utils.thinking import parse_option

COUNT = 200  # of replies of a form
WH = (1000, 1000)
META = {
    "image_size": str(list(WH)),
    "seen_size": str(list(WH)),
    "options": str({letter: letter.lower() for letter in LETTERS}),
}


def read(form, reply):
    if form in POINT_FORMS:
        return numbers_of_reply(reply)
    if form in ACTION_FORMS:
        parse = getattr(dialects, f"parse_{form.partition(' ')[0]}")
        return "; ".join(map(str, read_actions(parse(reply, META), WH) or ()))
    return parse_option(reply, META)


@pytest.mark.parametrize("form", FORMS)
def test_random_replies_of_a_known_form_are_read_as_they_are_meant(form):
    dice = random.Random(form)
    made = [reply_of(form, dice) for _ in range(COUNT)]
    assert [(reply, said) for reply, said in made if read(form, reply) != said] == []
