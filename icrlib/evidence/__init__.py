"""What older pages ask of records that they find by study; pages that name their runs use ``icrlib.experiments``."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["sentences"],
    submod_attrs={"of_studies": ["Verdict", "choices", "common_draws", "tuned_studies"]},
)
