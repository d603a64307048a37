"""OSWorld (`desktop-env` 1.0) as an environment: an example. Never run on the real thing.

No virtual machine was at hand. Copy it, or name its class in the config. Never tried: several
parallel machines of a provider, the keys of `pyautogui` in every application, the time until a
machine is ready, and `evaluate` on a screen that still moves.

`pyautogui` leaves out characters beyond ASCII. Such texts are not typed, and a note tells the
agent. `back`, `home` and `open_app` do not exist here.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from benchmarks.actions.action import Action
from benchmarks.worlds.environment import (
    Observation,
    Outcome,
    Task,
    in_pixels,
    not_typed,
    save_screenshot,
    scored,
)

EXAMPLES = "evaluation_examples"  # of a copy of OSWorld's repository
MISSING = ("back", "home", "open_app")
SPECIAL_ACTIONS = {"wait": "WAIT", "done": "DONE", "answer": "DONE", "fail": "FAIL"}


class OSWorld:
    """Tasks of OSWorld on a virtual machine. They have one variant, which each seed plays once."""

    machine: ClassVar[Task] = {"provider_name": "docker", "headless": True}
    pause_s = 2.0  # after an action, as its own runner waits
    ready_s = 60.0  # after a reset, as its own runner waits

    def __init__(
        self,
        shots: Path,
        *,
        world_number: int = 0,
        machine: Task | None = None,
        examples: str = EXAMPLES,
    ) -> None:
        """Start a machine.

        Args:
            shots: folder of the screenshots.
            world_number: stands for `{world_number}` in the texts of `machine`, so that each world
                has a machine of its own: "vm/Ubuntu{world_number}.vmx".
            machine: arguments of `DesktopEnv`, as `environment_args` of the config name them.
            examples: the folder of the tasks, see `tasks`.
        """
        from desktop_env.desktop_env import DesktopEnv

        self._shots = shots
        arguments = {
            name: value.format(world_number=world_number) if isinstance(value, str) else value
            for name, value in (machine or self.machine).items()
        }
        self._env = DesktopEnv(**arguments, require_a11y_tree=False)

    @classmethod
    def tasks(cls, level: str, seeds: Sequence[int], examples: str = EXAMPLES) -> list[Task]:
        """Return the tasks of a level: those of the domain `multi_apps` are L4, the others L3."""
        folder = Path(examples)
        names_by_domain = json.loads((folder / "test_all.json").read_text())
        tasks: list[Task] = []
        for domain, names in names_by_domain.items():
            if (domain == "multi_apps") != (level == "L4"):
                continue
            for name in names:
                file = folder / "examples" / domain / f"{name}.json"
                config = json.loads(file.read_text())
                evaluator = config.get("evaluator") or {}
                task: Task = {
                    "id": name,
                    "goal": config["instruction"],
                    "platform": "os_linux",
                    "category": domain,
                    "apps": config["related_apps"],
                    "config": config,
                    "feasible": evaluator.get("func") != "infeasible",
                }
                tasks += [{**task, "seed": seed} for seed in seeds]
        return tasks

    def reset(self, task: Task) -> Observation:
        """Set the machine up for a task and return what is on its screen."""
        self._env.reset(task_config=task["config"])
        time.sleep(self.ready_s)
        return Observation(save_screenshot(self._shots, self._env.controller.get_screenshot()))

    def step(self, action: Action) -> Observation:
        """Do an action; the note names an action that cannot be done."""
        note = not_typed(action.text) if action.kind == "type" else ""
        if action.kind in MISSING:
            note = f"{action} cannot be done here."
        if note:
            image = save_screenshot(self._shots, self._env.controller.get_screenshot())
            return Observation(image, note)
        code = SPECIAL_ACTIONS.get(action.kind) or f"import pyautogui; {self._code(action)}"
        state, _, has_ended, _ = self._env.step(code, self.pause_s)
        return Observation(save_screenshot(self._shots, state["screenshot"]), has_ended=has_ended)

    def evaluate(self) -> Outcome:
        """Judge as OSWorld does: its score, 0 to 1, is a success at 1."""
        return scored(float(self._env.evaluate()))

    def close(self) -> None:
        """Stop the machine."""
        self._env.close()

    def _code(self, action: Action) -> str:
        """Return calls of `pyautogui` that do an action."""
        code = self._call(action)
        for modifier in action.modifiers:
            key = _key_name(modifier)
            code = f"pyautogui.keyDown({key!r}); {code}; pyautogui.keyUp({key!r})"
        return code

    def _call(self, action: Action) -> str:
        x, y, to_x, to_y = in_pixels(action, (self._env.screen_width, self._env.screen_height))
        match action.kind:
            case "click":
                return f"pyautogui.click({x}, {y})"
            case "double" | "triple" | "right" | "middle":
                return f"pyautogui.{action.kind}Click({x}, {y})"
            case "long":
                hold = "pyautogui.sleep(1)"
                return f"pyautogui.mouseDown({x}, {y}); {hold}; pyautogui.mouseUp({x}, {y})"
            case "move":
                return f"pyautogui.moveTo({x}, {y})"
            case "scroll":
                wheel = "hscroll" if action.direction in ("left", "right") else "scroll"
                sign = 1 if action.direction in ("up", "right") else -1
                return f"pyautogui.{wheel}({sign * round(action.amount)}, {x}, {y})"
            case "drag":
                start = f"pyautogui.moveTo({x}, {y})"
                return f"{start}; pyautogui.dragTo({to_x}, {to_y}, duration=0.5)"
            case "type":
                return f"pyautogui.write({action.text!r}, interval=0.02)"
            case "key":
                keys = [_key_name(key) for key in action.keys]
                return f"pyautogui.hotkey(*{keys!r})"
        raise ValueError(f"{action.kind} is no action of this environment")


def _key_name(key: str) -> str:
    return "win" if key == "meta" else key
