//! `steadfast dev`: a server that keeps nothing, and each attempt in the terminal.

use std::{
    os::unix::fs::PermissionsExt,
    sync::mpsc,
    time::{Duration, Instant},
};

use crate::{
    node::{dir, files, output_of, run, steadfast},
    process::Process,
};

const DEADLINE: Duration = Duration::from_secs(30);

/// The next line that has this part.
fn until(printed: &mpsc::Receiver<String>, part: &str) -> String {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let line = printed.recv_timeout(left);
        let line = line.unwrap_or_else(|_| panic!("no line has {part}"));
        if line.contains(part) {
            return line;
        }
    }
}

#[test]
fn a_development_server_opens_its_page_prints_each_attempt_and_leaves_nothing() {
    let dir = dir();
    let scratch = tempfile::tempdir().unwrap();
    let browser = scratch.path().join("browser");
    let opened = scratch.path().join("opened");
    let script = format!(
        "#!/bin/sh\necho \"$1\" > {0}.part && mv {0}.part {0}\n",
        opened.display()
    );
    std::fs::write(&browser, script).unwrap();
    std::fs::set_permissions(&browser, PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = steadfast(&["dev", "--listen", "127.0.0.1:0"], dir.path());
    command.env("BROWSER", &browser);
    let (lines, printed) = mpsc::channel();
    let mut process = Process::start(command, move |line| lines.send(line).unwrap_or_default());
    let url = format!("http://{}", process.address);
    assert!(process.welcome.contains("memory:"), "{}", process.welcome);

    let call = |args: &[&str]| output_of(steadfast(&[args, &["--url", &url]].concat(), dir.path()));
    let created = call(&[
        "jobs",
        "create",
        "http://127.0.0.1:1/orders",
        "--max-retries",
        "0",
    ]);
    assert_eq!(created.code, 0, "{created:?}");
    let attempt = until(&printed, "127.0.0.1:1/orders");
    assert!(
        attempt.contains("✗ POST 127.0.0.1:1/orders, Initial, "),
        "{attempt}"
    );
    assert!(attempt.ends_with(" → no retries left"), "{attempt}");
    let failure = until(&printed, "refused");
    assert!(
        failure.contains("job_") && failure.contains("refused"),
        "{failure}"
    );
    let deadline = Instant::now() + DEADLINE;
    while !opened.exists() {
        assert!(Instant::now() < deadline, "no page was opened");
        std::thread::yield_now();
    }
    assert_eq!(std::fs::read_to_string(&opened).unwrap().trim(), url);

    process.signal("INT");
    assert!(process.wait().success());
    assert_eq!(files(&dir), [""; 0], "nothing is left behind");
}

#[test]
fn a_development_server_without_a_key_is_for_this_machine_only() {
    let refused = run(&["dev", "--no-open", "--listen", "0.0.0.0:0"], &dir());
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("no API key exists yet"), "{refused:?}");
}

#[test]
fn a_development_server_shows_a_worker_and_names_jobs_that_no_worker_takes() {
    let dir = dir();
    let args = [
        "dev",
        "--no-open",
        "--language",
        "go",
        "--listen",
        "127.0.0.1:0",
    ];
    let (lines, printed) = mpsc::channel();
    let command = steadfast(&args, dir.path());
    let mut process = Process::start(command, move |line| lines.send(line).unwrap_or_default());
    let url = format!("http://{}", process.address);
    let until = |part: &str| until(&printed, part);
    until("Waiting for the first worker");
    until("steadfast.NewWorker");
    until(&format!("export STEADFAST_URL={url}"));
    until("steadfast dev --language python, typescript, rust");
    let call = |args: &[&str]| output_of(steadfast(&[args, &["--url", &url]].concat(), dir.path()));
    let created = call(&["jobs", "create", "--kind", "unserved"]);
    assert_eq!(created.code, 0, "{created:?}");
    let missing = until("waits: No live node or worker serves kind unserved");
    assert!(missing.contains("! job_"), "{missing}");
    let body = r#"{"worker": "w7", "kinds": ["unserved"]}"#;
    let claim = format!(
        "curl --silent {url}/api/v1/claims -H 'content-type: application/json' -d '{body}'"
    );
    let claimed = std::process::Command::new("sh")
        .args(["-c", &claim])
        .output()
        .unwrap();
    assert!(claimed.status.success());
    until("+ worker w7 asks for kinds unserved in queues of all names");
    process.signal("INT");
    assert!(process.wait().success());
}
