"""The traversed graph as a pure function of the evidence, and its incremental maintenance."""
