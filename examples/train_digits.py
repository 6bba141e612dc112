"""Trains the demo's MLP on the UCI handwritten digits and writes its weights and test split.

    python3 examples/train_digits.py        (needs NumPy; about ten seconds on one core; the seed is fixed)

The network is the one examples/demo.cc describes: linear+bias+relu, layer_norm, linear+bias+gelu, linear, softmax. Gradients are written out by hand. Every
fifth image is the test split and is never trained on.
"""

import gzip
import math
import pathlib

import numpy as np

DATA = pathlib.Path(__file__).parent / "data"
HIDDEN1, HIDDEN2, CLASSES, EPS = 256, 128, 10, 1e-5


def load():
    with gzip.open(DATA / "digits.csv.gz", "rt") as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.float64)
    x, y = table[:, :64] / 16.0, table[:, 64].astype(np.int64)
    test = np.arange(len(x)) % 5 == 4
    return x[~test], y[~test], x[test], y[test]


ERF = np.vectorize(math.erf, otypes=[np.float64])


def gelu(z):
    return 0.5 * z * (1 + ERF(z / math.sqrt(2)))


def gelu_slope(z):
    return 0.5 * (1 + ERF(z / math.sqrt(2))) + z * np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)


def init(rng):
    def matrix(rows, cols):
        return rng.normal(0, math.sqrt(2 / rows), (rows, cols))

    return {"w1": matrix(64, HIDDEN1), "b1": np.zeros(HIDDEN1), "gamma": np.ones(HIDDEN1), "beta": np.zeros(HIDDEN1),
            "w2": matrix(HIDDEN1, HIDDEN2), "b2": np.zeros(HIDDEN2), "w3": matrix(HIDDEN2, CLASSES), "b3": np.zeros(CLASSES)}


def forward(p, x):
    z1 = x @ p["w1"] + p["b1"]
    h1 = np.maximum(z1, 0)
    mean, var = h1.mean(1, keepdims=True), h1.var(1, keepdims=True)
    rstd = 1 / np.sqrt(var + EPS)
    norm = (h1 - mean) * rstd
    n1 = norm * p["gamma"] + p["beta"]
    z2 = n1 @ p["w2"] + p["b2"]
    h2 = gelu(z2)
    logits = h2 @ p["w3"] + p["b3"]
    e = np.exp(logits - logits.max(1, keepdims=True))
    return (z1, norm, rstd, n1, z2, h2, e / e.sum(1, keepdims=True))


def gradients(p, x, y):
    z1, norm, rstd, n1, z2, h2, prob = forward(p, x)
    g = prob.copy()
    g[np.arange(len(y)), y] -= 1
    g /= len(y)
    d = {"w3": h2.T @ g, "b3": g.sum(0)}
    g = (g @ p["w3"].T) * gelu_slope(z2)
    d["w2"], d["b2"] = n1.T @ g, g.sum(0)
    g = g @ p["w2"].T
    d["gamma"], d["beta"] = (g * norm).sum(0), g.sum(0)
    g = g * p["gamma"]
    g = rstd * (g - g.mean(1, keepdims=True) - norm * (g * norm).mean(1, keepdims=True))
    g = g * (z1 > 0)
    d["w1"], d["b1"] = x.T @ g, g.sum(0)
    return d


def train(x, y, rng, epochs=25, batch=64, lr=2e-3, decay=1e-3):
    p = init(rng)
    m = {k: np.zeros_like(v) for k, v in p.items()}
    v = {k: np.zeros_like(w) for k, w in p.items()}
    step = 0
    for _ in range(epochs):
        order = rng.permutation(len(x))
        for at in range(0, len(x), batch):
            pick = order[at:at + batch]
            step += 1
            for k, g in gradients(p, x[pick], y[pick]).items():
                m[k] = 0.9 * m[k] + 0.1 * g
                v[k] = 0.999 * v[k] + 0.001 * g * g
                p[k] -= lr * (m[k] / (1 - 0.9**step)) / (np.sqrt(v[k] / (1 - 0.999**step)) + 1e-8)
                p[k] -= lr * decay * p[k]
    return p


def main():
    x, y, test_x, test_y = load()
    p = train(x, y, np.random.default_rng(7))
    (DATA / "digits_weights").mkdir(exist_ok=True)
    for name, value in p.items():
        np.save(DATA / "digits_weights" / f"{name}.npy", value.astype(np.float32))
    np.save(DATA / "digits_test_x.npy", test_x.astype(np.float32))
    np.save(DATA / "digits_test_y.npy", test_y)
    print(f"train accuracy {np.mean(forward(p, x)[-1].argmax(1) == y):.4f}, "
          f"test accuracy {np.mean(forward(p, test_x)[-1].argmax(1) == test_y):.4f} of {len(test_x)}")


if __name__ == "__main__":
    main()
