"""WebArena (`browsergym-webarena` 0.14) as an environment. Never run on the real thing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.worlds.actions import Action, Observation, Outcome
from benchmarks.worlds.environment import Task, in_pixels, save_pixels, scored
from benchmarks.worlds.pages.gestures import NAMES, NOTCH_PX, TOWARDS


class WebArena:
    """Derive from it what this is with you, and name that in the config."""

    gym: ClassVar[Task] = {"pre_observation_delay": 0.5}  # arguments of its `BrowserEnv`

    def __init__(self, shots: Path) -> None:
        import browsergym.webarena  # noqa: F401 - makes its tasks known
        from browsergym.core.action.highlevel import HighLevelActionSet

        kinds = ["chat", "infeas", "coord", "nav"]
        self._read = HighLevelActionSet(kinds, multiaction=False, strict=True).to_python_code
        self._shots, self._reward, self._wh = shots, 0.0, (0, 0)
        self._env: Any = None

    @classmethod
    def tasks(cls, level: str, seeds: Sequence[int]) -> list[Task]:
        listed = json.loads(files("webarena").joinpath("test.raw.json").read_text())
        return [
            {
                "id": f"webarena.{task['task_id']}",
                "goal": task["intent"],
                "seed": seeds[0],
                "platform": "os_web",
                "category": task["sites"][0],
                "apps": task["sites"],
            }
            for task in listed
            if (len(task["sites"]) > 1) == (level == "L4")
        ]

    def reset(self, task: Task) -> Observation:
        import gymnasium

        self.close()
        name = f"browsergym/{task['id'].rpartition('/')[2]}"
        self._env, self._reward = gymnasium.make(name, action_mapping=self._read, **self.gym), 0.0
        return self._seen(self._env.reset(seed=task["seed"])[0])

    def step(self, action: Action) -> Observation:
        call, note = self._said(action), ""
        if action.modifiers:  # its functions hold no keys
            call, note = "noop(0)", f"{action} cannot be done here."
        seen, reward, has_ended, is_cut, _ = self._env.step(call)
        self._reward = max(self._reward, float(reward))
        return self._seen(seen, has_ended or is_cut, note)

    def evaluate(self) -> Outcome:
        return scored(self._reward)

    def close(self) -> None:
        env, self._env = self._env, None
        if env is not None:
            env.close()

    def _seen(self, seen: Task, has_ended: bool = False, note: str = "") -> Observation:
        height, width = seen["screenshot"].shape[:2]
        self._wh, image = (width, height), save_pixels(self._shots, seen["screenshot"])
        note = note or str(seen["last_action_error"] or "")
        return Observation(image, note, has_ended=has_ended)

    def _said(self, action: Action) -> str:
        x, y, to_x, to_y = in_pixels(action, self._wh)
        by = [round(way * action.amount * NOTCH_PX) for way in TOWARDS[action.direction]]
        keys = "+".join(NAMES.get(key, key) for key in action.keys)
        return {
            "click": f"mouse_click({x}, {y})",
            "double": f"mouse_dblclick({x}, {y})",
            "right": f"mouse_click({x}, {y}, 'right')",
            "middle": f"mouse_click({x}, {y}, 'middle')",
            "move": f"mouse_move({x}, {y})",
            "drag": f"mouse_drag_and_drop({x}, {y}, {to_x}, {to_y})",
            "scroll": f"scroll_at({x}, {y}, {by[0]}, {by[1]})",
            "back": "go_back()",
            "type": f"keyboard_type({action.text!r})",
            "key": f"keyboard_press({keys!r})",
            "answer": f"send_msg_to_user({action.text!r})",
            "done": "send_msg_to_user('Done.')",
            "fail": "report_infeasible('This cannot be done.')",
        }.get(action.kind, f"noop({round(1000 * action.seconds)})")
