# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# (ch-errata)=
# # Errata: what is printed, and what is right
#
# You type an equation from a paper into your code, and the loss falls below zero. Is it you, or is it the equation? The
# machine can tell: it takes the derivative and compares. **Most slips are signs that stand in print only, where no program
# ever ran them. Some stand in released code, and change what a printed result means;** these come first:
#
# | Where | What is printed | What was found |
# | --- | --- | --- |
# | {ref}`LTD, decoder of words <erratum-ltd-time>` | a likelihood of words | the softmax runs over time |
# | {ref}`LTD, caption encoder <erratum-ltd-gru>` | a bidirectional GRU | half of its output is a constant |
# | {ref}`LTD, observation 5 <erratum-ltd-curves>` | the contrastive loss does not indicate recall | their correlation over six runs is −0.957 |
# | {ref}`LTD, Fig. 2a <erratum-ltd-curves>` | the course of the recall sum | its running maximum |
# | {ref}`LTD, tuned targets <erratum-ltd-restart>` | a fixed learning rate | zero in the second half |
# | {ref}`ECIR, counts of SmoothAP <erratum-ecir-counts>` | contributing samples | terms that are no weights, from wrong rows |
# | {ref}`GOAL, Eqs. 5 and 8 <erratum-goal-8>` | two triplet weights | the code has no Heaviside, and a shift |
#
# *You will be able to* look up an equation, see where print, code and calculus differ, and run the check · 15 minutes to
# read · under a minute to run. Entries come by what they change: a result, an equation, a word. Where a chapter has the check, its
# entry leads there.

# %% tags=["parameters", "remove-cell"]
smoke: bool = False  # a quick try: tiny data, a few updates, no result

# %% tags=["colab-setup", "remove-cell"]
import importlib.util

if importlib.util.find_spec("icrlib") is None:
    raise ModuleNotFoundError(
        "icrlib is missing. In a clone, `make wheel` writes icrlib-0.1.0-py3-none-any.whl; "
        "upload it here, then run %pip install icrlib-0.1.0-py3-none-any.whl"
    )

# %% tags=["remove-cell"]
import math
from itertools import pairwise

import torch

from icrlib import chapter, paper
from icrlib.experiments import check, compare, runs
from icrlib.losses import NTXent, SmoothAP
from icrlib.paper import ltd

smoke = chapter.start(smoke)


# %% tags=["remove-cell"]
def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


def slope(f, *at):
    """Derivative of the number f(*at) by each argument, by autograd."""
    at = [torch.as_tensor(x, dtype=torch.float64).clone().requires_grad_() for x in at]
    found = torch.autograd.grad(f(*at), at)
    return found if len(found) > 1 else found[0]


def cosine(a, b):
    """+1: same direction; -1: opposite."""
    return float((a * b).sum() / (a.norm() * b.norm()))


# %% [markdown]
# ## Before you read on
#
# Slips in print are normal, since nothing has to run a printed equation before it appears. We could find these only
# because of what the papers did well.
#
# - ECIR {cite:p}`bleeker2022lessons` released its code, its run settings and a written derivation, trained everything
#   five times, and put standard deviations beside every score. It asked what a loss does to a score, not only who wins.
# - GOAL {cite:p}`xuan2023dissecting` laid out a whole family, named which members were known, ran all of them three
#   times, and published the numbers that do not favour its choice.
# - LTD {cite:p}`bleeker2022keep` states its argument as a gradient, where it can be tested, and released its code, its
#   job lists, its target notebook and the recorded curves of its trainings.
#
# Our own slips are at the {ref}`end <erratum-ours>`. All checks use the same small numbers: a query `q` and six
# candidates `V`, of which the first is its positive; and `S24`, the scores of two images with
# two captions each. Weights and gradients are those of the *loss*; symbols are in {numref}`Chapter {number} <ch-words>`.

# %% tags=["hide-input"]
rng = torch.Generator().manual_seed(0)
V = torch.nn.functional.normalize(torch.randn(6, 8, generator=rng, dtype=torch.float64), dim=1)
q = torch.nn.functional.normalize(V[0] + 1.2 * V[1], dim=0)
S24 = tensor([[0.55, 0.53, 0.54, 0.10], [0.50, 0.46, 0.52, 0.51]])
M24 = torch.tensor([[1, 1, 0, 0], [0, 0, 1, 1]]).bool()


def T_nca(positive, negative, gamma=10):
    return torch.sigmoid(gamma * (negative - positive))


def T_cir(positive, negative, gamma=10, shift=0.0):
    return torch.sigmoid(-gamma * (positive * (2 - positive) - negative**2 + shift))


