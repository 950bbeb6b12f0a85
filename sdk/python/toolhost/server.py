"""The plugin's end of the wire: the handshake, the service, and the end of the process."""

import asyncio
import collections
import hmac
import inspect
import os
import signal
import sys
import threading
import time
import traceback

import grpc
import grpc.aio

from . import __version__, wire
from .plugin import Call, Canceled, ToolError, bound, fitted, to_error, to_preview, to_result

_CLEANUP = 1.0  # seconds that handlers have when the plugin stops
_PENDING = 8 << 20  # bytes of events that wait for a slow host; more are dropped


def serve(plugin):
    """Serves the plugin until its host ends it. Run by hand it says what it is, and exits with code 2."""
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("serve is called in another thread; call it at the end of the program, in its main thread")
    if os.environ.get(wire.COOKIE[0]) != wire.COOKIE[1]:
        print(f"{plugin.name} {plugin.version} is a toolhost plugin (tools: {', '.join(plugin.tools)}). To use it, name "
              "this file in a plugin block of config.hcl.", file=sys.stderr)
        sys.exit(2)
    lifeline = None
    if os.environ.get("TOOLHOST_LIFELINE") == "stdin":
        lifeline = os.dup(0)  # programs that handlers start must not inherit it
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
    signal.signal(signal.SIGPIPE, lambda *_: None)  # a host that is gone must not end the plugin before it cleans up
    signal.signal(signal.SIGINT, lambda *_: None)  # the host decides when the plugin ends
    sys.stdout.reconfigure(line_buffering=True)
    asyncio.run(_Server(plugin).run(lifeline))


class _Run:
    """A handler that runs, in a thread or as a task, and the events that it has sent."""

    def __init__(self, server):
        self.server, self.loop, self.queue = server, asyncio.get_running_loop(), asyncio.Queue()
        self.ended_at, self.pending, self.lock, self.task = None, 0, threading.Lock(), None
        self.done = asyncio.Event()

    def emit(self, event):
        size = event.ByteSize()
        with self.lock:
            if self.pending + size > _PENDING:
                return
            self.pending += size
        self.loop.call_soon_threadsafe(self.queue.put_nowait, event)

    async def next(self):
        event = await self.queue.get()
        if isinstance(event, wire.CallEvent):
            with self.lock:
                self.pending -= event.ByteSize()
        return event

    def start(self, call, work):
        """Runs work, and puts what it returns, or its exception, behind the events."""
        self.call = call
        self.server.running.add(self)
        if inspect.iscoroutinefunction(getattr(work, "func", work)):
            self._await(work())
        else:
            threading.Thread(target=self._in_thread, args=(work,), daemon=True).start()

    def _in_thread(self, work):
        try:
            outcome = work()
        except BaseException as e:  # also SystemExit: it fails the call, not the plugin
            outcome = e
        # A function that is not async returns an awaitable when it forwards to one that is, as decorators do.
        then = self._await if inspect.isawaitable(outcome) else self._finish
        self.loop.call_soon_threadsafe(then, outcome)

    def _await(self, awaitable):
        self.task = self.loop.create_task(_awaited(awaitable))
        self.task.add_done_callback(lambda task: self._finish(Canceled() if task.cancelled() else task.result()))
        if self.ended_at is not None:
            self.task.cancel()

    def _finish(self, outcome):
        self.server.running.discard(self)
        self.done.set()
        self.queue.put_nowait((outcome,))

    def end(self):
        """Says that nobody waits any more."""
        if self.ended_at is None and self in self.server.running:
            self.ended_at = time.monotonic()
            self.call._ended.set()
            if self.task is not None:
                self.task.cancel()


async def _awaited(awaitable):
    """What is awaited, or its exception: asyncio ends the loop, and so the plugin, at SystemExit and KeyboardInterrupt."""
    try:
        return await awaitable
    except asyncio.CancelledError:
        raise
    except BaseException as e:
        return e


def _log_raised(who, e):
    if not isinstance(e, ToolError):
        try:
            print(f"{who} raised:\n" + "".join(traceback.format_exception(type(e), e, e.__traceback__)), file=sys.stderr,
                  flush=True)
        except Exception:  # standard error is closed
            pass


