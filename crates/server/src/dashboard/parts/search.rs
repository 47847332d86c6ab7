//! One line of words as the conditions of a list, and back.
//!
//! A word is a label, kind or queue that there is, a condition such as `queue:mail`, a tag such as
//! `order:4711`, a kind to leave out such as `-kind:webhook`, the URL of a destination, or an id; the
//! others are looked for in the newest failures. The address of a page has the conditions and not the
//! line, so that it means the same tomorrow, when there may be a queue of that name.

use std::collections::BTreeSet;

use steadfast_core::{
    BatchId, Destination, EndpointId, FailureState, JobId, JobLabel, OperationId, ScheduleId,
};
use steadfast_store::LaneStats;

use crate::limits;

/// The conditions of jobs that have a name, in an address as in the line. Everything else with a colon
/// is a tag.
pub const JOB_CONDITIONS: &[&str] = &[
    "label",
    "queue",
    "kind",
    "notKind",
    "tenant",
    "schedule",
    "destination",
    "batch",
    "from",
    "before",
    "text",
    "class",
    "status",
    "fingerprint",
    "reason",
    "tag",
];

/// Before a kind that is left out.
const NOT_KIND: &str = "-kind:";

/// Those of failures, which have no tags.
pub const FAILURE_CONDITIONS: &[&str] = &[
    "state",
    "class",
    "status",
    "kind",
    "destination",
    "queue",
    "text",
    "since",
    "tenant",
];

/// The names that exist, which a word may be and which the box completes.
#[derive(Default)]
pub struct KnownNames {
    kinds: BTreeSet<String>,
    queues: BTreeSet<String>,
    tenants: BTreeSet<String>,
}

impl KnownNames {
    pub fn of(lanes: &[LaneStats]) -> Self {
        let mut known = Self::default();
        for lane in lanes {
            add(&mut known.kinds, lane.kind.as_str());
            add(&mut known.queues, lane.queue.as_str());
            add(&mut known.tenants, lane.tenant.as_str());
        }
        known
    }

    /// The words that the box completes, besides the tags of the jobs that are listed.
    pub fn completions(&self, has_labels: bool, has_tenants: bool) -> Vec<String> {
        let labels = JobLabel::ALL.iter().filter(|_| has_labels);
        let mut words: Vec<String> = labels.map(|label| format!("label:{label}")).collect();
        let first = limits::COMPLETIONS_MAX;
        let kinds = self.kinds.iter().take(first);
        let queues = self.queues.iter().take(first);
        let tenants = self.tenants.iter().filter(|_| has_tenants).take(first);
        words.extend(kinds.map(|kind| quoted("kind", kind)));
        words.extend(queues.map(|queue| quoted("queue", queue)));
        words.extend(tenants.map(|tenant| quoted("tenant", tenant)));
        words
    }
}

fn add(names: &mut BTreeSet<String>, name: &str) {
    if !names.contains(name) {
        names.insert(name.to_owned());
    }
}

