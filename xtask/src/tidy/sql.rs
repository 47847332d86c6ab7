//! SQL lives in `.sql` files named after the verb, each with a header.
//!
//! A statement inside a Rust string is found by no tool, explained by no header, and grows. Short
//! ones, such as a lookup of the schema's version, may stay where they are used.

use super::Finding;
use super::rust::Rust;
use super::tree::{File, Tree};

const STATEMENTS: &[&str] = &["SELECT", "INSERT", "UPDATE", "DELETE", "CREATE"];
const INLINE_CHARS_MAX: usize = 60;

pub fn check(tree: &Tree) -> Vec<Finding> {
    let inline = tree
        .rust_files()
        .filter(|(file, _)| file.path.starts_with("crates/store/src/") && !file.is_test())
        .flat_map(|(file, rust)| inline_statements(file, rust));
    let headers = tree
        .files
        .iter()
        .filter(|file| file.has_extension(&["sql"]) && !file.text.starts_with("--"))
        .map(|file| {
            let sentence = "begin with a `--` header: what it does, parameters, rows, locks taken";
            Finding::new(&file.path, 1, sentence)
        });
    inline.chain(headers).collect()
}

fn inline_statements(file: &File, rust: &Rust) -> Vec<Finding> {
    let mut findings = Vec::new();
    for literal in &rust.literals {
        let first_word = literal.text.split_whitespace().next().unwrap_or_default();
        let is_long = literal.text.chars().count() > INLINE_CHARS_MAX;
        if is_long && STATEMENTS.contains(&first_word) && !rust.is_test_line(literal.line) {
            let sentence = format!(
                "SQL lives in `.sql` files; move this {first_word} to one named after the verb \
                 and use `include_str!`"
            );
            findings.push(Finding::new(&file.path, literal.line, sentence));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{findings_in, lines_found};

    const LONG: &str =
        "SELECT id, queue, priority, run_at FROM jobs WHERE state = ?1 AND run_at <= ?2";
    const DRIVER: &str = "crates/store/src/sqlite/claim.rs";

    #[test]
    fn a_long_statement_in_a_driver_is_found() {
        assert_eq!(
            lines_found(check, DRIVER, &format!("\nlet sql = \"{LONG}\";")),
            [2]
        );
        assert_eq!(
            lines_found(check, DRIVER, &format!("let sql = r#\"\n  {LONG}\"#;")),
            [1]
        );
    }

    #[test]
    fn short_statements_pragmas_and_tests_are_fine() {
        let in_test = format!("#[cfg(test)]\nmod tests {{\n\"{LONG}\";\n}}");
        let pragma = format!("\"PRAGMA {}\"", "x".repeat(80));
        for text in ["\"SELECT max(version) FROM migrations\"", &pragma, &in_test] {
            assert!(findings_in(check, DRIVER, text).is_empty(), "{text}");
        }
        let text = format!("\"{LONG}\"");
        assert!(findings_in(check, "crates/store/tests/sqlite.rs", &text).is_empty());
    }

    #[test]
    fn a_script_without_a_header_is_found() {
        assert_eq!(
            lines_found(check, "crates/store/src/sqlite/claim.sql", LONG),
            [1]
        );
        let with_header = format!("-- Claims due jobs.\n{LONG}");
        assert!(findings_in(check, "crates/store/src/sqlite/claim.sql", &with_header).is_empty());
    }
}
