//! The picture at the top of the README: a real run of `steadfast demo`, at its own pace.
//!
//! Style sheets alone move it, because a picture on a page may not run scripts. People who asked
//! their system for less motion see its last state.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use steadfast_book::html::escape;

const FILE: &str = "docs/screenshots/demo.svg";
const BEGIN: &str = "── attempts, as they happen";
const END: &str = "── results";

const LINE_HEIGHT: usize = 19;
const TOP: usize = 62;
const WIDTH: usize = 720;
/// Lines of one moment are shown one after the other, so that an eye can follow.
const STEP_SECS: f64 = 0.12;
/// How long the end stays before it begins again.
const REST_SECS: f64 = 5.0;

/// One attempt, and when it is shown.
struct ShownLine {
    at_secs: f64,
    text: String,
}

pub fn update(root: &Path, binary: &Path) -> Result<(), String> {
    let output = Command::new(binary).arg("demo").output();
    let output = output.map_err(|error| format!("{}: {error}", binary.display()))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let lines = attempts(&printed);
    if !output.status.success() || lines.is_empty() {
        return Err(format!("the demo failed: {printed}"));
    }
    fs::write(root.join(FILE), picture(&lines)).map_err(|error| format!("{FILE}: {error}"))?;
    println!("{FILE}: {} attempts", lines.len());
    Ok(())
}

fn attempts(printed: &str) -> Vec<ShownLine> {
    let mut shown: Vec<ShownLine> = Vec::new();
    let lines = printed.lines().skip_while(|line| !line.starts_with(BEGIN));
    for line in lines.skip(1).take_while(|line| !line.starts_with(END)) {
        let seconds = line.trim_start().split('s').next().unwrap_or_default();
        let Ok(seconds) = seconds.parse::<f64>() else {
            continue;
        };
        let earliest = shown.last().map_or(0.6, |last| last.at_secs + STEP_SECS);
        shown.push(ShownLine {
            at_secs: earliest.max(seconds + 0.6),
            text: line.to_owned(),
        });
    }
    shown
}

fn picture(lines: &[ShownLine]) -> String {
    let last = lines.last().map_or(0.0, |line| line.at_secs);
    let total = last + REST_SECS;
    let height = TOP + (lines.len() + 2) * LINE_HEIGHT;
    let mut style = format!(
        "text{{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;\
         fill:#e3e8ee;white-space:pre}}\
         .soft{{fill:#98a5b3}}.good{{fill:#4fb983}}.bad{{fill:#ec7267}}.next{{fill:#dca54c}}\
         .name{{font-weight:600}}\
         .l{{animation-duration:{total:.1}s;animation-iteration-count:infinite;\
         animation-timing-function:step-end}}\n"
    );
    let mut body = String::new();
    for (index, line) in lines.iter().enumerate() {
        let percent = 100.0 * line.at_secs / total;
        let _ = writeln!(
            style,
            "@keyframes l{index}{{0%{{opacity:0}}{percent:.2}%{{opacity:1}}}}\
             .l{index}{{animation-name:l{index}}}"
        );
        let y = TOP + (index + 1) * LINE_HEIGHT;
        let _ = writeln!(
            body,
            "<text class=\"l l{index}\" x=\"18\" y=\"{y}\" xml:space=\"preserve\">{}</text>",
            coloured(&line.text)
        );
    }
    style.push_str("@media (prefers-reduced-motion:reduce){.l{animation:none}}");
    let bottom = TOP + (lines.len() + 1) * LINE_HEIGHT + 6;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-label=\"steadfast demo: {count} attempts of jobs that fail in many ways, and what is \
         decided after each\">\n<style>{style}</style>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" rx=\"10\" fill=\"#11161c\"/>\n\
         <g fill=\"#2c3642\"><circle cx=\"22\" cy=\"20\" r=\"6\"/><circle cx=\"42\" cy=\"20\" r=\"6\"/>\
         <circle cx=\"62\" cy=\"20\" r=\"6\"/></g>\n\
         <text x=\"18\" y=\"52\"><tspan class=\"soft\">$ </tspan>steadfast demo</text>\n\
         {body}<text class=\"soft\" x=\"18\" y=\"{bottom}\">Every retry is a row with a time, never a timer \
         in memory.</text>\n</svg>\n",
        count = lines.len()
    )
}

/// `  0.4s ✗ flaky       Retry #1 HTTP 500 → retry 2 of 3 in 800ms`, in its parts.
fn coloured(line: &str) -> String {
    let (what, decision) = match line.split_once('→') {
        Some((what, decision)) => (
            what,
            format!("<tspan class=\"next\">→{}</tspan>", escape(decision)),
        ),
        None => (line, String::new()),
    };
    let class = if what.contains('✓') { "good" } else { "bad" };
    let Some((time, rest)) = what.split_once(['✓', '✗']) else {
        return escape(line);
    };
    let mark = if class == "good" { '✓' } else { '✗' };
    let name_end = rest
        .trim_start()
        .find(' ')
        .map_or(rest.len(), |end| end + 1);
    let (name, rest) = rest.split_at(name_end.min(rest.len()));
    format!(
        "<tspan class=\"soft\">{}</tspan><tspan class=\"{class}\">{mark}</tspan>\
         <tspan class=\"name\">{}</tspan>{}{decision}",
        escape(time),
        escape(name),
        escape(rest)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root;

    const RUN: &str = "intro\n── attempts, as they happen ──\n  0.0s ✗ a<b Initial  HTTP 503 → retry 1 of 3 in 500ms\n  0.0s ✓ b   Initial  done\n  2.5s ✓ a<b Retry #1 HTTP 200\n── results ──\n  9.0s ✗ c\n";

    #[test]
    fn attempts_appear_at_their_time_and_one_after_the_other() {
        let times: Vec<f64> = attempts(RUN).iter().map(|line| line.at_secs).collect();
        assert_eq!(times, [0.6, 0.72, 3.1]);
    }

    #[test]
    fn the_picture_stands_still_for_people_who_ask_for_that_and_loads_nothing() {
        let picture = picture(&attempts(RUN));
        assert!(picture.contains("prefers-reduced-motion") && picture.contains("a&lt;b"));
        let stored = fs::read_to_string(root().join(FILE)).unwrap();
        for svg in [picture, stored] {
            for refused in ["<script", "href", "url("] {
                assert!(!svg.contains(refused), "{refused}");
            }
        }
    }
}
