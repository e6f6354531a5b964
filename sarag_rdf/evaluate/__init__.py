"""How well retrieval does on questions whose evidence is known; see docs/evaluation.md."""
