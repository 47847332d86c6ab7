//! Statements of the PostgreSQL driver are plain: no system columns, no transaction ids, and nothing
//! that a session remembers after its transaction.
//!
//! Databases that speak PostgreSQL's protocol have other storage below it, and a pooler lends the
//! connection to the next client when a transaction ends.

use super::tree::{File, Tree, is_word};
use super::{Finding, except_known};

const DRIVER: &str = "crates/store/src/drivers/postgres/";
const SHARED: &str = "crates/store/src/drivers/sql/shared/";

/// A name, or how names begin, and what to write instead.
const RETIRED: &[(&str, &str)] = &[
    ("ctid", KEY),
    ("xmin", KEY),
    ("xmax", KEY),
    ("cmin", KEY),
    ("cmax", KEY),
    ("tableoid", KEY),
    ("txid_", NUMBER),
    ("pg_current_xact_id", NUMBER),
    ("pg_current_snapshot", NUMBER),
    ("pg_snapshot_", NUMBER),
    ("pg_visible_in_snapshot", NUMBER),
    ("pg_xact_", NUMBER),
    ("pg_advisory_lock", LOCK),
    ("pg_try_advisory_lock", LOCK),
    ("pg_advisory_unlock", LOCK),
    ("temp", TABLE),
    ("temporary", TABLE),
];

const KEY: &str = "find the row by its key; a system column is not plain PostgreSQL";
const NUMBER: &str = "use a sequence or a column; a transaction id is not plain PostgreSQL";
const LOCK: &str = "use `pg_advisory_xact_lock`; a lock of the session outlives its transaction";
const TABLE: &str = "use `WITH` or an array; a temporary table belongs to a session";
const SETTING: &str =
    "use `SET LOCAL`, or `set_config` with `true`; a pooler lends the session to others";
const LISTEN: &str = "only the direct connection can listen; a pooler lends the session to others";

/// These run on connections that no pooler lends.
const KNOWN: &[&str] = &[
    "crates/store/src/drivers/postgres/listen.rs",
    "crates/store/src/drivers/postgres/open/durable.sql",
    "crates/store/src/drivers/postgres/open/settings.sql",
];

pub fn check(tree: &Tree) -> Vec<Finding> {
    except_known("xtask/src/tidy/plain_sql.rs", KNOWN, all(tree))
}

fn all(tree: &Tree) -> Vec<Finding> {
    let driver = tree.files.iter().filter(|file| {
        let is_shared = file.path.starts_with(SHARED) && file.has_extension(&["sql"]);
        is_shared || file.path.starts_with(DRIVER) && !file.is_test()
    });
    driver.flat_map(in_file).collect()
}

fn in_file(file: &File) -> Vec<Finding> {
    let Some(rust) = &file.rust else {
        return in_statements(&file.path, 1, &file.text);
    };
    let literals = rust.literals.iter();
    let literals = literals.filter(|literal| !rust.is_test_line(literal.line));
    literals
        .flat_map(|literal| in_statements(&file.path, literal.line, &literal.text))
        .collect()
}

/// The first reason why a statement is not plain.
pub fn fault(text: &str) -> Option<String> {
    let findings = in_statements("", 1, text);
    findings.into_iter().next().map(|finding| finding.sentence)
}

fn in_statements(path: &str, first_line: usize, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    // What stands between two semicolons; comments are left out.
    let mut statement_is_new = true;
    for (line, text) in text.lines().enumerate() {
        let code = text.split("--").next().unwrap_or_default().to_lowercase();
        let mut find = |sentence: &str| {
            findings.push(Finding::new(path, first_line + line, sentence));
        };
        for part in code.split_inclusive(';') {
            let words = part.split(|letter| !is_word(letter));
            let mut words = words.filter(|word| !word.is_empty());
            // A template such as `{set} jit = off` is filled with either.
            if statement_is_new && !part.trim_start().starts_with('{') {
                match (words.next(), words.next()) {
                    (Some("set"), Some("local" | "transaction" | "constraints")) => {}
                    (Some("set"), Some(_)) => find(SETTING),
                    (Some("listen"), Some(_)) => find(LISTEN),
                    _ => {}
                }
            }
            statement_is_new = part.ends_with(';') || statement_is_new && part.trim().is_empty();
        }
        if code.split("set_config(").skip(1).any(is_for_the_session) {
            find(SETTING);
        }
        let names = code.split(|letter| !is_word(letter));
        for name in names.filter(|name| !name.is_empty()) {
            let retired = RETIRED.iter().find(|(retired, _)| is_named(name, retired));
            if let Some((_, instead)) = retired {
                find(instead);
            }
        }
    }
    findings
}

/// A function has variants, such as `pg_advisory_lock_shared`.
fn is_named(name: &str, retired: &str) -> bool {
    match retired.contains('_') {
        true => name.starts_with(retired),
        false => name == retired,
    }
}

fn is_for_the_session(arguments: &str) -> bool {
    let arguments = arguments.split(')').next().unwrap_or_default();
    arguments.trim_end().ends_with("false")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines_found;

    const SCRIPT: &str = "crates/store/src/drivers/postgres/jobs/prune.sql";

    fn lines(path: &str, text: &str) -> Vec<usize> {
        lines_found(all, path, text)
    }

    #[test]
    fn what_only_postgres_has_or_a_session_keeps_is_found() {
        for text in [
            "DELETE FROM job WHERE ctid = ANY(ARRAY[]::tid[])",
            "SELECT job.xmin FROM job",
            "SELECT txid_current()",
            "SELECT pg_current_xact_id_if_assigned()",
            "SELECT pg_advisory_lock(1)",
            "SELECT pg_try_advisory_lock_shared(1)",
            "CREATE TEMP TABLE seen (id bigint)",
            "SET jit = off;",
            "SELECT 1; SET SESSION jit = off",
            "SELECT set_config('jit', 'off', false)",
            "LISTEN jobs",
        ] {
            assert_eq!(lines(SCRIPT, text), [1], "{text}");
            let driver = "crates/store/src/drivers/postgres/jobs.rs";
            assert_eq!(
                lines(driver, &format!("let sql =\n\"{text}\";")),
                [2],
                "{text}"
            );
        }
        let shared = "crates/store/src/drivers/sql/shared/records/find.sql";
        assert_eq!(lines(shared, "-- Finds.\nSELECT ctid FROM record"), [2]);
    }

    #[test]
    fn what_ends_with_the_transaction_is_fine() {
        for text in [
            "-- The row's ctid would be faster. SET it.\nSELECT 1",
            "SET LOCAL jit = off;\n\nSET TRANSACTION READ ONLY",
            "UPDATE job\nSET state = 1",
            "CREATE FUNCTION f() LANGUAGE plpgsql\nSET search_path = pg_catalog, pg_temp AS $$ $$",
            "SELECT pg_advisory_xact_lock(1), pg_try_advisory_xact_lock(2)",
            "SELECT set_config('jit', 'off', true)",
            "SELECT attempt, temperature FROM job",
        ] {
            assert_eq!(lines(SCRIPT, text), [0; 0], "{text}");
        }
        for path in [
            "crates/store/src/drivers/sqlite/claim.sql",
            "crates/store/tests/postgres_driver/names.rs",
        ] {
            assert_eq!(lines(path, "\"SELECT xmin\""), [0; 0], "{path}");
        }
    }
}
