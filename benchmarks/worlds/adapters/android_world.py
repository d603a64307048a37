"""AndroidWorld as an environment. Never run on the real thing."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.worlds.actions import ENDS, Action, Observation, Outcome
from benchmarks.worlds.environment import Task, in_pixels, save_pixels, scored


class AndroidWorld:
    """Derive from it what this is with you, and name that in the config."""

    emulator: ClassVar[Task] = {"console_port": 5554, "grpc_port": 8554}
    _task: Any = None

    def __init__(self, shots: Path) -> None:
        from android_world.env import env_launcher

        self._shots, self._env = shots, env_launcher.load_and_setup_env(**self.emulator)

    @classmethod
    def tasks(cls, level: str, seeds: Sequence[int]) -> list[Task]:
        return [
            {
                "id": f"{name}-{seed}",
                "goal": _made(name, seed).goal,
                "platform": "os_android",
                "category": "phone",
                "apps": list(kind.app_names),
                "name": name,
                "seed": seed,
            }
            for seed in seeds
            for name, kind in _kinds().items()
            if (len(kind.app_names) > 1) == (level == "L4")
        ]

    def reset(self, task: Task) -> Observation:
        self._leave()
        self._task, self._has_ended = _made(task["name"], task["seed"]), False
        self._task.initialize_task(self._env)
        self._env.reset(go_home=self._task.start_on_home_screen)
        return self._seen()

    def step(self, action: Action) -> Observation:
        from android_world.env.json_action import JSONAction

        at = dict(zip("xy", in_pixels(action, self._env.logical_screen_size), strict=False))
        kind = "enter" if action.keys == ("enter",) else action.kind
        said: Task = {
            "click": ("click", at),
            "double": ("double_tap", at),
            "long": ("long_press", at),
            "scroll": ("scroll", {"direction": action.direction}),
            "back": ("navigate_back", {}),
            "type": ("input_text", {"text": action.text}),
            "home": ("navigate_home", {}),
            "open_app": ("open_app", {"app_name": action.app}),
            "enter": ("keyboard_enter", {}),
            "answer": ("answer", {"text": action.text}),
            "wait": ("wait", {}),
            "done": ("status", {"goal_status": "complete"}),
            "fail": ("status", {"goal_status": "infeasible"}),
        }
        if kind not in said or action.modifiers:
            return self._seen(f"{action} cannot be done here.")
        self._has_ended = kind in ENDS
        self._env.execute_action(JSONAction(said[kind][0], **said[kind][1]))
        return self._seen()

    def evaluate(self) -> Outcome:  # as its own runner counts: not before the agent has ended it
        return scored(float(self._has_ended and self._task.is_successful(self._env)))

    def close(self) -> None:
        self._leave()
        self._env.close()

    def _leave(self) -> None:
        if self._task is not None:
            self._task.tear_down(self._env)

    def _seen(self, note: str = "") -> Observation:
        pixels = self._env.get_state(wait_to_stabilize=True).pixels
        return Observation(save_pixels(self._shots, pixels), note)


def _kinds() -> Task:
    from android_world import registry

    return dict(registry.TaskRegistry().get_registry("android_world"))


def _made(name: str, seed: int) -> Any:
    random.seed(f"{name} {seed}")  # which is what its parameters are drawn with
    return (kind := _kinds()[name])(kind.generate_random_params())
