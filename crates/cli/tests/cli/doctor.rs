//! `steadfast doctor`: what it finds, and that it changes nothing.

use crate::node::{dir, files, run};

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
    for check in ["store", "integrity", "writable", "clock", "disk"] {
        let line = format!("ok    {check}");
        assert!(well.out.contains(&line), "{line}: {}", well.out);
    }

    std::fs::write(dir.path().join("notes.txt"), "dear diary, no database").unwrap();
    let ill = doctor(&["--store", "sqlite:notes.txt"]);
    assert_eq!(ill.code, 1);
    assert!(ill.out.contains("fail  store"), "{ill:?}");
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
