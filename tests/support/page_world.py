"""A world that shows any page of a server, for tests of what all worlds in pages share.

    python -m tests.support.page_world FOLDER

acts in one until it is stopped.
"""

import json
import sys
from contextlib import suppress
from pathlib import Path

from benchmarks.actions.action import Action
from benchmarks.worlds.browser.page_world import PageWorld
from benchmarks.worlds.environment import Outcome
from tests.support.pages import Pages
from utils.engine.worlds import Worlds

WH = (400, 300)
STYLE = "<!doctype html><style>body{margin:0} .at{position:absolute;left:100px;top:100px;width:200px;height:100px}</style>"


class AnyPage(PageWorld):
    """Any page of a server; the judgement is what its function `came` returns."""

    home_url = ""

    def open(self, task, chromium):
        return chromium.open(self.home_url + task["page"], self.home_url, WH)

    def judge(self, tab, end):
        return Outcome(end is not None, [(True, json.dumps(tab.page.evaluate(end.text)))])

    def ask(self, script):
        """The result of a script in the page, by the way of a judgement."""
        self.step(Action("answer", text=script))
        return json.loads(self.evaluate().lines[0][1])


def begun(world, server, page=""):
    world.home_url = server.url
    return world.reset({"page": page})


if __name__ == "__main__":
    with Pages({"/": STYLE}) as server, suppress(KeyboardInterrupt):
        AnyPage.home_url = server.url
        worlds = Worlds(lambda number: AnyPage(Path(sys.argv[1])), 1)
        try:
            world = worlds.borrow()
            world.reset({"page": ""})
            print("begun", flush=True)
            while True:
                world.step(Action("click", (0.5, 0.5)))
        finally:
            worlds.close()
