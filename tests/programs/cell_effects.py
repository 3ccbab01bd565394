"""A notebook, and cells beside it with the names whose objects they may change."""

# %% notebook
import copy, heapq, torch
import matplotlib.pyplot as plt, numpy as np, torch.nn.functional as F
from torch import nn

RATE, NAME = 2 * 0.05, "a"


def show(fig, alt):
    fig.savefig("x.png")


def heat_map(ax, values, title):
    values = np.asarray(values)
    ax.imshow(values)
    for i, j in np.ndindex(*values.shape):
        ax.text(j, i, f"{values[i, j]:.1f}")


def entropy(counts):
    p = counts / counts.sum()
    return -torch.special.xlogy(p, p).sum().item()


def by_method(thing):
    thing.train()


def by_writing(values, at):
    values[at] = 0


def by_a_part(model):
    first = model.layers[0]
    first.weight.zero_()


def by_a_loop(parts):
    for number, part in enumerate(parts):
        part.add_(number)


def by_another(thing, other):
    by_method(other)


def by_itself(items, depth):
    return by_itself(items, depth - 1) if depth else items.append(1)


def by_optimiser(model):
    optimizer = torch.optim.SGD(model.parameters())
    optimizer.step()


def by_a_copy(model):
    model = copy.deepcopy(model)
    return model


def of_the_notebooks():
    state["a"] = 1


def applied(function):
    return function()


class Holder:
    def __init__(self, config, started):
        self.size = config.size
        started.append(1)

    def cumsum(self, x):
        self.last = x


# %% changes model
unknown(model)

# %% changes a b d e
unknown(a, *b, c=d, **e)

# %% changes a b c d
unknown([a, (b, {c})], {1: d})

# %% changes model
unknown(model.layers[0])

# %% changes model trainer
trainer.fit(model)

# %% changes nothing
print(a, len(b), sorted(c), max(d, key=e))

# %% changes nothing
torch.softmax(a, -1) + F.relu(b) + nn.Linear(2, 2)(c)

# %% changes heap w xs
nn.init.zeros_(w)
heapq.heappush(heap, 1)
np.random.shuffle(xs)

# %% changes ax fig
ax.plot(xs, ys)
ax.set(title=t)
show(fig, alt)

# %% changes ax
heat_map(ax, weights, title)

# %% changes nothing
entropy(counts)

# %% changes y
words.index(w)
y = x.softmax(-1)
legs.get(k)

# %% changes device items model w
model.to(device)
model.train()
items.sort()
w.zero_()

# %% changes a
by_method(a)

# %% changes a
by_writing(a, b)

# %% changes b
by_writing(at=a, values=b)

# %% changes a
by_writing(*a)

# %% changes a
by_a_part(a)

# %% changes a
by_a_loop(a)

# %% changes b
by_another(a, b)

# %% changes a
by_itself(a, b)

# %% changes a
by_optimiser(a)

# %% changes nothing
by_a_copy(a)

# %% changes state
of_the_notebooks()

# %% changes state
applied(of_the_notebooks)

# %% changes b
Holder(a, b)

# %% changes holder x
holder.cumsum(x)

# %% changes nothing
unknown(RATE, NAME, torch.float64, show)

# %% changes pair
pair = unknown(lambda own: F.relu(own))

# %% changes layer layers
for layer in layers:
    layer.train()

# %% changes x y z
x = 1
y[0] = 2
z.a.b = 3

# %% changes items model
items.append(1)
model.layers[0].weight.zero_()

# %% changes nothing
torch.manual_seed(0)
plt.show()


# %% changes cache f
def f(a):
    cache[a] = 1


# %% changes total
total += 1

# %% changes table
del table["a"]

# %% changes gcd x
from math import gcd

x = gcd(model)

# %% changes heappush model
from heapq import heappush

heappush(model, 1)
