"""JSON Schemas from the signatures of functions, and arguments made to fit them."""

import collections.abc
import dataclasses
import enum
import inspect
import types
import typing

_SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean"}
_KEYWORDS = {
    "description": "description", "title": "title", "minimum": "minimum", "maximum": "maximum",
    "min_length": "minLength", "max_length": "maxLength", "pattern": "pattern", "format": "format",
    "min_items": "minItems", "max_items": "maxItems", "examples": "examples",
}


class Field:
    """Keywords of a parameter's schema: Annotated[int, Field("How many", minimum=1)]. Those of Python's spelling are
    description, title, minimum, maximum, min_length, max_length, pattern, format, min_items, max_items, examples."""

    def __init__(self, description=None, **keywords):
        unknown = set(keywords) - set(_KEYWORDS)
        if unknown:
            raise TypeError(f"Field has no keyword {sorted(unknown)[0]!r}; there are: {', '.join(sorted(_KEYWORDS))}")
        if description is not None:
            keywords["description"] = description
        self.schema = {_KEYWORDS[k]: v for k, v in keywords.items()}


def of_function(function, skip):
    """The schema of a function's parameters but those in skip; other keys are refused. TypeError names a parameter
    that has no schema."""
    hints = typing.get_type_hints(function, include_extras=True)
    properties, required = {}, []
    for p in inspect.signature(function).parameters.values():
        if p.name in skip:
            continue
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.POSITIONAL_ONLY):
            raise TypeError(f"{function.__name__}: parameter {p.name} cannot be given by name; pass schema= instead")
        if p.name not in hints:
            raise TypeError(f"{function.__name__}: parameter {p.name} has no type; write {p.name}: str, or pass schema=")
        try:
            properties[p.name] = of(hints[p.name])
        except TypeError as e:
            raise TypeError(f"{function.__name__}: parameter {p.name}: {e}") from None
        if p.default is p.empty:
            required.append(p.name)
        elif isinstance(p.default, (str, int, float, bool)):
            properties[p.name] = {**properties[p.name], "default": p.default}
    return _object(properties, required)


def _object(properties, required):
    return {"type": "object", "properties": properties, **({"required": required} if required else {}),
            "additionalProperties": False}


def of(t):
    """The schema of a type. TypeError if it has none."""
    origin, args = typing.get_origin(t), typing.get_args(t)
    if origin is typing.Annotated:
        schema = of(args[0])
        for note in args[1:]:
            if isinstance(note, str):
                schema = {**schema, "description": note}
            elif isinstance(note, Field):
                schema = {**schema, **note.schema}
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
        return {"type": "array", "items": of(args[0])}
    if origin in (dict, collections.abc.Mapping):
        return {"type": "object", "additionalProperties": of(args[1])}
    if origin in (typing.Union, getattr(types, "UnionType", None)):
        return {"anyOf": [of(a) for a in args]}
    if isinstance(t, type) and issubclass(t, enum.Enum):
        return {"enum": [member.value for member in t]}
    if dataclasses.is_dataclass(t):
        hints = typing.get_type_hints(t, include_extras=True)
        fields = [f for f in dataclasses.fields(t) if f.init]
        required = [f.name for f in fields
                    if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING]
        return _object({f.name: of(hints[f.name]) for f in fields}, required)
    raise TypeError(f"{t!r} has no JSON Schema; use str, int, float, bool, list, dict, Literal, an Enum or a dataclass, "
                    "or pass schema=")


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
        return fit(chosen[0], value) if len(chosen) == 1 and value is not None else value
    if isinstance(t, type) and issubclass(t, enum.Enum):
        return t(value)
    if dataclasses.is_dataclass(t) and isinstance(value, dict):
        hints = typing.get_type_hints(t, include_extras=True)
        return t(**{k: fit(hints[k], v) for k, v in value.items()})
    if t is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value
