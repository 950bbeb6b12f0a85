"""The messages of plugin.proto, and limits of the protocol that docs/protocol.md specifies."""

import pkgutil
import sys
import time

try:
    from google.protobuf import descriptor_pool, message_factory
except ModuleNotFoundError as e:
    raise ModuleNotFoundError(f"{e}; toolhost's kit needs grpcio and protobuf, in the Python that runs the plugin: "
                              f"{sys.executable} -m pip install grpcio protobuf") from None

SERVICE = "toolhost.plugin.v1.PluginService"
COOKIE = ("TOOLHOST_PLUGIN", "9b1f3c5e-toolhost-plugin-v1")
PIECE = 256 << 10  # bytes: a result larger than this travels in pieces
MAX_RESULT = 4 << 20  # bytes
LARGE = 1 << 20  # bytes: of a result over the limit, parts larger than this do not count, if the host takes them
EVENT_TEXT = 8 << 10  # bytes of a progress message, a log line, or its attributes
EVENT_DATA = 64 << 10  # bytes of output in one event
KNOWN_RUNS = 4096  # calls that have ended and are recognized when they come again

_pool = descriptor_pool.DescriptorPool()
_pool.AddSerializedFile(pkgutil.get_data(__package__, "plugin.desc"))  # also in a program that is one zip file
_factory = message_factory.MessageFactory(_pool) if hasattr(message_factory.MessageFactory, "GetPrototype") else None


def _message(name):
    descriptor = _pool.FindMessageTypeByName("toolhost.plugin.v1." + name)
    # protobuf 4.22 has GetMessageClass, and later versions have nothing else.
    return _factory.GetPrototype(descriptor) if _factory else message_factory.GetMessageClass(descriptor)


CallEvent = _message("CallEvent")
CallRequest = _message("CallRequest")
ConfigureRequest = _message("ConfigureRequest")
ConfigureResponse = _message("ConfigureResponse")
Content = _message("Content")
DescribeRequest = _message("DescribeRequest")
DescribeResponse = _message("DescribeResponse")
Error = _message("Error")
OverdueRequest = _message("OverdueRequest")
OverdueResponse = _message("OverdueResponse")
PreviewRequest = _message("PreviewRequest")
PreviewResponse = _message("PreviewResponse")
Tool = _message("Tool")
WatchEvent = _message("WatchEvent")
WatchRequest = _message("WatchRequest")
WireResult = _message("Result")


def clean(s):
    """A string of the wire: lone surrogates, which UTF-8 cannot have, become question marks."""
    return str(s).encode("utf-8", "replace").decode("utf-8")


def check(who, types, **given):
    """TypeError if an argument that an author gave is of another type; None is none."""
    for name, value in given.items():
        if value is not None and not isinstance(value, types):
            want = " or ".join(t.__name__ for t in (types if isinstance(types, tuple) else (types,)))
            raise TypeError(f"{who}: {name} must be {want}, not {value!r:.80}")


def cut(s, most):
    """The first bytes of a string, at most so many, not cut within a character."""
    data = clean(s).encode("utf-8")
    return data[:most].decode("utf-8", "ignore") if len(data) > most else data.decode("utf-8")


class Meter:
    """Drops the events of a call that are over the limits: 1000 a second and 2 MiB a second in the long run, 4000 and
    8 MiB at once. A host drops them too, and ends a call that sends many more."""

    def __init__(self):
        self.last, self.count, self.size, self.dropped = time.monotonic(), 0.0, 0.0, 0

    def admits(self, size):
        now = time.monotonic()
        since, self.last = now - self.last, now
        self.count = max(0.0, self.count - 1000 * since)
        self.size = max(0.0, self.size - (2 << 20) * since)
        if self.count + 1 > 4000 or self.size + size > 8 << 20:
            self.dropped += 1
            return False
        self.count += 1
        self.size += size
        return True


def result_messages(result, most=0):
    """The messages of a result: a large one is sent part by part, each part in pieces. most is how many bytes the host
    takes of large parts of a result that is over the limit without them."""
    total, rest = sum(len(c.text) + len(c.data) for c in result.content), len(result.structured)
    if total > PIECE:
        over = most > 0 and rest <= MAX_RESULT < total + rest
        for c in result.content:
            field = "text" if c.text or c.type == "text" else "data"
            body = getattr(c, field)
            head = Content()
            head.CopyFrom(c)
            setattr(head, field, body[:PIECE])
            event = CallEvent()
            event.part.content.CopyFrom(head)
            event.part.size = len(c.text) + len(c.data)
            event.part.large = over and event.part.size > LARGE
            yield event
            for i in range(PIECE, len(body), PIECE):
                event = CallEvent()
                event.more.data = body[i:i + PIECE]
                yield event
        del result.content[:]
    event = CallEvent()
    event.result.CopyFrom(result)
    yield event
