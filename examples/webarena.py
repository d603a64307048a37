"""WebArena (`browsergym-webarena` 0.14) as an environment: an example. Never run on the real thing.

Its six web sites were not at hand. Copy it, or derive a class from it and name that class in the
config. Never tried: the sites themselves, their logins, tasks judged by another model, and the time
that pages take (`pre_observation_delay`). All worlds act on the same sites, and tasks that change
something disturb each other. Play those tasks with `--worlds 1`, and reset the sites between runs.

Long presses, triple clicks, `home` and `open_app` do not exist here; a note tells the agent.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.actions.action import Action
from benchmarks.worlds.browser.gestures import DIRECTIONS_XY, KEY_NAMES, NOTCH_PX
from benchmarks.worlds.environment import Observation, Outcome, Task, in_pixels, save_pixels, scored

MISSING = ("long", "triple", "home", "open_app")
CALLS = {
    "click": "mouse_click({x}, {y})",
    "double": "mouse_dblclick({x}, {y})",
    "right": "mouse_click({x}, {y}, 'right')",
    "middle": "mouse_click({x}, {y}, 'middle')",
    "move": "mouse_move({x}, {y})",
    "drag": "mouse_drag_and_drop({x}, {y}, {to_x}, {to_y})",
    "back": "go_back()",
    "done": "send_msg_to_user('Done.')",
    "fail": "report_infeasible('This cannot be done.')",
}


class WebArena:
    """Tasks of WebArena on its web sites. They have one variant, which each seed plays once."""

    gym: ClassVar[Task] = {"pre_observation_delay": 0.5}  # arguments of its `BrowserEnv`

    def __init__(self, shots: Path, *, gym: Task | None = None) -> None:
        import browsergym.webarena  # noqa: F401 - makes its tasks known
        from browsergym.core.action.highlevel import HighLevelActionSet

        subsets = ["chat", "infeas", "coord", "nav"]
        actions = HighLevelActionSet(subsets, multiaction=False, strict=True)
        self._action_mapping = actions.to_python_code
        self._shots = shots
        self._arguments = {**self.gym, **(gym or {})}
        self._env: Any = None
        self._reward = 0.0
        self._screen_wh = (0, 0)

    @classmethod
    def tasks(cls, level: str, seeds: Sequence[int]) -> list[Task]:
        """Return the tasks of a level: those on several sites are L4, the others L3."""
        listed = json.loads(files("webarena").joinpath("test.raw.json").read_text())
        return [
            {
                "id": f"webarena.{task['task_id']}",
                "goal": task["intent"],
                "seed": seed,
                "platform": "os_web",
                "category": task["sites"][0],
                "apps": task["sites"],
            }
            for seed in seeds
            for task in listed
            if (len(task["sites"]) > 1) == (level == "L4")
        ]

    def reset(self, task: Task) -> Observation:
        """Open the page of a task in a new browser and return the first observation."""
        import gymnasium

        self.close()
        name = f"browsergym/{task['id'].rpartition('/')[2]}"
        self._env = gymnasium.make(name, action_mapping=self._action_mapping, **self._arguments)
        self._reward = 0.0
        state, _ = self._env.reset(seed=task["seed"])
        return self._observation(state)

    def step(self, action: Action) -> Observation:
        """Do an action; the note names an action that cannot be done."""
        note = ""
        call = self._call(action)
        if action.modifiers or action.kind in MISSING:  # its functions hold no keys
            note = f"{action} cannot be done here."
            call = "noop(0)"
        state, reward, has_ended, is_truncated, _ = self._env.step(call)
        self._reward = max(self._reward, float(reward))
        return self._observation(state, has_ended or is_truncated, note)

    def evaluate(self) -> Outcome:
        """Judge by the highest reward of an action since `reset`."""
        return scored(self._reward)

    def close(self) -> None:
        """Close the browser, if there is one."""
        if self._env is not None:
            self._env.close()
            self._env = None

    def _observation(self, state: Task, has_ended: bool = False, note: str = "") -> Observation:
        pixels = state["screenshot"]
        height, width = pixels.shape[:2]
        self._screen_wh = (width, height)
        error = str(state["last_action_error"] or "")
        return Observation(save_pixels(self._shots, pixels), note or error, has_ended=has_ended)

    def _call(self, action: Action) -> str:
        """Return a call of one of BrowserGym's functions."""
        x, y, to_x, to_y = in_pixels(action, self._screen_wh)
        if action.kind in CALLS:
            return CALLS[action.kind].format(x=x, y=y, to_x=to_x, to_y=to_y)
        match action.kind:
            case "scroll":
                across, down = DIRECTIONS_XY[action.direction]
                length_px = action.amount * NOTCH_PX
                return (
                    f"scroll_at({x}, {y}, {round(across * length_px)}, {round(down * length_px)})"
                )
            case "type":
                return f"keyboard_type({action.text!r})"
            case "key":
                keys = "+".join(KEY_NAMES.get(key, key) for key in action.keys)
                return f"keyboard_press({keys!r})"
            case "answer":
                return f"send_msg_to_user({action.text!r})"
        return f"noop({round(1000 * action.seconds)})"
