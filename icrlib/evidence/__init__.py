"""What our runs allow one to say: comparisons that are fair, the one function that decides a claim, and the ledgers."""

import lazy_loader

# Imported at first use: a list of runs asks what a search chose, and need not wait for the statistics of the claims.
__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["decision", "intervals"],
    submod_attrs={
        "goal_claims": ["describe_goal"],
        "ledger": ["Evidence", "Judged", "weakest"],
        "record_settings": ["by_settings", "common_draws"],
        "summary": ["summarise"],
        "tuning": ["by_rate", "candidates", "choices", "tuned_studies"],
        "verdicts": ["Difference", "Verdict", "family", "tabulate", "verdict"],
    },
)
