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
    let line = || printed.recv_timeout(DEADLINE).unwrap();
    let attempt = line();
    assert!(
        attempt.contains("✗ POST 127.0.0.1:1/orders, Initial, "),
        "{attempt}"
    );
    assert!(attempt.ends_with(" → no retries left"), "{attempt}");
    let failure = line();
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
