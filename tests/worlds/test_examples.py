"""Examples of environments, held against stand-ins with the signatures of the newest packages.

None of the three was run on the real thing: that takes a virtual machine, an emulator, web sites.
"""

from __future__ import annotations

import importlib
import io
import json
import random
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files

import numpy
import pytest
from PIL import Image

from benchmarks.actions.action import ENDS, NEEDS, Action
from examples.android_world import AndroidWorld
from examples.osworld import OSWorld
from examples.webarena import WebArena
from utils.geometry.images import read_header

WH = (200, 100)
PIXELS = numpy.zeros((WH[1], WH[0], 3), dtype=numpy.uint8)
ACTIONS = {
    kind: Action(
        kind,
        point=(0.5, 0.5),
        to_point=(0.75, 0.5),
        text="it's",
        keys=("ctrl", "a"),
        app="Clock",
        direction="down",
        amount=3.0,
        seconds=2.0,
    )
    for kind in NEEDS
}


def png():
    file = io.BytesIO()
    Image.fromarray(PIXELS).save(file, "PNG")
    return file.getvalue()


@pytest.fixture
def packages(monkeypatch):
    """Puts modules in place of packages that are not installed: {dotted name: attributes}."""

    def put(modules):
        for name, attributes in modules.items():
            module = types.ModuleType(name)
            module.__dict__.update(attributes)
            module.__path__ = []
            monkeypatch.setitem(sys.modules, name, module)

    return put


@pytest.mark.parametrize("name", ["osworld", "android_world", "webarena"])
def test_an_example_says_first_that_it_was_never_run_on_the_real_thing(name):
    module = importlib.import_module(f"examples.{name}")
    assert "Never run on the real thing" in module.__doc__.splitlines()[0]


# -- OSWorld: desktop-env 1.0.2 -------------------------------------------------------------------


class DesktopEnv:
    """`desktop_env.desktop_env.DesktopEnv`."""

    def __init__(
        self,
        provider_name="vmware",
        region=None,
        path_to_vm=None,
        snapshot_name="init_state",
        action_space="pyautogui",
        cache_dir="cache",
        screen_size=WH,
        headless=False,
        require_a11y_tree=True,
        require_terminal=False,
        os_type="Ubuntu",
        enable_proxy=False,
        client_password="",
    ):
        self.screen_width, self.screen_height = screen_size
        self.controller = types.SimpleNamespace(get_screenshot=png)
        self.calls = [(provider_name, action_space, require_a11y_tree)]

    def reset(self, task_config=None, seed=None, options=None):
        self.calls.append(task_config["id"])
        return {"screenshot": png()}

    def step(self, action, pause=2):
        self.calls.append(action)
        return {"screenshot": png()}, 0, action in ("DONE", "FAIL"), {}

    def evaluate(self):
        return 1

    def close(self):
        self.calls.append("closed")


