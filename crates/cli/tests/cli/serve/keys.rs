//! Who may connect, and how the first key comes about.

use super::PORT_0;
use crate::node::{Node, dir, files, output_of, run, steadfast};

#[test]
fn other_machines_may_not_connect_before_there_is_a_key() {
    let dir = dir();
    let output = run(&["serve", "--listen", "0.0.0.0:0"], &dir);
    assert_eq!(output.code, 1);
    let command = "steadfast keys create --store sqlite:steadfast.db --scope admin";
    assert!(output.err.contains(command), "{output:?}");
    assert!(output.err.contains("--listen 127.0.0.1:"), "{output:?}");
    assert!(
        files(&dir).is_empty(),
        "no store was created only to be refused"
    );
    let output = run(
        &["serve", "--listen", "0.0.0.0:0", "--store", "memory:"],
        &dir,
    );
    assert!(
        output
            .err
            .contains("run `steadfast serve --store sqlite:FILE`"),
        "{output:?}"
    );
}

#[test]
fn with_the_first_key_other_machines_may_connect_and_every_caller_needs_one() {
    let dir = dir();
    let store = ["--store", "sqlite:steadfast.db"];
    let created = run(
        &[&["keys", "create", "--scope", "admin"][..], &store].concat(),
        &dir,
    );
    assert_eq!(created.code, 0, "{created:?}");
    let token = created
        .out
        .lines()
        .find(|line| line.starts_with("sf_"))
        .unwrap();

    let node = Node::start_in(dir, &["--listen", "0.0.0.0:0"]);
    assert!(
        node.welcome.contains("API keys  required"),
        "{}",
        node.welcome
    );
    assert!(
        node.welcome.contains("public addresses"),
        "{}",
        node.welcome
    );
    let port = node.url.rsplit(':').next().unwrap();
    let url = format!("http://127.0.0.1:{port}");
    assert!(
        node.welcome.contains(&format!("{url}/healthz")),
        "{}",
        node.welcome
    );
    let list = |key: Option<&str>| {
        let mut command = node.command(&["jobs", "list", "--url", &url]);
        command.envs(key.map(|key| ("STEADFAST_API_KEY", key)));
        output_of(command)
    };
    let refused = list(None);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("(no_key)"), "{refused:?}");
    assert!(refused.err.contains("STEADFAST_API_KEY"), "{refused:?}");
    assert!(list(Some("sf_wrong")).err.contains("(unknown_key)"));
    assert_eq!(list(Some(token)).out, "no jobs\n");
}

#[test]
fn the_first_key_over_the_api_is_needed_from_then_on() {
    let node = Node::start(&PORT_0);
    let created = node.run(&["keys", "create", "--scope", "admin"]);
    assert!(created.out.contains("This is the first key"), "{created:?}");
    let token = created
        .out
        .lines()
        .find(|line| line.starts_with("sf_"))
        .unwrap();
    assert_eq!(node.run(&["jobs", "list"]).code, 1);
    assert_eq!(node.run(&["jobs", "list", "--api-key", token]).code, 0);
    // Jobs go where they could go before, until the next start.
    let health = format!("{}/healthz", node.url);
    let call = [
        "jobs",
        "create",
        &health,
        "--method",
        "GET",
        "--watch",
        "--api-key",
        token,
    ];
    let called = node.run(&call);
    assert_eq!(called.code, 0, "{called:?}");
    let second = ["keys", "create", "--scope", "read", "--api-key", token];
    let second = node.run(&second);
    assert_eq!(second.code, 0, "{second:?}");
    assert!(!second.out.contains("first key"), "{second:?}");
}