# %% [markdown]
# ## What changes a result
#
# (erratum-ltd-time)=
# ### LTD Eq. 4 as released: a softmax over time
#
# - *Printed:* the likelihood of each word, given the words before it and the caption's vector.
# - *Right:* the softmax goes over the vocabulary. Released, it goes over the positions: a word competes with itself
#   elsewhere, a wrong word costs nothing, and a word that comes twice costs $2 \ln 2$ at best. So rows 1.2, 1.3, 2.2.\*
#   and 2.3.\* of Table 1 do not test input decoding, and $\eta = 6$ is on another scale.

# %% tags=["hide-input", "nbval-check-output"]
said = torch.tensor([0, 1, 2, 0, 3])  # "a cat and a dog"
logits = torch.zeros(1, 5, 7, dtype=torch.float64)
logits[0, torch.arange(5), said] = 50.0  # sure of the right word everywhere
loud = logits.clone()
loud[:, :, 6] += 100.0  # and surer still of a word that is not there


def nll(scores, axis):
    return abs(float(torch.log_softmax(scores, axis)[0, torch.arange(5), said].sum()))


assert abs(nll(logits, 1) - 2 * math.log(2)) < 1e-9 and nll(loud, 1) == nll(logits, 1)
print(f"over time {nll(logits, 1):.2f}, with the wrong word {nll(loud, 1):.2f}; over the "
      f"vocabulary {nll(logits, 2):.2f}, with the wrong word {nll(loud, 2):.0f}")

# %% [markdown]
# (erratum-ltd-gru)=
# ### LTD Section 4: half of the bidirectional GRU is a constant
#
# - *Printed:* the caption encoder is a bidirectional GRU.
# - *Right:* read the backward state at the *first* position. Released, both directions are read at the last one, where
#   the backward half has seen one word, always `<end>`: its 512 numbers are the same for every caption.

# %% tags=["hide-input", "nbval-check-output"]
torch.manual_seed(0)
gru = torch.nn.GRU(8, 4, bidirectional=True, batch_first=True).double()
end, halves = torch.randn(8, dtype=torch.float64), []
for length in (6, 4, 3):
    caption = torch.cat([torch.randn(length - 1, 8, dtype=torch.float64), end[None]])
    halves.append(gru(caption[None])[0][0, length - 1].detach().split(4))
spread = [max(float((a[k] - halves[0][k]).abs().max()) for a in halves) for k in (0, 1)]
assert spread[1] < 1e-12 < spread[0]
print(f"largest difference between captions: forward {spread[0]:.2f}, backward below 1e-12")

# %% [markdown]
# (erratum-ltd-curves)=
# ### LTD Fig. 2 and Section 5.3: a running maximum, and a loss said not to matter
#
# - *Printed:* Fig. 2a is the course of the recall sum. "Hence, the contrastive loss on its own does not provide a good
#   indication of the performances on the evaluation task."
# - *Right:* Fig. 2a is the best recall sum *so far*: the record holds `best_score`, which never falls. And in the six
#   recorded runs the contrastive loss at the end orders the models as their recall does: the lower, the better. (Six
#   points, one run each.) The curve of Fig. 2c, "cosine similarity", is $1 - \cos$.

# %% tags=["hide-input", "nbval-check-output"]
recorded = ltd.recorded()
four = runs("scenes", loss=["triplet", "triplet_sh", "ntxent", "smoothap"], seed=range(10), updates=3000, at="searched")
ours = [[entry["val"]["rsum"] for entry in run["history"]] for run in four]
falling = sum(any(b < a for a, b in pairwise(past)) for past in ours) / len(ours)
assert recorded["falls"].sum() == 0 and falling > 0.9
assert list(recorded.sort_values("contrastive").index) == list(recorded.sort_values("rsum", ascending=False).index)
print(f"falls in {len(recorded)} recorded curves: {recorded['falls'].sum()}; ours that fall: {falling:.0%}")
print(f"correlation of contrastive loss and rsum: {ltd.contrastive_and_rsum():+.3f}")

# %% [markdown]
# (erratum-ltd-restart)=
# ### LTD Section 5.5: a "fixed" learning rate of 2e-5
#
# - *Printed:* the head that tunes the targets (rows 4.1.2 and 4.2.2) has a fixed learning rate of 2e-5.
# - *Right:* set both rates anew. Released, a cosine takes both to zero in 30 epochs, then only the images' rate is set
#   anew. The next cosine multiplies the rate that is there, and zero times anything is zero.

# %% tags=["hide-input", "nbval-check-output"]
def cosine_step(rate, epoch, length=30):
    """The chainable form: the new rate from the one before."""
    return rate * (1 + math.cos(math.pi * epoch / length)) / (
        1 + math.cos(math.pi * (epoch - 1) / length))


