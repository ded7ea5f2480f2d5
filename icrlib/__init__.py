"""icrlib: models, losses, data, training and records behind the book on image-caption retrieval."""

import lazy_loader

# Each is imported when it is first asked for, so that a search need not wait for the tables of three papers.
__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["cocos", "losses", "metrics", "paper", "records"],
    submod_attrs={
        "auxiliary": ["LagrangeMultiplier"],
        "data": ["load_dataset"],
        "evaluation": ["evaluate"],
        "experiments": ["check", "compare", "family", "runs"],
        "training": ["Run", "load_model", "train"],
    },
)
