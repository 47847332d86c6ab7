//! `steadfast bench`: the figures it prints.

use tempfile::TempDir;

use crate::node::{dir, run};

#[test]
fn the_benchmark_prints_one_json_object_per_figure() {
    let dir = dir();
    let names = bench_figures(
        "--jobs 2000 --backlog 30000 --starts 5 --requests 500 --calls 50",
        &dir,
    );
    for wanted in [
        "enqueue",
        "lifecycle",
        "start lateness, p99",
        "claim from the backlog, CPU",
    ] {
        assert!(
            names.iter().any(|name| name == wanted),
            "{wanted} is missing in {names:?}"
        );
    }
}

#[test]
fn the_benchmark_of_flow_control_can_be_short() {
    let dir = dir();
    let names = bench_figures(
        "--flow --jobs 1000 --tenants 500 --destinations 500 --held 1000 --hanging 1 --starts 5",
        &dir,
    );
    for wanted in [
        "claim, 500 tenants",
        "claim, 500 destinations",
        "claim at a gate: maxRunning",
        "create, 500 tenants",
        "claim, 1,000 jobs held back",
        "10 jobs with 1,000 held",
        "with 50 hanging, p99",
    ] {
        assert!(
            names.iter().any(|name| name == wanted),
            "{wanted} is missing in {names:?}"
        );
    }
}

#[test]
fn the_benchmark_of_operations_can_be_short() {
    let dir = dir();
    let names = bench_figures(
        "--operations --jobs 500 --tagged 500 --dead 300 --starts 5",
        &dir,
    );
    for wanted in [
        "fingerprint of a failure",
        "create, unique",
        "create, two tags",
        "list by tag, 500 jobs",
        "requeue of 300 dead letters",
        "start during an operation, p99",
    ] {
        assert!(
            names.iter().any(|name| name == wanted),
            "{wanted} is missing in {names:?}"
        );
    }
}

/// Runs the benchmark; answers with the names of its figures.
fn bench_figures(arguments: &str, dir: &TempDir) -> Vec<String> {
    let arguments = format!("bench --json {arguments}");
    let output = run(&arguments.split(' ').collect::<Vec<_>>(), dir);
    assert_eq!(output.code, 0, "{output:?}");
    let lines = output.out.lines().map(|line| {
        let figure: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(figure["value"].as_f64().unwrap() > 0.0, "{line}");
        figure["name"].as_str().unwrap().to_owned()
    });
    lines.collect()
}