rates = {"images": [2e-4], "captions": [2e-5]}
for epoch in range(1, 60):
    for group, past in rates.items():
        rate = cosine_step(past[-1], (epoch - 1) % 30 + 1)
        past.append(2e-5 if group == "images" and epoch == 30 else rate)
assert abs(rates["images"][45] - 1e-5) < 1e-9 and max(rates["captions"][30:]) < 1e-18
{group: {epoch: float(f"{past[epoch]:.1e}") for epoch in (0, 15, 29, 30, 45)}
 for group, past in rates.items()}

# %% [markdown]
# (erratum-ltd-lambda)=
# ### LTD Section 4: a multiplier "bounded between 0 and 100"
#
# - *Printed:* $\lambda$ is bounded between 0 and 100, and is positive again when the bound is exceeded.
# - *Right:* clip the number itself after each step (`rule="projected"`). Released, $\lambda$ is clipped where it is
#   *read*; the number behind it runs on below zero, and must climb back before $\lambda$ moves. Engineers call that
#   wind-up; {numref}`Chapter {number} <ch-constraint>` watches it in the release's own curves.
#
# (erratum-ltd-unscaled)=
# ### LTD, the released step: gradients unscaled twice
#
# - *Printed:* nothing; mixed precision is not mentioned. (Nor are the clipped gradient, word dropout, random erasing.)
# - *Right:* hand the scaler the same object twice. The trainer unscales the optimiser's gradients to clip them, then
#   hands over the *wrapper* that averages weights: the scaler does not recognise it, and divides again. Adam forgives
#   that only while a gradient is far above its $\epsilon = 10^{-8}$. The triplet rows of Table 2 and rows 4.\* ran
#   without one of the two, and differ from Table 1 in this, too. (Checked with today's scaler.)

# %% tags=["hide-input", "nbval-check-output"]
class Wrapper:
    def __init__(self, inner):
        self.inner, self.param_groups = inner, inner.param_groups

    def step(self):
        self.inner.step()


moved = {}
for name, wrap in (("same object", lambda x: x), ("wrapper", Wrapper)):
    weight = torch.nn.Parameter(torch.ones(3))
    sgd = torch.optim.SGD([weight], lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=65_536.0)
    scaler.scale((weight * torch.tensor([1.0, 2.0, 3.0])).sum()).backward()
    scaler.unscale_(sgd)
    before = weight.grad.clone()
    scaler.step(wrap(sgd))
    moved[name] = float((weight.grad / before).mean())
typical = 2 / math.sqrt(1e7)  # a clipped norm of 2 over ten million weights
adam = {name: round(typical * share / (typical * share + 1e-8), 2) for name, share in moved.items()}
assert moved["same object"] == 1 and abs(moved["wrapper"] * 65_536 - 1) < 1e-6
print("share of the gradient:", moved, " of Adam's step:", adam)

# %% [markdown]
# (erratum-ltd-targets)=
# ### LTD Section 3: targets of other captions, and who saw the test captions
#
# - *Printed:* a target for each training caption, from a general sentence encoder; one caption is sampled per image.
# - *Right:* the released notebook never encodes what is left after the last full batch, so 103 training captions of
#   Flickr30k have the targets of others. Its cell for the test split writes the validation split; whether that was used
#   cannot be told. By its model card the teacher was trained on 317,695 pairs of captions of Flickr30k, nearly all that
#   there are. And captions are shuffled one by one, so that two of one image meet as each other's negatives.

# %% tags=["hide-input", "nbval-check-output"]
splits = {"F30k train": 145_000, "COCO train": 566_435, "COCO test": 25_000, "F30k test": 5_000}
left_over = {name: (captions - 129) % 128 for name, captions in splits.items()}
image_of = torch.randperm(145_000, generator=torch.Generator().manual_seed(0)) // 5
batches = image_of[: 1132 * 128].view(1132, 128)
meets = sum(len(set(batch.tolist())) < 128 for batch in batches) / len(batches)
assert left_over["F30k train"] == 103 and abs(meets - 1 + math.exp(-128 * 127 / 2 * 4 / 144_999)) < 0.04
print("captions with another caption's target:", left_over)
print(f"pairs in Flickr30k {31_783 * math.comb(5, 2):,}; batches with an image twice {meets:.0%}")

