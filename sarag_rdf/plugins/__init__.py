"""Capabilities that the other folders do not know; each can be deleted."""
