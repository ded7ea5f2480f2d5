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
# You type an equation from a paper into your code, and the loss falls below zero. Is it you, or is it the equation? The machine can tell:
# it takes the derivative and compares. **Many slips stand in print only, where no program ever ran them. Some stand in
# released code, and change what a printed result means;** these come first:
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
# *You will be able to* look up an equation, see where print, code and calculus differ, and run the check · 15 minutes to read · under a
# minute to run. Entries come by what they change: a result, an equation, a word. Where a chapter has the check, its entry leads there.

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

import torch

from icrlib import chapter, paper
from icrlib.experiments import check, compare, runs
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

# %% [markdown]
# Slips in print are normal, since nothing has to run a printed equation before it appears, and these could be found only because of what
# the papers did well. ECIR {cite:p}`bleeker2022lessons` released its code, its settings and a derivation. GOAL {cite:p}`xuan2023dissecting`
# ran a whole family three times and published what does not favour its choice. LTD {cite:p}`bleeker2022keep` states its argument as a
# gradient, and released code, job lists and recorded curves. Our own slips are at the {ref}`end <erratum-ours>`.
#
# Weights and gradients below are those of the *loss*; symbols are in {numref}`Chapter {number} <ch-words>`.
#
# ## What changes a result
#
# (erratum-ltd-time)=
# ### LTD Eq. 4 as released: a softmax over time
#
# - *Printed:* the likelihood of each word, given the words before it and the caption's vector.
# - *Right:* the softmax goes over the vocabulary. Released, it goes over the positions: a word competes with itself elsewhere, a wrong word
#   costs nothing, and a word that comes twice costs $2 \ln 2$ at best. So rows 1.2, 1.3, 2.2.\* and 2.3.\* of Table 1 do not test input
#   decoding, and $\eta = 6$ is on another scale.

# %% tags=["hide-input", "nbval-check-output"]
said = torch.tensor([0, 1, 2, 0, 3])  # "a cat and a dog"
logits = torch.zeros(1, 5, 7, dtype=torch.float64)
logits[0, torch.arange(5), said] = 50.0  # sure of the right word everywhere
loud = logits + 100.0 * (torch.arange(7) == 6)  # and surer still of a word that is not there


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
# - *Right:* read the backward state at the *first* position. Released, both directions are read at the last one, where the backward half
#   has seen one word, always `<end>`: its 512 numbers are the same for every caption.

# %% tags=["hide-input", "nbval-check-output"]
torch.manual_seed(0)
gru = torch.nn.GRU(8, 4, bidirectional=True, batch_first=True).double()
words = torch.randn(3, 6, 8, dtype=torch.float64)  # three captions ...
words[:, -1] = words[0, -1]  # ... that end alike
forward, backward = ((h - h[0]).abs().max().item() for h in gru(words)[0][:, -1].split(4, dim=1))
assert backward < 1e-12 < forward
print(f"largest difference between captions: forward {forward:.2f}, backward below 1e-12")

# %% [markdown]
# (erratum-ltd-curves)=
# ### LTD Fig. 2 and Section 5.3: a running maximum, and a loss said not to matter
#
# - *Printed:* Fig. 2a is the course of the recall sum. "Hence, the contrastive loss on its own does not provide a good indication of the
#   performances on the evaluation task."
# - *Right:* Fig. 2a is the best recall sum *so far*: the record holds `best_score`, which never falls. And in the six recorded runs (one
#   each) the contrastive loss at the end orders the models as their recall does: the lower, the better. The curve of Fig. 2c, "cosine
#   similarity", is $1 - \cos$.

# %% tags=["hide-input", "nbval-check-output"]
recorded = ltd.recorded()
assert recorded["falls"].sum() == 0
assert list(recorded.sort_values("contrastive").index) == list(recorded.sort_values("rsum", ascending=False).index)
print(f"correlation of contrastive loss and rsum: {ltd.contrastive_and_rsum():+.3f}")
check("their correlation over six runs is −0.957", f"is {ltd.contrastive_and_rsum():.3f}", len(recorded) == 6)

