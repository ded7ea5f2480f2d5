"""What LTD's own printed tables and recorded curves say to its claims, counted; nothing was trained for this.

Means as printed, one run each and no deviation: a claim that agrees with its table is not thereby reproduced. The
curves are those that the release holds (``recorded`` in ``ltd.json``): six trainings on MS-COCO, one run each. The
paper prints no rsum; where a count needs one, it is the sum of the six printed recalls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from icrlib.paper.tables import contents, table

RECALLS = [f"{side}_{cut}" for side in ("i2t", "t2i") for cut in ("r1", "r5", "r10")]
PLACES = ("Flickr30k", "MS-COCO", "CxC")
# Rows of Tables 1 and 2 by data set: what was trained, and the number of its row.
KINDS = ("con", "itd_dual", "itd_lag", "dual", "lag", "triplet", "triplet_dual", "triplet_lag", "fixed", "tuned")
NUMBERS = {
    "Flickr30k": "1.1 1.2 1.3 1.4 1.5 3.1.1 3.1.2 3.1.3 4.1.1 4.1.2",
    "MS-COCO": "2.1.1 2.2.1 2.3.1 2.4.1 2.5.1 3.2.1 3.2.2 3.2.3 4.2.1 4.2.2",
    "CxC": "2.1.2 2.2.2 2.3.2 2.4.2 2.5.2",
}
ROWS = {place: dict(zip(KINDS, numbers.split(), strict=False)) for place, numbers in NUMBERS.items()}
SMALL = 0.5  # of the constraint's gain over the baseline: our reading of "not convincingly, or with a small margin"
AS_EXPECTED = 3.0  # points of a recall: our reading of "performs as expected" and of "lower than expected"
REACHED = 0.05  # of eta: a reconstruction that close to its bound has converged to it
NEARLY_ZERO = 0.1  # of a multiplier that reaches 4 and 9 before
Count = tuple[int, int, str]  # how often the claim's statement is true, of how many, and the numbers in words


def rows() -> pd.DataFrame:
    """Tables 1 and 2, indexed by row number, with ``rsum``, the sum of the six printed recalls."""
    printed = pd.concat([table("ltd/1"), table("ltd/2")])
    return printed.assign(rsum=printed[RECALLS].sum(axis=1).round(1))


def recorded() -> pd.DataFrame:
    """What the release's training curves come to, indexed by run ("baseline", "dual", "lag_0.05", …).

    rsum: last value of what is recorded as the best validation score, and ``falls``, how often that record falls;
    contrastive, reconstruction: means of the last ten epochs. Of constrained runs: eta, peak and end of λ, the first
    update at which it was 0, the share of records at 0, and ``zero_pairs``, neighbouring records that are both 0, with
    ``zero_pairs_above``, how many of these have both reconstructions above eta. ``largest_after``: of λ, from its
    first 0 on.
    """
    return pd.DataFrame(contents("ltd")["recorded"]["runs"]).set_index("run")


def gaps(first: str, second: str, metrics: Iterable[str] = ("rsum",), places: Iterable[str] = PLACES) -> pd.Series:
    """First less second at each place that has both, by (place, metric); numbers that are not printed are left out."""
    printed, metrics = rows(), list(metrics)
    found = {
        (place, metric): printed.loc[ROWS[place][first], metric] - printed.loc[ROWS[place][second], metric]
        for place in places
        if {first, second} <= set(ROWS[place])
        for metric in metrics
    }
    return pd.Series(found).dropna().round(2)


def _ahead(first: str, second: str, metrics: Iterable[str] = RECALLS, places: Iterable[str] = PLACES) -> Count:
    """In how many printed cells the first is above the second."""
    found = gaps(first, second, metrics, places)
    return int((found > 0).sum()), len(found), f"{found.min():+.1f} to {found.max():+.1f}"


def _not_ahead(first: str, second: str) -> Count:
    found = gaps(first, second, RECALLS)
    each = ", ".join(f"{int((part <= 0).sum())} of 6 on {place}" for place, part in found.groupby(level=0, sort=False))
    return int((found <= 0).sum()), len(found), f"not above the baseline: {each}"


def _small_gain() -> Count:
    dual, lag = gaps("dual", "con"), gaps("lag", "con")
    text = ", ".join(f"{a:+.1f} of {b:+.1f} on {place}" for (place, _), a, b in zip(dual.index, dual, lag, strict=True))
    return int((dual < SMALL * lag).sum()), len(dual), f"rsum, with the constraint's gain: {text}"


def _relative(place: str) -> pd.Series:
    """Gain of constrained LTD over the baseline in % of the baseline, by recall."""
    printed = rows()
    before, after = (printed.loc[ROWS[place][name], RECALLS].astype(float) for name in ("con", "lag"))
    return 100 * (after - before) / before


def _smaller_data_gain_more() -> Count:
    small, large = _relative("Flickr30k"), _relative("MS-COCO")
    off = ", ".join(
        f"{name.replace('_r', ' R@')} {small[name]:.1f} % against {large[name]:.1f} %"
        for name in RECALLS
        if small[name] <= large[name]
    )
    return int((small > large).sum()), len(small), f"not larger on Flickr30k: {off or 'nowhere'}"


def _precision_too() -> Count:
    found = gaps("lag", "con", ("i2t_r_precision", "t2i_r_precision"))
    return int((found > 0).sum()), len(found), f"R-precision {found.min():+.2f} to {found.max():+.2f}"


def _bounds() -> pd.DataFrame:
    """The constrained runs of the record, by rising eta."""
    return recorded().dropna(subset="eta").sort_values("eta")


def _grows_then_zero() -> Count:
    """Of the runs that met their bound: λ reached 0."""
    met = _bounds()
    met = met[met["reconstruction"] <= met["eta"] * (1 + REACHED)]
    zero = met["first_zero"].notna()
    stays = ", ".join(f"η = {r.eta:g}: λ ends at {r.lambda_end:g}" for r in met[~zero].itertuples())
    return int(zero.sum()), len(met), f"met, and not 0: {stays or 'none'}"


def _positive_again() -> Count:
    """Of neighbouring records with λ = 0 at both: the reconstruction is not above the bound at both."""
    found = _bounds()
    pairs, above = int(found["zero_pairs"].sum()), int(found["zero_pairs_above"].sum())
    return pairs - above, pairs, f"{above:,} pairs of neighbouring records have λ = 0 although both lie above η"


def _converges() -> Count:
    """Of the bounds that can be met: the reconstruction of the last ten epochs is at the bound."""
    found = _bounds().iloc[1:]  # 0.05 is the one that the claim excepts
    true = (found["reconstruction"] / found["eta"] - 1).abs() < REACHED
    return int(true.sum()), len(found), ", ".join(f"η = {r.eta:g}: {r.reconstruction:.3f}" for r in found.itertuples())


def _unreachable() -> Count:
    least = _bounds().iloc[0]
    return int(least["reconstruction"] > least["eta"]), 1, f"η = {least['eta']:g}: {least['reconstruction']:.3f}"


def _lower_is_not_better() -> Count:
    found = recorded()
    pairs = [("lag_0.2", "lag_0.1"), ("lag_0.2", "lag_0.05"), ("lag_0.2", "dual")]
    true = sum(
        found.loc[a, "reconstruction"] > found.loc[b, "reconstruction"] and found.loc[a, "rsum"] > found.loc[b, "rsum"]
        for a, b in pairs
    )
    return int(true), len(pairs), ", ".join(f"{name} {row.rsum:.1f}" for name, row in found.iterrows())


def contrastive_and_rsum() -> float:
    """Pearson's correlation of the last contrastive loss with the best validation rsum, over the six recorded runs."""
    found = recorded()
    return float(np.corrcoef(found["contrastive"], found["rsum"])[0, 1])