class _Server:
    def __init__(self, plugin):
        self.plugin, self.running = plugin, set()
        self.runs, self.ended_runs = set(), collections.deque()
        self.token = os.environ.pop("TOOLHOST_TOKEN", "")  # it is not for what the plugin starts
        self.changes, self.stopping = 0, None

    async def run(self, lifeline):
        loop, self.stopping, self.condition = asyncio.get_running_loop(), asyncio.Event(), asyncio.Condition()
        self.plugin.serving = True
        self.plugin.changed = lambda: loop.call_soon_threadsafe(lambda: loop.create_task(self._changed()))
        loop.add_signal_handler(signal.SIGTERM, self.stopping.set)
        if lifeline is not None:
            def watch():
                while os.read(lifeline, 4096):
                    pass
                loop.call_soon_threadsafe(self.stopping.set)
            threading.Thread(target=watch, daemon=True).start()
        server = grpc.aio.server(options=[("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", 64 << 20)])
        server.add_generic_rpc_handlers((self._handlers(), self._health(), self._controller()))
        path = os.path.join(os.environ.get("PLUGIN_UNIX_SOCKET_DIR") or os.environ.get("TMPDIR", "/tmp"), f"plugin{os.getpid()}")
        server.add_insecure_port("unix:" + path)
        await server.start()
        print(f"1|1|unix|{path}|grpc|", flush=True)
        await self.stopping.wait()
        for run in list(self.running):
            run.end()
        await asyncio.wait([asyncio.ensure_future(self._end(f)) for f in self.plugin.ends] +
                           [asyncio.ensure_future(r.done.wait()) for r in self.running] or
                           [asyncio.ensure_future(asyncio.sleep(0))], timeout=_CLEANUP)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)  # threads of handlers that ignore their end would keep the process

    async def _end(self, function):
        run = _Run(self)
        run.start(None, function)
        (outcome,) = await run.queue.get()
        if isinstance(outcome, BaseException):
            _log_raised("at_end", outcome)

    async def _changed(self):
        async with self.condition:
            self.changes += 1
            self.condition.notify_all()

    def _handlers(self):
        def unary(method, request):
            return grpc.unary_unary_rpc_method_handler(self._admitted(method), request.FromString,
                                                       lambda m: m.SerializeToString())

        def stream(method, request):
            return grpc.unary_stream_rpc_method_handler(self._admitted_stream(method), request.FromString,
                                                        lambda m: m.SerializeToString())
        return grpc.method_handlers_generic_handler(wire.SERVICE, {
            "Describe": unary(self._describe, wire.DescribeRequest),
            "Configure": unary(self._configure, wire.ConfigureRequest),
            "Preview": unary(self._preview, wire.PreviewRequest),
            "Call": stream(self._call, wire.CallRequest),
            "Watch": stream(self._watch, wire.WatchRequest),
            "Overdue": unary(self._overdue, wire.OverdueRequest),
        })

    def _health(self):
        async def check(_request, _context):
            return b"\x08\x01"  # HealthCheckResponse{status: SERVING}
        return grpc.method_handlers_generic_handler("grpc.health.v1.Health", {
            "Check": grpc.unary_unary_rpc_method_handler(self._admitted(check))})

    def _controller(self):
        async def shutdown(_request, _context):
            self.stopping.set()
            return b""
        return grpc.method_handlers_generic_handler("plugin.GRPCController", {
            "Shutdown": grpc.unary_unary_rpc_method_handler(self._admitted(shutdown))})

    async def _admit(self, context):
        sent = [v for k, v in context.invocation_metadata() if k == "toolhost-token"]
        if self.token and not (len(sent) == 1 and hmac.compare_digest(str(sent[0]).encode(), self.token.encode())):
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "this plugin answers only the host that has started it")

    def _admitted(self, method):
        async def handler(request, context):
            await self._admit(context)
            return await method(request, context)
        return handler

    def _admitted_stream(self, method):
        async def handler(request, context):
            await self._admit(context)
            async for event in method(request, context):
                yield event
        return handler

    async def _describe(self, _request, _context):
        p = self.plugin
        return wire.DescribeResponse(name=p.name, version=p.version, sdk="python/" + __version__, dynamic=p.dynamic,
                                     tools=[t.definition for t in p.tools.values()], config_schema=p.config_schema,
                                     notices=[wire.clean(n) for n in [*p.problems, *p.notices]],
                                     notice_kinds=["problem"] * len(p.problems) + ["remark"] * len(p.notices))

    async def _configure(self, request, context):
        self.plugin.workdir = request.workdir
        function = self.plugin.configuration
        if function is None:
            return wire.ConfigureResponse(error=wire.Error(message="this plugin takes no configuration"))

        def work(call):
            return lambda: function(**fitted(function, call.arguments))
        outcome = await self._outcome(wire.CallRequest(arguments=request.config, workdir=request.workdir), work, "configure")
        return wire.ConfigureResponse(error=to_error(outcome) if isinstance(outcome, BaseException) else None)

    async def _preview(self, request, context):
        tool = self.plugin.tools.get(request.tool)
        if tool is None or tool.preview is None:
            return wire.PreviewResponse()
        outcome = await self._outcome(request, lambda call: bound(tool.preview, tool.by_name, call),
                                      f"the preview of {request.tool}")
        if isinstance(outcome, BaseException):
            return wire.PreviewResponse(error=to_error(outcome))
        try:
            return to_preview(outcome)
        except Exception as e:
            return wire.PreviewResponse(error=to_error(e))

    async def _outcome(self, request, work, who):
        """What a function that sends no events returns, or its exception."""
        run = _Run(self)
        try:
            call = Call(request, lambda event: None)
            run.start(call, work(call))
            (outcome,) = await run.queue.get()
        except Exception as e:  # of the arguments
            outcome = e
        finally:
            run.end()
        if isinstance(outcome, BaseException):
            _log_raised(who, outcome)
        return outcome

    async def _call(self, request, context):
        name = request.run_id or request.call_id
        if name and name in self.runs:
            await context.abort(grpc.StatusCode.ALREADY_EXISTS,
                                f"call {request.call_id!r:.100} of {request.tool:.100} is a repeat of one that this plugin "
                                "has had; it is not run again")
        self.runs.add(name)
        started = wire.CallEvent()
        started.started.SetInParent()
        yield started
        tool = self.plugin.tools.get(request.tool)
        run = _Run(self)
        try:
            if tool is None:
                outcome = ToolError("ToolNotFound", f"plugin {self.plugin.name} has no tool {request.tool!r}")
                outcome.code = "E_TOOL_NOT_FOUND"
            else:
                call = Call(request, run.emit)
                run.start(call, bound(tool.function, tool.by_name, call))
                while isinstance(event := await run.next(), wire.CallEvent):
                    yield event
                (outcome,) = event
                if call._meter.dropped:
                    dropped = wire.CallEvent()
                    dropped.log.level = "warn"
                    dropped.log.message = f"{call._meter.dropped} events were over the limits and are left out"
                    yield dropped
            if isinstance(outcome, BaseException):
                _log_raised(f"the tool {request.tool}", outcome)
            for message in wire.result_messages(to_result(outcome, request.tool), request.max_large_bytes):
                yield message
        except Exception as e:  # of the arguments
            yield next(wire.result_messages(wire.WireResult(error=to_error(e))))
        finally:
            run.end()
            self._forget(name)

    def _forget(self, name):
        self.ended_runs.append(name)
        if len(self.ended_runs) > wire.KNOWN_RUNS:
            self.runs.discard(self.ended_runs.popleft())

    async def _watch(self, _request, _context):
        seen = -1  # the first message says that the watch is established
        while True:
            async with self.condition:
                await self.condition.wait_for(lambda: self.changes != seen or seen < 0)
                seen = self.changes
            event = wire.WatchEvent()
            event.tools_changed.SetInParent()
            yield event

    async def _overdue(self, request, _context):
        late = [r for r in self.running if r.ended_at is not None]
        now, grace = time.monotonic(), request.grace_ms / 1000
        return wire.OverdueResponse(handlers=len(late), late=sum(now - r.ended_at >= grace for r in late))
