"""What an author uses: a plugin, its tools, and what a handler gets and returns."""

import ast
import dataclasses
import enum
import functools
import inspect
import json
import os
import re
import sys
import threading
import tokenize
import traceback
import typing

from . import schema as schemas
from . import wire

_PLUGIN_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")
_TOOL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class ToolError(Exception):
    """A failure as data that a model can act on: a name of one CamelCase word for programs, a message that says what
    happened and where, a suggestion of what to do next. outcome_unknown: the tool cannot tell whether it has done its
    work, or a part. Of other exceptions the model reads the type and the text."""

    code = ""

    def __init__(self, name, message, *, suggestion="", retryable=False, details=None, help_url="",
                 outcome_unknown=False):
        super().__init__(message)
        wire.check("ToolError", str, suggestion=suggestion, help_url=help_url)
        wire.check("ToolError", bool, retryable=retryable, outcome_unknown=outcome_unknown)
        self.name, self.message, self.suggestion, self.retryable = name, message, suggestion, retryable
        self.details, self.help_url, self.outcome_unknown = details, help_url, outcome_unknown


class InvalidArguments(ToolError):
    """The arguments are wrong in a way that the schema does not say; nothing was done."""

    code = "E_TOOL_INVALID_ARGS"

    def __init__(self, message, **more):
        super().__init__("InvalidArguments", message, **more)


class Canceled(ToolError):
    """The call was canceled, its deadline passed, or the plugin stops. Call.check raises it."""

    code = "E_CANCELED"

    def __init__(self):
        super().__init__("Canceled", "the call was canceled")


def text(s):
    """A part of text."""
    return wire.Content(type="text", text=wire.clean(s).encode())


def _bytes(data):
    wire.check("a part", (bytes, bytearray, memoryview), data=data)
    return bytes(data)


def image(data, mime_type):
    """An image; data is bytes."""
    return wire.Content(type="image", data=_bytes(data), mime_type=mime_type)


def audio(data, mime_type):
    """A sound; data is bytes."""
    return wire.Content(type="audio", data=_bytes(data), mime_type=mime_type)


def resource(uri, data, mime_type=""):
    """The content of a file or the like: text when data is a str, else bytes."""
    c = wire.Content(type="resource", uri=uri, mime_type=mime_type)
    if isinstance(data, str):
        c.text = wire.clean(data).encode()
    else:
        c.data = _bytes(data)
    return c


def link(uri, name, mime_type=""):
    """A link, such as to a file that is too large to show."""
    return wire.Content(type="resource_link", uri=uri, name=name, mime_type=mime_type)


@dataclasses.dataclass
class Result:
    """What a call returns, for handlers that return more than a str, a part, a list of parts, or what has a JSON form.

    content: parts made by text, image, audio, resource and link. structured: the result for programs; a tool with an
    output schema sets it. truncated: content is only a part. error: a ToolError, where there is a result beside it.
    questions and state: the call cannot go on without answers; questions are MCP's input requests by keys of the tool's
    choice, and the call is made again with Call.input_responses and Call.request_state."""

    content: list = dataclasses.field(default_factory=list)
    structured: typing.Any = None
    truncated: bool = False
    error: typing.Optional[ToolError] = None
    questions: typing.Optional[dict] = None
    state: str = ""


@dataclasses.dataclass
class Preview:
    """What a call would do, for the person who approves it. effect is "", "allow", "ask", "always_ask" or "deny": it
    makes the host's decision stricter, never looser; unless_allowed ignores it where a rule of the operator allows the
    call."""

    content: list = dataclasses.field(default_factory=list)
    effect: str = ""
    reason: str = ""
    structured: typing.Any = None
    unless_allowed: bool = False


