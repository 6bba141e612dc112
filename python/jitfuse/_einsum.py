"""einsum: products of arrays summed over axes that are named by letters, as in NumPy and torch.

Two operands at a time are brought together, the pair with the smallest product first. Axes that are
summed on the way are those that neither the result nor another operand has. A pair becomes one
matrix product where both have axes of their own beside those that are summed, else a product of
elements with a sum, which fuses with what is around it. The axes of an ellipsis broadcast; they are
named by numbers, counted from the last.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from ._apply import astype, lift
from ._array import Array
from ._dims import Dim, as_text
from ._dtypes import int32
from ._elementwise import multiply
from ._linalg import diagonal, matmul
from ._manipulation import expand_dims, matrix_transpose, permute_dims, reshape, squeeze
from ._reductions import sum as _sum

Label = str | int


class _Term:
    """An operand and the labels of its axes."""

    def __init__(self, array: Array, labels: list[Label]):
        self.array = array
        self.labels = labels

    def sizes(self) -> dict[Label, Any]:
        return dict(zip(self.labels, self.array.shape))

    def ordered(self, labels: Sequence[Label]) -> Array:
        axes = [self.labels.index(label) for label in labels]
        return self.array if axes == list(range(len(axes))) else permute_dims(self.array, axes)

    def summed(self, keep: set[Label]) -> _Term:
        """Without the axes that nobody needs."""
        axes = tuple(i for i, label in enumerate(self.labels) if label not in keep)
        if not axes:
            return self
        left = [label for label in self.labels if label in keep]
        return _Term(_sum(self.array, axis=axes, dtype=self.array.dtype), left)


def einsum(subscripts: str, /, *operands: Any) -> Array:
    """Sums of products, as in `einsum("bik,bkj->bij", x, y)`.

    Each letter names an axis; letters that the result does not have are summed over. Without `->`
    the result has the letters that stand once, in alphabetical order. `...` stands for axes that
    broadcast. Bools give whether any of the products is true.
    """
    if not isinstance(subscripts, str):
        raise TypeError(
            f"einsum: expected subscripts such as 'ij,jk->ik' before the arrays, got {subscripts!r}"
        )
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = tuple(operands[0])  # as in torch
    texts, output = _split(subscripts, len(operands))
    trace, arrays, _ = lift(operands, "einsum")
    if all(x.dtype.kind == "bool" for x in arrays):  # "or" of "and", as in NumPy
        return einsum(subscripts, *[astype(x, int32) for x in arrays]) != 0
    terms = [
        _diagonals(_Term(x, _labels(subscripts, t, x.ndim)), subscripts)
        for t, x in zip(texts, arrays)
    ]
    wanted = _output(subscripts, output, terms, texts)
    terms = _without_ones(terms, subscripts)
    while len(terms) > 1:
        i, j = _cheapest(terms, wanted)
        between, after = terms[i + 1 : j], terms[j + 1 :]
        keep = _needed(terms[:i] + between + after, wanted)
        terms = [*terms[:i], _pair(terms[i], terms[j], keep), *between, *after]
    result = terms[0].summed(set(wanted))
    return result.ordered(wanted)


def _needed(terms: list[_Term], wanted: list[Label]) -> set[Label]:
    return set(wanted).union(*(t.labels for t in terms))


# Subscripts.


def _split(subscripts: str, count: int) -> tuple[list[str], str | None]:
    """The operands' labels, and the result's if they are given."""
    text = "".join(subscripts.split())
    left, arrow, right = text.partition("->")
    texts = left.split(",")
    for part in [*texts, right]:
        if set(part.replace("...", "", 1)) - set(string.ascii_letters):
            raise ValueError(
                f"einsum({subscripts!r}): expected letters, ',', '->' and at most one '...' for "
                f"each array, got {part!r}"
            )
    if len(texts) != count:
        raise ValueError(
            f"einsum({subscripts!r}): the subscripts are of {len(texts)} arrays, got {count}"
        )
    return texts, right if arrow else None


def _labels(subscripts: str, text: str, ndim: int) -> list[Label]:
    before, dots, after = text.partition("...")
    rest = ndim - len(before) - len(after)
    if rest < 0 or (rest and not dots):
        raise ValueError(
            f"einsum({subscripts!r}): {text!r} is of an array with "
            f"{'at least ' if dots else ''}{len(before) + len(after)} axes, got one with {ndim}"
        )
    return [*before, *range(-rest, 0), *after]


def _output(
    subscripts: str, output: str | None, terms: list[_Term], texts: list[str]
) -> list[Label]:
    numbers = min([label for t in terms for label in t.labels if isinstance(label, int)] + [0])
    dots: list[Label] = list(range(numbers, 0))
    if output is None:
        letters = "".join(texts).replace(".", "")
        return [*dots, *sorted(c for c in set(letters) if letters.count(c) == 1)]
    before, has_dots, after = output.partition("...")
    wanted = [*before, *(dots if has_dots else []), *after]
    known = {label for t in terms for label in t.labels}
    for label in [*before, *after]:
        if label not in known or wanted.count(label) > 1:
            what = "no array has it" if label not in known else "it is there twice"
            raise ValueError(f"einsum({subscripts!r}): {label!r} of the result: {what}")
    return wanted


# Axes.


def _diagonals(term: _Term, subscripts: str) -> _Term:
    """Letters that an array has twice mean its diagonal."""
    for label in dict.fromkeys(term.labels):
        while term.labels.count(label) > 1:
            first = term.labels.index(label)
            second = term.labels.index(label, first + 1)
            rest = [i for i in range(len(term.labels)) if i not in (first, second)]
            sizes = term.array.shape[first], term.array.shape[second]
            if int(sizes[0]) != int(sizes[1]):
                raise ValueError(
                    f"einsum({subscripts!r}): {label!r} is twice in one array, with {sizes[0]} and "
                    f"{sizes[1]} elements"
                )
            array = diagonal(permute_dims(term.array, [*rest, first, second]))
            term = _Term(array, [*(term.labels[i] for i in rest), label])
    return term


def _without_ones(terms: list[_Term], subscripts: str) -> list[_Term]:
    """Sizes compared; axes of size 1 that are larger in another array are dropped, since they
    broadcast."""
    sizes: dict[Label, Any] = {}
    for term in terms:
        for label, size in term.sizes().items():
            known = sizes.setdefault(label, size)
            if _is_one(known):
                sizes[label] = size
            elif isinstance(known, int) and isinstance(size, int) and size not in (1, known):
                name = repr(label) if isinstance(label, str) else f"axis {label} of '...'"
                raise ValueError(f"einsum({subscripts!r}): {name} has {known} and {size} elements")
    out = []
    for term in terms:
        own = term.sizes()
        axes = tuple(
            i
            for i, label in enumerate(term.labels)
            if _is_one(own[label]) and not _is_one(sizes[label])
        )
        labels = [label for i, label in enumerate(term.labels) if i not in axes]
        out.append(_Term(squeeze(term.array, axes) if axes else term.array, labels))
    return out


def _is_one(size: Any) -> bool:
    return isinstance(size, int) and size == 1


# Pairs.


def _cheapest(terms: list[_Term], wanted: list[Label]) -> tuple[int, int]:
    """The pair whose product has the fewest elements; the first of them. Sizes are those of the
    traced call, which does not make them constants."""
    if len(terms) == 2:
        return 0, 1
    best, found = None, (0, 1)
    for j in range(len(terms)):
        for i in range(j):
            others = terms[:i] + terms[i + 1 : j] + terms[j + 1 :]
            keep = _needed(others, wanted)
            sizes = {**terms[i].sizes(), **terms[j].sizes()}
            count = 1
            for label, size in sizes.items():
                if label in keep:
                    trace = terms[i].array._trace
                    count *= trace.size_value(as_text(size)) if isinstance(size, Dim) else size
            if best is None or count < best:
                best, found = count, (i, j)
    return found


def _pair(a: _Term, b: _Term, keep: set[Label]) -> _Term:
    a = a.summed(keep | set(b.labels))
    b = b.summed(keep | set(a.labels))
    batch = [label for label in a.labels if label in b.labels and label in keep]
    inner = [label for label in a.labels if label in b.labels and label not in keep]
    left = [label for label in a.labels if label not in b.labels]
    right = [label for label in b.labels if label not in a.labels]
    if not (inner and left and right):
        return _products(a, b, batch, left, right, inner)
    x = _matrix(a, batch, left, inner)
    y = _matrix(b, batch, inner, right)
    sizes = {**a.sizes(), **b.sizes()}
    labels = [*batch, *left, *right]
    return _Term(_as_shape(matmul(x, y), [sizes[label] for label in labels]), labels)


def _products(
    a: _Term,
    b: _Term,
    batch: list[Label],
    left: list[Label],
    right: list[Label],
    inner: list[Label],
) -> _Term:
    """One product for each combination of axes, summed over the inner ones."""
    labels = [*batch, *left, *right, *inner]
    x, y = a.ordered([*batch, *left, *inner]), b.ordered([*batch, *right, *inner])
    for i in range(len(right)):
        x = expand_dims(x, axis=len(batch) + len(left) + i)
    for i in range(len(left)):
        y = expand_dims(y, axis=len(batch) + i)
    product = multiply(x, y)
    if not inner:
        return _Term(product, labels)
    axes = tuple(range(len(labels) - len(inner), len(labels)))
    return _Term(_sum(product, axis=axes, dtype=product.dtype), labels[: -len(inner)])


def _matrix(term: _Term, batch: list[Label], rows: list[Label], columns: list[Label]) -> Array:
    """The array as matrices; one that lies there as their transposes is not copied."""
    if term.labels == [*batch, *columns, *rows]:
        return matrix_transpose(_grouped(term, [batch, columns, rows]))
    return _grouped(term, [batch, rows, columns])


def _grouped(term: _Term, groups: list[list[Label]]) -> Array:
    """The axes in this order; those of the last two groups each as one axis."""
    sizes = term.sizes()
    array = term.ordered([label for group in groups for label in group])
    shape = [sizes[label] for label in groups[0]]
    for group in groups[1:]:
        size: Any = 1
        for label in group:
            size = size * sizes[label]
        shape.append(size)
    return _as_shape(array, shape)


def _as_shape(array: Array, shape: list[Any]) -> Array:
    return array if len(shape) == array.ndim else reshape(array, tuple(shape))
