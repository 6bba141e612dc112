"""Nested arguments and results: tuples, lists, dicts, namedtuples, dataclasses and None.

flatten gives the leaves and a structure, which is hashable and is compared to find a cached trace;
unflatten builds the same nest with other leaves. Whatever is none of these types is a leaf. The
front in C++ (python/bindings/call_key.cc, jit_function.cc) takes calls that are known apart alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ._fork import loading

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
        _check_attributes(tree)
        items = tree.items()
        children = tuple([_flatten(item, leaves) for _, item in items])
        return (_maker(tree), tuple([key for key, _ in items]), children)
    if hasattr(kind, "__dataclass_fields__"):
        names = field_names(kind)
        return (kind, names, tuple([_flatten(getattr(tree, name), leaves) for name in names]))
    leaves.append(tree)
    return LEAF


class _DefaultDict:
    """Makes an empty defaultdict with its factory: the type in a structure."""

    def __init__(self, kind: Any, factory: Any):
        self._of = (kind, factory)

    def __call__(self) -> Any:
        kind, factory = self._of
        return kind(factory)

    def __hash__(self) -> int:
        return hash(self._of)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _DefaultDict) and self._of == other._of


def _maker(tree: Any) -> Any:
    """What makes an empty dict of this one's class."""
    factory = getattr(tree, "default_factory", None)
    return type(tree) if factory is None else _DefaultDict(type(tree), factory)


def _check_attributes(tree: Any) -> None:
    """A class of dict is built anew from its items; what else it holds would be lost."""
    lost = [name for name in getattr(tree, "__dict__", ()) if name not in tree]
    if lost:
        raise TypeError(
            f"a {type(tree).__qualname__} has the attribute {lost[0]!r} beside its items, which "
            "would be lost; pass dict(it), and what else is needed as an argument"
        )


def field_names(kind: Any) -> tuple[str, ...]:
    """Of a dataclass."""
    with loading:
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
        return tuple.__new__(kind, items)  # a namedtuple, whose own __new__ may take others
    if hasattr(kind, "__dataclass_fields__") and not issubclass(kind, dict):
        return _make_dataclass(kind, keys, items)
    made = _make_empty(kind)
    for key, item in zip(keys, items):
        made[key] = item
    return made


def _make_empty(kind: Any) -> Any:
    try:
        return kind()
    except TypeError as error:
        raise TypeError(
            f"a class of dict has to be made without arguments, to be filled then; {error}; pass "
            "or return a dict"
        ) from None


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
