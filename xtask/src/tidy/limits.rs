//! Every limit of a crate is in its `limits.rs`.
//!
//! Numbers that were chosen are compared with each other: a lease with a timeout, a page with a
//! batch. Spread over the files that use them, a pair that does not fit is not seen.

use super::Finding;
use super::rust::{Constant, Rust};
use super::tree::{File, Tree};

/// Crates whose numbers are of proofs, and parts of paths under which they are of tests and
/// measurements.
const NOT_PRODUCT: &[&str] = &[
    "crates/bench",
    "crates/fuzz",
    "crates/sim",
    "testing",
    "testing.rs",
];

const EXCUSE: &str = "// not a limit: ";

pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust_files()
        .filter(|(file, _)| is_product(file))
        .flat_map(|(file, rust)| strays(file, rust))
        .collect()
}

fn is_product(file: &File) -> bool {
    let Some((package, rest)) = file.path.split_once("/src/") else {
        return false;
    };
    let is_home = rest == "limits.rs" || rest.starts_with("limits/");
    let mut parts = rest.split('/').chain([package]);
    let is_other = parts.any(|part| NOT_PRODUCT.contains(&part));
    package.starts_with("crates/") && !is_home && !is_other && !file.is_test()
}

fn strays(file: &File, rust: &Rust) -> Vec<Finding> {
    let lines: Vec<&str> = file.text.lines().collect();
    let constants = rust.constants.iter();
    constants
        .filter(|constant| is_number(constant) && !is_excused(&lines, constant))
        .filter(|constant| !rust.is_test_line(*constant.lines.start()))
        .map(|constant| {
            let sentence = format!(
                "move `{}` to the crate's limits.rs, or say on the line why it is none: \
                 `{EXCUSE}reason`",
                constant.name
            );
            Finding::new(&file.path, *constant.lines.start(), sentence)
        })
        .collect()
}

/// True if the value is a number that was chosen here. One that is computed from other constants
/// was chosen where they are.
fn is_number(constant: &Constant) -> bool {
    let is_sign = |token: &String| matches!(token.as_str(), "<" | ">" | ":");
    let mut declared = constant.declared.iter();
    let has_type = declared.all(|token| is_sign(token) || is_of_numbers(token));
    let mut value = constant.value.iter();
    let has_digits = value.any(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    has_type && has_digits && !constant.value.iter().any(|word| is_constant(word))
}

/// True for each word of a type that holds a number: `u64`, `std::time::Duration`, `Range<u8>`.
fn is_of_numbers(word: &str) -> bool {
    let size = word.strip_prefix(['u', 'i', 'f']);
    let is_primitive = size.is_some_and(|size| size == "size" || size.parse::<u8>().is_ok());
    let is_known = matches!(
        word,
        "std" | "core" | "time" | "Duration" | "num" | "ops" | "Range" | "RangeInclusive"
    );
    is_primitive || is_known || word.starts_with("NonZero")
}

/// `DAY` and `PAGE_MAX`, but not `MAX` of a primitive type.
fn is_constant(word: &str) -> bool {
    let is_upper = word
        .chars()
        .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    is_upper && word.starts_with(|c: char| c.is_ascii_uppercase()) && !matches!(word, "MAX" | "MIN")
}

/// The formatter may move the reason to the line above.
fn is_excused(lines: &[&str], constant: &Constant) -> bool {
    let from = constant.lines.start().saturating_sub(2);
    lines[from..*constant.lines.end()].iter().any(|line| {
        let reason = line.split_once(EXCUSE);
        reason.is_some_and(|(_, why)| !why.trim().is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{findings_in, lines_found};

    const SOURCE: &str = "crates/server/src/api/jobs.rs";

    #[test]
    fn a_number_outside_of_the_limits_is_found() {
        for text in [
            "const PAGE_MAX: usize = 500;",
            "pub(super) const BYTES_MAX: i64 = 16 * 1024 * 1024;",
            "const WAIT: Duration = Duration::from_secs(2);",
            "const WAIT: std::time::Duration =\n    std::time::Duration::from_secs(2);",
            "const RANGE: RangeInclusive<u64> = 1..=20;",
            "const HALF: u64 = u64::MAX / 2;",
            "const PAGE_MAX: usize = 500; // not a limit: ",
        ] {
            assert_eq!(lines_found(check, SOURCE, text), [1], "{text}");
        }
        let in_function = "fn f() {\n    const WAIT: u8 = 2;\n}";
        assert_eq!(lines_found(check, SOURCE, in_function), [2]);
    }

    #[test]
    fn what_is_excused_computed_or_no_number_is_fine() {
        for text in [
            "const DAY_SECS: u64 = 86_400; // not a limit: a day has as many",
            "// not a limit: a day has as many\nconst DAY_SECS: u64 = 86_400;",
            "const PAGES_MAX: usize = 2 * limits::PAGE_MAX;",
            "const WAIT: Duration = limits::WAIT;",
            "const BYTES: usize = \"2026\".len();",
            "const NEVER: i64 = i64::MAX;",
            "const NAME: &str = \"a1\";",
            "const STEPS: [u64; 2] = [1, 2];",
            "#[cfg(test)]\nmod tests {\n    const N: usize = 3;\n}",
        ] {
            let found = findings_in(check, SOURCE, text);
            assert!(found.is_empty(), "{found:?}");
        }
    }

    #[test]
    fn the_limits_themselves_and_what_is_no_product_are_left_alone() {
        for path in [
            "crates/server/src/limits.rs",
            "crates/sim/src/lib.rs",
            "crates/server/tests/api/jobs.rs",
            "crates/store/src/conformance/claim.rs",
            "crates/engine/src/testing.rs",
            "crates/bench/src/http.rs",
            "xtask/src/fuzz.rs",
        ] {
            let found = findings_in(check, path, "const PAGE_MAX: usize = 500;");
            assert!(found.is_empty(), "{path}");
        }
    }
}
