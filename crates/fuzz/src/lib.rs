//! What must hold for every input.
//!
//! A target is one function: it takes any bytes, panics if a law is broken, and returns whether the
//! product took the input. `cargo test -p steadfast-fuzz` runs each over its corpus and over
//! mutations of it from a seed; `fuzz/` at the root of the repository runs the very same
//! functions under libFuzzer, which sees what they reach.
//!
//! # Layout
//!
//! * `targets`: the laws, one file per kind of input. `corpus`: where mutations start.
//! * `mutate`, `run`: the short way, which needs nothing but a stable compiler. `guided`: the long.

mod guided;
mod mutate;
mod run;
mod targets;

pub use guided::guided;
pub use run::prove;

/// A kind of input, and what must hold for it.
#[derive(Clone, Copy)]
pub struct Target {
    pub name: &'static str,
    /// Panics if a law is broken; returns whether the input was taken.
    pub check: fn(&[u8]) -> bool,
}

macro_rules! targets {
    ($($name:ident),+ $(,)?) => {
        $(#[expect(non_upper_case_globals, reason = "a target is called as its module is")]
        pub const $name: Target = Target {
            name: stringify!($name),
            check: targets::$name::check,
        };)+

        /// All there are.
        pub const TARGETS: &[Target] = &[$($name),+];
    };
}

targets! {
    api,
    cron,
    cursor,
    duration,
    failure,
    policy,
    settings,
    wire,
}
