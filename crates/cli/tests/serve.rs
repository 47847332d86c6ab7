//! The real binary, on a port of its own.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Output, Stdio},
};

fn steadfast(args: &[&str], dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_steadfast"));
    command.args(args).current_dir(dir);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(args: &[&str], dir: &Path) -> (bool, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = steadfast(args, dir).output().unwrap();
    let said = [stdout, stderr].concat();
    (status.success(), String::from_utf8(said).unwrap())
}

/// Reads what a node says until it has named its health page; returns that address.
fn address(node: &mut Child) -> String {
    let lines = BufReader::new(node.stdout.as_mut().unwrap()).lines();
    for line in lines {
        let line = line.unwrap();
        if let Some((_, address)) = line.split_once("http://") {
            return address.trim_end_matches("/healthz").to_owned();
        }
    }
    panic!("the node did not say where it listens");
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn stop(node: &Child) {
    let pid = node.id().to_string();
    let killed = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
    assert!(killed.success());
}

#[test]
fn a_node_says_where_it_is_answers_and_stops_on_a_signal() {
    let dir = tempfile::tempdir().unwrap();
    let mut node = steadfast(&["serve", "--listen", "127.0.0.1:0"], dir.path())
        .spawn()
        .unwrap();
    let address = address(&mut node);
    let answer = get(&address, "/healthz");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains(r#""status":"ok""#), "{answer}");
    assert!(dir.path().join("steadfast.db").exists());
    stop(&node);
    assert!(node.wait().unwrap().success());
}

#[test]
fn a_file_that_is_not_ours_is_refused_by_path_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("notes.txt");
    std::fs::write(&path, "dear diary, this is no database at all").unwrap();
    let (ok, said) = run(
        &[
            "serve",
            "--store",
            "sqlite:notes.txt",
            "--listen",
            "127.0.0.1:0",
        ],
        dir.path(),
    );
    assert!(!ok);
    assert!(
        said.contains("notes.txt is not a Steadfast database"),
        "{said}"
    );
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        "dear diary, this is no database at all"
    );
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn mistakes_on_the_command_line_are_answered_with_what_would_be_right() {
    let dir = tempfile::tempdir().unwrap();
    let (ok, said) = run(&["serve", "--listen", "0.0.0.0:7373"], dir.path());
    assert!(!ok && said.contains("--listen 127.0.0.1:7373"), "{said}");
    let (ok, said) = run(&["serve", "--store", "redis:"], dir.path());
    assert!(!ok && said.contains("use sqlite:FILE or memory:"), "{said}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn the_benchmark_prints_one_json_object_per_figure() {
    let dir = tempfile::tempdir().unwrap();
    let small = [
        "bench",
        "--json",
        "--jobs",
        "2000",
        "--backlog",
        "30000",
        "--starts",
        "5",
    ];
    let (ok, said) = run(&small, dir.path());
    assert!(ok, "{said}");
    let names: Vec<String> = said
        .lines()
        .map(|line| {
            let figure: serde_json::Value = serde_json::from_str(line).unwrap();
            assert!(figure["value"].as_f64().unwrap() > 0.0, "{line}");
            figure["name"].as_str().unwrap().to_owned()
        })
        .collect();
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
