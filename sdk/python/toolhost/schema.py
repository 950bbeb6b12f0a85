"""JSON Schemas from the signatures of functions, and arguments made to fit them."""

import collections.abc
import dataclasses
import enum
import inspect
import types
import typing

from . import wire

_SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean"}
_PYTHON = {"string": str, "integer": int, "number": (int, float), "boolean": bool}
_KEYWORDS = {
    "description": "description", "title": "title", "minimum": "minimum", "maximum": "maximum",
    "min_length": "minLength", "max_length": "maxLength", "pattern": "pattern", "format": "format",
    "min_items": "minItems", "max_items": "maxItems", "examples": "examples",
}


# The types that a keyword is for, and those of its value; others are for all, and for texts.
_FOR = {"minimum": ("integer", "number"), "maximum": ("integer", "number"), "minLength": ("string",),
        "maxLength": ("string",), "pattern": ("string",), "format": ("string",), "minItems": ("array",),
        "maxItems": ("array",)}
_VALUES = {"minimum": (int, float), "maximum": (int, float), "minLength": int, "maxLength": int, "minItems": int,
           "maxItems": int, "examples": list}


class Field:
    """Keywords of a parameter's schema: Annotated[int, Field("How many", minimum=1)]. Those of Python's spelling are
    description, title, minimum, maximum, min_length, max_length, pattern, format, min_items, max_items, examples."""

    def __init__(self, description=None, **keywords):
        unknown = set(keywords) - set(_KEYWORDS)
        if unknown:
            raise TypeError(f"Field has no keyword {sorted(unknown)[0]!r}; there are: {', '.join(sorted(_KEYWORDS))}")
        if description is not None:
            keywords["description"] = description
        for k, v in keywords.items():
            wire.check("Field", _VALUES.get(_KEYWORDS[k], str), **{k: v})
        self.schema = {_KEYWORDS[k]: v for k, v in keywords.items()}


def of_function(function, skip):
    """The schema of a function's parameters but those in skip; other keys are refused. TypeError names a parameter
    that has no schema."""
    name = getattr(function, "__name__", None)
    if name is None:
        raise TypeError(f"{function!r:.80} is not a function made by def; write one that calls it")
    hints, defs = _hints(function, name), _Defs()
    properties, required = {}, []
    for p in inspect.signature(function).parameters.values():
        if p.name in skip:
            continue
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.POSITIONAL_ONLY):
            raise TypeError(f"{name}: parameter {p.name} cannot be given by name; pass schema= instead")
        if p.name not in hints and p.name in ("self", "cls"):
            raise TypeError(f"{name} is a method of a class; make the tool of an object's, such as plugin.tool()(object.{name})")
        if p.name not in hints:
            raise TypeError(f"{name}: parameter {p.name} has no type; write {p.name}: str, or pass schema=")
        try:
            properties[p.name] = _with_default(of(hints[p.name], defs), p.default)
        except TypeError as e:
            raise TypeError(f"{name}: parameter {p.name}: {e}") from None
        if p.default is p.empty:
            required.append(p.name)
    return {**_object(properties, required), **({"$defs": defs.schemas} if defs.schemas else {})}


def _hints(of_what, name):
    try:
        return typing.get_type_hints(of_what, include_extras=True)
    except NameError as e:
        raise TypeError(f"{name}: there is no type {e.name} where Python looks for it; define it outside of functions") from None


def _with_default(schema, default):
    value = default.value if isinstance(default, enum.Enum) else default
    if not isinstance(value, (str, int, float, bool)):
        return schema
    want = _PYTHON.get(schema.get("type"), object)
    if not isinstance(value, want) or (isinstance(value, bool) and want not in (bool, object)):
        raise TypeError(f"the default {value!r} is no {schema['type']}")
    return {**schema, "default": value}