def _does_not_depend() -> Count:
    """Of the five other runs: the contrastive loss of the last ten epochs is that of the baseline, to a hundredth."""
    found = recorded()["contrastive"]
    other = (found / found["baseline"] - 1).drop("baseline")
    text = f"{100 * other.min():+.1f} to {100 * other.max():+.1f} % of the baseline's; correlation with rsum "
    return int((other.abs() < 0.01).sum()), len(other), text + f"{contrastive_and_rsum():+.2f} over six runs"


def _weak_alone() -> Count:
    """Triplet alone: as good as the baseline on MS-COCO, far below it on Flickr30k."""
    found = gaps("triplet", "con")
    true = [found["MS-COCO", "rsum"] > -AS_EXPECTED, found["Flickr30k", "rsum"] < -AS_EXPECTED]
    return sum(map(bool, true)), 2, ", ".join(f"{value:+.1f} rsum on {place}" for (place, _), value in found.items())


def _tuning_helps() -> Count:
    """All recalls rise, and at each cut image to text rises more."""
    found = gaps("tuned", "fixed", RECALLS)
    more = [
        found[place, f"i2t_{cut}"] > found[place, f"t2i_{cut}"] for place in PLACES[:2] for cut in ("r1", "r5", "r10")
    ]
    told = f"rises of {found.min():.1f} to {found.max():.1f}"
    told += f"; more image to text at {sum(map(bool, more))} of {len(more)}"
    return int((found > 0).sum()) + sum(map(bool, more)), len(found) + len(more), told