# %% [markdown]
# (erratum-ecir-counts)=
# (erratum-ecir-13)=
# ### ECIR Eq. 13 and the counter: terms that are no weights, from the wrong rows
#
# - *Printed:* SmoothAP's contributing samples are pairs with $\text{sim}(D_{ij}) / R_i^2 > \epsilon$.
# - *Right:* count $A_i w_{ij}$ and $C_i w_{ij}$, which enter the gradient: a perfectly ranked query has counted pairs, and
#   no weight. The released counter also leaves out $1/\tau$, and for captions reads the rows of images, so that 26 of
#   640 captions were counted in their own row ({numref}`Chapter {number} <ch-audit>`; the terms of a perfect list are counted in
#   {numref}`Chapter {number} <ch-smoothap>`).
#
# (erratum-goal-8)=
# (erratum-goal-5)=
# ### GOAL Eqs. 5 and 8: what the code has instead
#
# - *Printed:* $T^{\text{con}} = \delta(m + s^- - s^+)$. $T^{\text{cir}}$ gives more weight to corner cases, where both
#   similarities are large or both small.
# - *Right:* the code has no Heaviside, so that easy triplets keep weight 1. Eq. 8 is above the *centre* of the square in
#   its corners, never above $T^{\text{nca}}$. The code subtracts 0.5 in the bracket, and then is never below it. Which
#   one the tables used cannot be told.

# %% tags=["hide-input", "nbval-check-output"]
axis = torch.linspace(0, 1, 401, dtype=torch.float64)
p, n = torch.meshgrid(axis, axis, indexing="ij")
assert (T_cir(p, n) - T_nca(p, n)).max() < 1e-12 and (T_cir(p, n, shift=-0.5) - T_nca(p, n)).min() > -1e-12
same = tensor([0.5, 0.9])  # s+ = s-: there T nca is 0.5
eq_8, shifted = (T_cir(same, same, shift=c).round(decimals=4).tolist() for c in (0, -0.5))
print(f"T cir at (.5, .5) and (.9, .9): Eq. 8 {eq_8}, with the shift {shifted}")

# %% [markdown]
# (erratum-goal-10)=
# ### GOAL Eqs. 10 and 12: below zero, and the empty set
#
# - *Printed:* $P_-^{\text{lin}} = s^-$. What Eq. 12's mean is over an empty set is not said.
# - *Right:* $[s^-]_+$, as the Circle loss cuts its factors: a cosine below zero attracts the negative, in the code, too.
#   An empty set gives the neutral 1; in the code it is 0, and the weight $P_-^{\text{sig-ms}}$ of a lone negative at 0.9 is
#   $e^4 = 54.6$ in the place of 0.98.
#
# (erratum-goal-backward)=
# ### GOAL, the released backward pass
#
# - *Printed:* training in gradient space can take the place of a loss.
# - *Right:* the sum of detached weights times scores. The released `autograd.Function` ignores the gradient that comes
#   in: weights of losses, means and loss scaling do nothing ({numref}`Chapter {number} <ch-goal>` runs both).
#
# ## What changes an equation
#
# (erratum-ecir-4)=
# ### ECIR Eq. 4: the denominator of NT-Xent
#
# - *Printed:* the sum runs over the negatives $S_N$.
# - *Right:* over all candidates, as on the slides, in Eq. 11 and in the code. Printed is another loss, DCL, which can fall
#   below zero ({numref}`Chapter {number} <ch-ntxent>`; the exercise below asks from where on).
#
# (erratum-ecir-6)=
# ### ECIR, between Eqs. 6 and 7: the sign of $D_{ij}$
#
# - *Printed:* $D_{ij} = s_i - s_j$, counted where it is positive.
# - *Right:* $D_{ij} = s_j - s_i$, as in Eq. 6, the appendix's matrix and the code. With the printed one the worst list has
#   the highest AP. The appendix's derivation has it, too, and a second sign that cancels it ({numref}`Chapter {number}
#   <ch-smoothap>`).
#
# (erratum-ecir-8)=
# ### ECIR Eq. 8: one mean, or two halves
#
# - *Printed:* the mean of $1 - \text{AP}_q$ over all queries of the batch.
# - *Right:* half of each direction's mean, as run. With five captions an image, the printed one gives captions five times
#   the say.

# %% tags=["hide-input", "nbval-check-output"]
images, captions = SmoothAP().per_query(S24, M24), SmoothAP().per_query(S24.T, M24.T)
pooled, as_run = torch.cat([images, captions]).mean(), (images.mean() + captions.mean()) / 2
assert abs(float(as_run - SmoothAP()(S24, M24))) < 1e-12
print(f"printed {float(pooled):.4f}, right {float(as_run):.4f}")