class _Defs:
    """The dataclasses that contain themselves: their schemas by name."""

    def __init__(self):
        self.schemas, self.names, self.open = {}, {}, []

    def of(self, t):
        if t in self.names:
            return {"$ref": "#/$defs/" + self.names[t]}
        if t in self.open:
            taken = self.names.values()
            self.names[t] = t.__name__ if t.__name__ not in taken else f"{t.__name__}{len(taken)}"
            return self.of(t)
        self.open.append(t)
        hints = _hints(t, t.__name__)
        fields = [f for f in dataclasses.fields(t) if f.init]
        required = [f.name for f in fields
                    if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING]
        schema = _object({f.name: of(hints[f.name], self) for f in fields}, required)
        self.open.pop()
        if t not in self.names:
            return schema
        self.schemas[self.names[t]] = schema
        return self.of(t)


def _object(properties, required):
    return {"type": "object", "properties": properties, **({"required": required} if required else {}),
            "additionalProperties": False}


def of(t, defs=None):
    """The schema of a type. TypeError if it has none."""
    defs = defs or _Defs()
    origin, args = typing.get_origin(t), typing.get_args(t)
    if origin is typing.Annotated:
        schema = of(args[0], defs)
        for note in args[1:]:
            if isinstance(note, str):
                schema = {**schema, "description": note}
            elif isinstance(note, Field):
                schema = {**schema, **note.schema}
                _check_keywords(schema)
        return schema
    if t in _SCALARS:
        return {"type": _SCALARS[t]}
    if t is typing.Any or t is inspect.Parameter.empty:
        return {}
    if t is type(None):
        return {"type": "null"}
    if t in (dict, collections.abc.Mapping):
        return {"type": "object"}
    if t in (list, tuple, set):
        return {"type": "array"}
    if origin is typing.Literal:
        return {"enum": list(args)}
    if origin in (list, set, collections.abc.Sequence):
        return {"type": "array", "items": of(args[0], defs)}
    if origin in (dict, collections.abc.Mapping):
        return {"type": "object", "additionalProperties": of(args[1], defs)}
    if origin in (typing.Union, getattr(types, "UnionType", None)):
        return {"anyOf": [of(a, defs) for a in args]}
    if isinstance(t, type) and issubclass(t, enum.Enum):
        return {"enum": [member.value for member in t]}
    if dataclasses.is_dataclass(t):
        return defs.of(t)
    raise TypeError(f"{t!r} has no JSON Schema; use str, int, float, bool, list, dict, Literal, an Enum or a dataclass, "
                    "or pass schema=")


def _check_keywords(schema):
    """TypeError if a keyword is for other types: models and hosts would ignore it."""
    types = {s.get("type") for s in schema.get("anyOf", [schema])}
    for keyword in schema:
        if None not in types and not types.intersection(_FOR.get(keyword, types)):
            own = next(k for k, v in _KEYWORDS.items() if v == keyword)
            raise TypeError(f"{own} is for {' and '.join(_FOR[keyword])}, not for {' and '.join(sorted(types))}")


def fit(t, value):
    """A JSON value as a value of the type: dataclasses and enums are made, all else stays."""
    origin, args = typing.get_origin(t), typing.get_args(t)
    if origin is typing.Annotated:
        return fit(args[0], value)
    if origin in (list, set, collections.abc.Sequence) and isinstance(value, list):
        items = [fit(args[0], v) for v in value]
        return set(items) if origin is set else items
    if origin in (dict, collections.abc.Mapping) and isinstance(value, dict):
        return {k: fit(args[1], v) for k, v in value.items()}
    if origin in (typing.Union, getattr(types, "UnionType", None)):
        chosen = [a for a in args if a is not type(None)]
        if len(chosen) > 1:
            chosen = [a for a in chosen if a is int and float not in args]
        return fit(chosen[0], value) if chosen and value is not None else value
    if isinstance(t, type) and issubclass(t, enum.Enum):
        return t(value)
    if dataclasses.is_dataclass(t) and isinstance(value, dict):
        hints = typing.get_type_hints(t, include_extras=True)
        return t(**{k: fit(hints[k], v) for k, v in value.items()})
    if t is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, float) and value.is_integer() and (t is int or origin is typing.Literal and value in args):
        return int(value)  # 1.0 and 1e2 are integers in JSON Schema
    return value
