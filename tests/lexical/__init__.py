"""Tests of what two searches share."""