# %% [markdown]
# (erratum-ecir-9)=
# (erratum-ecir-11)=
# ### ECIR Eqs. 9 and 11: the sign, a plus, and which loss
#
# - *Printed:* $\partial \ell / \partial q = v^+ - v^-$ where "$s^+ + s^- < \alpha$"; and
#   $(1 - p_+) \tau^{-1} v^+ - \sum_{N} p_j \tau^{-1} v_j$.
# - *Right:* both with the other sign, the first where $s^+ - s^- < \alpha$. Eq. 11 belongs to the loss with all
#   candidates in the denominator; the gradient of Eq. 4 as printed is $1/(1 - p_+)$ times as long.
#   ({numref}`Chapter {number} <ch-triplet>` checks the first, the cell the second.)

# %% tags=["hide-input", "nbval-check-output"]
p = torch.softmax(V @ q / 0.1, 0)
eq_11 = (1 - p[0]) * V[0] / 0.1 - (p[1:] @ V[1:]) / 0.1
full = slope(lambda x: torch.logsumexp(V @ x / 0.1, 0) - V[0] @ x / 0.1, q)
eq_4 = slope(lambda x: torch.logsumexp(V[1:] @ x / 0.1, 0) - V[0] @ x / 0.1, q)
assert (eq_11 + full).abs().max() < 1e-10 and abs(float(eq_4.norm() / full.norm()) - 1 / (1 - float(p[0]))) < 1e-10
print(f"cosine of Eq. 11 with the gradient: {cosine(eq_11, full):+.4f}")

# %% [markdown]
# (erratum-ecir-12)=
# (erratum-ecir-property-1)=
# ### ECIR Eq. 12 and its Property 1: a factor's sign, and the inverse square
#
# - *Printed:* the factor $\mathcal R(i, S_N) - 1$, below Eq. 13 as $1 - \mathcal R(i, S_N)$; and a positive that is
#   ranked low counts little, because of $\mathcal R(i, S_\Omega)^{-2}$.
# - *Right:* Eq. 12 is right as the slope of AP, and the first form of the factor ({numref}`Chapter {number}
#   <ch-smoothap>` checks it to all digits). The inverse square holds if *negatives* are ahead; behind *positives* the
#   weight falls as $A_i / R_i^2$ only.

# %% tags=["hide-input", "nbval-check-output"]
def tied(negatives, positives):
    """|P| times the weight of a negative tied with positive i; so many others are ahead."""
    s = tensor([[0.9] * (positives + negatives) + [0.5, 0.5]])
    mask = torch.tensor([[True] * positives + [False] * negatives + [True, False]])
    return float(SmoothAP().weights(s, mask)[0, -1]) * (positives + 1)


behind, among = tied(9, 0) / tied(0, 0), tied(0, 9) / tied(0, 0)
assert abs(behind - (1.5 / 10.5) ** 2) < 1e-9
print(f"rank 10 over rank 1, behind negatives {behind:.4f}, positives {among:.4f}")

# %% [markdown]
# (erratum-goal-4)=
# ### GOAL Eqs. 3 and 4: right for a pair, not yet a batch
#
# - *Printed:* the gradient of the loss of one pair by $x$ and by $y$, in which $x$ is anchor and positive.
# - *Right:* that is no misprint. In a batch $x$ is also the hard negative of other captions, and the printed gradients,
#   summed, lack that part, which the code adds: $\partial \ell / \partial X = G\, Y$, with $G$ the weights of all pairs.

# %% tags=["hide-input"]
def missing_roles(seed, related, margin=0.2):
    """Relative distance of GOAL Eq. 4, summed over a batch of 32, from autograd of the batch loss."""
    rng, unit = torch.Generator().manual_seed(seed), torch.nn.functional.normalize
    x, noise = (torch.randn(32, 16, generator=rng).double() for _ in "xy")
    x = unit(x, dim=1)
    y = unit(x + 0.2 * noise if related else noise, dim=1)
    S = (x @ y.T).fill_diagonal_(-9)  # a positive is never mined
    own, j, i = (x * y).sum(1), S.argmax(1), S.argmax(0)
    a, b = ((margin + S.amax(d) - own > 0).double()[:, None] for d in (1, 0))
    printed = torch.cat([a * (y[j] - y) - b * y, -a * x + b * (x[i] - x)])
    whole = torch.cat(slope(lambda x, y: (torch.relu(margin + (x * (y[j] - y)).sum(1))
                                          + torch.relu(margin + (y * (x[i] - x)).sum(1))).sum(), x, y))
    return float((printed - whole).norm() / whole.norm())


def middle(related):
    """Percent that is missing, the median of twenty batches."""
    return 100 * float(tensor([missing_roles(seed, related) for seed in range(20)]).median())