def test_osworld_is_told_what_an_action_is_in_its_own_words(packages, tmp_path):
    packages({"desktop_env": {}, "desktop_env.desktop_env": {"DesktopEnv": DesktopEnv}})
    for domain, name in (("chrome", "a"), ("multi_apps", "b")):
        folder = tmp_path / "examples" / domain
        folder.mkdir(parents=True)
        task = {"id": name, "instruction": f"Do {name}.", "related_apps": [domain]}
        if name == "b":
            task["evaluator"] = {"func": "infeasible"}
        (folder / f"{name}.json").write_text(json.dumps(task))
    (tmp_path / "test_all.json").write_text('{"chrome": ["a"], "multi_apps": ["b"]}')

    class LocalOSWorld(OSWorld):
        ready_s = 0.0

    tasks = [LocalOSWorld.tasks(level, [7, 8], examples=tmp_path) for level in ("L3", "L4")]
    names = ("id", "goal", "seed", "feasible")
    assert [[tuple(task[name] for name in names) for task in level] for level in tasks] == [
        [("a", "Do a.", 7, True), ("a", "Do a.", 8, True)],
        [("b", "Do b.", 7, False), ("b", "Do b.", 8, False)],
    ]
    world = LocalOSWorld(tmp_path)
    assert read_header(world.reset(tasks[0][0]).image).wh == WH
    notes = {kind: world.step(action).note for kind, action in ACTIONS.items()}
    assert {kind for kind, note in notes.items() if note} == {"back", "home", "open_app"}
    typed = world.step(Action("type", text="Café, naïve café"))
    assert typed.note == "Nothing was typed: 'éï' cannot be typed here."
    ending = {kind for kind in ENDS if world.step(ACTIONS[kind]).has_ended}
    world.step(Action("click", (0.5, 0.5), modifiers=("ctrl", "meta")))
    recorded = world._env.calls
    assert recorded[-1] == (
        "import pyautogui; pyautogui.keyDown('win'); pyautogui.keyDown('ctrl'); "
        "pyautogui.click(100, 50); pyautogui.keyUp('ctrl'); pyautogui.keyUp('win')"
    )
    assert ending == {"answer", "done", "fail"} and world.evaluate().success
    world.close()
    assert recorded[:2] == [("docker", "pyautogui", False), "a"]
    assert recorded[-1] == "closed"
    done = [kind for kind in ACTIONS if not notes[kind]]
    calls = dict(zip(done, recorded[2:], strict=False))
    assert calls["click"] == "import pyautogui; pyautogui.click(100, 50)"
    assert calls["scroll"] == "import pyautogui; pyautogui.scroll(-3, 100, 50)"
    assert calls["drag"].endswith("moveTo(100, 50); pyautogui.dragTo(150, 50, duration=0.5)")
    assert calls["type"].endswith("""write("it's", interval=0.02)""")
    assert calls["key"].endswith("hotkey(*['ctrl', 'a'])")
    assert [calls[kind] for kind in ("wait", "answer", "fail")] == ["WAIT", "DONE", "FAIL"]
    for call in calls.values():
        compile(call, "call", "exec")


# -- AndroidWorld ---------------------------------------------------------------------------------


class JSONAction:
    """`android_world.env.json_action.JSONAction`."""

    KINDS = (
        "click",
        "double_tap",
        "long_press",
        "scroll",
        "swipe",
        "input_text",
        "navigate_back",
        "navigate_home",
        "keyboard_enter",
        "open_app",
        "status",
        "wait",
        "answer",
        "unknown",
    )

    def __init__(
        self,
        action_type=None,
        index=None,
        x=None,
        y=None,
        text=None,
        direction=None,
        goal_status=None,
        app_name=None,
        keycode=None,
        clear_text=None,
    ):
        assert action_type in self.KINDS
        self.arguments = {
            name: value for name, value in locals().items() if value is not None and name != "self"
        }


class Phone:
    """What `env_launcher.load_and_setup_env` returns, as far as it is used."""

    logical_screen_size = WH

    def __init__(self, ports=()):
        self.calls = []
        self.ports = ports
        self.controller = self

    def reset(self, go_home=False):
        self.calls.append({"go_home": go_home})

    def get_state(self, wait_to_stabilize=False):
        return types.SimpleNamespace(pixels=PIXELS, wait_to_stabilize=wait_to_stabilize)

    def execute_action(self, action):
        self.calls.append(action.arguments)

    def close(self):
        self.calls.append({"closed": True})


class Timer:
    """A task class of `android_world.task_evals`."""

    app_names = ("clock",)
    start_on_home_screen = True

    def __init__(self, params):
        self.goal = f"Set a timer to {params['minutes']} minutes."
        self.is_set_up = False

    @classmethod
    def generate_random_params(cls):
        return {"minutes": random.randint(1, 1_000_000)}

    def initialize_task(self, env):
        self.is_set_up = True

    def is_successful(self, env):
        return 1.0

    def tear_down(self, env):
        self.is_set_up = False


class Both(Timer):
    app_names = ("clock", "notes")


class TaskRegistry:
    ANDROID_WORLD_FAMILY = "android_world"

    def get_registry(self, family):
        return {"Timer": Timer, "Both": Both}


def launcher(
    console_port=5554, emulator_setup=False, freeze_datetime=True, adb_path="adb", grpc_port=8554
):
    return Phone((console_port, grpc_port))


def type_text(text, env, timeout_sec=None):
    """`android_world.env.adb_utils.type_text`."""
    env.calls.append({"typed": text})


def generate_swipe_command(start_x, start_y, end_x, end_y, duration_ms=None):
    return ["shell", "input", "swipe", *map(str, (start_x, start_y, end_x, end_y, duration_ms))]


def issue_generic_request(args, env, timeout_sec=None):
    env.calls.append({"adb": " ".join(args)})


