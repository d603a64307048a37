"""UI-TARS-1.5's own agent; `benchmarks.actions.dialects.parse_uitars` reads its replies.

Its words have none for a task that cannot be done; `models/api_uitars.py` adds one.
"""

from __future__ import annotations

from models.recipes.agents import conversation, is_phone, text
from utils.contracts import Line, Message

COMPUTER = """\
You are a GUI agent. You are given a task and your action history, with screenshots. You need to perform the next action to complete the task.

## Output Format
```
Thought: ...
Action: ...
```

## Action Space

click(point='<point>x1 y1</point>')
left_double(point='<point>x1 y1</point>')
right_single(point='<point>x1 y1</point>')
drag(start_point='<point>x1 y1</point>', end_point='<point>x2 y2</point>')
hotkey(key='ctrl c') # Split keys with a space and use lowercase. Also, do not use more than 3 keys in one hotkey action.
type(content='xxx') # Use escape characters \\', \\", and \\n in content part to ensure we can parse the content in normal python string format. If you want to submit your input, use \\n at the end of content.\x20
scroll(point='<point>x1 y1</point>', direction='down or up or right or left') # Show more information on the `direction` side.
wait() #Sleep for 5s and take a screenshot to check for any changes.
finished(content='xxx') # Use escape characters \\', \\", and \\n in content part to ensure we can parse the content in normal python string format.


## Note
- Use {language} in `Thought` part.
- Write a small plan and finally summarize your next action (with its target element) in one sentence in `Thought` part.

## User Instruction
{instruction}
"""
PHONE = """\
You are a GUI agent. You are given a task and your action history, with screenshots. You need to perform the next action to complete the task.\x20
## Output Format
```
Thought: ...
Action: ...
```
## Action Space

click(point='<point>x1 y1</point>')
long_press(point='<point>x1 y1</point>')
type(content='') #If you want to submit your input, use "\\n" at the end of `content`.
scroll(point='<point>x1 y1</point>', direction='down or up or right or left')
open_app(app_name='')
drag(start_point='<point>x1 y1</point>', end_point='<point>x2 y2</point>')
press_home()
press_back()
finished(content='xxx') # Use escape characters \\', \\", and \\n in content part to ensure we can parse the content in normal python string format.


## Note
- Use {language} in `Thought` part.
- Write a small plan and finally summarize your next action (with its target element) in one sentence in `Thought` part.

## User Instruction
{instruction}
"""
EARLIER_IMAGES = 4  # with the screen now the model sees five


def build_agent_prompt(line: Line, dataset: str) -> list[Message]:
    """Return prompt, earlier replies with the last screenshots, and the screen now."""
    prompt = PHONE if is_phone(line) else COMPUTER
    prompt = prompt.replace("{language}", "English").replace("{instruction}", line["instruction"])
    return [text(prompt), *conversation(line, EARLIER_IMAGES)]
