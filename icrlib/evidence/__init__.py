"""What pages ask of records that they find by study; pages that name their runs use ``icrlib.experiments``."""

import lazy_loader

# Imported at first use: a list of runs asks what a search chose, and need not wait for the rest.
__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["decision", "sentences"],
    submod_attrs={
        "of_studies": ["Verdict", "by_rate", "choices", "common_draws", "summarise", "tuned_studies", "verdict"]
    },
)
