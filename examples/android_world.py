"""AndroidWorld as an environment: an example. Never run on the real thing: no emulator was at hand.

Copy it, or derive a class from it and name that class in the config. Never tried: several parallel
emulators, the time to set up a task, `adb` under load, and swipes in every application.

It does no right clicks, no key combinations and no texts beyond ASCII, which `adb` types with gaps;
a note tells the agent. A drag is a swipe. A text goes into the focused field, without Enter at its
end; AndroidWorld's own `input_text` presses Enter.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.actions.action import ENDS, Action
from benchmarks.worlds.environment import (
    Observation,
    Outcome,
    Task,
    in_pixels,
    not_typed,
    save_pixels,
    scored,
)

SWIPE_MS = 500
TAPS = {"click": "click", "double": "double_tap", "long": "long_press"}
WITHOUT_ARGUMENTS = {
    "back": {"action_type": "navigate_back"},
    "home": {"action_type": "navigate_home"},
    "wait": {"action_type": "wait"},
    "done": {"action_type": "status", "goal_status": "complete"},
    "fail": {"action_type": "status", "goal_status": "infeasible"},
}
RANDOM_LOCK = threading.Lock()  # tasks draw from the generator of `random` itself, which is one


class AndroidWorld:
    """Tasks of AndroidWorld on emulators that are already running, one for each world.

    The emulator of world n listens at `console_port` + 2 n (as the emulators of a machine do) and
    at `grpc_port` + n. For world 1: `emulator -avd ... -port 5556 -grpc 8555`.
    """

    emulator: ClassVar[Task] = {"console_port": 5554, "grpc_port": 8554}

    def __init__(self, shots: Path, *, world_number: int = 0, emulator: Task | None = None) -> None:
        """Connect to an emulator; `emulator`: arguments of `load_and_setup_env` for world 0."""
        from android_world.env import env_launcher

        arguments = {**self.emulator, **(emulator or {})}
        arguments["console_port"] += 2 * world_number
        arguments["grpc_port"] += world_number
        self._shots = shots
        self._env = env_launcher.load_and_setup_env(**arguments)
        self._task: Any = None
        self._has_ended = False

    @classmethod
    def tasks(cls, level: str, seeds: Sequence[int]) -> list[Task]:
        """Return the tasks of a level: those of several applications are L4, the others L3."""
        tasks = []
        for seed in seeds:
            for name, task_class in _task_classes().items():
                if (len(task_class.app_names) > 1) != (level == "L4"):
                    continue
                task = {
                    "id": name,
                    "goal": _new_task(name, seed).goal,
                    "platform": "os_android",
                    "category": "phone",
                    "apps": list(task_class.app_names),
                    "seed": seed,
                }
                tasks.append(task)
        return tasks

    def reset(self, task: Task) -> Observation:
        """Set a task up on the emulator and return what is on its screen."""
        self._tear_down()
        name = task["id"].rpartition("/")[2]
        self._task = _new_task(name, task["seed"])
        self._has_ended = False
        with drawn_by(f"{name} {task['seed']} set up"):  # some draw what else is on the phone
            self._task.initialize_task(self._env)
        self._env.reset(go_home=self._task.start_on_home_screen)
        return self._observation()

    def step(self, action: Action) -> Observation:
        """Do an action; the note names an action that cannot be done."""
        from android_world.env.json_action import JSONAction

        if action.kind in ("type", "drag") and not action.modifiers:
            return self._observation(self._typed_or_swiped(action))
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
        """Undo the last task and leave the emulator."""
        self._tear_down()
        self._env.close()

    def _typed_or_swiped(self, action: Action) -> str:
        """Type a text or swipe, which `adb` does; return a note if it cannot."""
        from android_world.env import adb_utils

        if action.kind == "type":
            note = not_typed(action.text)
            if not note:
                adb_utils.type_text(action.text, self._env.controller, timeout_sec=10)
            return note
        corners = in_pixels(action, self._env.logical_screen_size)
        command = adb_utils.generate_swipe_command(*corners, SWIPE_MS)
        adb_utils.issue_generic_request(command, self._env.controller)
        return ""

    def _json_arguments(self, action: Action) -> dict[str, Any] | None:
        """Return the arguments of a `JSONAction`, or None where there is no such action."""
        if action.kind in TAPS:
            x, y, *_ = in_pixels(action, self._env.logical_screen_size)
            return {"action_type": TAPS[action.kind], "x": x, "y": y}
        match action.kind:
            case "scroll":
                return {"action_type": "scroll", "direction": action.direction}
            case "key" if action.keys == ("enter",):
                return {"action_type": "keyboard_enter"}
            case "open_app":
                return {"action_type": "open_app", "app_name": action.app}
            case "answer":
                return {"action_type": "answer", "text": action.text}
        return WITHOUT_ARGUMENTS.get(action.kind)

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
    with drawn_by(f"{name} {seed}"):
        return task_class(task_class.generate_random_params())


@contextmanager
def drawn_by(seed: str) -> Iterator[None]:
    """Have the generator of `random` begin with a seed, for one world at a time.

    Worlds are threads and share the generator, so it is theirs in turn, and goes on afterwards as
    if nothing had been drawn.
    """
    with RANDOM_LOCK:
        state = random.getstate()
        random.seed(seed)
        try:
            yield
        finally:
            random.setstate(state)
