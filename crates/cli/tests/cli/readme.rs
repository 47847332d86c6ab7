//! The picture of the README shows what the demo really prints. (`cargo xtask docs --check` runs the
//! README's commands, and `cargo xtask docs --animate` makes the picture.)

use crate::node::{dir, run};

const PICTURE: &str = include_str!("../../../../docs/screenshots/demo.svg");

/// The text of the lines that appear one after the other.
fn lines() -> Vec<String> {
    let lines = PICTURE
        .lines()
        .filter(|line| line.contains("<text class=\"l "));
    let text = lines.map(|line| {
        let text: String = line
            .split('>')
            .filter_map(|part| part.split('<').next())
            .collect();
        text.replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&amp;", "&")
    });
    text.collect()
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

#[test]
fn the_demo_prints_the_lines_of_the_picture() {
    let shown = run(&["demo"], &dir());
    assert_eq!(shown.code, 0, "{shown:?}");
    let printed: Vec<String> = shown.out.lines().map(without_numbers).collect();
    let lines = lines();
    assert!(lines.len() > 10, "{lines:?}");
    for line in lines {
        let masked = without_numbers(&line);
        assert!(
            printed.contains(&masked),
            "{line:?} is not in\n{}",
            shown.out
        );
    }
}