/// The meaning of a search line.
#[derive(Debug, PartialEq, Eq)]
pub enum Search {
    /// The page of one thing, by its id.
    Page(String),
    /// A list with these conditions.
    Conditions(Vec<(&'static str, String)>),
}

pub fn parse(line: &str, known: &KnownNames, names: &[&'static str]) -> Search {
    let line: String = line.chars().take(limits::SEARCH_CHARS_MAX).collect();
    if let Some(path) = path_of_id(line.trim()) {
        return Search::Page(path);
    }
    let mut found: Vec<(&'static str, String)> = Vec::new();
    let mut text: Vec<String> = Vec::new();
    for word in words(&line) {
        match condition(&word, known, names) {
            Some(("text", value)) => text.push(value),
            Some((name, value)) => {
                // Only tags can be given more than once.
                found.retain(|(other, _)| *other != name || name == "tag");
                found.push((name, value));
            }
            None => text.push(word),
        }
    }
    if !text.is_empty() {
        found.push(("text", text.join(" ")));
    }
    Search::Conditions(found)
}

/// The page of the thing that has this id.
pub fn path_of_id(text: &str) -> Option<String> {
    let is_id = [
        (text.parse::<JobId>().is_ok(), "jobs"),
        (text.parse::<ScheduleId>().is_ok(), "schedules"),
        (text.parse::<OperationId>().is_ok(), "operations"),
        (text.parse::<EndpointId>().is_ok(), "endpoints"),
        (text.parse::<BatchId>().is_ok(), "batches"),
    ];
    let (_, section) = is_id.into_iter().find(|(is_id, _)| *is_id)?;
    Some(format!("/{section}/{text}"))
}

fn condition(
    word: &str,
    known: &KnownNames,
    names: &[&'static str],
) -> Option<(&'static str, String)> {
    let has_tags = names.contains(&"tag");
    if let Some(kind) = word.strip_prefix(NOT_KIND).filter(|kind| !kind.is_empty()) {
        return has_tags.then(|| ("notKind", kind.to_owned()));
    }
    if let Some(destination) = Destination::of_url(word) {
        return Some(("destination", destination.to_string()));
    }
    if let Some((name, value)) = word.split_once(':') {
        if name.is_empty() || value.is_empty() {
            return None;
        }
        let named = names.iter().find(|it| it.eq_ignore_ascii_case(name));
        return match named {
            Some(name) => Some((*name, value.to_owned())),
            // `say://…` and `host:port` are no tags that people mean.
            None if value.starts_with("//") || is_host(name, value) => None,
            None => has_tags.then(|| ("tag", word.to_owned())),
        };
    }
    let own = match has_tags {
        true => JobLabel::ALL.iter().any(|label| label.as_str() == word),
        false => FailureState::ALL.iter().any(|state| state.as_str() == word),
    };
    let has_name = |names: &BTreeSet<String>| names.contains(word);
    match own {
        true => Some((if has_tags { "label" } else { "state" }, word.to_owned())),
        false if has_name(&known.kinds) => Some(("kind", word.to_owned())),
        false if has_name(&known.queues) => Some(("queue", word.to_owned())),
        false => None,
    }
}

fn is_host(name: &str, port: &str) -> bool {
    let is_name = name == "localhost" || name.contains('.');
    is_name && port.parse::<u16>().is_ok()
}

/// The words of a line; what is between quotation marks is one word.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        let letter = match (letter, letters.peek()) {
            ('\\', Some('"' | '\\')) => letters.next().unwrap_or(letter),
            ('"', _) => {
                is_quoted = !is_quoted;
                continue;
            }
            _ => letter,
        };
        match letter {
            letter if letter.is_whitespace() && !is_quoted => words.push(String::new()),
            letter => words.last_mut().unwrap_or(&mut String::new()).push(letter),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The line that means these conditions.
pub fn line_of(conditions: &[(&'static str, String)]) -> String {
    let words = conditions.iter().map(|(name, value)| match *name {
        "tag" if is_plain_tag(value) => quoted_word(value),
        "notKind" => quoted_word(&format!("{NOT_KIND}{value}")),
        name => quoted(name, value),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Whether a tag is understood without `tag:` before it.
fn is_plain_tag(tag: &str) -> bool {
    matches!(condition(tag, &KnownNames::default(), JOB_CONDITIONS), Some(("tag", same)) if same == tag)
}

fn quoted(name: &str, value: &str) -> String {
    quoted_word(&format!("{name}:{value}"))
}

fn quoted_word(word: &str) -> String {
    let word = word.replace('\\', r"\\").replace('"', "\\\"");
    match word.contains(char::is_whitespace) {
        true => format!("\"{word}\""),
        false => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> KnownNames {
        let mut known = KnownNames::default();
        add(&mut known.kinds, "mail.send");
        add(&mut known.queues, "mail");
        known
    }

    fn conditions(line: &str) -> Vec<(&'static str, String)> {
        match parse(line, &known(), JOB_CONDITIONS) {
            Search::Conditions(found) => found,
            Search::Page(path) => panic!("{line} leads to {path}"),
        }
    }

    #[test]
    fn words_are_labels_names_tags_conditions_and_text() {
        let cases = [
            ("failed", "label:failed"),
            ("-kind:webhook status:503", "-kind:webhook status:503"),
            ("mail.send mail", "kind:mail.send queue:mail"),
            ("queue:other", "queue:other"),
            (
                "order:4711 customer:9 503",
                "order:4711 customer:9 text:503",
            ),
            (
                "connection  refused mail",
                "queue:mail \"text:connection refused\"",
            ),
            ("\"customer:a b\"", "\"customer:a b\""),
            ("tag:queue:a", "tag:queue:a"),
            ("queue:a queue:b", "queue:b"),
            (
                "https://x.example/path?a=b mail",
                "destination:https://x.example queue:mail",
            ),
            ("http:// say://", "\"text:http:// say://\""),
            ("127.0.0.1:18089", "text:127.0.0.1:18089"),
            ("localhost:80 v1.2:beta", "v1.2:beta text:localhost:80"),
            (
                "destination:https://x.example",
                "destination:https://x.example",
            ),
            ("text:failed", "text:failed"),
            (r#""text:say \"hi\"""#, r#""text:say \"hi\"""#),
            (r#"user:a\"b"#, r#"user:a\"b"#),
            (r"C:\temp", r"C:\\temp"),
            ("a: :b \"", "\"text:a: :b\""),
            ("", ""),
        ];
        for (line, expected) in cases {
            let found = conditions(line);
            assert_eq!(line_of(&found), expected, "{line}");
            assert_eq!(
                conditions(&line_of(&found)),
                found,
                "{line}: there and back"
            );
        }
    }

    #[test]
    fn failures_have_states_and_destinations_and_no_tags() {
        let line = "regressed mail destination:https://api.example.com order:1 failed";
        let Search::Conditions(found) = parse(line, &known(), FAILURE_CONDITIONS) else {
            panic!("no conditions");
        };
        let expected = [
            ("state", "regressed"),
            ("queue", "mail"),
            ("destination", "https://api.example.com"),
            ("text", "order:1 failed"),
        ];
        assert_eq!(
            found,
            expected.map(|(name, value)| (name, value.to_owned()))
        );
    }

    #[test]
    fn an_id_leads_to_its_page() {
        let id = JobId::from_bits(7);
        let path = format!("/jobs/{id}");
        let found = parse(&format!(" {id} "), &known(), JOB_CONDITIONS);
        assert_eq!(found, Search::Page(path));
    }

    #[test]
    fn names_that_exist_are_completed() {
        let words = known().completions(true, false);
        assert!(words.contains(&"label:failed".to_owned()));
        assert!(words.contains(&"kind:mail.send".to_owned()));
        let mut many = KnownNames::default();
        for number in 0..10_000 {
            add(&mut many.kinds, &format!("kind{number}"));
        }
        let words = many.completions(false, false);
        assert_eq!(words.len(), limits::COMPLETIONS_MAX);
        let found = parse("kind9999", &many, JOB_CONDITIONS);
        let kind = ("kind", "kind9999".to_owned());
        assert_eq!(
            found,
            Search::Conditions(vec![kind]),
            "known without being completed"
        );
    }
}
