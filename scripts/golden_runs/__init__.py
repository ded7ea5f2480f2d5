"""Golden runs: which there are (`cover`), and what is seen of one (`measure`)."""