# %% [markdown]
# (erratum-ltd-restart)=
# ### LTD Section 5.5: a "fixed" learning rate of 2e-5
#
# - *Printed:* the head that tunes the targets (rows 4.1.2 and 4.2.2) has a fixed learning rate of 2e-5.
# - *Right:* set both rates anew. Released, a cosine takes both to zero in 30 epochs, then only the images' rate is set anew. The next
#   cosine multiplies the rate that is there, and zero times anything is zero.
#
# (erratum-ltd-lambda)=
# ### LTD Section 4: a multiplier "bounded between 0 and 100"
#
# - *Printed:* $\lambda$ is bounded between 0 and 100, and is positive again when the bound is exceeded.
# - *Right:* clip the number itself after each step (`rule="projected"`). Released, $\lambda$ is clipped where it is *read*; the number
#   behind it runs on below zero, and must climb back before $\lambda$ moves. Engineers call that wind-up;
#   {numref}`Chapter {number} <ch-constraint>` watches it in the release's own curves.
#
# (erratum-ltd-unscaled)=
# ### LTD, the released step: gradients unscaled twice
#
# - *Printed:* nothing; mixed precision is not mentioned. (Nor are the clipped gradient, word dropout, random erasing.)
# - *Right:* hand the scaler the same object twice. The trainer unscales the optimiser's gradients to clip them, then hands over the
#   *wrapper* that averages weights: the scaler does not recognise it, and divides again. Adam forgives that only while a gradient is far
#   above its $\epsilon = 10^{-8}$. The triplet rows of Table 2 ran without the wrapper, rows 4.\* without the scaler, and both differ from
#   Table 1 in this, too. (Checked with today's scaler.)

# %% tags=["hide-input", "nbval-check-output"]
class Wrapper:
    def __init__(self, inner):
        self.param_groups, self.step = inner.param_groups, inner.step


moved = {}
for name, wrap in (("same object", lambda x: x), ("wrapper", Wrapper)):
    weight = torch.nn.Parameter(torch.ones(3))
    sgd, scaler = torch.optim.SGD([weight], lr=1.0), torch.amp.GradScaler("cpu", init_scale=65_536.0)
    scaler.scale((weight * torch.tensor([1.0, 2.0, 3.0])).sum()).backward()
    scaler.unscale_(sgd)
    before = weight.grad.clone()
    scaler.step(wrap(sgd))
    moved[name] = float((weight.grad / before).mean())
assert moved["same object"] == 1 and abs(moved["wrapper"] * 65_536 - 1) < 1e-6
print("share of the gradient:", moved)

# %% [markdown]
# (erratum-ltd-targets)=
# ### LTD Section 3: targets of other captions, and who saw the test captions
#
# - *Printed:* a target for each training caption, from a general sentence encoder; one caption is sampled per image.
# - *Right:* the released notebook never encodes what is left after the last full batch, so 103 training captions of Flickr30k have the
#   targets of others. Its cell for the test split writes the validation split; whether that was used cannot be told. By its model card the
#   teacher was trained on 317,695 pairs of captions of Flickr30k, nearly all of its 31,783 · 10. And captions are shuffled one by one, so
#   that two of one image meet as each other's negatives.
#
# (erratum-ecir-counts)=
# (erratum-ecir-13)=
# ### ECIR Eq. 13 and the counter: terms that are no weights, from the wrong rows
#
# - *Printed:* SmoothAP's contributing samples are pairs with $\text{sim}(D_{ij}) / R_i^2 > \epsilon$.
# - *Right:* count $A_i w_{ij}$ and $C_i w_{ij}$, which enter the gradient: a perfectly ranked query has counted pairs, and no weight. The
#   released counter also leaves out $1/\tau$, and for captions reads the rows of images, so that 26 of 640 captions have any row at all,
#   and 1 its own. (Triplet's, text to image, adds up along images, too, in place of captions.) ({numref}`Chapter {number} <ch-audit>`; the
#   terms of a perfect list are counted in {numref}`Chapter {number} <ch-smoothap>`).
#
# (erratum-goal-8)=
# (erratum-goal-5)=
# ### GOAL Eqs. 5 and 8: what the code has instead
#
# - *Printed:* $T^{\text{con}} = \delta(m + s^- - s^+)$. $T^{\text{cir}}$ gives more weight to corner cases, where both similarities are
#   large or both small.
# - *Right:* the code has no Heaviside, so that easy triplets keep weight 1. Eq. 8 is above the *centre* of the square in its corners, never
#   above $T^{\text{nca}}$. The code subtracts 0.5 in the bracket, and then is never below $T^{\text{nca}}$. Which one the tables used
#   cannot be told.

