"""Tests of the guide: its pages, its places, and every block of code in it and in the README."""
