"""The programs of the fourth kind: whole training scripts, each one scene: models of every layer with its options are trained with every
optimizer and scheduler, stored and loaded in the middle, fed by loaders, and what surrounds training is done between the steps."""
from __future__ import annotations

import random

from . import layers, words
from .scenes import SCENES
from .world import WORLD

__all__ = ["WORLD", "TrainingProgram"]


class TrainingProgram:
    """The statements of one seed: [(text, names to be described)]."""

    def __init__(self, seed):
        self.r, self.made = random.Random(seed), []
        self.scene = self.r.choice([s for s, often in SCENES for _ in range(often)])
        # in single precision, layers and steps make roundings visible
        self.emit("torch.manual_seed(0); torch.set_default_dtype(torch.float64)")
        self.scene(self)

    def t(self, text, **given):
        """A text with what is given put in and one of each `{a|b}` chosen."""
        for name, value in given.items():
            text = text.replace("{" + name + "}", str(value))
        return self._chosen(text, 0, False)[0]

    def _chosen(self, text, k, inside):
        """(the text from place k up to the brace that ends it, with one of each `{a|b}` chosen; the place behind). Other braces stay."""
        ways = [""]
        while k < len(text):
            if text[k] == "{":
                made, k = self._chosen(text, k + 1, True)
                ways[-1] += made
            elif inside and text[k] == "}":
                return (self.r.choice(ways) if len(ways) > 1 else "{" + ways[0] + "}"), k + 1
            else:
                if inside and text[k] == "|":
                    ways.append("")
                else:
                    ways[-1] += text[k]
                k += 1
        return ways[0], k

    def pick(self, texts, **given):
        return self.t(self.r.choice(texts), **given)

    def likely(self, p):
        return self.r.random() < p

    def emit(self, text, *names):
        self.made.append((self.t(text), names))

    def text(self):
        return "\n".join([text for text, _ in self.made])

    def layers(self, kind, least=1, most=3):
        """The texts of a model's layers, which end in three numbers for each example."""
        known, head, _, c = layers.KINDS[kind]
        made = [self.pick(layers.TOKENS)] if kind == "tokens" else []
        for _ in range(self.r.randint(least, most)):
            form, width = self.r.choice(known)
            d = self.r.choice((2, 3, 4))
            made.append(self.t(form, c=c, d=d))
            c = d if width == "d" else c
            if self.likely(0.5):
                made.append("nn." + self.pick(layers.ACTIVATIONS, c=c if kind in ("rows", "images", "series", "volumes") else 1))
        return [*made, self.t(head, c=c)]

    def model(self, kind, most=3):
        """Emits a model, and a batch that it takes."""
        made = self.layers(kind, most=most)
        # torch has no second derivatives of attention
        once = "ttend", "former", "Caus", "Cross", "Decod", "Transl", "dot_product"
        self.once = any([name in layer for layer in made for name in once])
        self.emit(f"model = nn.Sequential({', '.join(made)})")
        shape = layers.KINDS[kind][2]
        if kind == "tokens":
            self.emit(f"x = torch.randint(0, 7, {shape if 'Bag' not in self.text() else '(6, 4)'})", "x")
        else:
            self.emit(f"x = torch.randn({shape})", "x")
        self.emit("t, y = torch.randint(0, 3, (6,)), torch.randn(6, 3)", "t", "y")
        self.emit("model(x); say('parameters', dict(model.named_parameters()))")      # what is lazy takes its shapes

    def optimizer(self, name="opt", parameters=None, known=None, wrong=0.05):
        if self.likely(wrong):
            self.emit(f"{name} = optim.{self.pick(words.WRONG_OPTIMIZERS, p=parameters or 'model.parameters()')}")
        text = self.r.choice(known or words.OPTIMIZERS)
        groups = parameters or (self.pick(words.PARAMETERS) if "LBFGS" not in text and "Muon" not in text else "model.parameters()")
        self.emit(f"{name} = optim.{self.t(text, p=groups)}")
        return "LBFGS" in text

    def scheduler(self):
        simple = [self.pick(words.SIMPLE) for _ in range(2)]
        self.emit(f"sched = S.{self.pick(words.SCHEDULERS, s=simple[0], t=simple[1])}")