# %% tags=["hide-input", "nbval-check-output"]
axis = torch.linspace(0, 1, 401, dtype=torch.float64)
p, n = torch.meshgrid(axis, axis, indexing="ij")
nca, cir, shifted = (torch.sigmoid(-10 * x) for x in (p - n, p * (2 - p) - n**2, p * (2 - p) - n**2 - 0.5))
assert (cir - nca).max() < 1e-12 and (shifted - nca).min() > -1e-12
print(f"where s+ = s- = 0.5 or 0.9: nca 0.5, cir {cir[200, 200]:.4f} or {cir[360, 360]:.4f}")

# %% [markdown]
# (erratum-goal-10)=
# ### GOAL Eqs. 10 and 12: below zero, and the empty set
#
# - *Printed:* $P_-^{\text{lin}} = s^-$. What Eq. 12's mean is over an empty set is not said.
# - *Right:* $[s^-]_+$, as the Circle loss cuts its factors: a cosine below zero attracts the negative, in the code, too. An empty set gives
#   the neutral 1; in the code it is 0, and the weight $P_-^{\text{sig-ms}}$ of a lone negative at 0.9 is $e^4 = 54.6$ in the place of 0.98.
#
# (erratum-goal-backward)=
# ### GOAL, the released backward pass
#
# - *Printed:* training in gradient space can take the place of a loss.
# - *Right:* the sum of detached weights times scores. The released `autograd.Function` ignores the gradient that comes in: weights of
#   losses, means and loss scaling do nothing ({numref}`Chapter {number} <ch-goal>` runs both).
#
# ## What changes an equation
#
# (erratum-ecir-4)=
# ### ECIR Eq. 4: the denominator of NT-Xent
#
# - *Printed:* the sum runs over the negatives $S_N$.
# - *Right:* over all candidates, as on the slides, in Eq. 11 and in the code. Printed is another loss, DCL, which can fall below zero
#   ({numref}`Chapter {number} <ch-ntxent>`).
#
# (erratum-ecir-6)=
# ### ECIR, between Eqs. 6 and 7: the sign of $D_{ij}$
#
# - *Printed:* $D_{ij} = s_i - s_j$, counted where it is positive.
# - *Right:* $D_{ij} = s_j - s_i$, as in Eq. 6, the appendix's matrix and the code. With the printed one the worst list has the highest AP.
#   The appendix's derivation has it, too, and a second sign that cancels it ({numref}`Chapter {number} <ch-smoothap>`).
#
# (erratum-ecir-8)=
# ### ECIR Eq. 8: one mean, or two halves
#
# - *Printed:* the mean of $1 - \text{AP}_q$ over all queries of the batch.
# - *Right:* half of each direction's mean, as run. With five captions an image, the printed one gives captions five times the say.
#
# (erratum-ecir-9)=
# (erratum-ecir-11)=
# ### ECIR Eqs. 9 and 11: the sign, a plus, and which loss
#
# - *Printed:* $\partial \ell / \partial q = v^+ - v^-$ where "$s^+ + s^- < \alpha$"; and
#   $(1 - p_+) \tau^{-1} v^+ - \sum_{N} p_j \tau^{-1} v_j$.
# - *Right:* both with the other sign, the first where $s^+ - s^- < \alpha$. Eq. 11 belongs to the loss with all candidates in the
#   denominator; the gradient of Eq. 4 as printed is $1/(1 - p_+)$ times as long. ({numref}`Chapter {number} <ch-triplet>` checks the first,
#   {numref}`Chapter {number} <ch-ntxent>` derives the second.)
#
# (erratum-ecir-12)=
# (erratum-ecir-property-1)=
# ### ECIR Eq. 12 and its Property 1: a factor's sign, and the inverse square
#
# - *Printed:* the factor $\mathcal R(i, S_N) - 1$, below Eq. 13 as $1 - \mathcal R(i, S_N)$; and a positive that is ranked low counts
#   little, because of $\mathcal R(i, S_\Omega)^{-2}$.
# - *Right:* Eq. 12 is right as the slope of AP, and the first form of the factor ({numref}`Chapter {number} <ch-smoothap>` checks it to all
#   digits). The inverse square holds if *negatives* are ahead; behind *positives* the weight falls as $A_i / R_i^2$ only.
#
# (erratum-goal-4)=
# ### GOAL Eqs. 3 and 4: right for a pair, not yet a batch
#
# - *Printed:* the gradient of the loss of one pair by $x$ and by $y$, in which $x$ is anchor and positive.
# - *Right:* that is no misprint. In a batch $x$ is also the hard negative of other captions, and the printed gradients, summed, lack that
#   part, which the code adds: $\partial \ell / \partial X = G\, Y$, with $G$ the weights of all pairs. What is missing is 52 % of the
#   batch's gradient when captions are near their images.

