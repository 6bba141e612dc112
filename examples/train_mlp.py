"""Trains jitfuse.torch.FusedMLP on the UCI handwritten digits with torch.optim, and prints the accuracy.

    python3 examples/train_mlp.py [EPOCHS]        (needs torch; some seconds on one core)

Every fifth image is the test split. The model is a torch.nn.Module as any other: what is said here of training holds for nn.Sequential too.
"""

import gzip
import pathlib
import sys

import torch

import jitfuse.torch

DATA = pathlib.Path(__file__).parent / "data" / "digits.csv.gz"


def load():
    with gzip.open(DATA, "rt") as file:
        table = torch.tensor([[float(v) for v in line.split(",")] for line in file])
    x, y = table[:, :64] / 16, table[:, 64].long()
    test = torch.arange(len(x)) % 5 == 4
    return x[~test], y[~test], x[test], y[test]


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return float((model(x).argmax(1) == y).float().mean())


def train(model, x, y, epochs, batch=64):
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for _ in range(epochs):
        model.train()
        for rows in torch.randperm(len(x)).split(batch):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
    return float(loss.detach())


def main(epochs=15):
    torch.manual_seed(7)
    x, y, test_x, test_y = load()
    model = jitfuse.torch.FusedMLP([64, 256, 128, 10], activation="gelu", dropout=0.1)
    loss = train(model, x, y, epochs)
    print(f"loss {loss:.4f}, train accuracy {accuracy(model, x, y):.4f}, test accuracy {accuracy(model, test_x, test_y):.4f} of {len(test_x)}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
