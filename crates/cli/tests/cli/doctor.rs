//! `steadfast doctor`: what it finds, and that it changes nothing.

use crate::node::{Node, dir, files, run};

#[test]
fn doctor_finds_what_is_wrong_and_changes_nothing() {
    let dir = dir();
    let free = ["--listen", "127.0.0.1:0"];
    let doctor = |args: &[&str]| run(&[&["doctor"], &free[..], args].concat(), &dir);
    let well = doctor(&[]);
    assert_eq!(well.code, 0, "{well:?}");
    assert!(well.out.contains("does not exist yet"), "{well:?}");
    assert!(files(&dir).is_empty());

    assert_eq!(run(&["migrate", "--store", "sqlite:jobs.db"], &dir).code, 0);
    let well = doctor(&["--store", "sqlite:jobs.db"]);
    assert_eq!(well.code, 0, "{well:?}");
    for check in [
        "store",
        "integrity",
        "writable",
        "clock",
        "disk",
        "rows",
        "counters",
        "access",
    ] {
        let line = format!("ok    {check}");
        assert!(well.out.contains(&line), "{line}: {}", well.out);
    }

    std::fs::write(dir.path().join("notes.txt"), "dear diary, no database").unwrap();
    let ill = doctor(&["--store", "sqlite:notes.txt"]);
    assert_eq!(ill.code, 1);
    assert!(ill.out.contains("fail  store"), "{ill:?}");
    let ill = doctor(&["--store", "sqlite:nowhere/jobs.db"]);
    assert_eq!(ill.code, 1);
    let reason = "nowhere is not a directory: create it first";
    assert!(ill.out.contains(reason), "{ill:?}");
    std::fs::write(dir.path().join("steadfast.toml"), "grase = 1").unwrap();
    let ill = doctor(&["--json"]);
    assert_eq!(ill.code, 1);
    let checks: serde_json::Value = serde_json::from_str(&ill.out).unwrap();
    let last = checks["checks"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["check"], &last["verdict"]),
        (&"settings".into(), &"fail".into())
    );
}

#[test]
fn a_file_without_its_log_is_refused_and_doctor_says_so() {
    let dir = dir();
    let store = ["--store", "sqlite:jobs.db"];
    let migrate = || run(&[&["migrate"], &store[..]].concat(), &dir);
    assert_eq!(migrate().code, 0);
    // What a file in use is without its log.
    let conn = rusqlite::Connection::open(dir.path().join("jobs.db")).unwrap();
    let version = "SELECT schema_version FROM pragma_schema_version";
    let mark = format!("UPDATE steadfast_log_mark SET folded = 1, schema = ({version})");
    conn.execute_batch(&mark).unwrap();
    drop(conn);
    let doctor = [&["doctor", "--listen", "127.0.0.1:0"], &store[..]].concat();
    let doctor = run(&doctor, &dir);
    assert_eq!(doctor.code, 1, "{doctor:?}");
    assert!(
        doctor.out.contains("is missing its write-ahead log"),
        "{doctor:?}"
    );
    let refused = migrate();
    assert_eq!(refused.code, 1, "{refused:?}");
    for wanted in ["jobs.db-wal", "restore the log", "--accept-loss"] {
        assert!(refused.err.contains(wanted), "{wanted}: {refused:?}");
    }
}

#[test]
fn a_store_that_cannot_be_opened_names_its_cause_once() {
    let refused = run(
        &["migrate", "--store", "postgres://me@127.0.0.1:1/jobs"],
        &dir(),
    );
    assert_eq!(refused.code, 1, "{refused:?}");
    let told = refused.err.matches("onnection refused").count();
    assert_eq!(told, 1, "{refused:?}");
}

