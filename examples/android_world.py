"""AndroidWorld as an environment: an example. Never run on the real thing: no emulator was at hand.

Copy it, or derive from its class and name that in the config. Right clicks, drags and key
combinations are not done, and the agent is told so.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.worlds.actions import ENDS, Action, Observation, Outcome
from benchmarks.worlds.environment import Task, in_pixels, save_pixels, scored

RANDOM_LOCK = threading.Lock()  # task parameters are drawn with the generator of `random` itself


class AndroidWorld:
    """Tasks of AndroidWorld on an emulator that is already running."""

    emulator: ClassVar[Task] = {"console_port": 5554, "grpc_port": 8554}

    def __init__(self, shots: Path) -> None:
        from android_world.env import env_launcher

        self._shots = shots
        self._env = env_launcher.load_and_setup_env(**self.emulator)
        self._task: Any = None
        self._has_ended = False

    @classmethod
    def tasks(cls, level: str, seeds: Sequence[int]) -> list[Task]:
        tasks = []
        for seed in seeds:
            for name, task_class in _task_classes().items():
                if (len(task_class.app_names) > 1) != (level == "L4"):
                    continue
                task = {
                    "id": f"{name}-{seed}",
                    "goal": _new_task(name, seed).goal,
                    "platform": "os_android",
                    "category": "phone",
                    "apps": list(task_class.app_names),
                    "name": name,
                    "seed": seed,
                }
                tasks.append(task)
        return tasks

    def reset(self, task: Task) -> Observation:
        self._tear_down()
        self._task = _new_task(task["name"], task["seed"])
        self._has_ended = False
        self._task.initialize_task(self._env)
        self._env.reset(go_home=self._task.start_on_home_screen)
        return self._observation()

    def step(self, action: Action) -> Observation:
        from android_world.env.json_action import JSONAction

        arguments = self._json_arguments(action)
        if arguments is None or action.modifiers:
            return self._observation(f"{action} cannot be done here.")
        self._has_ended = action.kind in ENDS
        self._env.execute_action(JSONAction(**arguments))
        return self._observation()

    def evaluate(self) -> Outcome:
        """Judge as AndroidWorld's own runner does: no success before the agent has ended."""
        if not self._has_ended:
            return scored(0.0)
        return scored(float(self._task.is_successful(self._env)))

    def close(self) -> None:
        self._tear_down()
        self._env.close()

    def _json_arguments(self, action: Action) -> dict[str, Any] | None:
        """Return the arguments of a `JSONAction`, or None where there is no such action."""
        x, y, *_ = in_pixels(action, self._env.logical_screen_size)
        match action.kind:
            case "click":
                return {"action_type": "click", "x": x, "y": y}
            case "double":
                return {"action_type": "double_tap", "x": x, "y": y}
            case "long":
                return {"action_type": "long_press", "x": x, "y": y}
            case "scroll":
                return {"action_type": "scroll", "direction": action.direction}
            case "type":
                return {"action_type": "input_text", "text": action.text}
            case "key" if action.keys == ("enter",):
                return {"action_type": "keyboard_enter"}
            case "back" | "home":
                return {"action_type": f"navigate_{action.kind}"}
            case "open_app":
                return {"action_type": "open_app", "app_name": action.app}
            case "wait":
                return {"action_type": "wait"}
            case "answer":
                return {"action_type": "answer", "text": action.text}
            case "done":
                return {"action_type": "status", "goal_status": "complete"}
            case "fail":
                return {"action_type": "status", "goal_status": "infeasible"}
        return None

    def _tear_down(self) -> None:
        if self._task is not None:
            self._task.tear_down(self._env)

    def _observation(self, note: str = "") -> Observation:
        state = self._env.get_state(wait_to_stabilize=True)
        return Observation(save_pixels(self._shots, state.pixels), note)


def _task_classes() -> dict[str, Any]:
    from android_world import registry

    return dict(registry.TaskRegistry().get_registry("android_world"))


def _new_task(name: str, seed: int) -> Any:
    task_class = _task_classes()[name]
    with RANDOM_LOCK:
        random.seed(f"{name} {seed}")
        return task_class(task_class.generate_random_params())
