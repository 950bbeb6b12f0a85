#!/usr/bin/env node
// A plugin of one tool: toolhost plugin run --watch sdk/node/examples/weather.js

import { Plugin, ToolError } from "toolhost";

const known = { berlin: 11, cairo: 24, lima: 19 };
const plugin = new Plugin("weather", "1.0.0");

plugin.tool({
  name: "forecast",
  description: "Says the temperatures of the next days in a city. Use it when someone asks what the weather will be.",
  schema: {
    type: "object",
    properties: {
      city: { type: "string", minLength: 1, description: "The city, in English" },
      days: { type: "integer", minimum: 1, maximum: 7, default: 1, description: "How many days" },
      unit: { enum: ["C", "F"], default: "C", description: "Celsius or Fahrenheit" },
    },
    required: ["city"],
    additionalProperties: false,
  },
  hints: { readOnly: true },
}, ({ city, days = 1, unit = "C" }, call) => {
  const start = known[city.toLowerCase()];
  if (start === undefined) {
    throw new ToolError("CityNotFound", `there is no forecast for ${city}`, { suggestion: `Known: ${Object.keys(known).join(", ")}.` });
  }
  const temperatures = Array.from({ length: days }, (_, day) => {
    call.progress(day + 1, days, `day ${day + 1}`);
    const celsius = start + (day % 3);
    return unit === "C" ? celsius : Math.round(celsius * 1.8 + 32);
  });
  return { city, unit, temperatures };
});

plugin.serve();