#[test]
fn keys_in_the_store_can_be_listed_and_revoked() {
    let dir = dir();
    let keys = |args: &[&str]| {
        let all = [&["keys"], args, &["--store", "sqlite:k.db"]].concat();
        run(&all, &dir)
    };
    assert_eq!(keys(&["list"]).out, "no keys\n");
    let locks_out = keys(&["create", "--scope", "worker"]);
    assert_eq!(locks_out.code, 1);
    assert!(
        locks_out.err.contains("must be admin for the first key"),
        "{}",
        locks_out.err
    );
    assert_eq!(keys(&["create", "--scope", "admin"]).code, 0);
    let created = keys(&["create", "--scope", "tenant", "--tenant", "acme", "--json"]);
    let created: serde_json::Value = serde_json::from_str(&created.out).unwrap();
    let id = created["id"].as_str().unwrap();
    let listed = keys(&["list"]).out;
    assert!(listed.contains(id) && listed.contains("acme"), "{listed}");
    assert!(!listed.contains(created["token"].as_str().unwrap()));
    assert_eq!(keys(&["delete", id]).code, 0);
    assert_eq!(keys(&["delete", id]).code, 4);
    assert_eq!(keys(&["create", "--scope", "tenant"]).code, 1);
    assert_eq!(keys(&["create", "--scope", "king"]).code, 2);
    let in_memory = run(&["keys", "list", "--store", "memory:"], &dir);
    assert_eq!(in_memory.code, 2);
}

#[test]
fn the_first_admin_key_can_be_given_in_the_environment() {
    const KEY: &str = "5f4dcc3b5aa765d61d8327deb882cf99";
    let everywhere = ["--listen", "0.0.0.0:0"];
    let dir = dir();
    let weak = |key: &str| {
        let mut command = steadfast(&[&["serve"], &everywhere[..]].concat(), dir.path());
        command.env("STEADFAST_ADMIN_KEY", key);
        output_of(command)
    };
    let refused = weak("password");
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("openssl rand -hex 32"), "{refused:?}");
    assert!(!refused.err.contains("password"), "{refused:?}");
    let refused = weak("");
    assert!(refused.err.contains("STEADFAST_ADMIN_KEY"), "{refused:?}");
    assert_eq!(files(&dir), [""; 0]);

    let node = Node::start_with(dir, &everywhere, &[("STEADFAST_ADMIN_KEY", KEY)]);
    let port = node.url.rsplit(':').next().unwrap();
    let url = format!("http://127.0.0.1:{port}");
    let keys = |key: &str| node.run(&["keys", "list", "--url", &url, "--api-key", key]);
    let listed = keys(KEY);
    assert_eq!(listed.code, 0, "{listed:?}");
    assert!(listed.out.contains("STEADFAST_ADMIN_KEY"), "{listed:?}");
    assert_eq!(keys("5f4dcc3b5aa765d61d8327deb882cf98").code, 1);
    let stored = std::fs::read(node.dir.path().join("steadfast.db")).unwrap();
    let contains = stored.windows(KEY.len()).any(|it| it == KEY.as_bytes());
    assert!(!contains, "only a hash is stored");
}

#[test]
fn the_first_key_is_printed_once_where_that_is_asked_for() {
    const SAYS: &str = "first API key, not shown again: ";
    let place = dir();
    let store = format!("sqlite:{}", place.path().join("jobs.db").display());
    let start = |variables: &[(&str, &str)]| {
        let args = ["--listen", "0.0.0.0:0", "--store", &store];
        Node::start_with(dir(), &args, variables)
    };
    let asked = [("STEADFAST_PRINT_FIRST_KEY", "true")];
    let node = start(&asked);
    let key = node.welcome.lines().find_map(|it| it.strip_prefix(SAYS));
    let key = key.unwrap().to_owned();
    assert!(node.welcome.contains("required: Authorization"));
    assert!(node.stop());

    let node = start(&asked);
    assert!(!node.welcome.contains(SAYS), "{}", node.welcome);
    let port = node.url.rsplit(':').next().unwrap();
    let url = format!("http://127.0.0.1:{port}");
    let listed = node.run(&["keys", "list", "--url", &url, "--api-key", &key]);
    assert!(listed.out.contains("first key"), "{listed:?}");
    let rows = listed.out.lines().filter(|line| line.contains("key_"));
    assert_eq!(rows.count(), 1, "{listed:?}");
    assert!(node.stop());
}

#[test]
fn a_first_key_that_could_not_be_printed_is_not_made() {
    let dir = dir();
    let mut command = steadfast(&["serve", "--print-first-key"], dir.path());
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    command.args(PORT_0).stdout(full.unwrap());
    let output = output_of(command);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(
        output.err.contains("cannot print the first API key"),
        "{output:?}"
    );
    let made = run(
        &[
            "keys",
            "create",
            "--store",
            "sqlite:steadfast.db",
            "--scope",
            "read",
        ],
        &dir,
    );
    assert!(
        made.err.contains("must be admin for the first key"),
        "{made:?}"
    );
}