# %% tags=["hide-input"]
def missing_roles(seed, margin=0.2):
    """Percent of autograd's gradient of a batch of 32 that GOAL Eq. 4, summed, misses; captions are near their images."""
    rng, unit = torch.Generator().manual_seed(seed), torch.nn.functional.normalize
    x, noise = (torch.randn(32, 16, generator=rng).double() for _ in "xy")
    x = unit(x, dim=1)
    y = unit(x + 0.2 * noise, dim=1)
    S = (x @ y.T).fill_diagonal_(-9)  # a positive is never mined
    own, j, i = (x * y).sum(1), S.argmax(1), S.argmax(0)
    a, b = ((margin + S.amax(d) - own > 0).double()[:, None] for d in (1, 0))
    printed = torch.cat([a * (y[j] - y) - b * y, -a * x + b * (x[i] - x)])
    whole = torch.cat(slope(lambda x, y: (torch.relu(margin + (x * (y[j] - y)).sum(1))
                                          + torch.relu(margin + (y * (x[i] - x)).sum(1))).sum(), x, y))
    return 100 * float((printed - whole).norm() / whole.norm())


missing = float(tensor([missing_roles(seed) for seed in range(20)]).median())
print(f"missing, the median of twenty batches: {missing:.0f} %")
check("What is missing is 52 % of the batch's gradient when captions are near their images.", f"is {missing:.0f} %")

# %% [markdown]
# (erratum-goal-12)=
# (erratum-goal-13)=
# ### GOAL Eqs. 12 and 13: the wrong way round, and two neutral values
#
# - *Printed:* $m_-^{\text{sig}} > 1$ means that the chosen negative is closer than the others; "< 1" will not exist with hard negatives.
#   Figure 3 sets all relative terms $m_\pm$ to 0.1. $P^{\text{lin-ms}}$ is parameter free.
# - *Right:* exchange "> 1" and "< 1": $m_-^{\text{sig}}$ is a mean of $e^{-10 (s^- - s_j)}$, and the hardest is above all others. The
#   sigmoid form is neutral at 1, the linear one at 0: write $\mu_\pm$ and $\nu_\pm$. The sets need $\epsilon$, 0.1 in the code.
#
# (erratum-goal-table-1)=
# (erratum-goal-integrable)=
# ### GOAL Table 1: which cells are the named losses, and which have a loss
#
# - *Printed:* con × sig is binomial deviance, con × sig-ms is Multi-Similarity, cir × lin is Circle; others may be hard or impossible to
#   integrate.
# - *Right:* under conditions. Binomial deviance needs its two terms divided by $\alpha$ and $\beta$; Multi-Similarity has a *sum* that
#   includes the pair itself; Circle matches if its factors are differentiated and its margin is $1/\sqrt2$. As printed, con × con, nca ×
#   con and cir × lin have a continuous loss, no other of the 15 ({numref}`Chapter {number} <ch-goal>`).

# %% tags=["hide-input", "nbval-check-output"]
sp, sn, softplus = tensor(0.6), tensor([0.5, 0.45, 0.3]), torch.nn.functional.softplus
pull, push = slope(lambda p, n: softplus(-2 * (p - 0.5)) + softplus(10 * (n - 0.5)), sp, sn[0])
ms = slope(lambda n: torch.log1p(torch.exp(10 * (n - 0.5)).sum()) / 10, sn)[0]
cell = 1 / (torch.exp(-10 * (sn[0] - 0.5)) + torch.exp(-10 * (sn[0] - sn[1:])).mean())
print(f"binomial deviance over its cell: pull {float(-pull / torch.sigmoid(-2 * (sp - 0.5))):.1f},",
      f"push {float(push / torch.sigmoid(10 * (sn[0] - 0.5))):.1f}; cell over Multi-Similarity: {float(cell / ms):.2f}")

