"""Tools for language models as a plugin of toolhost. A whole plugin:

    from typing import Annotated
    from toolhost import Plugin

    plugin = Plugin("greet", "1.0.0")

    @plugin.tool(read_only=True)
    def hello(name: Annotated[str, "Who to greet"]) -> str:
        "Greets a person."
        return f"Hello, {name}."

    plugin.serve()

It needs Python 3.9, grpcio 1.51 and protobuf 4.21 or later, on Linux or macOS.
"""

from .plugin import (
    Call,
    Canceled,
    InvalidArguments,
    Plugin,
    Preview,
    Result,
    ToolError,
    audio,
    image,
    link,
    resource,
    text,
)
from .schema import Field

__all__ = [
    "Call", "Canceled", "Field", "InvalidArguments", "Plugin", "Preview", "Result", "ToolError",
    "audio", "image", "link", "resource", "text",
]
__version__ = "0.1.0"
