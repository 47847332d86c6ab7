//! `steadfast demo`: what a newcomer sees in the first minute.

use std::{
    io::{BufRead as _, BufReader},
    process::Command,
};

use crate::{
    node::{dir, files, output_of, run, steadfast},
    transcript::mask,
};

#[test]
fn the_demo_shows_every_way_to_fail_and_what_followed() {
    let dir = dir();
    let shown = run(&["demo"], &dir);
    assert_eq!(shown.code, 0, "{shown:?}");
    let text = mask(&shown.out);
    for wanted in [
        "Job: always-down (job_…): failed, no retries left",
        "Job: flaky (job_…): succeeded",
        "Job: slow (job_…): succeeded",
        "Job: gone (job_…): failed, permanent failure",
        "Job: busy (job_…): succeeded",
        "Job: panicky (job_…): succeeded",
        "→ retry 1 of 3 in 2s (Retry-After)",
        "→ permanent failure",
        "→ no retries left",
        "│ Retry #3 │ FAILED │",
        "panic ",
        "timeout ",
        "3 of 3 ticks ran",
        "Webhooks: 2 of 2 arrived with a valid signature.",
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
    assert_eq!(shown.err, "", "the panic is on purpose and prints nothing");
    assert!(files(&dir).is_empty(), "nothing is left behind");
}

#[test]
fn a_demo_is_for_this_machine_only() {
    let refused = run(&["demo", "--listen", "0.0.0.0:0"], &dir());
    assert_eq!(refused.code, 2, "{refused:?}");
}

#[test]
fn a_demo_that_is_kept_answers_requests_and_names_its_dashboard() {
    let dir = dir();
    let mut demo = steadfast(&["demo", "--keep"], dir.path()).spawn().unwrap();
    let mut lines = BufReader::new(demo.stdout.take().unwrap()).lines();
    let is_last = |line: &String| line.contains("dlq requeue --all --url");
    let mut printed: Vec<String> = Vec::new();
    while !printed.last().is_some_and(is_last) {
        printed.push(lines.next().unwrap().unwrap());
    }
    let last = printed.last().unwrap();
    let url = last.rsplit(' ').next().unwrap();
    let dashboard = printed.iter().any(|line| line.contains("the dashboard"));
    assert!(dashboard, "{printed:?}");
    let listed = output_of(steadfast(&["dlq", "list", "--url", url], dir.path()));
    assert_eq!(listed.out.lines().count(), 3, "{listed:?}");
    let jobs = output_of(steadfast(
        &["jobs", "list", "--json", "--url", url],
        dir.path(),
    ));
    let jobs: serde_json::Value = serde_json::from_str(&jobs.out).unwrap();
    let destination_of = |path: &str| {
        let jobs = jobs["jobs"].as_array().unwrap();
        let is_it = |url: &str| url.ends_with(path);
        let job = jobs
            .iter()
            .find(|job| job["http"]["url"].as_str().is_some_and(is_it));
        job.unwrap()["destination"].clone()
    };
    // Its Retry-After applies to all jobs of its destination.
    assert_ne!(destination_of("/busy"), destination_of("/flaky"));
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
