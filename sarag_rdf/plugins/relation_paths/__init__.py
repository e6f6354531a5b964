"""Relation paths: the retriever ``paths``, and the reasoner ``path-choice`` that picks one."""
