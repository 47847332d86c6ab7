//! The conformance suite of PostgreSQL, on a server that differs from that of the system.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::tidy::statement_fault;
use crate::{VerbResult, needs};

const POOLER: &str = "STEADFAST_TEST_POOLER";
const PROGRAMS: &str = "STEADFAST_TEST_POSTGRES";
const STATEMENTS: &str = "STEADFAST_TEST_STATEMENTS";

/// How the server differs.
#[derive(Clone, Copy, Debug)]
pub enum Server {
    /// PgBouncer is in front of it; whether nodes have an address of their own for LISTEN.
    Pooled(&'static str),
    /// It logs all statements, and afterwards each of them must be plain.
    Logged,
    /// Another version, from a package for Node.js.
    Version(&'static str),
}

/// What a transaction consists of, besides its settings.
#[derive(Default)]
struct Transaction {
    notifies: bool,
    /// Another of its statements.
    other: Option<String>,
}

impl Server {
    /// Variables for the suite, once what it needs is there.
    pub fn variables(self, place: &Path) -> Result<Vec<(&'static str, String)>, String> {
        Ok(match self {
            Self::Pooled(how) => vec![(POOLER, how.to_owned())],
            Self::Logged => {
                let log = place.join("statements.log");
                let failed = |error| format!("{}: {error}", log.display());
                fs::write(&log, "").map_err(failed)?;
                // The server may run as another user.
                fs::set_permissions(&log, Permissions::from_mode(0o666)).map_err(failed)?;
                let log = log.display().to_string();
                vec![(POOLER, "polling".to_owned()), (STATEMENTS, log)]
            }
            Self::Version(version) => vec![(PROGRAMS, needs::postgres(version)?)],
        })
    }

    /// Checks what the server has logged; returns the number of statements.
    pub fn check(self, place: &Path) -> Result<Option<u64>, String> {
        let Self::Logged = self else {
            return Ok(None);
        };
        let path = place.join("statements.log");
        let log = fs::read_to_string(&path);
        let log = log.map_err(|error| format!("{}: {error}", path.display()))?;
        let sent = statements(&log);
        check_all(&sent)?;
        Ok(Some(sent.len() as u64))
    }
}

/// The statements in a log whose lines begin with the number of the transaction.
fn statements(log: &str) -> Vec<(&str, String)> {
    let mut sent: Vec<(&str, String)> = Vec::new();
    let mut is_statement = false;
    for line in log.lines() {
        if let Some(rest) = line.strip_prefix('\t') {
            if let Some((_, text)) = sent.last_mut().filter(|_| is_statement) {
                text.push('\n');
                text.push_str(rest);
            }
            continue;
        }
        let entry = line.split_once(" LOG:  ").and_then(|(transaction, entry)| {
            let (how, text) = entry.split_once(": ")?;
            let is_sent = how == "statement" || how.starts_with("execute ");
            is_sent.then(|| (transaction, text.to_owned()))
        });
        is_statement = entry.is_some();
        sent.extend(entry);
    }
    sent
}

fn check_all(sent: &[(&str, String)]) -> VerbResult {
    let mut faults: BTreeMap<&str, String> = BTreeMap::new();
    let mut transactions: BTreeMap<&str, Transaction> = BTreeMap::new();
    for (transaction, text) in sent {
        if !is_of_pooler(text)
            && let Some(fault) = statement_fault(text)
        {
            faults.insert(text, fault);
        }
        let transaction = transactions.entry(*transaction).or_default();
        match first_word(text).as_str() {
            "begin" | "start" | "set" | "commit" | "rollback" => {}
            _ if notifies(text) => transaction.notifies = true,
            _ => transaction.other = Some(text.clone()),
        }
    }
    for (number, transaction) in &transactions {
        if let (true, Some(other)) = (transaction.notifies, &transaction.other) {
            let fault = format!("transaction {number} with a notification has this as well");
            faults.insert(other, fault);
        }
    }
    let has_notified = transactions.values().any(|it| it.notifies);
    if faults.is_empty() && has_notified {
        return Ok(());
    }
    let faults = faults
        .iter()
        .map(|(text, fault)| format!("{fault}:\n{text}"));
    let faults: Vec<String> = faults.collect();
    Err(match faults.is_empty() {
        true => "the log has no notification: not everything was logged".to_owned(),
        false => faults.join("\n\n"),
    })
}

/// PgBouncer gives a connection the settings that its next client asked for when it connected.
fn is_of_pooler(text: &str) -> bool {
    let tracked = [
        "application_name",
        "client_encoding",
        "datestyle",
        "intervalstyle",
        "standard_conforming_strings",
        "timezone",
    ];
    let parts = text.split(';').map(|part| part.trim().to_lowercase());
    let mut parts = parts.filter(|part| !part.is_empty());
    parts.all(|part| {
        let setting = part
            .strip_prefix("set ")
            .and_then(|it| it.split('=').next());
        setting.is_some_and(|setting| tracked.contains(&setting.trim()))
    })
}

fn notifies(text: &str) -> bool {
    let lower = text.to_lowercase();
    let is_definition = first_word(text) == "create";
    !is_definition && (lower.contains("pg_notify(") || first_word(text) == "notify")
}

/// The first word behind comments.
fn first_word(text: &str) -> String {
    let lines = text
        .lines()
        .map(|line| line.split("--").next().unwrap_or_default());
    let mut words = lines.flat_map(str::split_whitespace);
    words.next().unwrap_or_default().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(log: &str) -> VerbResult {
        check_all(&statements(log))
    }

    const NOTIFIES: &str = "9/1 LOG:  execute s1: -- Tells others.\n\tSELECT pg_notify($1, $2)\n";

    #[test]
    fn statements_of_several_lines_are_read_and_other_entries_are_not() {
        let log = "3/1 LOG:  statement: BEGIN\n LOG:  checkpoint starting: time\n\
                   3/1 LOG:  execute PGBOUNCER_4: SELECT 1\n\tFROM job\n3/1 ERROR:  no\n\tSELECT 2\n\
                   3/1 STATEMENT:  SELECT 3\n";
        let expected = [("3/1", "BEGIN"), ("3/1", "SELECT 1\nFROM job")];
        let sent = statements(log);
        let sent: Vec<(&str, &str)> = sent.iter().map(|(it, text)| (*it, &**text)).collect();
        assert_eq!(sent, expected);
    }

    #[test]
    fn a_notification_is_sent_by_a_transaction_of_its_own() {
        assert_eq!(check(NOTIFIES), Ok(()));
        let alone = "9/2 LOG:  statement: BEGIN\n9/2 LOG:  statement: SET LOCAL jit = off\n\
                     9/2 LOG:  execute s1: NOTIFY jobs\n9/2 LOG:  statement: COMMIT\n";
        assert_eq!(check(alone), Ok(()));
        let insert = "9/1 LOG:  execute s2: INSERT INTO job DEFAULT VALUES\n";
        let error = check(&format!("{NOTIFIES}{insert}")).unwrap_err();
        assert!(error.contains("INSERT INTO job"), "{error}");
        assert!(check(insert).is_err(), "nothing notifies");
    }

    #[test]
    fn what_a_session_keeps_is_found_but_for_settings_of_the_pooler() {
        let settings = "9/3 LOG:  statement: SET client_encoding='UTF8';SET TimeZone='UTC';\n";
        assert_eq!(check(&format!("{NOTIFIES}{settings}")), Ok(()));
        for text in ["SET jit = off", "SELECT ctid FROM job", "LISTEN jobs"] {
            let error = check(&format!("{NOTIFIES}9/4 LOG:  statement: {text}\n")).unwrap_err();
            assert!(error.contains(text), "{error}");
        }
    }
}
