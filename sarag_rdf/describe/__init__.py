"""The description of a data set: what it is, how large, where to get it, how it came about."""
