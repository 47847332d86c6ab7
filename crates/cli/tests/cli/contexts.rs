//! Servers by name, and the question before something is destroyed on a production server.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf, process::Command};

use crate::{
    commands::{dead_letter, start},
    node::{CommandOutput, Node, output_of},
    process::{steadfast, wrapped},
};

/// A command without STEADFAST_URL, so that contexts count.
fn run(node: &Node, args: &[&str]) -> CommandOutput {
    output_of(steadfast(args, node.dir.path()))
}

fn done(node: &Node, args: &[&str]) -> String {
    let output = run(node, args);
    assert_eq!(output.code, 0, "{args:?}: {output:?}");
    output.out
}

fn file(node: &Node) -> PathBuf {
    node.dir.path().join("config/steadfast/contexts.toml")
}

#[test]
fn a_context_names_a_server_and_its_key() {
    let node = start();
    let key = node.json(&["keys", "create", "--scope", "admin"]);
    let key_file = node.dir.path().join("key");
    fs::write(&key_file, format!("{}\n", key["token"].as_str().unwrap())).unwrap();
    assert_eq!(
        done(&node, &["context", "list"]),
        "no contexts; add one with `steadfast context add`\n"
    );

    let mut allow = fs::metadata(&key_file).unwrap().permissions();
    let add = ["context", "add", "here", "--url", &node.url];
    let add = [&add[..], &["--api-key-file", "key", "--replace"]].concat();
    for (mode, is_exposed) in [(0o644, true), (0o600, false)] {
        allow.set_mode(mode);
        fs::set_permissions(&key_file, allow.clone()).unwrap();
        let added = run(&node, &add);
        assert_eq!(added.code, 0, "{added:?}");
        let warning = "other users can read";
        assert_eq!(added.err.contains(warning), is_exposed, "{added:?}");
    }
    let mode = fs::metadata(file(&node)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let folder = fs::metadata(file(&node).parent().unwrap()).unwrap();
    assert_eq!(folder.permissions().mode() & 0o777, 0o700);
    let stored = fs::read_to_string(file(&node)).unwrap();
    assert!(
        !stored.contains("sf_"),
        "the key stays in its file: {stored}"
    );

    done(&node, &["jobs", "list", "--context", "here"]);
    let mut by_variable = steadfast(&["jobs", "list"], node.dir.path());
    by_variable.env("STEADFAST_CONTEXT", "here");
    assert_eq!(output_of(by_variable).code, 0);
    done(&node, &["context", "use", "here"]);
    done(&node, &["jobs", "list"]);
    let listed = done(&node, &["context", "list", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["contexts"][0]["current"], true);
    assert_eq!(listed["contexts"][0]["url"], *node.url);
    assert_eq!(
        listed["contexts"][0]["apiKeyFile"],
        *key_file.to_str().unwrap()
    );

    // A key that was replaced in its file needs no new context.
    fs::write(&key_file, "sf_wrong").unwrap();
    let refused = run(&node, &["jobs", "list"]);
    assert!(refused.err.contains("unknown_key"), "{refused:?}");
    done(&node, &["context", "remove", "here"]);
    assert_eq!(run(&node, &["context", "use", "here"]).code, 4);
}

#[test]
fn a_url_replaces_the_context_and_its_key() {
    let node = start();
    let key_file = node.dir.path().join("key");
    fs::write(&key_file, "sf_other").unwrap();
    let nowhere = "http://127.0.0.1:1";
    done(
        &node,
        &[
            "context",
            "add",
            "away",
            "--url",
            nowhere,
            "--api-key-file",
            "key",
        ],
    );
    done(&node, &["context", "use", "away"]);
    assert_eq!(run(&node, &["jobs", "list"]).code, 3);
    done(&node, &["jobs", "list", "--url", &node.url]);
    assert_eq!(node.run(&["jobs", "list"]).code, 0, "STEADFAST_URL wins");
    // The key of the context would be refused, because the server has other keys now.
    node.json(&["keys", "create", "--scope", "admin"]);
    let refused = node.run(&["jobs", "list"]);
    assert!(refused.err.contains("no_key"), "{refused:?}");
    let both = run(
        &node,
        &["jobs", "list", "--context", "away", "--url", &node.url],
    );
    assert_eq!(both.code, 2);
    assert!(both.err.contains("both name a server"), "{both:?}");
}

#[test]
fn what_cannot_be_a_context_is_refused_and_nothing_is_stored() {
    let node = start();
    let add = |name: &str, more: &[&str]| run(&node, &[&["context", "add", name], more].concat());
    let url = ["--url", "http://127.0.0.1:7373"];
    fs::write(node.dir.path().join("empty"), "\n").unwrap();
    for (output, said) in [
        (add("a/b", &url), "is not a name for a context"),
        (add("", &url), "is not a name for a context"),
        (add("a", &["--url", "jobs.example.com"]), "--url"),
        (
            add("a", &["--url", url[1], "--api-key-file", "missing"]),
            "cannot read the API key file",
        ),
        (
            add("a", &["--url", url[1], "--api-key-file", "empty"]),
            "must contain an API key",
        ),
        (
            add(
                "a",
                &["--url", "https://127.0.0.1:7373", "--ca-file", "empty"],
            ),
            "empty",
        ),
        (
            run(&node, &["jobs", "list", "--context", "a"]),
            "there is no context a",
        ),
        (
            run(&node, &["context", "remove", "a"]),
            "there is no context a",
        ),
    ] {
        assert!(matches!(output.code, 2 | 4), "{output:?}");
        assert!(output.err.contains(said), "{output:?}");
        assert!(!file(&node).exists());
    }
    assert_eq!(add("a", &url).code, 0);
    let again = add("a", &["--url", "http://127.0.0.1:7374"]);
    assert!(
        again.code == 2 && again.err.contains("--replace"),
        "{again:?}"
    );
    assert_eq!(
        add("a", &["--url", "http://127.0.0.1:7374", "--replace"]).code,
        0
    );
    assert!(done(&node, &["context", "list"]).contains("http://127.0.0.1:7374"));

    fs::write(file(&node), "current = \"a\"\n[contexts.a]\nulr = \"x\"\n").unwrap();
    for args in [
        &["jobs", "list"][..],
        &["context", "list"],
        &["context", "remove", "a"],
    ] {
        let broken = run(&node, args);
        assert_eq!(broken.code, 2, "{broken:?}");
        assert!(broken.err.contains("contexts.toml, line 3"), "{broken:?}");
        assert!(broken.err.contains("mend it, or delete it"), "{broken:?}");
    }
    done(&node, &["jobs", "list", "--url", &node.url]);
}

#[test]
fn many_contexts_added_at_once_are_all_kept() {
    let node = start();
    let adding: Vec<_> = (0..8)
        .map(|number| {
            let name = format!("c{number}");
            let args = ["context", "add", &name, "--url", "http://127.0.0.1:7373"];
            steadfast(&args, node.dir.path()).spawn().unwrap()
        })
        .collect();
    for mut child in adding {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(done(&node, &["context", "list"]).lines().count(), 9);
}

/// A terminal of its own for the command, in which `answer` is typed.
fn in_terminal(
    node: &Node,
    command: &str,
    answer: &str,
    variables: &[(&str, &str)],
) -> CommandOutput {
    let binary = env!("CARGO_BIN_EXE_steadfast");
    let line = format!("{binary} {command}");
    let program = Command::new("script");
    let args = [
        "--quiet",
        "--return",
        "--echo",
        "never",
        "--command",
        &line,
        "/dev/null",
    ];
    let mut command = wrapped(program, &args, node.dir.path());
    command.envs(variables.iter().copied());
    let input = node.dir.path().join("answer");
    fs::write(&input, answer).unwrap();
    command.stdin(fs::File::open(input).unwrap());
    output_of(command)
}

/// A node behind the current context, which is marked: with a dead letter, and the sentence that
/// names the context.
fn production() -> (Node, String, String) {
    let node = start();
    let id = dead_letter(&node);
    let add = ["context", "add", "prod", "--url", &node.url, "--production"];
    done(&node, &add);
    done(&node, &["context", "use", "prod"]);
    let shown = format!("production: context prod, {}", node.url);
    (node, id, shown)
}

#[test]
fn a_production_context_asks_before_something_is_destroyed() {
    let (node, id, shown) = production();

    // What only reads or creates does not ask.
    let listed = run(&node, &["dlq", "list"]);
    assert!(listed.code == 0 && listed.err.is_empty(), "{listed:?}");
    done(
        &node,
        &["gates", "set", "queue", "mail", "--max-running", "5"],
    );
    done(
        &node,
        &[
            "schedules",
            "create",
            "nightly",
            "http://127.0.0.1:1/",
            "--cron",
            "0 3 * * *",
        ],
    );
    for args in [
        &["dlq", "discard", &id][..],
        &["dlq", "discard", "--all"],
        &["jobs", "cancel", &id],
        &["jobs", "erase", &id],
        &["schedules", "delete", "nightly"],
        &["gates", "delete", "queue", "mail"],
        &["endpoints", "delete", "end_00000000000000000000000000"],
        &["keys", "delete", "key_00000000000000000000000000"],
        &["operations", "cancel", "opr_00000000000000000000000000"],
    ] {
        let asked = run(&node, args);
        assert_eq!(asked.code, 2, "{args:?}: {asked:?}");
        assert!(
            asked.err.contains(&shown) && asked.err.contains("Pass --yes"),
            "{asked:?}"
        );
        assert!(
            !asked.err.contains('\x1b'),
            "no colour outside of a terminal: {asked:?}"
        );
    }
    assert_eq!(
        done(&node, &["dlq", "list"]).lines().count(),
        2,
        "nothing was changed"
    );

    done(&node, &["schedules", "delete", "nightly", "--yes"]);
    // Another context of the same server is not marked.
    done(&node, &["context", "add", "test", "--url", &node.url]);
    done(
        &node,
        &["gates", "delete", "queue", "mail", "--context", "test"],
    );
}

#[test]
fn a_person_at_a_terminal_is_asked_in_colour() {
    let (node, id, shown) = production();
    let discard = format!("dlq discard {id}");
    let refused = in_terminal(&node, &discard, "n\n", &[]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(
        refused.out.contains(&format!("\x1b[1;31m{shown}\x1b[0m")),
        "{refused:?}"
    );
    assert!(refused.out.contains("nothing was changed"), "{refused:?}");
    let plain = in_terminal(&node, &discard, "n\n", &[("NO_COLOR", "1")]);
    assert!(
        plain.out.contains(&shown) && !plain.out.contains('\x1b'),
        "{plain:?}"
    );
    let agreed = in_terminal(&node, &discard, "y\n", &[]);
    assert_eq!(agreed.code, 0, "{agreed:?}");
}
