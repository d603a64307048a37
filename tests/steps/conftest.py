"""A stage with a small recorded set: two episodes of three and of two steps."""

import json

import pytest
from PIL import Image

from tests.support.mock_server import MockServer, Reply
from tests.support.stage import Stage

SIZE = (108, 240)
EPISODES = [
    {
        "episode_id": 11,
        "goal": "Find a red shoe.",
        "is_successful": True,
        "steps": [
            ("open the shop", {"action": "open", "text": "Shoe Shop"}),
            (
                "click on the search field",
                {
                    "action": "click",
                    "coordinate": [54, 120],
                    "candidate_bbox": [[44, 110, 64, 130]],
                },
            ),
            ("type red shoe", {"action": "type", "text": "red shoe"}),
        ],
    },
    {
        "episode_id": 12,
        "goal": "Show the last message.",
        "is_successful": True,
        "steps": [
            ("scroll down", {"action": "swipe", "direction": "down"}),
            ("go back", {"action": "system_button", "button": "Back"}),
        ],
    },
]
RIGHT = {
    "open the shop": 'Action: open_app("Shoe Shop")',
    "click on the search field": "Action: click(0.5, 0.5)",
    "type red shoe": 'Action: type("red shoe")',
    "scroll down": 'Action: scroll("down")',
    "go back": "Action: back()",
}


def write_recorded(root, episodes=EPISODES):
    """Episodes as MobileAgent publishes them, with images of a width of their own."""
    folder = root / "AndroidControl"
    (folder / "images").mkdir(parents=True)
    with (folder / "android_control_test.jsonl").open("w") as lines:
        for episode in episodes:
            steps = []
            for number, (instruction, action) in enumerate(episode["steps"]):
                name = f"{episode['episode_id']}_{number}.png"
                Image.new("RGB", SIZE, (number * 40, 90, 140)).save(folder / "images" / name)
                steps.append(
                    {
                        "action_content": action,
                        "screenshot": f"/anywhere/{name}",
                        "step_instruction": instruction,
                        "check_options": action,
                    }
                )
            lines.write(json.dumps({**episode, "steps": steps}) + "\n")


def right(request):
    """Answers a step of level low as it was recorded."""
    instruction = request.text.rpartition("The next step: ")[2].strip()
    return Reply(RIGHT[instruction])


@pytest.fixture
def recorded(tmp_path):
    """A stage on which level low is answered right."""
    with MockServer(right) as server:
        stage = Stage.make(tmp_path, server, 1)
        write_recorded(stage.root)
        entry = {"benchmark": "AndroidControl", "rows": "official", "level": "low"}
        stage.data = {"Steps": entry}
        yield stage