@pytest.fixture
def android(packages):
    """Puts stand-ins in place of AndroidWorld."""
    registry = types.SimpleNamespace(TaskRegistry=TaskRegistry)
    start = types.SimpleNamespace(load_and_setup_env=launcher)
    adb = types.SimpleNamespace(
        type_text=type_text,
        generate_swipe_command=generate_swipe_command,
        issue_generic_request=issue_generic_request,
    )
    packages(
        {
            "android_world": {"registry": registry},
            "android_world.registry": vars(registry),
            "android_world.env": {"env_launcher": start, "adb_utils": adb},
            "android_world.env.adb_utils": vars(adb),
            "android_world.env.env_launcher": vars(start),
            "android_world.env.json_action": {"JSONAction": JSONAction},
        }
    )


def test_androidworld_is_told_what_an_action_is_in_its_own_words(android, tmp_path):
    tasks = AndroidWorld.tasks("L3", [1, 2])
    assert [(task["id"], task["seed"]) for task in tasks] == [("Timer", 1), ("Timer", 2)]
    assert AndroidWorld.tasks("L3", [1, 2]) == tasks and tasks[0]["goal"] != tasks[1]["goal"]
    assert [task["id"] for task in AndroidWorld.tasks("L4", [1])] == ["Both"]
    world = AndroidWorld(tmp_path)
    task = {**tasks[0], "id": "environment/Timer"}
    assert read_header(world.reset(task).image).wh == WH
    notes = {}
    for kind, action in ACTIONS.items():
        notes[kind] = world.step(action).note
        assert world.evaluate().success == (kind in ENDS)  # which is how its own runner counts
    recorded = world._env.calls
    world.close()
    assert {kind for kind, note in notes.items() if "cannot be done here" in note} == {
        "triple",
        "right",
        "middle",
        "move",
        "key",
    }
    ctrl_click = Action("click", (0.5, 0.5), modifiers=("ctrl",))
    assert "cannot be done here" in world.step(ctrl_click).note
    assert recorded[:2] == [{"go_home": True}, {"action_type": "click", "x": 100, "y": 50}]
    assert {"action_type": "open_app", "app_name": "Clock"} in recorded
    assert {"action_type": "scroll", "direction": "down"} in recorded
    assert {"typed": "it's"} in recorded
    assert {"adb": "shell input swipe 100 50 150 50 500"} in recorded
    note = world.step(Action("type", text="naïve")).note
    assert note == "Nothing was typed: 'ï' cannot be typed here."
    assert {"typed": "naïve"} not in recorded
    assert [call["goal_status"] for call in recorded if "goal_status" in call] == [
        "complete",
        "infeasible",
    ]
    assert recorded[-1] == {"closed": True}


def test_each_world_has_the_emulator_of_its_number(android, tmp_path):
    worlds = [AndroidWorld(tmp_path, world_number=number) for number in range(3)]
    assert [world._env.ports for world in worlds] == [(5554, 8554), (5556, 8555), (5558, 8556)]
    world = AndroidWorld(tmp_path, world_number=1, emulator={"console_port": 6000})
    assert world._env.ports == (6002, 8555)


def test_worlds_side_by_side_draw_what_each_would_draw_alone(android, tmp_path, monkeypatch):
    """One world begins its task while others draw, and the program's own numbers go on as before."""
    tasks = AndroidWorld.tasks("L3", range(4))
    drawn = {}

    def initialize_task(self, env):
        drawn[self.goal] = [random.random() for _ in range(200)]

    monkeypatch.setattr(Timer, "initialize_task", initialize_task)
    worlds = [AndroidWorld(tmp_path, world_number=number) for number in range(4)]
    for world, task in zip(worlds, tasks, strict=True):
        world.reset(task)
    alone = dict(drawn)
    drawn.clear()
    random.seed(1)
    expected = random.random()
    random.seed(1)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda pair: pair[0].reset(pair[1]), zip(worlds, tasks, strict=True)))
    assert drawn == alone and len(alone) == 4
    assert random.random() == expected


# -- WebArena: browsergym 0.14.3 ------------------------------------------------------------------


class HighLevelActionSet:
    """`browsergym.core.action.highlevel.HighLevelActionSet`."""

    def __init__(
        self,
        subsets=("chat", "infeas", "bid", "nav", "tab"),
        custom_actions=None,
        multiaction=True,
        demo_mode=None,
        strict=False,
        retry_with_force=False,
    ):
        assert set(subsets) <= {"chat", "infeas", "bid", "coord", "nav", "tab"}

    def to_python_code(self, action):
        return action


