"""Parts that several models share: recurrences, graphs, pooling, attention."""
