"""Parts that several models share: recurrences, pooling, regions."""
