"""OSWorld (`desktop-env` 1.0) as an environment. Never run on the real thing."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from benchmarks.worlds.actions import Action, Observation, Outcome
from benchmarks.worlds.environment import Task, in_pixels, save_screenshot, scored


class OSWorld:
    """Derive from it what these are with you, and name that in the config."""

    examples = Path("evaluation_examples")  # of a copy of OSWorld's repository
    machine: ClassVar[Task] = {"provider_name": "docker", "headless": True}
    pause_s, ready_s = 2.0, 60.0  # after an action, after a reset: as its own runner waits

    def __init__(self, shots: Path) -> None:
        from desktop_env.desktop_env import DesktopEnv

        self._shots, self._env = shots, DesktopEnv(**self.machine, require_a11y_tree=False)

    @classmethod
    def tasks(cls, level: str, seeds: Sequence[int]) -> list[Task]:
        listed, found = json.loads((cls.examples / "test_all.json").read_text()), []
        for domain, name in ((each, name) for each in listed for name in listed[each]):
            if (domain == "multi_apps") == (level == "L4"):
                task = json.loads((cls.examples / "examples" / domain / f"{name}.json").read_text())
                found.append(
                    {
                        "id": name,
                        "goal": task["instruction"],
                        "platform": "os_linux",
                        "category": domain,
                        "apps": task["related_apps"],
                        "config": task,
                        "seed": seeds[0],
                    }
                )
        return found

    def reset(self, task: Task) -> Observation:
        self._env.reset(task_config=task["config"])
        time.sleep(self.ready_s)
        return Observation(save_screenshot(self._shots, self._env.controller.get_screenshot()))

    def step(self, action: Action) -> Observation:
        words = {"wait": "WAIT", "done": "DONE", "answer": "DONE", "fail": "FAIL"}
        said = words.get(action.kind) or f"import pyautogui; pyautogui.{self._call(action)}"
        seen, _, has_ended, _ = self._env.step(said, self.pause_s)
        return Observation(save_screenshot(self._shots, seen["screenshot"]), has_ended=has_ended)

    def evaluate(self) -> Outcome:
        return scored(float(self._env.evaluate()))

    def close(self) -> None:
        self._env.close()

    def _call(self, action: Action) -> str:
        x, y, *to = in_pixels(action, (self._env.screen_width, self._env.screen_height))
        notches = round(action.amount) * (1 if action.direction in ("up", "right") else -1)
        wheel = "hscroll" if action.direction in ("left", "right") else "scroll"
        keys = [{"meta": "win"}.get(key, key) for key in action.keys]
        calls = {
            "click": f"click({x}, {y})",
            "double": f"doubleClick({x}, {y})",
            "triple": f"tripleClick({x}, {y})",
            "right": f"rightClick({x}, {y})",
            "middle": f"middleClick({x}, {y})",
            "long": f"mouseDown({x}, {y}); pyautogui.sleep(1); pyautogui.mouseUp({x}, {y})",
            "move": f"moveTo({x}, {y})",
            "scroll": f"{wheel}({notches}, {x}, {y})",
            "drag": f"moveTo({x}, {y}); pyautogui.dragTo({to[0]}, {to[1]}, duration=0.5)",
            "type": f"write({action.text!r}, interval=0.02)",
            "key": f"hotkey(*{keys!r})",
        }
        call = calls.get(action.kind, "sleep(0)")
        for modifier in action.modifiers:
            key = "win" if modifier == "meta" else modifier
            call = f"keyDown({key!r}); pyautogui.{call}; pyautogui.keyUp({key!r})"
        return call