def _still_ahead() -> Count:
    """λ at (nearly) zero from its first zero on, and the score above that of dual."""
    found, best = _bounds(), recorded().loc["dual", "rsum"]
    found = found[found["first_zero"].notna()]
    true = (found["largest_after"] < NEARLY_ZERO) & (found["rsum"] > best)
    each = ", ".join(
        f"η = {r.eta:g}: λ at most {r.largest_after:g} after its first 0, rsum {r.rsum - best:+.1f}"
        for r in found.itertuples()
    )
    return int(true.sum()), len(found), each


def _as_vsepp() -> Count:
    printed = table("ltd/3")[RECALLS]
    found = printed.loc["ours"] - printed.loc["vse++"]
    total = printed.sum(axis=1)
    return (
        int((found.abs() < AS_EXPECTED).sum()),
        len(found),
        (f"{found.min():+.1f} to {found.max():+.1f}; rsum {total['ours']:.1f} against {total['vse++']:.1f}"),
    )


def _both_losses() -> Count:
    one, two = _ahead("lag", "con", places=PLACES[:2]), _ahead("triplet_lag", "triplet")
    return one[0] + two[0], one[1] + two[1], f"InfoNCE {one[0]} of {one[1]}, triplet {two[0]} of {two[1]}"


COUNTS: dict[int, Callable[[], Count]] = {
    1: lambda: _ahead("lag", "con"),
    2: lambda: _ahead("lag", "dual"),
    11: lambda: _ahead("lag", "con", places=("CxC",)),
    13: _small_gain,
    14: lambda: _ahead("lag", "con"),
    15: _smaller_data_gain_more,
    16: _precision_too,
    17: lambda: _not_ahead("itd_dual", "con"),
    18: lambda: _ahead("itd_dual", "itd_lag"),
    19: lambda: _not_ahead("itd_dual", "con"),
    20: lambda: _ahead("con", "itd_lag"),
    28: lambda: _ahead("triplet_lag", "lag"),
    29: _weak_alone,
    30: lambda: _ahead("triplet_lag", "triplet"),
    31: lambda: _ahead("con", "fixed"),
    32: _tuning_helps,
    33: lambda: _ahead("con", "tuned"),
    35: _both_losses,
    37: _as_vsepp,
}
CURVES: dict[int, Callable[[], Count]] = {
    21: _grows_then_zero,
    22: _positive_again,
    23: _converges,
    24: _unreachable,
    25: _lower_is_not_better,
    26: _does_not_depend,
    34: _still_ahead,
}
