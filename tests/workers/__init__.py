"""Tests of a server in several processes."""
