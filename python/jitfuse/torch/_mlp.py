"""FusedMLP: linear layers with an activation between them, as one function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import torch  # type: ignore[import-not-found,unused-ignore]
from torch import nn  # type: ignore[import-not-found,unused-ignore]
from torch.nn.modules import module as _module  # type: ignore[import-not-found,unused-ignore]

from ._linear import FusedLinear, FusedLinearReLU, checked_linear, has_hooks, has_own_forward
from ._run import Chain, run, why_plain

_OF_MODULES: dict[type, str] = {
    nn.Hardswish: "hardswish", nn.Mish: "mish", nn.ReLU: "relu", nn.ReLU6: "relu6",
    nn.SELU: "selu", nn.Sigmoid: "sigmoid", nn.SiLU: "silu", nn.Tanh: "tanh",
}  # fmt: skip
_DEFAULTS: dict[type, tuple[str, dict[str, Any]]] = {  # those that have options
    nn.ELU: ("elu", {"alpha": 1.0}),
    nn.LeakyReLU: ("leaky_relu", {"negative_slope": 0.01}),
    nn.Softplus: ("softplus", {"beta": 1.0, "threshold": 20.0}),
}


def _activation_of(what: str, module: nn.Module) -> str:
    """The name of what a module of torch computes."""
    kind = type(module)
    if kind in _OF_MODULES:
        return _OF_MODULES[kind]
    if kind is nn.GELU:
        return "gelu" if module.approximate == "none" else "gelu_tanh"
    name, options = _DEFAULTS.get(kind, ("", {}))
    if not name or any(getattr(module, key) != value for key, value in options.items()):
        raise ValueError(
            f"{what}: {module} is no layer that is fused: expected Linear, Dropout, Identity, and "
            "activations that jitfuse.torch.ACTIVATIONS names, with their default options"
        )
    return name


def _flattened(what: str, module: nn.Module) -> Iterator[nn.Module]:
    """The layers of a Sequential in order, without what would be lost of any of them."""
    kind = nn.Sequential if isinstance(module, nn.Sequential) else type(module)
    if has_hooks(module):
        raise ValueError(f"{what}: {module} has hooks, which would be lost; remove them")
    if has_own_forward(module, kind):
        raise ValueError(
            f"{what}: {type(module).__name__} has a forward of its own, which would be lost; got "
            f"{module}"
        )
    if kind is nn.Sequential:
        for child in cast(nn.Sequential, module):
            yield from _flattened(what, child)
    elif kind is not nn.Identity:
        yield module


def _add_dropout(what: str, layer: FusedLinear, module: nn.Dropout) -> None:
    if module.training != layer.training:
        modes = ["training" if m.training else "eval" for m in (module, layer)]
        raise ValueError(
            f"{what}: {module} is in {modes[0]} mode and the Linear before it in {modes[1]} mode; "
            "a fused layer has one mode for both"
        )
    layer.dropout = module.p


class FusedMLP(nn.Module):
    """Linear layers of sizes[0] to sizes[1] to ... features, with an activation and, while
    training, dropout between them: one call, whose products take what they can of the rest.

    Parameters are layers.0.weight, layers.0.bias, layers.1.weight ...: `layers` is a ModuleList of
    FusedLinear. Where a layer has hooks or was replaced, the layers are called one by one.

    output_activation: what follows the last layer; None: nothing.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        activation: str | None = "relu",
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        dropout: float = 0.0,
        output_activation: str | None = None,
    ):
        super().__init__()
        sizes = list(sizes)
        if len(sizes) < 2:
            raise ValueError(
                f"FusedMLP: sizes={sizes}, expected two or more: those of the input, of what is "
                "between the layers, and of the output"
            )
        last = len(sizes) - 2
        self.layers = nn.ModuleList(
            FusedLinear(
                sizes[i],
                sizes[i + 1],
                activation if i < last else output_activation,
                bias,
                device,
                dtype,
                dropout=dropout if i < last else 0.0,
            )
            for i in range(last + 1)
        )

    @classmethod
    def from_layers(cls, layers: Sequence[FusedLinear]) -> Any:
        """The MLP of these layers, which it shares."""
        if not layers or not all(isinstance(layer, FusedLinear) for layer in layers):
            kinds = ", ".join(type(layer).__name__ for layer in layers)
            raise TypeError(f"FusedMLP: expected one or more FusedLinear, got [{kinds}]")
        for i in range(1, len(layers)):
            if layers[i].in_features != layers[i - 1].out_features:
                raise ValueError(
                    f"FusedMLP: layer {i} takes {layers[i].in_features} features, and layer "
                    f"{i - 1} gives {layers[i - 1].out_features}"
                )
        self = cls.__new__(cls)
        nn.Module.__init__(self)
        self.layers = nn.ModuleList(layers)
        self.training = layers[0].training
        return self

    @classmethod
    def from_sequential(cls, sequential: nn.Sequential) -> Any:
        """The MLP that shares the parameters of a torch.nn.Sequential of Linear, activations and
        Dropout: the same objects. The mode (train, eval) is taken over, of each Linear and its
        Dropout together. Hooks and a forward of its own anywhere inside are an error."""
        what = "FusedMLP.from_sequential"
        if not isinstance(sequential, nn.Sequential):
            got = type(sequential).__name__
            raise TypeError(f"{what}: expected a torch.nn.Sequential, got {got}")
        layers: list[FusedLinear] = []
        for module in _flattened(what, sequential):
            if isinstance(module, nn.Linear):
                layers.append(FusedLinear.from_linear(checked_linear(what, module)))
                continue
            before = layers[-1] if layers else None
            if before is None or before.dropout:
                raise ValueError(f"{what}: expected a Linear before {module}")
            if type(module) is nn.Dropout:
                _add_dropout(what, before, module)
            elif before.activation is not None:
                raise ValueError(f"{what}: {module} follows {before.activation!r}; expected one "
                                 "activation behind each Linear")  # fmt: skip
            else:
                before.activation = _activation_of(what, module)
        if not layers:
            raise ValueError(f"{what}: expected one Linear at least, got {sequential}")
        return cls.from_layers(layers)

    def _together(self) -> Chain | None:
        """The layers, where they may be computed in one call."""
        if _module._has_any_global_hook():
            return None
        parameters: list[Any] = []
        activations: list[str | None] = []
        drops: list[float] = []
        layers: Any = self._modules["layers"]
        for layer in layers._modules.values():
            if type(layer) is not FusedLinear and type(layer) is not FusedLinearReLU:
                return None
            own = layer._parameters
            if has_hooks(layer) or "forward" in layer.__dict__ or "weight" not in own:
                return None
            parameters += own["weight"], own["bias"]
            activations.append(layer.activation)
            drops.append(layer.dropout if layer.training else 0.0)
        return Chain(parameters, tuple(activations), tuple(drops))

    def forward(self, input: Any) -> Any:
        if not torch.compiler.is_compiling():
            chain = self._together()
            if chain is not None:
                return run(self, input, chain)
        for layer in self.layers:
            input = layer(input)
        return input

    def why_plain(self, input: Any) -> str | None:
        """Why this input is computed by plain torch; None: by Jitfuse."""
        chain = self._together()
        if chain is None:
            return "a layer has hooks, or was replaced: they are called one by one"
        return why_plain(input, chain)
