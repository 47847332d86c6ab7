//! Settings: from flags, the environment and a file, and how a mistake in one of them is named.

use crate::node::{Node, dir, output_of, run, steadfast};

#[test]
fn mistakes_on_the_command_line_are_answered_with_the_right_form() {
    let dir = dir();
    for (args, code, expected) in [
        (&["--store", "redis:"][..], 2, "use sqlite:FILE or memory:"),
        (&["--grace", "30"], 2, "must have a unit, such as \"30s\""),
        (&["--retry", "impatient"], 2, "aggressive"),
        (&["--log-level", "=x="], 2, "log.level"),
        (&["--max-retries", "101"], 2, "must be at most 100"),
        (
            &["--max-retries", "-1"],
            2,
            "must be a whole number, 0 or more",
        ),
        (&["--config", "none.toml"], 2, "cannot read none.toml"),
        (
            &["--outbound-allow", "10.0.0.1/8"],
            2,
            "did you mean 10.0.0.0/8?",
        ),
        (&["--outbound-ca-file", "none.pem"], 2, "cannot read"),
    ] {
        let output = run(
            &[&["serve", "--listen", "127.0.0.1:0"][..], args].concat(),
            &dir,
        );
        assert_eq!(output.code, code, "{args:?}: {output:?}");
        assert!(output.err.contains(expected), "{args:?}: {output:?}");
    }
    let gate = ["gates", "set", "queue", "mail"];
    for (args, expected) in [
        (
            &["--max-running", "abc"][..],
            "must be a whole number, or none",
        ),
        (
            &["--retry-share", "nan"],
            "must be a number, e.g. 0.2, or none",
        ),
    ] {
        let output = run(&[&gate[..], args].concat(), &dir);
        assert_eq!(output.code, 2, "{output:?}");
        assert!(output.err.contains(expected), "{output:?}");
    }
    for pace in ["0", "-1", "1e9"] {
        let output = run(&["dlq", "requeue", "--all", "--pace", pace], &dir);
        assert_eq!(output.code, 2, "{output:?}");
        let expected = format!("invalid value '{pace}' for '--pace <N>': must be a");
        assert!(output.err.contains(&expected), "{output:?}");
    }
    for (verb, address) in [("serve", "localhost:7373"), ("dev", "7373")] {
        let output = run(&[verb, "--listen", address], &dir);
        assert_eq!(output.code, 2, "{output:?}");
        assert!(output.err.contains("e.g. 127.0.0.1:7373"), "{output:?}");
    }
}

#[test]
fn a_mistake_in_the_file_is_named_with_its_line() {
    for (text, expected) in [
        (
            "listen = \"127.0.0.1:0\"\ngrase = \"5s\"\n",
            "line 2: unknown field `grase`",
        ),
        ("\n\ngrace = 30\n", "line 3: invalid type: integer `30`"),
        (
            "[retry]\nhttp = \"impatient\"\n",
            "line 2: preset is \"impatient\"",
        ),
        (
            "[retry.queues]\nmail = { maxRetries = 500 }\n",
            "line 2: maxRetries is 500",
        ),
        ("[alerts.dlq]\nabove = -1\n", "line 2: "),
        ("concurrency = 0\n", "line 1: "),
        ("listen = \"localhost\"\n", "line 1: "),
        ("store = \"redis:\"\n", "line 1: \"redis:\" is not a store"),
    ] {
        let dir = dir();
        std::fs::write(dir.path().join("steadfast.toml"), text).unwrap();
        let output = run(&["serve", "--print-config"], &dir);
        assert_eq!(output.code, 2, "{text}: {output:?}");
        assert!(output.err.contains("steadfast.toml, "), "{output:?}");
        assert!(output.err.contains(expected), "{text}: {}", output.err);
    }
}

#[test]
fn flags_override_the_environment_which_overrides_the_file_which_overrides_defaults() {
    let dir = dir();
    let file = "grace = \"1s\"\nretention = \"1d\"\nconcurrency = 7\nstore = \"postgres://u:secret@h/d\"\n";
    std::fs::write(dir.path().join("steadfast.toml"), file).unwrap();
    let mut command = steadfast(
        &[
            "serve",
            "--print-config",
            "--grace",
            "3s",
            "--queues",
            "a,b",
        ],
        dir.path(),
    );
    command
        .env("STEADFAST_GRACE", "2s")
        .env("STEADFAST_RETENTION", "2d");
    let printed = output_of(command);
    assert_eq!(printed.code, 0, "{printed:?}");
    let value = |key: &str| {
        let lines = printed.out.lines();
        let mut found = lines.filter_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
        found
            .next()
            .unwrap_or_else(|| panic!("{key}: {}", printed.out))
    };
    assert_eq!(value("grace"), "\"3s\"");
    assert_eq!(value("retention"), "\"2d\"");
    assert_eq!(value("concurrency"), "7");
    assert_eq!(value("sweepEvery"), "\"5s\"");
    assert_eq!(value("queues"), "[\"a\", \"b\"]");
    assert_eq!(value("store"), "\"postgres://u:***@h/d\"");
    assert!(!printed.out.contains("secret"));

    let other = dir.path().join("other.toml");
    std::fs::write(&other, "concurrency = 8\n").unwrap();
    let named = run(&["serve", "--print-config", "--config", "other.toml"], &dir);
    assert!(named.out.contains("concurrency = 8"), "{named:?}");
    assert!(named.out.contains("grace = \"30s\""), "{named:?}");
}

#[test]
fn the_settings_of_the_file_are_in_force() {
    let dir = dir();
    let file = "listen = \"127.0.0.1:0\"\nnode = \"north\"\nmaxRetries = 5\n[retry]\nhttp = { maxRetries = 1 }\n[retry.queues]\nmail = { maxRetries = 2 }\n";
    std::fs::write(dir.path().join("steadfast.toml"), file).unwrap();
    let node = Node::start_in(dir, &[]);
    let url = format!("{}/none", node.url);
    let created =
        |more: &[&str]| node.json(&[&["jobs", "create", &url, "--delay", "1h"], more].concat());
    let plain = created(&[]);
    assert_eq!(plain["maxRetries"], 1);
    assert_eq!(
        plain["retry"]["baseDelay"], "1s",
        "the rest is the preset http"
    );
    assert_eq!(created(&["--queue", "mail"])["maxRetries"], 2);
    let output = node.run(&["jobs", "create", &url, "--max-retries", "6"]);
    assert_eq!(output.code, 2);
    assert!(output.err.contains("must be at most 5 here"), "{output:?}");
    let doctor = node.run(&["doctor", "--listen", node.url.trim_start_matches("http://")]);
    assert!(doctor.out.contains("node north"), "{doctor:?}");
    let doctor = node.run(&["doctor", "--url", &node.url]);
    assert!(doctor.out.contains("node north"), "{doctor:?}");
    let doctor = node.run(&["doctor", "--url", "http://127.0.0.1:1"]);
    let unreachable = "http://127.0.0.1:1 does not respond";
    assert!(doctor.out.contains(unreachable), "{doctor:?}");
}
