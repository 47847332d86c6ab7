//! What a policy would do, and what it would have done.

use insta::assert_snapshot;

use crate::{
    commands::{dead_letter, start},
    node::{dir, run},
};

#[test]
fn a_policy_is_previewed_without_a_server() {
    let dir = dir();
    let mut text = String::new();
    for args in [
        &["policy", "preview", "http", "--jitter", "none"][..],
        &["policy", "preview", "once"],
        &["policy", "preview", "queue"],
    ] {
        let output = run(args, &dir);
        assert_eq!(output.code, 0, "{output:?}");
        text += &format!("$ steadfast {}\n{}\n", args.join(" "), output.out);
    }
    assert_snapshot!(text);
    let json = run(
        &["policy", "preview", r#"{"delays": ["1s", "9s"]}"#, "--json"],
        &dir,
    );
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["attempts"].as_array().unwrap().len(), 4);
    assert_eq!(json["retry"]["backoff"], "delays");
    let wrong = run(&["policy", "preview", "--backoff", "hope"], &dir);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("hope"), "{wrong:?}");
}

#[test]
fn a_policy_is_replayed_over_what_has_happened() {
    let node = start();
    for _ in 0..3 {
        dead_letter(&node);
    }
    let replay = |args: &[&str]| {
        let args: Vec<&str> = ["policy", "replay"].iter().chain(args).copied().collect();
        node.run(&args)
    };
    let shown = replay(&["once", "--destination", "http://127.0.0.1:1"]);
    assert_eq!(shown.code, 0, "{shown:?}");
    // Whether all starts are in one minute is a matter of chance.
    let lines = shown.out.lines().skip(1).enumerate();
    let lines = lines.filter(|(index, _)| !(8..10).contains(index));
    let lines: Vec<&str> = lines.map(|(_, line)| line).collect();
    assert_snapshot!(lines.join("\n"));
    let unknown = replay(&["--kind", "http", "--base-delay", "20m"]);
    assert!(unknown.out.contains("80 % are required"), "{unknown:?}");
    let none = replay(&["--queue", "empty"]);
    assert_eq!(none.out, "there are no attempts to replay\n");
    let all = replay(&["patient"]);
    assert!(all.code != 0 && all.err.contains("queue"), "{all:?}");
    let long = replay(&["--queue", "a", "--last", "30d"]);
    let reason = "--last is 30d: must be between 1m and 7d";
    assert!(long.code == 2 && long.err.contains(reason), "{long:?}");
}

#[test]
fn a_certificate_is_computed_without_a_server() {
    let dir = dir();
    let certify = |more: &[&str]| {
        let target = ["--traffic", "4", "--latency", "300ms", "--outage", "1m"];
        let args: Vec<&str> = ["policy", "certify", "http"]
            .iter()
            .chain(&target)
            .chain(more)
            .copied()
            .collect();
        run(&args, &dir)
    };
    let shown = certify(&["--capacity", "20"]);
    assert_eq!(shown.code, 0, "{shown:?}");
    assert!(
        shown.out.starts_with("recovers by itself: at 20 % load"),
        "{shown:?}"
    );
    assert!(shown.out.contains(">  20 % "), "{shown:?}");
    let shown = certify(&["--capacity", "3.5", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&shown.out).unwrap();
    assert_eq!(json["verdict"], "overloaded");
    let shown = certify(&["--capacity", "3.5"]);
    assert_eq!(shown.code, 0, "{shown:?}");
    let sentence = "does not recover: 114 % load without any fault";
    assert!(shown.out.starts_with(sentence), "{shown:?}");
    for (wrong, says) in [
        (
            &["--capacity", "0"][..],
            "capacity is 0: must be between 0.01 and 100000",
        ),
        (&["--capacity", "NaN"], "must be a number"),
        (&[], "capacity is missing: must be given"),
        (&["--capacity", "9", "--queue", "a"], "--destination"),
    ] {
        let refused = certify(wrong);
        assert_eq!(refused.code, 2, "{wrong:?}");
        assert!(refused.err.contains(says), "{refused:?}");
    }
}
