#!/usr/bin/env python3
"""A plugin of one tool: toolhost plugin run --watch sdk/python/examples/weather.py"""

import os
import sys
from typing import Annotated, Literal

# The kit is in the folder above; it need not be installed.
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from toolhost import Call, Field, Plugin, ToolError

plugin = Plugin("weather", "1.0.0")
KNOWN = {"berlin": 11, "cairo": 24, "lima": 19}


@plugin.tool(read_only=True)
def forecast(
    city: Annotated[str, Field("The city, in English", min_length=1)],
    days: Annotated[int, Field("How many days", minimum=1, maximum=7)] = 1,
    unit: Annotated[Literal["C", "F"], "Celsius or Fahrenheit"] = "C",
    *,
    call: Call,
) -> dict:
    """Says the temperatures of the next days in a city. Use it when someone asks what the weather will be."""
    start = KNOWN.get(city.lower())
    if start is None:
        raise ToolError("CityNotFound", f"there is no forecast for {city!r}", suggestion=f"Known: {', '.join(KNOWN)}.")
    out = []
    for day in range(days):
        call.progress(day + 1, days, f"day {day + 1}")
        celsius = start + day % 3
        out.append(celsius if unit == "C" else round(celsius * 1.8 + 32))
    return {"city": city, "unit": unit, "temperatures": out}


plugin.serve()
