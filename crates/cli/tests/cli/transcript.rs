//! What commands print, as text that is the same in every run.
//!
//! Ids, secrets, times and durations are masked. Columns whose width depends on them are closed up,
//! so that a snapshot shows the words and their order, and boxes are kept whole.

use crate::node::{CommandOutput, Node};

/// Commands and their output, one after the other, as a person would see them.
pub struct Transcript<'n> {
    node: &'n Node,
    text: String,
}

impl<'n> Transcript<'n> {
    pub fn new(node: &'n Node) -> Self {
        Self {
            node,
            text: String::new(),
        }
    }

    /// Runs a command, and writes down what it printed.
    pub fn run(&mut self, args: &[&str]) -> CommandOutput {
        let output = self.node.run(args);
        let quoted: Vec<String> = args.iter().map(|arg| quote(arg)).collect();
        self.text += &format!("$ steadfast {}\n", mask(&quoted.join(" ")));
        for stream in [&output.out, &output.err] {
            self.text += &mask(&stream.replace(&self.node.url, "http://NODE"));
        }
        if output.code != 0 {
            self.text += &format!("[exit code {}]\n", output.code);
        }
        self.text.push('\n');
        output
    }

    pub fn finish(self) -> String {
        self.text.trim_end().to_owned()
    }
}

fn quote(arg: &str) -> String {
    if arg.contains([' ', '"', '*']) {
        format!("'{arg}'")
    } else {
        arg.to_owned()
    }
}

/// Ids, secrets, times and durations, masked.
pub fn mask(text: &str) -> String {
    text.split_inclusive('\n').map(mask_line).collect()
}

fn mask_line(line: &str) -> String {
    let line = mask_ids(line);
    if line.starts_with(['┌', '├', '└']) {
        return line;
    }
    if line.starts_with('│') {
        return mask_box(&line);
    }
    let mut words: Vec<String> = Vec::new();
    let (body, end) = match line.strip_suffix('\n') {
        Some(body) => (body, "\n"),
        None => (line.as_str(), ""),
    };
    let indent = body.len() - body.trim_start().len();
    for column in body.trim_start().split("  ").map(str::trim) {
        if !column.is_empty() {
            words.push(mask_column(column));
        }
    }
    format!("{}{}{end}", &body[..indent.min(2)], words.join("  "))
}

/// `job_01k…` and the like.
fn mask_ids(text: &str) -> String {
    let mut masked = String::new();
    let mut word = String::new();
    for c in text.chars().chain(['\0']) {
        if c.is_ascii_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        match word.split_once('_') {
            Some((kind @ ("job" | "sch" | "bat" | "end" | "key" | "opr" | "sf"), digits))
                if digits.len() >= 26 =>
            {
                masked.push_str(kind);
                masked.push_str("_…");
            }
            Some(("whsec", _)) => masked.push_str("whsec_…"),
            _ => masked.push_str(&word),
        }
        word.clear();
        if c != '\0' {
            masked.push(c);
        }
    }
    // What is left of a secret in Base64 after its first + or /.
    match masked.find("whsec_…") {
        Some(at) => format!("{}whsec_…\n", &masked[..at]),
        None => masked,
    }
}

/// The third column of the execution log is a duration.
fn mask_box(line: &str) -> String {
    let mut cells: Vec<String> = line.split('│').map(str::to_owned).collect();
    if let Some(cell) = cells.get_mut(3)
        && cell.trim_end().ends_with("ms")
    {
        *cell = format!("{:>1$} ", "…ms", cell.chars().count() - 1);
    }
    cells.join("│")
}

fn mask_column(column: &str) -> String {
    match column {
        "now" => return "WHEN".to_owned(),
        _ if is_duration(column) => return "DURATION".to_owned(),
        _ if is_when(column) => return "WHEN".to_owned(),
        _ => {}
    }
    // `2026-01-01 13:00:00 Europe/Paris (…)`: the date and the time go, the zone stays.
    if let Some(at) = find_pattern(column, b"0000-00-00 00:00:00 ") {
        let rest = &column[at + 20..];
        return format!("{}LOCAL TIME {}", &column[..at], mask_column(rest));
    }
    // `2026-01-01T12:00:00Z (2m ago)` and `…, in 59m 59s`, with text before it.
    if let Some(at) = column.find("T").and_then(|_| find_time(column)) {
        return format!("{}TIME", &column[..at]);
    }
    if let Some((before, when)) = column.rsplit_once(", ")
        && is_when(when)
    {
        return format!("{before}, WHEN");
    }
    column.to_owned()
}

/// Where a time like `2026-01-01T12` begins.
fn find_time(text: &str) -> Option<usize> {
    find_pattern(text, b"0000-00-00T00:00")
}

/// Where a text begins that has a digit wherever the pattern has a 0.
fn find_pattern(text: &str, pattern: &[u8]) -> Option<usize> {
    text.as_bytes().windows(pattern.len()).position(|window| {
        window.iter().zip(pattern).all(|(byte, want)| match want {
            b'0' => byte.is_ascii_digit(),
            _ => byte == want,
        })
    })
}

fn is_duration(text: &str) -> bool {
    !text.is_empty()
        && text.split(' ').all(|part| {
            let digits = part.trim_end_matches(|c: char| c.is_alphabetic());
            digits.len() < part.len()
                && digits.starts_with(|c: char| c.is_ascii_digit())
                && digits
                    .chars()
                    .all(|c| c.is_ascii_digit() || ".,".contains(c))
        })
}

fn is_when(text: &str) -> bool {
    let rest = text
        .strip_prefix("in ")
        .or_else(|| text.strip_suffix(" ago"));
    rest.is_some_and(is_duration)
}

#[test]
fn times_durations_and_ids_are_masked_and_words_are_kept() {
    for (line, masked) in [
        ("  label     failed\n", "  label  failed\n"),
        (
            "  created   2026-01-01T12:00:00Z (2m ago)\n",
            "  created  TIME\n",
        ),
        (
            "job_01900000000000000000000001 is scheduled, in 59m 59s\n",
            "job_… is scheduled, WHEN\n",
        ),
        (
            "key_01900000000000000000000001  admin  all    3.2s\n",
            "key_…  admin  all  DURATION\n",
        ),
        (
            "  Initial  FAILED     12ms  refused after 3s\n",
            "  Initial  FAILED  DURATION  refused after 3s\n",
        ),
        (
            "│ Initial │ FAILED │     12ms │ a │\n",
            "│ Initial │ FAILED │      …ms │ a │\n",
        ),
        (
            "  next   2026-01-01 13:00:00 Europe/Paris (2026-01-01T12:00:00Z, in 2m)\n",
            "  next  LOCAL TIME Europe/Paris (TIME\n",
        ),
        ("whsec_AbC+d/e=\n", "whsec_…\n"),
    ] {
        assert_eq!(mask(line), masked);
    }
}
