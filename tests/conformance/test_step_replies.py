"""OS-Atlas's scripts compare texts: a strict reader of replies comes to every official verdict."""

import pytest

from tests.support import step_cases, strict_os_atlas
from tests.support.step_cases import official

pytestmark = pytest.mark.skipif(
    not step_cases.FOLDER.is_dir(), reason=f"{step_cases.FOLDER} is not there"
)


@pytest.mark.parametrize(
    ("name", "read", "by_reply"),
    [
        ("os_atlas", strict_os_atlas.android_control, 10),
        ("odyssey_os_atlas", strict_os_atlas.odyssey, 10),
    ],
)
def test_a_strict_reader_comes_to_the_verdict_on_every_reply(name, read, by_reply):
    _, cases = official(name)
    differing = []
    for case in cases:
        expected = case["expected"]
        if "crash" in expected:
            with pytest.raises(IndexError):
                read(case)
            continue
        wanted = (expected["type"], expected["grounding"], expected["success"])
        if read(case) != wanted:
            differing.append((case["id"], case["truth"], case["reply"], read(case), wanted))
    assert differing == []
    assert sum(bool(case.get("by_reply")) for case in cases) >= by_reply