#[test]
fn doctor_names_rows_that_cannot_be_read_and_files_that_others_may_open() {
    let dir = dir();
    assert_eq!(run(&["migrate", "--store", "sqlite:jobs.db"], &dir).code, 0);
    let path = dir.path().join("jobs.db");
    let conn = rusqlite::Connection::open(&path).unwrap();
    conn.execute_batch(
        "INSERT INTO steadfast_lane (id, tenant, queue, kind) VALUES (1, 't', 'q', 'k');
         INSERT INTO steadfast_job (id, lane, state, priority, run_at, fence, attempt,
             attempts_before, cancel_requested, snoozes, policy, at_most_once, lease, created_at)
         VALUES (zeroblob(16), 1, 0, 5, 0, 0, 0, 0, 0, 0, 7, 0, 1, 0)",
    )
    .unwrap();
    drop(conn);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    let args = [
        "doctor",
        "--listen",
        "127.0.0.1:0",
        "--store",
        "sqlite:jobs.db",
    ];
    let doctor = run(&args, &dir);
    assert_eq!(doctor.code, 0, "{doctor:?}");
    for wanted in [
        "warn  rows      1 corrupt row skipped",
        "job_00000000000000000000000000: cannot decode a stored policy",
        "warn  access    other users can read the file (mode 644)",
    ] {
        assert!(doctor.out.contains(wanted), "{wanted}: {}", doctor.out);
    }
}

#[test]
#[cfg(unix)]
fn doctor_names_key_files_that_other_users_can_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = dir();
    let keys = dir.path().join("encryption.keys");
    let key = "one:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n";
    std::fs::write(&keys, key).unwrap();
    for (mode, is_warned) in [(0o644, true), (0o640, false), (0o600, false)] {
        std::fs::set_permissions(&keys, std::fs::Permissions::from_mode(mode)).unwrap();
        let args = ["doctor", "--listen", "127.0.0.1:0", "--store", "memory:"];
        let key_file = ["--encryption-key-file", "encryption.keys"];
        let doctor = run(&[&args[..], &key_file].concat(), &dir);
        assert_eq!(doctor.code, 0, "{doctor:?}");
        let warning = "other users can read encryption.keys (mode 644), which contains the encryption keys: chmod 600 encryption.keys";
        assert_eq!(doctor.out.contains(warning), is_warned, "{doctor:?}");
    }
}

#[test]
fn doctor_names_counters_that_differ_and_repairs_them_when_asked() {
    let dir = dir();
    assert_eq!(run(&["migrate", "--store", "sqlite:jobs.db"], &dir).code, 0);
    let conn = rusqlite::Connection::open(dir.path().join("jobs.db")).unwrap();
    let lane = "INSERT INTO steadfast_lane (tenant, queue, kind, waiting, retrying)
        VALUES ('t', 'q', 'k', 0, -3)";
    conn.execute_batch(lane).unwrap();
    drop(conn);
    let doctor = |more: &[&str]| {
        let args = ["doctor", "--listen", "127.0.0.1:0"];
        let args = [&args[..], &["--store", "sqlite:jobs.db"], more].concat();
        let done = run(&args, &dir);
        assert_eq!(done.code, 0, "{done:?}");
        done.out
    };
    let named = "tenant t, queue q, kind k: waitingForRetry";
    let found = doctor(&[]);
    assert!(
        found.contains("repair them with `steadfast doctor --recount`"),
        "{found}"
    );
    assert!(
        found.contains(&format!("{named} is -3, counted 0")),
        "{found}"
    );
    let repaired = doctor(&["--recount"]);
    assert!(repaired.contains(&format!("{named} was -3")), "{repaired}");
    assert!(doctor(&[]).contains("ok    counters"));
}

#[test]
fn a_schedule_that_lost_its_next_tick_is_named() {
    let node = Node::start(&["--listen", "127.0.0.1:0", "--store", "sqlite:jobs.db"]);
    let create = [
        "schedules",
        "create",
        "report",
        "--kind",
        "report",
        "--every",
        "1d",
    ];
    let created = node.run(&create);
    assert_eq!(created.code, 0, "{created:?}");
    let doctor = [
        "doctor",
        "--listen",
        "127.0.0.1:0",
        "--store",
        "sqlite:jobs.db",
    ];
    let well = run(&doctor, &node.dir);
    assert!(!well.out.contains("no next tick"), "{well:?}");
    let conn = rusqlite::Connection::open(node.dir.path().join("jobs.db")).unwrap();
    let sql = "UPDATE steadfast_record SET body = json_remove(body, '$.progress.nextTick') \
               WHERE kind = 'schedule'";
    assert_eq!(conn.execute(sql, []).unwrap(), 1);
    drop(conn);
    let ill = run(&doctor, &node.dir);
    let expected = "warn  schedules";
    assert!(ill.out.contains(expected), "{ill:?}");
    assert!(ill.out.contains("report of tenant default"), "{ill:?}");
}
