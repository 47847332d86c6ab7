//! The README shows what the binary really prints.

use crate::node::{Node, dir, run};

const README: &str = include_str!("../../../../README.md");

/// The text block of the README that holds these words.
fn block(words: &str) -> Vec<&'static str> {
    let mut blocks = README.split("```text\n").skip(1);
    let block = blocks.find(|block| block.contains(words));
    let block = block.unwrap_or_else(|| panic!("no text block of the README has {words:?}"));
    block.split("```").next().unwrap().lines().collect()
}

/// Numbers and their units, masked: times and jitter differ from run to run.
fn without_numbers(text: &str) -> String {
    let mut masked = String::new();
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let core = word.trim_matches(|c: char| "();:.,".contains(c));
        let unit = core.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let is_number =
            core.starts_with(|c: char| c.is_ascii_digit()) && ["", "ms", "s", "µs"].contains(&unit);
        if is_number {
            masked += &word.replace(core, "N");
        } else {
            masked += word;
        }
        if words.peek().is_some() {
            masked.push(' ');
        }
    }
    masked
}

/// The rows of a box, each cell without its line breaks.
fn rows<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for line in lines.filter(|line| line.starts_with('│')) {
        let cells: Vec<&str> = line.trim_matches('│').split('│').map(str::trim).collect();
        match rows.last_mut() {
            Some(row) if cells[0].is_empty() => {
                for (whole, cell) in row.iter_mut().zip(cells) {
                    *whole = format!("{whole} {cell}").trim().to_owned();
                }
            }
            _ => rows.push(cells.iter().map(|cell| (*cell).to_owned()).collect()),
        }
    }
    for row in &mut rows {
        for cell in row {
            *cell = without_numbers(cell);
        }
    }
    rows
}

#[test]
fn the_demo_prints_the_lines_of_the_readme() {
    let shown = run(&["demo"], &dir());
    assert_eq!(shown.code, 0, "{shown:?}");
    let printed: Vec<String> = shown.out.lines().map(without_numbers).collect();
    for line in block("always-down") {
        let masked = without_numbers(line);
        assert!(
            printed.contains(&masked),
            "{line:?} is not in\n{}",
            shown.out
        );
    }
}

#[test]
fn a_job_on_a_dead_port_is_shown_as_in_the_readme() {
    let node = Node::start(&["--listen", "127.0.0.1:0"]);
    let request = r#"{"api": "http://127.0.0.1:9/", "maxRetryCount": 2}"#;
    assert!(README.contains(request), "the README creates another job");
    std::fs::write(node.dir.path().join("job.json"), request).unwrap();
    let created = node.json(&["jobs", "create", "--from", "job.json"]);
    let id = created["id"].as_str().unwrap();
    node.until(&["jobs", "show", id], |job| job["label"] == "failed");
    let shown = node.run(&["jobs", "show", id]).out;
    let block = block("│ Attempt");
    for line in &block {
        assert_eq!(line.chars().count(), 80, "{line}");
    }
    assert_eq!(rows(block.into_iter()), rows(shown.lines()), "\n{shown}");
}
