"""Speed as ratios: ours against a peer or a plain twin of the same definition, measured in one run on one thread."""