print(f"missing: {middle(True):.0f} % with captions near their images, {middle(False):.0f} % with random ones")

# %% [markdown]
# (erratum-goal-12)=
# (erratum-goal-13)=
# ### GOAL Eqs. 12 and 13: the wrong way round, and two neutral values
#
# - *Printed:* $m_-^{\text{sig}} > 1$ means that the chosen negative is closer than the others; "< 1" will not exist with
#   hard negatives. Figure 3 sets all relative terms $m_\pm$ to 0.1. $P^{\text{lin-ms}}$ is parameter free.
# - *Right:* exchange "> 1" and "< 1". The sigmoid form is neutral at 1, the linear one at 0: write $\mu_\pm$ and
#   $\nu_\pm$. The sets need $\epsilon$, 0.1 in the code.

# %% tags=["hide-input", "nbval-check-output"]
rng = torch.Generator().manual_seed(1)
negatives = torch.rand(1000, 8, generator=rng).double().sort(1, descending=True).values
m_minus = torch.exp(-10 * (negatives[:, :1] - negatives[:, 1:])).mean(1)
print(f"m_- above 1 in {int((m_minus > 1).sum())} of 1000 rows")

# %% [markdown]
# (erratum-goal-table-1)=
# (erratum-goal-integrable)=
# ### GOAL Table 1: which cells are the named losses, and which have a loss
#
# - *Printed:* con × sig is binomial deviance, con × sig-ms is Multi-Similarity, cir × lin is Circle; others may be hard or
#   impossible to integrate.
# - *Right:* under conditions. Binomial deviance needs its two terms divided by $\alpha$ and $\beta$; Multi-Similarity has
#   a *sum* that includes the pair itself; Circle matches if its factors are differentiated and its margin is $1/\sqrt2$.
#   As printed, con × con, nca × con and cir × lin have a continuous loss, no other of the 15
#   ({numref}`Chapter {number} <ch-goal>`).

# %% tags=["hide-input", "nbval-check-output"]
sp, sn, softplus = tensor(0.6), tensor([0.5, 0.45, 0.3]), torch.nn.functional.softplus


def circle(p, n, m=0.5**0.5):  # factors (n + m) and (1 + m - p) not detached
    return softplus(10 * ((n + m) * (n - m) - (1 + m - p) * (p - 1 + m)))


assert torch.allclose(torch.stack(slope(circle, sp, sn[0])),
                      20 * T_cir(sp, sn[0]) * torch.stack([-(1 - sp), sn[0]]))
pull, push = slope(lambda p, n: softplus(-2 * (p - 0.5)) + softplus(10 * (n - 0.5)), sp, sn[0])
ms = slope(lambda n: torch.log1p(torch.exp(10 * (n - 0.5)).sum()) / 10, sn)[0]
own, gaps = torch.exp(-10 * (sn[0] - 0.5)), torch.exp(-10 * (sn[0] - sn))
assert abs(1 / (own + gaps.sum()) - ms) < 1e-12
print(f"binomial deviance over its cell: pull {float(-pull / torch.sigmoid(-2 * (sp - 0.5))):.1f},",
      f"push {float(push / torch.sigmoid(10 * (sn[0] - 0.5))):.1f};",
      f"cell over Multi-Similarity: {float(1 / (own + gaps[1:].mean()) / ms):.2f}")

# %% [markdown]
# (erratum-ltd-2)=
# (erratum-ltd-triplet)=
# ### LTD Eq. 2 and Section 5.4: a sign, a denominator, and a special case
#
# - *Printed:* $\partial \mathcal L / \partial q$, with $Z(q, v)$ whose denominator has $e^{q \cdot v/\tau}$ plus the sum over
#   all negatives. The triplet loss is InfoNCE with one positive and one negative.
# - *Right:* $-\partial \mathcal L / \partial q$, and $Z$ the softmax: as printed a negative stands twice in its
#   denominator, and shares do not sum to one. InfoNCE with one negative has no margin and is never zero: a smooth
#   relative of the triplet loss.

# %% tags=["hide-input", "nbval-check-output"]
e = torch.exp(V @ q / 0.05)
softmax, as_2d = e / e.sum(), e / (e + e[1:].sum())  # Eq. 2d is right for candidate 0, the positive
eq_2a = ((1 - softmax[0]) * V[0] - softmax[1:] @ V[1:]) / 0.05
by_q = slope(lambda x: torch.logsumexp(V @ x / 0.05, 0) - V[0] @ x / 0.05, q)
infonce = float(NTXent(tau=0.05).per_query(tensor([[0.9, 0.4]]), torch.tensor([[True, False]])))
print(f"cosine of Eq. 2a {cosine(eq_2a, by_q):+.4f}; sum of shares {float(as_2d.sum()):.2f}, "
      f"softmax {float(softmax.sum()):.2f}; won by 0.5: InfoNCE {infonce:.1e}, triplet 0")

