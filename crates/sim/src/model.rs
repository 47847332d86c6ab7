//! The exhaustive check of a small world.
