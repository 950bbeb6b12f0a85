"""The plugin that the tests call."""

import asyncio
import dataclasses
import datetime
import enum
import os
import subprocess
import sys
from typing import Annotated, Dict, List, Optional

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from toolhost import Call, Field, InvalidArguments, Plugin, Preview, Result, ToolError, image, resource, text

plugin = Plugin("fixture", "1.2.3")
plugin.dynamic = True
setting = {}


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0


@dataclasses.dataclass
class Tree:
    name: str
    kids: List["Tree"] = dataclasses.field(default_factory=list)


@plugin.configure
async def configure(greeting: str = "Hello", retries: Annotated[int, Field(minimum=0)] = 1):
    if greeting == "bad":
        raise ToolError("BadGreeting", "greeting must be kind", details={"path": "greeting"})
    setting.update(greeting=greeting, retries=retries)


@plugin.tool
def hello(name: Annotated[str, "Who to greet"]) -> str:
    """Greets a person."""
    return f"{setting['greeting']}, {name}."


@plugin.tool(read_only=True, idempotent=True, timeout=1.5, title="Typed", category="test")
def typed(points: List[Point], color: Color, tags: Optional[Dict[str, int]] = None, ratio: float = 1):
    """Takes typed arguments."""
    return {"xs": [p.x + p.y for p in points], "color": color.name, "tags": tags, "ratio": ratio}


@plugin.tool(schema={"type": "object"}, output_schema={"type": "object"})
def echo(arguments):
    """Returns its arguments."""
    return arguments


@plugin.tool
def fail(how: str):
    """Fails."""
    if how == "tool":
        raise ToolError("NotFound", "there is no such thing", suggestion="Ask for another.", retryable=True,
                        details={"known": ["a"]}, outcome_unknown=True)
    if how == "arguments":
        raise InvalidArguments("how is wrong")
    if how == "exit":
        sys.exit(3)
    if how == "json":
        return {"x": float("nan")}
    raise KeyError(how)


@plugin.tool
def report(call: Call):
    """Reports what a call can report."""
    print("printed")
    for i in range(3):
        call.progress(i + 1, 3, f"step {i + 1}")
    call.log("logged", level="warn", n=1)
    call.output("out")
    call.output(b"err\xff", stream="stderr")
    return Result(content=[text("done"), image(b"\x00\xff", "image/png"), resource("file:///a", "b", "text/plain")],
                  structured={"workdir": call.workdir, "session": call.session_id, "attempt": call.attempt,
                              "trace": [call.trace_parent, call.trace_state]})


@plugin.tool
def flood(events: int, call: Call):
    """Sends many events."""
    for i in range(events):
        call.progress(i)


@plugin.tool
def large(size: int):
    """Returns a text of a size."""
    return "é" * (size // 2)


@plugin.tool
def print_line(size: int):
    """Prints a long line."""
    print("x" * size)
    return "printed"


@plugin.tool
def wait(ignore: bool = False, call: Call = None):
    """Waits until the call is canceled, and with ignore for three seconds more."""
    call.progress(0)
    try:
        call.wait(60)
    finally:
        if ignore:
            import time
            time.sleep(3)


@plugin.tool
async def wait_async(call: Call):
    """Waits in an async function."""
    call.progress(0)
    await asyncio.sleep(60)


@plugin.tool
def start_program():
    """Starts a program that reads its standard input."""
    return subprocess.run(["cat"], capture_output=True, timeout=10, check=True).stdout.decode() + "read to the end"


@plugin.tool
def ask(call: Call):
    """Asks before it goes on."""
    if not call.input_responses:
        return Result(questions={"name": {"method": "elicitation/create", "params": {"message": "Who?"}}}, state="s1")
    return f"{call.input_responses['name']['content']['name']} {call.request_state}"


@plugin.tool
def add_tool():
    """Adds a tool while the plugin runs."""
    plugin.notices.append("one is late")
    plugin.problems.append("another failed")
    plugin.tool("late", "Was added later.")(lambda: "new")


@plugin.preview("hello")
def preview_hello(name: str):
    return Preview(content=[text(f"would greet {name}")], effect="ask", reason="it greets", structured={"kind": "greeting"})


@plugin.tool
def paint(tree: Tree, color: Color = Color.RED):
    """Takes a tree."""
    return {"first": tree.kids[0], "color": color, "colors": {color}}


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no text")


class Shy:
    def __repr__(self):
        raise RuntimeError("no text")


def raises(e):
    raise e


async def awaits(f):
    await asyncio.sleep(0)
    return f()


loop = []
loop.append(loop)
deep = []
for _ in range(100000):
    deep = [deep]
ODD = {
    "nan": lambda: {"a": float("nan")}, "bytes": lambda: b"a", "shy": Shy, "time": lambda: {"a": datetime.datetime.now()},
    "loop": lambda: loop, "deep": lambda: deep, "generator": lambda: (i for i in ()), "class": lambda: Tree,
    "key": lambda: {(1, 2): 3}, "content": lambda: Result(content="a"), "one part": lambda: Result(content=text("a")),
    "no part": lambda: Result(content=["a"]), "part of a list": lambda: [text("a"), "b"],
    "structured": lambda: Result(structured={"a": Shy()}), "truncated": lambda: Result(truncated="yes"),
    "questions": lambda: Result(questions=["a"]), "question": lambda: Result(questions={"a": b"x"}),
    "state": lambda: Result(questions={}, state=Shy()),
}
RAISED = {
    "mute": lambda: raises(Mute()), "exit": lambda: sys.exit(3), "interrupt": lambda: raises(KeyboardInterrupt()),
    "generator exit": lambda: raises(GeneratorExit()), "depth": lambda: RAISED["depth"](), "returned": Mute,
    "details": lambda: raises(ToolError("Failed", "no", details={"a": {1, Shy}})), "name": lambda: raises(ToolError(5, None)),
    "retryable": lambda: raises(ToolError("Failed", "no", retryable="yes")),
}


@plugin.tool
def odd(what: str):
    """Returns what cannot be sent."""
    return ODD[what]()


@plugin.tool
def odd_names():
    """Lists the mistakes."""
    return {"returned": list(ODD), "raised": list(RAISED)}


@plugin.tool
def raise_it(what: str):
    """Raises what is no failure of a tool."""
    return RAISED[what]()


@plugin.tool
async def raise_async(what: str):
    """Raises in an async function."""
    return await awaits(RAISED[what])


@plugin.tool
def decorated(wait: bool = False):
    """Forwards to an async function, as a decorator does."""
    return asyncio.sleep(60) if wait else awaits(lambda: "awaited")


@plugin.tool
def parts():
    """Returns parts."""
    return [text("a"), image(b"b", "image/png")]


@plugin.tool
def careless(call: Call):
    """Logs and prints what has no JSON form."""
    call.log("loop", loop=loop)
    call.log("not a number", a=float("nan"))
    call.output(5)


@plugin.preview("paint")
def preview_paint(tree: Tree, color: Color = Color.RED):
    return {"no": "preview"}


@plugin.at_end
def fails_at_end():
    raise Mute()


@plugin.at_end
async def at_end():
    await asyncio.sleep(0)
    print("cleaned up", file=sys.stderr)


plugin.serve()
