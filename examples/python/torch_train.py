"""Two training steps of a small classifier in PyTorch: forward, backward, optimiser.

Usage: ``python torch_train.py [steps]``. The losses are checked against the same steps on the CPU.
"""

from __future__ import annotations

import sys

import torch
from torch import nn
from torch.nn import functional

BATCH, WORDS, WIDTH, CLASSES = 16, 32, 64, 10


class Classifier(nn.Module):
    """Embeds words, lets each look at the others, and classifies the average."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(100, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.classify = nn.Linear(WIDTH, CLASSES)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """Give the logits of each text."""
        embedded = self.norm(self.table(words))
        likeness = embedded @ embedded.transpose(1, 2)
        weights = functional.softmax(likeness / WIDTH**0.5, dim=-1)
        mixed = weights @ embedded
        logits: torch.Tensor = self.classify(mixed.mean(dim=1))
        return logits


def batch(device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Texts and their classes, the same on every device."""
    words = (torch.arange(BATCH * WORDS) * 37 % 100).reshape(BATCH, WORDS)
    return words.to(device), (torch.arange(BATCH) % CLASSES).to(device)


def train(device: str, steps: int) -> list[float]:
    """Train and return the loss of each step."""
    torch.manual_seed(1)
    model = Classifier().to(device)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    words, classes = batch(device)
    losses = []
    for _ in range(steps):
        optimiser.zero_grad()
        loss = functional.cross_entropy(model(words), classes)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


def main(steps: int = 2) -> int:
    """Train on both devices; the exit status is 1 when the losses differ."""
    found, expected = train("cuda", steps), train("cpu", steps)
    print(*(f"{loss:.6f}" for loss in found))
    good = all(abs(one - other) < 1e-3 for one, other in zip(found, expected, strict=True))
    print("ok" if good else "the losses differ")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*(int(word) for word in sys.argv[1:])))
