"""The version of this package, for the server and the package index."""

VERSION = "0.1.0"
LIBRARY = f"steadfast-python/{VERSION}"
