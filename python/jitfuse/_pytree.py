"""Nested arguments and results: tuples, lists, dicts, namedtuples, dataclasses and None.

flatten gives the leaves and a structure, which is hashable and is compared to find a cached trace;
unflatten builds the same nest with other leaves. Whatever is none of these types is a leaf. The
front in C++ (python/bindings/call_key.cc, jit_function.cc) takes calls that are known apart alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

LEAF = "*"
Structure = Any  # LEAF, None, or (type, keys, children)


def flatten(tree: Any) -> tuple[list[Any], Structure]:
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves)


def _flatten(tree: Any, leaves: list[Any]) -> Structure:
    if tree is None:
        return None
    kind = type(tree)
    if kind is tuple or kind is list:
        return (kind, None, tuple([_flatten(item, leaves) for item in tree]))
    if kind is dict:
        return (dict, tuple(tree), tuple([_flatten(item, leaves) for item in tree.values()]))
    if isinstance(tree, tuple) and hasattr(kind, "_fields"):
        return (kind, None, tuple([_flatten(item, leaves) for item in tree]))
    if isinstance(tree, dict):  # OrderedDict and the like
        return (kind, tuple(tree), tuple([_flatten(item, leaves) for item in tree.values()]))
    if hasattr(kind, "__dataclass_fields__"):
        names = field_names(kind)
        return (kind, names, tuple([_flatten(getattr(tree, name), leaves) for name in names]))
    leaves.append(tree)
    return LEAF


def field_names(kind: Any) -> tuple[str, ...]:
    """Of a dataclass."""
    import dataclasses

    return tuple(f.name for f in dataclasses.fields(kind))


def unflatten(structure: Structure, leaves: Iterator[Any]) -> Any:
    if structure is LEAF:
        return next(leaves)
    if structure is None:
        return None
    kind, keys, children = structure
    items = [unflatten(child, leaves) for child in children]
    if kind is tuple or kind is list:
        return kind(items)
    if keys is None:
        return kind(*items)  # a namedtuple
    if hasattr(kind, "__dataclass_fields__"):
        return _make_dataclass(kind, keys, items)
    made = kind()
    for key, item in zip(keys, items):
        made[key] = item
    return made


def _make_dataclass(kind: Any, names: tuple[str, ...], items: list[Any]) -> Any:
    """Without calling __init__, which may take other arguments or convert them."""
    made = object.__new__(kind)
    for name, item in zip(names, items):
        object.__setattr__(made, name, item)
    return made


def paths(structure: Structure, prefix: str) -> Iterator[str]:
    """A name for each leaf, such as "params_w_0"."""
    if structure is LEAF:
        yield prefix
    elif structure is not None:
        _, keys, children = structure
        names = range(len(children)) if keys is None else keys
        for name, child in zip(names, children):
            yield from paths(child, f"{prefix}_{name}")
