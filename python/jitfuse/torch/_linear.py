"""FusedLinear: torch.nn.Linear with an activation and dropout, as one function."""

from __future__ import annotations

from typing import Any

import torch  # type: ignore[import-not-found,unused-ignore]
from torch import nn  # type: ignore[import-not-found,unused-ignore]

from ..fused._make import ACTIVATIONS
from ._run import Chain, run, why_plain


def checked_activation(what: str, activation: str | None) -> str | None:
    if activation is not None and activation not in ACTIVATIONS:
        raise ValueError(
            f"{what}: activation={activation!r}, expected None or one of {', '.join(ACTIVATIONS)}"
        )
    return activation


def checked_dropout(what: str, p: float) -> float:
    if not 0 <= p <= 1:
        raise ValueError(f"{what}: dropout={p}, expected a probability from 0 to 1")
    return float(p)


def has_hooks(module: Any) -> bool:
    return bool(
        module._forward_hooks
        or module._forward_pre_hooks
        or module._backward_hooks
        or module._backward_pre_hooks
    )


def has_own_forward(module: Any, kind: Any) -> bool:
    """Whether a call does something else than torch's class `kind` does."""
    return "forward" in module.__dict__ or any(
        getattr(type(module), name) is not getattr(kind, name) for name in ("forward", "__call__")
    )


def checked_linear(what: str, linear: Any) -> nn.Linear:
    """A torch.nn.Linear that is nothing besides."""
    if not isinstance(linear, nn.Linear) or has_own_forward(linear, nn.Linear):
        raise TypeError(
            f"{what}: expected a torch.nn.Linear, got {type(linear).__name__}; one with a forward "
            "of its own does something else"
        )
    parameters = linear._parameters
    if not isinstance(parameters.get("weight"), nn.Parameter) or "bias" not in parameters:
        raise TypeError(
            f"{what}: the weight or bias of {type(linear).__name__} is no parameter of its own "
            "(it is parametrized, lazy or normalised)"
        )
    if isinstance(linear.weight, nn.UninitializedParameter):
        raise TypeError(f"{what}: {type(linear).__name__} has no weight yet; call it once before")
    if has_hooks(linear):
        raise ValueError(f"{what}: the module has hooks, which would be lost; remove them before")
    return linear


class FusedLinear(nn.Module):
    """activation(input @ weight.T + bias), with dropout behind it while training.

    Parameters have torch.nn.Linear's names, shapes and initial values (the same numbers after the
    same torch.manual_seed), so that a state_dict of one loads into the other. It is no subclass of
    torch.nn.Linear: tools that swap those by their class would lose the activation.

    activation: None or one of jitfuse.torch.ACTIVATIONS; "gelu" is the one with erf.
    dropout: the probability that an element becomes 0 while training; torch.manual_seed repeats the
        masks.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        activation: str | None = None,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        dropout: float = 0.0,
    ):
        super().__init__()
        what = type(self).__name__
        self.activation = checked_activation(what, activation)
        self.dropout = checked_dropout(what, dropout)
        self.in_features = in_features
        self.out_features = out_features
        made = {"device": device, "dtype": dtype}
        self.weight = nn.Parameter(torch.empty((out_features, in_features), **made))
        if bias:
            self.bias = nn.Parameter(torch.empty(out_features, **made))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the parameters as torch.nn.Linear does."""
        nn.Linear.reset_parameters(self)  # type: ignore[arg-type,unused-ignore]

    @classmethod
    def _around(
        cls, weight: Any, bias: Any, activation: str | None, dropout: float, training: bool = True
    ) -> Any:
        """A module of these very parameters."""
        self = cls.__new__(cls)
        nn.Module.__init__(self)
        self.activation = checked_activation(cls.__name__, activation)
        self.dropout = checked_dropout(cls.__name__, dropout)
        self.out_features, self.in_features = weight.shape
        self.register_parameter("weight", weight)
        self.register_parameter("bias", bias)
        self.training = training
        return self

    @classmethod
    def from_linear(
        cls, linear: nn.Linear, activation: str | None = None, *, dropout: float = 0.0
    ) -> Any:
        """The module that shares the parameters of a torch.nn.Linear: the same objects, so that
        what is trained of one is trained of the other. The mode (train, eval) is taken over."""
        linear = checked_linear(f"{cls.__name__}.from_linear", linear)
        return cls._around(linear.weight, linear.bias, activation, dropout, linear.training)

    @classmethod
    def from_tensors(
        cls, weight: Any, bias: Any = None, activation: str | None = None, *, dropout: float = 0.0
    ) -> Any:
        """The module of these tensors: weight [out, in], bias [out] or None. They become parameters
        that share their memory; a torch.nn.Parameter is taken as it is."""
        what = f"{cls.__name__}.from_tensors"
        for name, t in (("weight", weight), ("bias", bias)):
            if not isinstance(t, torch.Tensor) and not (name == "bias" and t is None):
                raise TypeError(f"{what}: {name} is a {type(t).__name__}, expected a torch.Tensor")
        if weight.ndim != 2:
            raise ValueError(
                f"{what}: weight has shape {tuple(weight.shape)}, expected [out_features, "
                "in_features]"
            )
        if bias is not None and tuple(bias.shape) != (weight.shape[0],):
            raise ValueError(
                f"{what}: bias has shape {tuple(bias.shape)}, expected ({weight.shape[0]},), that "
                f"of a weight of shape {tuple(weight.shape)}"
            )

        def parameter(t: Any) -> Any:
            return t if t is None or isinstance(t, nn.Parameter) else nn.Parameter(t.detach())

        return cls._around(parameter(weight), parameter(bias), activation, dropout)

    def chain(self) -> Chain:
        """What the functions of this package compute with."""
        own = self._parameters  # for a parametrized weight, which is not among them: the attribute
        weight = own["weight"] if "weight" in own else self.weight
        bias = own["bias"] if "bias" in own else self.bias
        p = self.dropout if self.training else 0.0
        return Chain([weight, bias], (self.activation,), (p,))

    def forward(self, input: Any) -> Any:
        return run(self, input, self.chain())

    def why_plain(self, input: Any) -> str | None:
        """Why this input is computed by plain torch; None: by Jitfuse."""
        return why_plain(input, self.chain())

    def extra_repr(self) -> str:
        text = (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}, activation={self.activation!r}"
        )
        return text + (f", dropout={self.dropout}" if self.dropout else "")


class FusedLinearReLU(FusedLinear):
    """relu(input @ weight.T + bias): FusedLinear with activation="relu"."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        dropout: float = 0.0,
    ):
        super().__init__(in_features, out_features, "relu", bias, device, dtype, dropout=dropout)

    @classmethod
    def from_linear(  # type: ignore[override]
        cls, linear: nn.Linear, *, dropout: float = 0.0
    ) -> Any:
        """As FusedLinear.from_linear."""
        return super().from_linear(linear, "relu", dropout=dropout)

    @classmethod
    def from_tensors(  # type: ignore[override]
        cls, weight: Any, bias: Any = None, *, dropout: float = 0.0
    ) -> Any:
        """As FusedLinear.from_tensors."""
        return super().from_tensors(weight, bias, "relu", dropout=dropout)
