"""A custom op in PyTorch with its gradient, both kernels of vyre, in the training of a small model.

`pip install torch` is yours to do.

python examples/gallery/torch_op.py
"""

import click
import numpy as np
import torch

import vyre as vy


@vy.kernel
def squash(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    value = x[vy.index()]
    return value / (1.0 + vy.abs(value))


@vy.kernel
def squash_slope(grad: vy.Array[vy.f32, "n"], x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    i = vy.index()
    below = 1.0 + vy.abs(x[i])
    return grad[i] / (below * below)


def over(kernel: vy.KernelFunction, *tensors: torch.Tensor) -> torch.Tensor:
    """The kernel over flat views of the tensors, in the shape of the first."""
    result = kernel(*(tensor.detach().contiguous().view(-1) for tensor in tensors))
    return torch.from_numpy(result).view(tensors[0].shape)


class Squash(torch.autograd.Function):
    """x / (1 + |x|)."""

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return over(squash, x)

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, grad: torch.Tensor) -> torch.Tensor:
        return over(squash_slope, grad, *ctx.saved_tensors)


def train(steps: int) -> list[float]:
    """The losses of a model with one hidden layer that learns a sine."""
    torch.manual_seed(0)
    x = torch.linspace(-3, 3, 200)[:, None]
    first, last = torch.nn.Linear(1, 32), torch.nn.Linear(32, 1)
    optimizer = torch.optim.Adam([*first.parameters(), *last.parameters()], lr=0.01)
    losses = []
    for _ in range(steps):
        loss = torch.nn.functional.mse_loss(last(Squash.apply(first(x))), torch.sin(x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@click.command(help=__doc__)
@click.option("--steps", default=300, show_default=True)
def main(steps: int) -> None:
    losses = train(steps)
    for step in np.linspace(0, steps - 1, min(steps, 6)).astype(int):
        click.echo(f"step {step:5}  loss {losses[step]:.6f}")


if __name__ == "__main__":
    main()