# %% [markdown]
# (erratum-ltd-2)=
# (erratum-ltd-triplet)=
# ### LTD Eq. 2 and Section 5.4: a sign, a denominator, and a special case
#
# - *Printed:* $\partial \mathcal L / \partial q$, with $Z(q, v)$ whose denominator has $e^{q \cdot v/\tau}$ plus the sum over all
#   negatives. The triplet loss is InfoNCE with one positive and one negative.
# - *Right:* $-\partial \mathcal L / \partial q$, and $Z$ the softmax: as printed a negative stands twice in its denominator, and shares do
#   not sum to one. InfoNCE with one negative has no margin and is never zero: a smooth relative of the triplet loss.
#
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
#
# (erratum-ours)=
# ## Ours
#
# - **We stopped too early.** The first version of this book concluded that no loss beats a bag of words, and that no model uses the order
#   of words. Its runs had 3,000 updates at 0.001. With three times the updates, or at 0.003, the same model with the same loss passes the
#   test of word order.
# - **And nearly again.** The next version stopped at 1,500 updates, with NT-Xent ahead of Triplet-SH in every draw. With 3,000, Triplet-SH
#   is ahead in every draw ({numref}`Chapter {number} <ch-losses>`).
# - **"The encoder begins to read" lacked its control.** We said of a model that answers the swap twins that it reads the order of words.
#   Then we gave the test to a bag of words and neighbouring pairs, which has no encoder of sentences: it answers 84 % of the swap twins,
#   more than VSE++ with NT-Xent does. The test shows which words belong together ({numref}`Chapter {number} <ch-reading>`).
# - **We said that cir stands still because its gradient is small.** That was one rate for all, and one seed. At 0.003 it learns, late
#   ({numref}`Chapter {number} <ch-fifteen>`).
# - **Three seeds decided our claims.** When a change moved nothing but the rounding, 25 of the 119 verdicts of that time went from decided
#   to undecided or back (counted once, in review). Since then: five or ten draws for a claim on scenes, and a correction for families of
#   claims.
# - **We priced models unfairly.** Our advice on which model to train compared seconds of runs of which some were evaluated four times as
#   often as others ({numref}`Chapter {number} <ch-which-loss>`).
# - **On photos we had a bag of words far ahead of VSE++.** One rate for all, unequal numbers of updates, no word dropout. With settings
#   that were searched, no difference between the two is decided.
# - **A sampler drew the same batches for every seed.** It packed seed and epoch into one 64-bit number, of which PyTorch's CPU generator
#   keeps 32 bits. A test that compared two seeds found it.

# %% tags=["hide-input"]
# checked by machine
assert (145_000 - 129) % 128 == 103 and 317_695 < 31_783 * math.comb(5, 2) < 1.001 * 317_695  # the targets
table = paper.table("ecir/1")
assert round(table.loc["2.7", ["t2i_r1", "t2i_r5", "t2i_r10"]].astype(float).mean(), 1) == 54.8
assert table.loc["2.7", "t2i_average_recall"] == 54.6 and table.loc["1.5", "rsum"] < table.loc["1.8", "rsum"]
gain = ltd.gaps("itd_dual", "con", ltd.RECALLS)
assert [int((up > 0).sum()) for _, up in gain.groupby(level=0, sort=False)] == [0, 4, 5]
assert not {"2.1.5", "2.2.5", "2.1.3", "2.2.3", "2.5"} & set(ltd.rows().index)
SWAP, TEN = "test.twins.swap", {"loss": "ntxent", "seed": range(10)}
short, long = (runs("scenes", loss="ntxent", seed=0, lr=1e-3, updates=updates, evaluate_every=every)[0]
               for updates, every in ((3000, 250), (9000, 500)))
four = runs("scenes", loss=["triplet_sh", "ntxent"], seed=range(10), updates=3000, at="searched")
faster, vse = four["ntxent"].only(seed=0)[0], four["ntxent"]
assert short["config"]["drops"] == [1500] and max(e["twins"]["swap"] for e in short["history"]) < 60
assert min(long["history"][-1]["twins"]["swap"], faster["history"][-1]["twins"]["swap"]) > 60
half = runs("scenes", loss=["ntxent", "triplet_sh"], seed=range(10), at="searched, half the updates")
assert min(half["ntxent"].values() - half["triplet_sh"].values()) > 0  # the second slip
assert max(four["ntxent"].values() - four["triplet_sh"].values()) < 0
pairs = runs("scenes", method="bow", at="searched, bag of pairs", **TEN)
check("it answers 84 % of the swap twins, more than VSE++ with NT-Xent does.", f"answers {pairs.mean(SWAP):.0f} %",
      compare(pairs, vse, "system", SWAP).word == "ahead")
photos = [runs("flickr8k", method=m, loss="ntxent", seed=range(3), at="searched") for m in ("vse++", "bow")]
assert abs(photos[0].mean() - photos[1].mean()) < 6

# %% [markdown]
# Next: {numref}`Chapter {number} <ch-claims>`: what the papers say, sentence by sentence, and what came out here.
