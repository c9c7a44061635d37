"""Spells word tables: one string of words reads better than a list of quoted ones."""

from agent.lang.language import words as words
