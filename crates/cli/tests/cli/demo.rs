//! `steadfast demo`: what a newcomer sees in the first minute.

use std::{
    io::{BufRead as _, BufReader},
    process::Command,
};

use crate::node::{dir, files, run, said, steadfast};

#[test]
fn the_demo_shows_every_way_to_fail_and_what_became_of_it() {
    let dir = dir();
    let shown = run(&["demo"], &dir);
    assert_eq!(shown.code, 0, "{shown:?}");
    let text = crate::node::masked(&shown.out);
    for wanted in [
        "Job: always-down (job_…): failed (exhausted)",
        "Job: flaky (job_…): succeeded",
        "Job: slow (job_…): succeeded",
        "Job: gone (job_…): failed (non_retryable)",
        "Job: busy (job_…): succeeded",
        "Job: panicky (job_…): succeeded",
        "→ again in 2s, as the target asked",
        "→ given up: no retry can mend this",
        "→ no retries left",
        "│ Retry #3 │ FAILED │",
        "panic ",
        "timeout ",
        "3 of 3 ticks ran",
        "Webhooks: 2 of 2 arrived, with a signature that is right.",
        "steadfast serve",
    ] {
        assert!(text.contains(wanted), "{wanted:?} is missing in\n{text}");
    }
    let attempts = |name: &str| {
        let is_of = |line: &&str| {
            line.contains(&format!("s ✗ {name} ")) || line.contains(&format!("s ✓ {name} "))
        };
        text.lines().filter(is_of).count()
    };
    assert_eq!(attempts("always-down"), 4, "{text}");
    assert_eq!(attempts("flaky"), 3, "{text}");
    assert_eq!(attempts("gone"), 1, "{text}");
    for line in shown.out.lines() {
        assert!(line.chars().count() <= 80, "too wide: {line}");
    }
    assert_eq!(shown.err, "", "the panic is on purpose and makes no noise");
    assert!(files(&dir).is_empty(), "nothing is left behind");
}

#[test]
fn a_demo_is_for_this_machine_only() {
    let refused = run(&["demo", "--listen", "0.0.0.0:0"], &dir());
    assert_eq!(refused.code, 2, "{refused:?}");
}

#[test]
fn a_demo_that_is_kept_can_be_asked() {
    let dir = dir();
    let mut demo = steadfast(&["demo", "--keep"], dir.path()).spawn().unwrap();
    let mut lines = BufReader::new(demo.stdout.take().unwrap()).lines();
    let is_last = |line: &String| line.contains("dlq requeue --all --url");
    let last = lines.by_ref().map(Result::unwrap).find(is_last).unwrap();
    let url = last.rsplit(' ').next().unwrap();
    let listed = said(steadfast(&["dlq", "list", "--url", url], dir.path()));
    assert_eq!(listed.out.lines().count(), 3, "{listed:?}");
    let pid = demo.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .unwrap()
            .success()
    );
    assert!(demo.wait().unwrap().success());
}
