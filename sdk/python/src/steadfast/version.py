"""The version of this package, as the server and the package index are told."""

VERSION = "0.1.0"
LIBRARY = f"steadfast-python/{VERSION}"
