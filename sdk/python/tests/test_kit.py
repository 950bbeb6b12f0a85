"""Tests of the kit: a plugin in a process of its own, called as a host calls it. Run: python3 -m unittest discover tests"""

import dataclasses
import functools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from typing import Annotated, Any, List, Literal, Optional, Union

import grpc

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from toolhost import Field, Plugin, schema, wire  # noqa: E402

TOKEN = (("toolhost-token", "t0"),)


@dataclasses.dataclass
class Tree:
    name: str
    kids: List["Tree"]


class Process:
    """A plugin that runs, and a connection to it."""

    def __init__(self):
        self.dir = tempfile.TemporaryDirectory()
        env = {**os.environ, wire.COOKIE[0]: wire.COOKIE[1], "PLUGIN_UNIX_SOCKET_DIR": self.dir.name,
               "TOOLHOST_LIFELINE": "stdin", "TOOLHOST_TOKEN": TOKEN[0][1], "PYTHONPATH": os.path.dirname(HERE)}
        self.process = subprocess.Popen([sys.executable, os.path.join(HERE, "fixture.py")], env=env,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.handshake = self.process.stdout.readline().decode()
        path = self.handshake.split("|")[3]
        self.channel = grpc.insecure_channel("unix:" + path, [("grpc.max_receive_message_length", -1)])

    def unary(self, method, request, answer, token=TOKEN):
        f = self.channel.unary_unary(f"/{wire.SERVICE}/{method}", lambda m: m.SerializeToString(), answer.FromString)
        return f(request, metadata=token, timeout=30)

    def stream(self, tool, arguments, timeout=30, **fields):
        f = self.channel.unary_stream(f"/{wire.SERVICE}/Call", lambda m: m.SerializeToString(), wire.CallEvent.FromString)
        raw = arguments if isinstance(arguments, bytes) else json.dumps(arguments).encode()
        return f(wire.CallRequest(tool=tool, arguments=raw, **fields), metadata=TOKEN, timeout=timeout)

    def events(self, tool, arguments, **fields):
        return list(self.stream(tool, arguments, **fields))

    def result(self, tool, arguments, **fields):
        return self.events(tool, arguments, **fields)[-1].result

    def close(self):
        self.channel.close()
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()
        self.process.stderr.close()
        self.dir.cleanup()


class Served(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.p = Process()
        cls.p.unary("Configure", wire.ConfigureRequest(config=b'{"greeting":"Hi"}', workdir="/w"), wire.ConfigureResponse)

    @classmethod
    def tearDownClass(cls):
        cls.p.close()

    def test_handshake(self):
        self.assertRegex(self.p.handshake, r"^1\|1\|unix\|/.+\|grpc\|\n$")

    def test_describe(self):
        d = self.p.unary("Describe", wire.DescribeRequest(), wire.DescribeResponse)
        self.assertEqual((d.name, d.version, d.sdk), ("fixture", "1.2.3", "python/0.1.0"))
        tools = {t.name: t for t in d.tools}
        self.assertEqual(json.loads(tools["hello"].input_schema), {
            "type": "object", "properties": {"name": {"type": "string", "description": "Who to greet"}},
            "required": ["name"], "additionalProperties": False})
        self.assertTrue(tools["hello"].previews)
        typed = tools["typed"]
        self.assertTrue(typed.hints.read_only and typed.hints.idempotent and not typed.hints.HasField("destructive"))
        self.assertEqual((typed.timeout_ms, typed.title, typed.category), (1500, "Typed", "test"))
        self.assertEqual(json.loads(d.config_schema)["properties"]["retries"], {"type": "integer", "minimum": 0, "default": 1})

    def test_typed_arguments(self):
        r = self.p.result("typed", {"points": [{"x": 1}, {"x": 2, "y": 3}], "color": "blue", "tags": {"a": 1}})
        self.assertEqual(json.loads(r.structured), {"xs": [1, 5], "color": "BLUE", "tags": {"a": 1}, "ratio": 1})

    def test_integers_with_a_fraction_of_zero(self):
        for t, value, want in ((int, 1e2, 100), (Optional[int], 1.0, 1), (List[int], [1.0], [1]), (Union[int, str], 2.0, 2),
                               (Literal[1, 2], 2.0, 2), (Union[int, float], 1.0, 1.0), (float, 1.0, 1.0), (Any, 1.0, 1.0),
                               (int, 1.5, 1.5)):
            self.assertEqual(repr(schema.fit(t, value)), repr(want), t)

    def test_json_is_exact(self):
        raw = '{"n":12345678901234567890123,"s":"<ü\\u0000>","z":1,"a":{"b":[null,true]}}'
        r = self.p.result("echo", raw.encode())
        self.assertEqual(json.loads(r.structured), json.loads(raw))
        self.assertEqual(list(json.loads(r.structured)), ["n", "s", "z", "a"])
        self.assertIn("12345678901234567890123", r.structured.decode())

    def test_reports(self):
        events = self.p.events("report", {}, workdir="/work", session_id="s", attempt=2,
                               trace_parent="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", trace_state="a=1")
        kinds = [e.WhichOneof("event") for e in events]
        self.assertEqual(kinds, ["started", "progress", "progress", "progress", "log", "output", "output", "result"])
        self.assertEqual((events[4].log.level, events[4].log.attributes), ("warn", b'{"n": 1}'))
        self.assertEqual((events[6].output.stream, events[6].output.data), ("stderr", b"err\xff"))
        r = events[-1].result
        self.assertEqual([c.type for c in r.content], ["text", "image", "resource"])
        self.assertEqual(json.loads(r.structured), {"workdir": "/work", "session": "s", "attempt": 2, "trace": [
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "a=1"]})

    def test_failures(self):
        e = self.p.result("fail", {"how": "tool"}).error
        self.assertEqual((e.name, e.message, e.suggestion, e.retryable, e.outcome_unknown, e.details),
                         ("NotFound", "there is no such thing", "Ask for another.", True, True, b'{"known": ["a"]}'))
        self.assertEqual(self.p.result("fail", {"how": "arguments"}).error.code, "E_TOOL_INVALID_ARGS")
        self.assertEqual(self.p.result("fail", {"how": "exit"}).error.name, "SystemExit")
        self.assertEqual(self.p.result("fail", {"how": "json"}).error.name, "BadResult")
        e = self.p.result("fail", {"how": "key"}).error
        self.assertEqual(e.name, "KeyError")
        self.assertRegex(e.message, r"^'key' \(fixture\.py:\d+\)$")
        self.assertEqual(self.p.result("nothing", {}).error.code, "E_TOOL_NOT_FOUND")
        self.assertEqual(self.p.result("hello", {"nme": 1}).error.code, "E_TOOL_INVALID_ARGS")
        self.assertEqual(self.p.result("hello", b"{").error.name, "JSONDecodeError")

    def test_nothing_that_is_returned_or_raised_ends_the_plugin(self):
        names = json.loads(self.p.result("odd_names", {}).structured)
        for what in names["returned"]:
            e = self.p.result("odd", {"what": what}).error
            self.assertEqual((e.name, e.outcome_unknown), ("BadResult", True), what)
            self.assertRegex(e.message, "^the tool odd has run, but its result cannot be sent: .", what)
            self.assertNotRegex(e.message, "MergeFrom|expected one of|toolhost.plugin", what)
        for tool in ("raise_it", "raise_async"):
            for what in names["raised"]:
                self.assertNotEqual(self.p.result(tool, {"what": what}).error.message, "", (tool, what))
            self.assertEqual(self.p.result(tool, {"what": "exit"}).error.name, "SystemExit")
            self.assertIn("Mute", self.p.result(tool, {"what": "mute"}).error.message)
            self.assertIn("retryable must be bool", self.p.result(tool, {"what": "retryable"}).error.message)
            e = self.p.result(tool, {"what": "details"}).error
            self.assertEqual((e.name, e.message), ("Failed", "no"))
            self.assertIn("no JSON form", json.loads(e.details)["error"])
        p = self.p.unary("Preview", wire.PreviewRequest(tool="paint", arguments=b'{"tree":{"name":"a"}}'), wire.PreviewResponse)
        self.assertIn("must be Preview", p.error.message)

    def test_awaitables_of_other_functions(self):
        self.assertEqual(self.p.result("decorated", {}).content[0].text, b"awaited")
        with self.assertRaises(grpc.RpcError) as caught:
            self.p.events("decorated", {"wait": True}, timeout=0.3)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.DEADLINE_EXCEEDED)

    def test_parts_and_nested_types(self):
        self.assertEqual([c.type for c in self.p.result("parts", {}).content], ["text", "image"])
        r = self.p.result("paint", {"tree": {"name": "a", "kids": [{"name": "b", "kids": [{"name": "c"}]}]}})
        self.assertEqual(json.loads(r.structured), {
            "first": {"name": "b", "kids": [{"name": "c", "kids": []}]}, "color": "red", "colors": ["red"]})

    def test_reports_that_have_no_json_form(self):
        events = self.p.events("careless", {})
        self.assertEqual([e.WhichOneof("event") for e in events], ["started", "log", "log", "result"])
        for e in events[1:3]:
            json.loads(e.log.attributes)
        self.assertEqual(events[-1].result.error.name, "TypeError")

    def test_large_parts_are_marked_if_the_host_takes_them(self):
        for size, most, large in ((5 << 20, 64 << 20, True), (5 << 20, 0, False), (3 << 20, 64 << 20, False)):
            events = self.p.events("large", {"size": size}, max_large_bytes=most)
            self.assertEqual([e.part.large for e in events if e.WhichOneof("event") == "part"], [large])

    def test_preview(self):
        p = self.p.unary("Preview", wire.PreviewRequest(tool="hello", arguments=b'{"name":"A"}'), wire.PreviewResponse)
        self.assertEqual((p.content[0].text, p.effect, p.reason, p.structured),
                         (b"would greet A", "ask", "it greets", b'{"kind": "greeting"}'))

    def test_large_results_come_in_pieces(self):
        for size in (1000, wire.PIECE + 2, 3 << 20):
            whole, last = b"", None
            for e in self.p.events("large", {"size": size}):
                kind = e.WhichOneof("event")
                if kind == "part":
                    self.assertEqual(e.part.size, size)
                    self.assertLessEqual(len(e.part.content.text), wire.PIECE)
                    whole += e.part.content.text
                elif kind == "more":
                    self.assertLessEqual(len(e.more.data), wire.PIECE)
                    whole += e.more.data
                elif kind == "result":
                    whole += b"".join(c.text for c in e.result.content)
            self.assertEqual(whole, ("é" * (size // 2)).encode())

    def test_cancel(self):
        for tool, arguments in (("wait", {}), ("wait_async", {}), ("wait", {"ignore": True})):
            call = self.p.stream(tool, arguments)
            for e in call:
                if e.WhichOneof("event") == "progress":
                    break
            call.cancel()
            overdue = lambda: self.p.unary("Overdue", wire.OverdueRequest(), wire.OverdueResponse).handlers  # noqa: E731
            end = time.monotonic() + 30
            if arguments:
                while overdue() == 0 and time.monotonic() < end:  # the cancellation is on its way
                    pass
            while overdue() > 0 and time.monotonic() < end:
                pass
            self.assertLess(time.monotonic(), end)

    def test_deadline(self):
        with self.assertRaises(grpc.RpcError) as caught:
            self.p.events("wait", {}, timeout=0.3)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.DEADLINE_EXCEEDED)

    def test_a_repeat_is_not_run(self):
        self.p.result("hello", {"name": "A"}, run_id="r1", call_id="c")
        with self.assertRaises(grpc.RpcError) as caught:
            self.p.result("hello", {"name": "A"}, run_id="r1", call_id="c")
        self.assertEqual(caught.exception.code(), grpc.StatusCode.ALREADY_EXISTS)
        self.p.result("hello", {"name": "A"}, run_id="r2", call_id="c")

    def test_token(self):
        for token in ((), (("toolhost-token", "t1"),), TOKEN + TOKEN):
            with self.assertRaises(grpc.RpcError) as caught:
                self.p.unary("Describe", wire.DescribeRequest(), wire.DescribeResponse, token)
            self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAUTHENTICATED)

    def test_parallel_calls(self):
        results, threads = [], []
        for i in range(32):
            threads.append(threading.Thread(target=lambda i=i: results.append(self.p.result("echo", {"i": i}).structured)))
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(sorted(json.loads(r)["i"] for r in results), list(range(32)))

    def test_too_many_events_are_dropped(self):
        events = self.p.events("flood", {"events": 20000})
        self.assertLess(len(events), 15000)
        self.assertRegex(events[-2].log.message, r"^\d+ events were over the limits")
        self.assertEqual(events[-1].WhichOneof("event"), "result")

    def test_programs_do_not_inherit_the_lifeline(self):
        self.assertEqual(self.p.result("start_program", {}).content[0].text, b"read to the end")

    def test_questions(self):
        r = self.p.result("ask", {})
        self.assertEqual(json.loads(r.input_required.requests["name"])["method"], "elicitation/create")
        r = self.p.result("ask", {}, input_responses={"name": b'{"action":"accept","content":{"name":"Ada"}}'},
                          request_state=r.input_required.state)
        self.assertEqual(r.content[0].text, b"Ada s1")


class Life(unittest.TestCase):
    def test_a_wrong_configuration_is_refused(self):
        p = Process()
        try:
            r = p.unary("Configure", wire.ConfigureRequest(config=b'{"greeting":"bad"}'), wire.ConfigureResponse)
            self.assertEqual((r.error.name, r.error.details), ("BadGreeting", b'{"path": "greeting"}'))
        finally:
            p.close()

    def test_added_tools_are_announced(self):
        p = Process()
        try:
            f = p.channel.unary_stream(f"/{wire.SERVICE}/Watch", lambda m: m.SerializeToString(), wire.WatchEvent.FromString)
            watch = f(wire.WatchRequest(), metadata=TOKEN)
            next(watch)
            p.result("add_tool", {})
            next(watch)
            d = p.unary("Describe", wire.DescribeRequest(), wire.DescribeResponse)
            self.assertIn("late", [t.name for t in d.tools])
            self.assertTrue(d.dynamic)
            self.assertEqual(list(zip(d.notice_kinds, d.notices)),
                             [("problem", "another failed"), ("remark", "one is late")])
            self.assertEqual(p.result("late", {}).content[0].text, b"new")
            watch.cancel()
        finally:
            p.close()

    def test_ends_with_the_host_and_by_sigterm(self):
        for end in (lambda p: p.process.stdin.close(), lambda p: p.process.send_signal(signal.SIGTERM)):
            p = Process()
            call = p.stream("wait", {"ignore": True})
            next(call)
            end(p)
            self.assertEqual(p.process.wait(30), 0)
            err = p.process.stderr.read()
            self.assertIn(b"cleaned up", err)
            self.assertIn(b"Mute", err)
            p.close()

    def test_without_packages(self):
        out = subprocess.run([sys.executable, "-S", "-c", "import toolhost"], capture_output=True, timeout=30, check=False,
                             cwd=os.path.dirname(HERE), env={"PATH": os.environ["PATH"]})
        self.assertIn(b"pip install grpcio protobuf", out.stderr.splitlines()[-1])

    def test_run_by_hand(self):
        out = subprocess.run([sys.executable, os.path.join(HERE, "fixture.py")], capture_output=True, timeout=30, check=False,
                             env={**os.environ, "PYTHONPATH": os.path.dirname(HERE)})
        self.assertEqual((out.returncode, out.stdout), (2, b""))
        self.assertIn(b"is a toolhost plugin", out.stderr)

    def test_tools_below_serve(self):
        program = """from toolhost import Plugin
plugin, other = Plugin("p"), Plugin("q")

def main():
    plugin.serve()

%s
@other.tool
def another():
    "Another plugin's."
def prepare():
    plugin.at_end(another)
"""
        for below, line in (("@plugin.tool\ndef f():\n    'Does it.'\n", "plugin.tool on line 9 "),
                            ("for n in 'ab':\n    plugin.tool(n, 'Does it.')(str)\n", "plugin.tool on line 10 "),
                            ("@plugin.configure\ndef f(a: str = ''):\n    pass\n", "plugin.configure on line 9 "),
                            ("", "is a toolhost plugin")):
            for call in ("main()", "if __name__ == '__main__':\n    plugin.serve()"):
                with tempfile.TemporaryDirectory() as d, open(os.path.join(d, "p.py"), "w", encoding="utf-8") as f:
                    if "if" in call and "line" in line:
                        line = re.sub(r"\d+", lambda n: str(int(n[0]) + 1), line)
                    f.write(program % (call + "\n\n" + below))
                    f.flush()
                    out = subprocess.run([sys.executable, f.name], capture_output=True, timeout=30, check=False,
                                         env={**os.environ, "PYTHONPATH": os.path.dirname(HERE)})
                self.assertIn(line, out.stderr.decode())


class Definitions(unittest.TestCase):
    def test_mistakes(self):
        p = Plugin("p")

        def undocumented(a: str):
            pass

        def untyped(a):
            """Says nothing of a."""

        def strange(a: complex):
            """Takes what JSON does not have."""
        for function, name, said in ((undocumented, None, "no description"), (untyped, None, "a has no type"),
                                     (strange, None, "complex"), (untyped, "a b", "must match"), (untyped, "a__b", "must match")):
            with self.assertRaises((ValueError, TypeError)) as caught:
                p.tool(name)(function)
            self.assertIn(said, str(caught.exception))
        with self.assertRaises(ValueError):
            Plugin("No Capitals")
        with self.assertRaises(TypeError) as caught:
            Field(minlength=1)
        self.assertIn("min_length", str(caught.exception))
        for more, said in (({"read_only": "yes"}, "read_only must be bool"), ({"timeout": "1s"}, "timeout must be int or float"),
                           ({"schema": ["a"]}, "schema must be dict"), ({"output_schema": "a"}, "output_schema must be dict"),
                           ({"description": 5}, "description must be str"), ({"title": {}}, "title must be str")):
            with self.assertRaises(TypeError) as caught:
                p.tool("a", **{"description": "Does.", "schema": {"type": "object"}, **more})(lambda a: a)
            self.assertIn(said, str(caught.exception))

        class Methods:
            def method(self, a: int):
                """Is a method."""

        def local(a: "Methods"):
            """Takes a type of this function."""

        def default(a: int = "x"):
            """Has a default of another type."""
        for function, said in ((Methods.method, "is a method"), (functools.partial(max), "not a function made by def"),
                               (local, "no type Methods"), (default, "the default 'x' is no integer"), (5, "is not a function")):
            with self.assertRaises(TypeError) as caught:
                p.tool("a", "Does.")(function)
            self.assertIn(said, str(caught.exception))
        p.configure(lambda: None)
        with self.assertRaises(ValueError):
            p.configure(lambda: None)
        with self.assertRaises(TypeError):
            p.at_end(None)
        p.tool("Same", "One.", schema={"type": "object"})(lambda a: a)
        for name, said in (("same", "only by letter case"), ("Same", "is there twice")):
            with self.assertRaises(ValueError) as caught:
                p.tool(name, "Two.", schema={"type": "object"})(lambda a: a)
            self.assertIn(said, str(caught.exception))

    def test_keywords_are_of_their_types(self):
        for kind, keywords in ((int, {"min_length": 1}), (str, {"minimum": 1}), (List[int], {"pattern": "a"}),
                               (Optional[bool], {"maximum": 1}), (int, {"minimum": "1"}), (str, {"pattern": 5})):
            with self.assertRaises(TypeError, msg=keywords):
                schema.of(Annotated[kind, Field(**keywords)])
        self.assertEqual(schema.of(Annotated[Optional[int], Field(minimum=1)])["minimum"], 1)

    def test_dataclasses_that_contain_themselves(self):
        def takes(tree: Tree, more: Optional[Tree] = None):
            pass
        got = schema.of_function(takes, set())
        self.assertEqual(got["properties"]["tree"], {"$ref": "#/$defs/Tree"})
        self.assertEqual(got["$defs"]["Tree"]["properties"]["kids"], {"type": "array", "items": {"$ref": "#/$defs/Tree"}})

    def test_changes_that_no_host_sees(self):
        p = Plugin("p")
        p.tool("early", "Does.")(lambda: None)
        for dynamic in (True, False):
            p.serving, p.dynamic = True, dynamic
            for change in (lambda: p.tool("late", "Does.")(lambda: None), lambda: p.preview("early")(lambda: None),
                           lambda: p.remove("late")):
                if dynamic:
                    change()
                    continue
                with self.assertRaises(RuntimeError) as caught:
                    change()
                self.assertIn("dynamic = True", str(caught.exception))
            self.assertEqual(list(p.tools), ["early"])

    def test_types(self):
        self.assertEqual(schema.of(dict), {"type": "object"})
        self.assertEqual(schema.of(float), {"type": "number"})


if __name__ == "__main__":
    unittest.main()