class Call:
    """One call of a tool: who asks, where, and ways to report. Handlers take it as a parameter named call."""

    def __init__(self, request, emit):
        self._emit, self._ended, self._meter = emit, threading.Event(), wire.Meter()
        self.tool, self.call_id, self.session_id = request.tool, request.call_id, request.session_id
        self.workdir = request.workdir  # the folder that the caller works in
        self.arguments = json.loads(request.arguments or b"{}")
        get = functools.partial(getattr, request)  # a preview has fewer fields
        self.attempt, self.run_id, self.single_call = get("attempt", 1), get("run_id", ""), request.single_call
        self.leave_out = [p.decode("utf-8", "surrogateescape") for p in get("leave_out", [])]
        self.roots = [p.decode("utf-8", "surrogateescape") for p in get("roots", [])]
        self.input_responses = {k: json.loads(v) for k, v in get("input_responses", {}).items()}
        self.request_state = get("request_state", b"").decode("utf-8", "replace")
        self.capabilities = json.loads(get("capabilities", b"") or b"null")
        self.meta = json.loads(get("meta", b"") or b"null")
        # The headers of W3C Trace Context for the work of this call, empty outside of a trace.
        self.trace_parent, self.trace_state = get("trace_parent", ""), get("trace_state", "")

    @property
    def canceled(self):
        """Whether nobody waits for the result any more. A handler returns soon when it becomes true."""
        return self._ended.is_set()

    def check(self):
        """Raises Canceled when the call is canceled: for long loops."""
        if self.canceled:
            raise Canceled()

    def wait(self, seconds):
        """Waits, and raises Canceled as soon as the call is canceled. In async functions use asyncio.sleep."""
        self._ended.wait(seconds)
        self.check()

    def progress(self, done, total=0, message=""):
        """Reports done of total, in any unit; a total of 0 is not known."""
        wire.check("progress", (int, float), done=done, total=total)
        self._send("progress", done=done, total=total, message=wire.cut(message, wire.EVENT_TEXT))

    def log(self, message, level="info", **attributes):
        """Writes a line to the host's log; level is debug, info, warn or error."""
        try:
            raw = json.dumps(attributes, default=str, allow_nan=False).encode() if attributes else b""
        except (TypeError, ValueError, RecursionError):  # a line of the log must not fail a call
            raw = json.dumps({"attributes": repr(attributes)[:wire.EVENT_TEXT // 8]}).encode()
        self._send("log", level=level, message=wire.cut(message, wire.EVENT_TEXT),
                   attributes=raw if len(raw) <= wire.EVENT_TEXT else b"")

    def output(self, data, stream="stdout"):
        """Sends what the call prints to people who watch; it is not part of the result. data is str or bytes."""
        data = wire.clean(data).encode() if isinstance(data, str) else bytes(memoryview(data))
        for i in range(0, len(data), wire.EVENT_DATA):
            self._send("output", stream=stream, data=data[i:i + wire.EVENT_DATA])

    def _send(self, kind, **fields):
        event = wire.CallEvent()
        message = getattr(event, kind)
        message.SetInParent()
        for name, value in fields.items():
            setattr(message, name, value)
        if self._meter.admits(event.ByteSize()) and not self._ended.is_set():
            self._emit(event)


class _Tool:
    def __init__(self, function, definition, by_name):
        self.function, self.definition, self.by_name, self.preview = function, definition, by_name, None


class Plugin:
    """A named set of tools. The name must match ^[a-z][a-z0-9-]{0,31}$."""

    def __init__(self, name, version="0.0.0"):
        if not _PLUGIN_NAME.fullmatch(name):
            raise ValueError(f"plugin name {name!r} must match ^[a-z][a-z0-9-]{{0,31}}$")
        self.name, self.version = name, version
        self.notices = []  # what the operator should know of the tools, such as which are left out and why
        self.problems = []  # why tools are missing or old: toolhost discover then ends with exit code 4
        self.workdir = ""  # set before the first call, when the plugin takes configuration
        self.dynamic = False  # set before serve: the tools depend on the configuration, or change while the plugin runs
        self.serving = False
        self.tools, self.ends = {}, []
        self.configuration, self.config_schema = None, b""
        self.changed = lambda: None  # set by serve

    def tool(self, name=None, description=None, *, schema=None, output_schema=None, title="", category="", cost_tier="",
             read_only=None, destructive=None, idempotent=None, open_world=None, timeout=None, max_result_bytes=0,
             stateful=False, foreign_schema=False):
        """Makes a function a tool. Name and description are the function's name and docstring if left out. The input
        schema comes from the types of its parameters (see schema.Field); with schema=, a JSON Schema, the function
        takes the arguments as one dict. A parameter named call is the Call. The function may be async. timeout is in
        seconds. ValueError and TypeError say what is wrong with the definition."""
        if callable(name):
            return self.tool()(name)

        def add(function):
            if not callable(function):
                raise TypeError(f"tool: {function!r:.80} is not a function")
            own = name or getattr(function, "__name__", "")
            who = f"tool {own!r}"
            wire.check(who, str, name=name, description=description, title=title, category=category, cost_tier=cost_tier)
            wire.check(who, bool, read_only=read_only, destructive=destructive, idempotent=idempotent,
                       open_world=open_world, stateful=stateful, foreign_schema=foreign_schema)
            wire.check(who, (int, float), timeout=timeout)
            wire.check(who, int, max_result_bytes=max_result_bytes)
            wire.check(who, dict, schema=schema, output_schema=output_schema)
            self._must_be_seen(who)
            taken = [n for n in self.tools if n.lower() == own.lower()]
            if not _TOOL_NAME.fullmatch(own) or "__" in own:
                raise ValueError(f"tool name {own!r} must match ^[A-Za-z0-9][A-Za-z0-9_-]*$ and not have '__'")
            if own in taken:
                raise ValueError(f"tool {own!r} is there twice; rename one of them, or leave it out")
            if taken:
                raise ValueError(f"tools {taken[0]!r} and {own!r} have names that differ only by letter case; rename one "
                                 "of them")
            said = description or inspect.getdoc(function)
            if not said:
                raise ValueError(f"tool {own!r} has no description; write a docstring that says what it does, and when "
                                 "to use it")
            takes = schema if schema is not None else schemas.of_function(function, {"call"})
            if takes.get("type") != "object":
                raise ValueError(f"tool {own!r}: the input schema must have \"type\": \"object\"")
            t = wire.Tool(name=own, title=title, description=said, input_schema=_json(takes), category=category,
                          cost_tier=cost_tier, timeout_ms=int((timeout or 0) * 1000), max_result_bytes=max_result_bytes,
                          stateful=stateful, foreign_schema=foreign_schema,
                          output_schema=_json(output_schema) if output_schema is not None else b"")
            hints = {"read_only": read_only, "destructive": destructive, "idempotent": idempotent,
                     "open_world": open_world}
            for hint, value in hints.items():
                if value is not None:
                    setattr(t.hints, hint, value)
            self.tools = {**self.tools, own: _Tool(function, t, by_name=schema is None)}
            self.changed()
            return function

        return add

    def preview(self, tool):
        """Makes a function the preview of a tool: it takes what the tool takes, changes nothing, and returns a Preview
        or a str."""
        def add(function):
            if tool not in self.tools:
                raise ValueError(f"there is no tool {tool!r} to preview; add the tool before its preview")
            self._must_be_seen(f"the preview of tool {tool!r}")
            self.tools[tool].preview = function
            self.tools[tool].definition.previews = True
            self.changed()
            return function

        return add

    def remove(self, tool):
        """Removes a tool, of a dynamic plugin also while serving: the host lists the tools again."""
        self._must_be_seen(f"the removal of tool {tool!r}")
        self.tools = {n: t for n, t in self.tools.items() if n != tool}
        self.changed()

    def _must_be_seen(self, what):
        if self.serving and not self.dynamic:
            raise RuntimeError(f"{what} comes after serve has begun, so no host sees it; do it before, or set dynamic = True "
                               "before serve if the tools depend on the configuration or change")

    def configure(self, function):
        """Makes a function take the plugin's configuration: its parameters are the settings. It is called once, before
        the first call; its error keeps the plugin from being used."""
        if self.configuration is not None:
            raise ValueError("configure is used twice; take all settings in one function")
        self.configuration, self.config_schema = function, _json(schemas.of_function(function, set()))
        return function

    def at_end(self, function):
        """Has a function run when the plugin stops, for less than a second. It does not run when the plugin is killed."""
        if not callable(function):
            raise TypeError(f"at_end: {function!r:.80} is not a function")
        self.ends.append(function)
        return function

    def serve(self):
        """Serves until the host ends the plugin, and does not return. The last line of the program."""
        from .server import serve
        self._last_line(sys._getframe(1))
        serve(self)

    def _last_line(self, frame):
        """Refuses a program that adds something below serve, which it would never do."""
        while frame.f_back is not None and frame.f_code.co_name != "<module>":
            frame = frame.f_back
        try:
            with tokenize.open(frame.f_code.co_filename) as source:
                program = ast.parse(source.read())
        except (OSError, SyntaxError, ValueError):  # it is not in a file, or not as it was started
            return
        for statement in program.body:
            if statement.lineno <= frame.f_lineno:
                continue
            for node in getattr(statement, "decorator_list", [statement]):
                for use in ast.walk(node):
                    if (isinstance(use, ast.Attribute) and use.attr in ("tool", "preview", "configure", "at_end") and
                            isinstance(use.value, ast.Name) and frame.f_globals.get(use.value.id) is self):
                        raise RuntimeError(f"{use.value.id}.{use.attr} on line {use.lineno} comes after serve, which does "
                                           "not return; make serve the last line of the program")


def _json(value):
    return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain).encode("utf-8", "replace")


def _plain(value):
    """The JSON form of the types that arguments may have, too."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (set, frozenset)):
        return list(value)
    raise TypeError(f"{value!r:.80} of type {type(value).__name__} has no JSON form")


def bound(function, by_name, call):
    """A function that calls the handler with the arguments of the call."""
    parameters = inspect.signature(function).parameters
    more = {"call": call} if "call" in parameters else {}
    if not by_name:
        return functools.partial(function, call.arguments, **more)
    return functools.partial(function, **fitted(function, call.arguments), **more)


def fitted(function, arguments):
    """JSON arguments as the types of the function's parameters."""
    hints = typing.get_type_hints(function, include_extras=True)
    unknown = [k for k in arguments if k not in hints]
    if unknown:  # the host has checked the arguments; a test may call without one
        raise InvalidArguments(f"there is no parameter {unknown[0]!r}")
    return {k: schemas.fit(hints[k], v) for k, v in arguments.items()}


def to_result(value, tool):
    """What a handler returned, as the message of the wire."""
    try:
        return _to_result(value)
    except Exception as e:  # also of what the author wrote, such as __repr__
        return wire.WireResult(error=wire.Error(
            name="BadResult", message=f"the tool {tool} has run, but its result cannot be sent: {_said(e)}",
            outcome_unknown=True,
            suggestion="This is a bug in the plugin. Find out what the call has done before you make it again."))


def _to_result(value):
    if isinstance(value, BaseException):
        return wire.WireResult(error=to_error(value))
    if isinstance(value, Result):
        wire.check("Result", bool, truncated=value.truncated)
        wire.check("Result", dict, questions=value.questions)
        out = wire.WireResult(content=_parts(value.content), truncated=value.truncated)
        if value.structured is not None:
            out.structured = _json(value.structured)
        if value.error is not None:
            out.error.CopyFrom(to_error(value.error))
        if value.questions is not None:
            out.input_required.state = wire.clean(value.state).encode()
            for key, question in value.questions.items():
                out.input_required.requests[key] = _json(question)
        return out
    if value is None:
        return wire.WireResult()
    if isinstance(value, wire.Content):
        return wire.WireResult(content=[value])
    if isinstance(value, list) and value and all(isinstance(part, wire.Content) for part in value):
        return wire.WireResult(content=value)
    if isinstance(value, str):
        return wire.WireResult(content=[text(value)])
    raw = _json(value)
    return wire.WireResult(content=[wire.Content(type="text", text=raw)], structured=raw if raw[:1] in b"{[" else b"")


def _parts(content):
    wire.check("a result", (list, tuple), content=content)
    for part in content or ():
        if not isinstance(part, wire.Content):
            raise TypeError(f"its content has {part!r:.80}, which is no part; make it with text, image, …")
    return content


_NOT_AUTHORS = ("/site-packages/", "/dist-packages/", "<frozen ", os.path.dirname(os.__file__) + os.sep,
                os.path.dirname(os.path.abspath(__file__)) + os.sep)


def _place(e):
    """The innermost line that the author wrote, such as " (plugin.py:7)"."""
    for frame in reversed(traceback.extract_tb(e.__traceback__)):
        if not any(part in frame.filename for part in _NOT_AUTHORS):
            return f" ({os.path.basename(frame.filename)}:{frame.lineno})"
    return ""


def _said(e):
    try:
        return wire.clean(e) or f"it raised {type(e).__name__} without a message"
    except Exception:
        return f"it raised {type(e).__name__}, whose text cannot be shown"


def to_error(e):
    """An exception as the message of the wire; it never raises."""
    if not isinstance(e, ToolError):
        return wire.Error(name=type(e).__name__, message=_said(e) + _place(e) if isinstance(e, BaseException) else _said(e))
    out = wire.Error(code=e.code, name=wire.clean(e.name), message=_said(e), retryable=e.retryable,
                     suggestion=wire.clean(e.suggestion), help_url=wire.clean(e.help_url),
                     outcome_unknown=e.outcome_unknown)
    if e.details is not None:
        try:
            out.details = _json(e.details)
        except Exception as cause:
            out.details = _json({"error": f"the details have no JSON form: {_said(cause)}"})
    return out


def to_preview(value):
    """What a preview returned, as the message of the wire."""
    if isinstance(value, str):
        value = Preview(content=[text(value)])
    if value is None:
        value = Preview()
    wire.check("a preview", Preview, result=value)
    return wire.PreviewResponse(content=_parts(value.content), effect=value.effect, reason=wire.clean(value.reason),
                                unless_allowed=value.unless_allowed,
                                structured=b"" if value.structured is None else _json(value.structured))
