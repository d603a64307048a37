"""A run that asks a person in a browser."""

from contextlib import ExitStack

import pytest

from tests.support.browser import need_browser
from tests.support.human import MODEL, Person, asking
from tests.support.stage import NOBODY, Stage


@pytest.fixture(scope="package")
def browser():
    """One for all pages of this room."""
    with need_browser().open_browser() as opened:
        yield opened


@pytest.fixture
def stage(tmp_path):
    """One picture: three questions of L1 and two of L2."""
    bench = Stage.make(tmp_path, NOBODY, pictures=[("os_windows", (640, 360))])
    bench.model = MODEL
    return bench


@pytest.fixture
def ask(stage, browser):
    """Starts a run and opens its page; gives the run, and a way to open the page once more.

    In the end no page may have had a reason to complain.
    """
    people = []
    with ExitStack() as runs:

        def start(*arguments, **context):
            running = runs.enter_context(asking(stage, *arguments))
            address = running.address()

            def open_page(**more):
                people.append(Person(browser, address, **context, **more))
                return people[-1]

            running.open_page = open_page
            return running, open_page()

        yield start
        for person in people:
            person.context.close()
    assert [person.troubles for person in people] == [[]] * len(people)