# %% [markdown]
# ## Typos
#
# | Where | Printed | Right |
# | --- | --- | --- |
# | ECIR Table 1, row 2.7 | an average t2i recall of 54.6 | 54.8, by its three recalls |
# | ECIR, text to Table 1 | SmoothAP's row 1.8 against "row 1.5" | row 1.6, Triplet-SH; one positive is the case in t2i |
# | ECIR, appendix | $s_i - s_j$, and $A R' - R A'$ in a quotient | both signs turned; together they cancel |
# | ECIR, appendix, Eq. 16 | the second term is D | B |
# | GOAL Eqs. 6, 7 | $T^{\text{nca}}$ in the gradient | $\gamma\, T^{\text{nca}}$, $\gamma$ being printed as $\tau$ |
# | GOAL Eq. 2 | $\partial l / \partial \theta$ as first factor | $\partial l / \partial x$ |
# | LTD Eqs. 4, 5 | starts at $x_i$; a decoder without biases | $x_1$; the code has biases |
# | LTD Eq. 6 | "negative cosine similarity" | $1 - \cos$, as the formula says |
# | LTD, below Eq. 9 | maximise $\mathcal L_{rec}$ over $\lambda$ | $\mathcal L_{lag}$ |
# | LTD Section 5 | ITD as a dual loss improves few recalls | on Flickr30k; 4 of 6 rise on MS-COCO, 5 on CxC, none falls |
# | LTD Section 5 | rows 2.1.5, 2.2.5, 2.1.3, 2.2.3, 2.5 | 2.5.1, 2.5.2, 2.3.1, 2.3.2, 2.5.1 |

# %% tags=["remove-cell"]
table = paper.table("ecir/1")
assert round(table.loc["2.7", ["t2i_r1", "t2i_r5", "t2i_r10"]].astype(float).mean(), 1) == 54.8
nca = slope(lambda n: torch.nn.functional.softplus(10 * (n - 0.6)), 0.5) / T_nca(tensor(0.6), tensor(0.5))
assert abs(float(nca) - 10) < 1e-9  # GOAL Eq. 6
assert table.loc["2.7", "t2i_average_recall"] == 54.6 and table.loc["1.5", "rsum"] < table.loc["1.8", "rsum"]
gain = ltd.gaps("itd_dual", "con", ltd.RECALLS)
assert [int((up > 0).sum()) for _, up in gain.groupby(level=0, sort=False)] == [0, 4, 5]
assert not {"2.1.5", "2.2.5", "2.1.3", "2.2.3", "2.5"} & set(ltd.rows().index)

# %% [markdown]
# (erratum-ours)=
# ## Ours
#
# - **We stopped too early.** The first version of this book concluded that no loss beats a bag of words, and that no model
#   uses the order of words. Its runs of 3,000 updates had a rate of 0.001 that fell to a tenth halfway. With three times
#   the updates, or with a rate of 0.003, the same model with the same loss passes the test of word order.
# - **And nearly again.** The repair had 1,500 updates, and NT-Xent ahead of Triplet-SH in every draw. With 3,000,
#   Triplet-SH is ahead in every draw ({numref}`Chapter {number} <ch-losses>`).
# - **"The encoder begins to read" lacked its control.** We said of a model that answers the swap twins that it reads the
#   order of words. Then we gave the same test to a bag of words and neighbouring pairs, which has no encoder of
#   sentences at all: it answers 84 % of the swap twins, more than VSE++ with NT-Xent does. What the test shows is which
#   words belong together ({numref}`Chapter {number} <ch-reading>`).
# - **We said that cir stands still because its gradient is small.** That was one rate for all, and one seed. At 0.003 it
#   learns, late ({numref}`Chapter {number} <ch-fifteen>`).
# - **Three seeds decided our claims.** When a change moved nothing but the rounding, 25 of the 119 verdicts of that time
#   went from decided to undecided or back (counted once, in review). Since then: ten draws for a claim on scenes, and a
#   correction for families of claims.
# - **We priced models unfairly.** Until it was reviewed, our advice on which model to train compared seconds of runs of which some were
#   evaluated four times as often as others ({numref}`Chapter {number} <ch-which-loss>`).
# - **On photos we had a bag of words far ahead of VSE++.** One rate for all, unequal numbers of updates, no word dropout.
#   With settings that were searched, no difference between the two is decided.
# - **A sampler drew the same batches for every seed.** It packed seed and epoch into one 64-bit number, of which PyTorch's
#   CPU generator keeps 32 bits. A test that compared two seeds found it.

