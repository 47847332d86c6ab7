"""Calls and options that scripts/generate.py writes from docs/openapi.json."""