class Actions:
    """The functions of `browsergym.core.action.functions` in the subsets that are asked for."""

    def send_msg_to_user(self, text: str): ...
    def report_infeasible(self, reason: str): ...
    def noop(self, wait_ms: float = 1000): ...
    def scroll_at(self, x: int, y: int, dx: int, dy: int): ...
    def mouse_move(self, x: float, y: float): ...
    def mouse_click(self, x: float, y: float, button="left"): ...
    def mouse_dblclick(self, x: float, y: float, button="left"): ...
    def mouse_drag_and_drop(self, from_x: float, from_y: float, to_x: float, to_y: float): ...
    def keyboard_press(self, key: str): ...
    def keyboard_type(self, text: str): ...
    def go_back(self): ...


class Gym:
    """What `gymnasium.make` returns."""

    def __init__(self, name, action_mapping=None, pre_observation_delay=0.5, **more):
        self.name = name
        self.delay_s = pre_observation_delay
        self.calls = []
        self._read = action_mapping

    def reset(self, *, seed=None, options=None):
        return {"goal": "Do it.", "screenshot": PIXELS, "last_action_error": ""}, {}

    def step(self, action):
        code = self._read(action)
        self.calls.append(code)
        eval(code, {name: getattr(Actions(), name) for name in dir(Actions) if name[0] != "_"})
        state = {
            "goal": "Do it.",
            "screenshot": PIXELS,
            "last_action_error": "" if "click" in code else "no",
        }
        return state, float("send_msg" in code), "send_msg" in code, False, {}

    def close(self):
        self.calls.append("closed")


def test_webarena_is_told_what_an_action_is_in_its_own_words(packages, tmp_path, monkeypatch):
    packages(
        {
            "browsergym": {},
            "browsergym.core": {},
            "browsergym.core.action": {},
            "browsergym.webarena": {},
            "browsergym.core.action.highlevel": {"HighLevelActionSet": HighLevelActionSet},
            "gymnasium": {"make": Gym},
        }
    )
    listed = [
        {"task_id": 4, "intent": "Find it.", "sites": ["shop"]},
        {"task_id": 5, "intent": "Copy it.", "sites": ["shop", "map"]},
    ]
    (tmp_path / "test.raw.json").write_text(json.dumps(listed))
    monkeypatch.setattr(
        "examples.webarena.files",
        lambda name: tmp_path if name == "webarena" else files(name),
    )
    tasks = [WebArena.tasks(level, [3, 4]) for level in ("L3", "L4")]
    assert [[(task["id"], task["apps"], task["seed"]) for task in level] for level in tasks] == [
        [("webarena.4", ["shop"], 3), ("webarena.4", ["shop"], 4)],
        [("webarena.5", ["shop", "map"], 3), ("webarena.5", ["shop", "map"], 4)],
    ]
    world = WebArena(tmp_path, gym={"pre_observation_delay": 1.0})
    assert read_header(world.reset({**tasks[0][0], "id": "environment/webarena.4"}).image).wh == WH
    gym = world._env
    assert (gym.name, gym.delay_s) == ("browsergym/webarena.4", 1.0)
    observations = {kind: world.step(action) for kind, action in ACTIONS.items()}
    ending = {kind for kind, observation in observations.items() if observation.has_ended}
    assert ending == {"answer", "done"}
    assert (observations["click"].note, observations["type"].note) == ("", "no")
    missing = [
        kind for kind, observation in observations.items() if "cannot be done" in observation.note
    ]
    assert missing == ["triple", "long", "home", "open_app"]
    assert world.evaluate().success
    ctrl_click = Action("click", (0.5, 0.5), modifiers=("ctrl",))
    assert "cannot be done here" in world.step(ctrl_click).note
    world.close()
    assert gym.calls[-1] == "closed"
    calls = dict(zip(ACTIONS, gym.calls, strict=False))
    assert calls["scroll"] == "scroll_at(100, 50, 0, 300)"
    assert calls["key"] == "keyboard_press('Control+a')"
    assert calls["drag"] == "mouse_drag_and_drop(100, 50, 150, 50)"
    assert calls["wait"] == "noop(2000)"