# %% tags=["hide-input"]
# checked by machine
SWAP, TEN = "test.twins.swap", {"loss": "ntxent", "seed": range(10)}
short, long = (runs("scenes", loss="ntxent", seed=0, lr=1e-3, updates=updates, evaluate_every=every)[0]
               for updates, every in ((3000, 250), (9000, 500)))
faster, vse = four["ntxent"].only(seed=0)[0], four["ntxent"]
assert short["config"]["drops"] == [1500] and max(e["twins"]["swap"] for e in short["history"]) < 60
assert min(long["history"][-1]["twins"]["swap"], faster["history"][-1]["twins"]["swap"]) > 60
half = runs("scenes", loss=["ntxent", "triplet_sh"], seed=range(10), at="searched, half the updates")
assert min(half["ntxent"].values() - half["triplet_sh"].values()) > 0  # the second slip
assert max(four["ntxent"].values() - four["triplet_sh"].values()) < 0
pairs = runs("scenes", method="bow", at="searched, bag of pairs", **TEN)
check("it answers 84 % of the swap twins, more than VSE++ with NT-Xent does.", f"answers {pairs.mean(SWAP):.0f} %",
      compare(pairs, vse, "system", SWAP).word == "ahead")
CIR = [f"goal:cir x {p}" for p in ("con", "lin", "sig", "lin-ms", "sig-ms")]
slow, fast = (runs("scenes", loss=CIR, convention="paper", seed=100, updates=3000, lr=lr) for lr in (1e-3, 3e-3))
assert max(r["chosen"]["val_rsum"] for r in slow) < 310 < 360 < min(r["chosen"]["val_rsum"] for r in fast)
photos = [runs("flickr8k", method=m, loss="ntxent", seed=range(3), at="searched") for m in ("vse++", "bow")]
assert abs(photos[0].mean() - photos[1].mean()) < 6
drawn = [torch.randperm(100, generator=torch.Generator().manual_seed((seed << 32) + 5)) for seed in (1, 2)]
assert torch.equal(*drawn)  # the sampler

# %% [markdown]
# ## What we found
#
# - Slips in released code change what LTD's rows of ITD and of tuned targets mean, and what ECIR's counts of SmoothAP
#   count.
# - LTD's contrastive loss and recall sum have a correlation of −0.957 over the six recorded runs: the one indicates the
#   other.
# - The most frequent slip is a sign, in print only: the code leaves gradients to autograd.
# - The gradient that GOAL prints for a pair, summed over a batch, misses 52 % of the batch's when captions are near their
#   images.
# - The worst of our own slips was a test without its control.

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Checked by machine", "code_prompt_hide": "Hide the check"}
# checked by machine
check("LTD's contrastive loss and recall sum have a correlation of −0.957 over the six recorded runs",
      f"of {ltd.contrastive_and_rsum():.3f}")
check("misses 52 % of the batch's when captions are near their images.", f"misses {middle(True):.0f} %")

# %% [markdown]
# ## Exercise
#
# ````{exercise-start} A loss below zero
# :label: ex-errata-negative
# ````
#
# ECIR's Eq. 4 leaves the positive out of the denominator. A query has two negatives with the scores 0.3 and 0.5, and
# $\tau = 0.1$. From which score $s_+$ of the positive on is its printed loss below zero? Give it to three digits.

# %%
mine = ...

# %% tags=["hide-input"]
def check_below_zero(value):
    """Passes for the positive's score at which the loss of Eq. 4, as printed, is zero."""
    if value is ...:
        return "your turn"
    negatives = torch.tensor([0.3, 0.5], dtype=torch.float64)
    loss = float(torch.logsumexp(negatives / 0.1, 0) - value / 0.1)
    assert abs(value - 0.5) > 1e-9, "not yet: level with the hardest negative; the other one counts, too"
    assert abs(loss) < 0.01, f"not yet: at {value} the printed loss is {loss:+.3f}"
    return "right"


check_below_zero(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-errata-negative
# :class: dropdown
# ````
#
# Zero means $s_+ = \tau \log(e^{0.3/\tau} + e^{0.5/\tau})$, the soft maximum of the negatives: a little above the
# hardest one. From there on the loss falls below zero without a bound but that of the cosine.

# %%
check_below_zero(0.1 * float(torch.logsumexp(torch.tensor([3.0, 5.0]), 0)))

# %% [markdown]
# ````{solution-end}
# ````
#
# Next: {numref}`Chapter {number} <ch-claims>`: what the papers say, sentence by sentence, and what came out here.
