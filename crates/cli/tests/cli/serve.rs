//! `steadfast serve`: settings, access, and the first thing a person sees.

use crate::node::{Node, dir, files, run, said, steadfast};

const PORT_0: [&str; 2] = ["--listen", "127.0.0.1:0"];

#[test]
fn a_node_says_where_it_is_answers_and_stops_on_a_signal() {
    let node = Node::start(&PORT_0);
    for wanted in [
        "/api/docs",
        "/healthz",
        "/metrics",
        "curl http",
        "none needed",
        "any addresses",
    ] {
        assert!(node.welcome.contains(wanted), "{}", node.welcome);
    }
    assert!(node.dir.path().join("steadfast.db").exists());
    let stats = node.json(&["stats"]);
    assert_eq!(stats["ready"], 0);
    assert!(node.stop());
}

#[test]
fn in_json_every_line_is_json() {
    let node = Node::start(&["--listen", "127.0.0.1:0", "--log-format", "json"]);
    let line: serde_json::Value = serde_json::from_str(node.welcome.trim()).unwrap();
    assert_eq!(line["message"], "listening");
    assert_eq!(line["url"], node.url);
}

#[test]
fn a_file_that_is_not_ours_is_refused_by_path_and_left_alone() {
    let dir = dir();
    let path = dir.path().join("notes.txt");
    std::fs::write(&path, "dear diary, this is no database at all").unwrap();
    let args = ["serve", "--store", "sqlite:notes.txt", "--listen"];
    let said = run(&[&args[..], &["127.0.0.1:0"]].concat(), &dir);
    assert_eq!(said.code, 1);
    let expected = "notes.txt is not a Steadfast database";
    assert!(said.err.contains(expected), "{said:?}");
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        "dear diary, this is no database at all"
    );
    assert_eq!(files(&dir), ["notes.txt"]);
}

#[test]
fn mistakes_on_the_command_line_are_answered_with_what_would_be_right() {
    let dir = dir();
    for (args, code, expected) in [
        (&["--store", "redis:"][..], 2, "use sqlite:FILE or memory:"),
        (&["--grace", "30"], 2, "30 has no unit: say 30s"),
        (&["--retry", "impatient"], 2, "aggressive"),
        (&["--log-level", "=x="], 2, "log.level"),
        (&["--max-retries", "101"], 2, "must be at most 100"),
        (&["--config", "none.toml"], 1, "cannot read none.toml"),
        (&["--outbound-allow", "10.0.0.1/8"], 1, "10.0.0.0/8 meant?"),
        (
            &["--store", "postgres://me:s3cret@127.0.0.1:1/x"],
            1,
            "cannot open",
        ),
    ] {
        let said = run(
            &[&["serve", "--listen", "127.0.0.1:0"][..], args].concat(),
            &dir,
        );
        assert_eq!(said.code, code, "{args:?}: {said:?}");
        assert!(said.err.contains(expected), "{args:?}: {said:?}");
        assert!(!said.err.contains("s3cret"), "{said:?}");
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
        ("store = \"redis:\"\n", "line 1: \"redis:\" is no store"),
    ] {
        let dir = dir();
        std::fs::write(dir.path().join("steadfast.toml"), text).unwrap();
        let said = run(&["serve", "--print-config"], &dir);
        assert_eq!(said.code, 2, "{text}: {said:?}");
        assert!(said.err.contains("steadfast.toml, "), "{said:?}");
        assert!(said.err.contains(expected), "{text}: {}", said.err);
    }
}

#[test]
fn flags_go_over_the_environment_which_goes_over_the_file_which_goes_over_defaults() {
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
    let printed = said(command);
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
fn nobody_else_may_connect_before_there_is_a_key() {
    let dir = dir();
    let said = run(&["serve", "--listen", "0.0.0.0:0"], &dir);
    assert_eq!(said.code, 1);
    let command = "steadfast keys create --store sqlite:steadfast.db --scope admin";
    assert!(said.err.contains(command), "{said:?}");
    assert!(said.err.contains("--listen 127.0.0.1:"), "{said:?}");
    assert!(
        files(&dir).is_empty(),
        "nothing was made only to be refused"
    );
    let said = run(
        &["serve", "--listen", "0.0.0.0:0", "--store", "memory:"],
        &dir,
    );
    assert!(said.err.contains("use --store sqlite:FILE"), "{said:?}");
}

#[test]
fn with_the_first_key_others_may_connect_and_everybody_needs_one() {
    let dir = dir();
    let store = ["--store", "sqlite:steadfast.db"];
    let made = run(
        &[&["keys", "create", "--scope", "admin"][..], &store].concat(),
        &dir,
    );
    assert_eq!(made.code, 0, "{made:?}");
    let token = made
        .out
        .lines()
        .find(|line| line.starts_with("sf_"))
        .unwrap();

    let node = Node::start_in(dir, &["--listen", "0.0.0.0:0"]);
    assert!(
        node.welcome.contains("API keys  needed"),
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
    let ask = |key: Option<&str>| {
        let mut command = node.command(&["jobs", "list", "--url", &url]);
        command.envs(key.map(|key| ("STEADFAST_API_KEY", key)));
        said(command)
    };
    let refused = ask(None);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("(no_key)"), "{refused:?}");
    assert!(refused.err.contains("STEADFAST_API_KEY"), "{refused:?}");
    assert!(ask(Some("sf_wrong")).err.contains("(unknown_key)"));
    assert_eq!(ask(Some(token)).out, "no jobs\n");
}

#[test]
fn the_first_key_over_the_api_closes_the_door() {
    let node = Node::start(&PORT_0);
    let made = node.ask(&["keys", "create", "--scope", "admin"]);
    assert!(made.out.contains("This is the first key"), "{made:?}");
    let token = made
        .out
        .lines()
        .find(|line| line.starts_with("sf_"))
        .unwrap();
    assert_eq!(node.ask(&["jobs", "list"]).code, 1);
    assert_eq!(node.ask(&["jobs", "list", "--api-key", token]).code, 0);
    let second = ["keys", "create", "--scope", "read", "--api-key", token];
    let second = node.ask(&second);
    assert_eq!(second.code, 0, "{second:?}");
    assert!(!second.out.contains("first key"), "{second:?}");
}

#[test]
fn keys_in_the_store_can_be_listed_and_taken_back() {
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
    let made = keys(&["create", "--scope", "tenant", "--tenant", "acme", "--json"]);
    let made: serde_json::Value = serde_json::from_str(&made.out).unwrap();
    let id = made["id"].as_str().unwrap();
    let listed = keys(&["list"]).out;
    assert!(listed.contains(id) && listed.contains("acme"), "{listed}");
    assert!(!listed.contains(made["token"].as_str().unwrap()));
    assert_eq!(keys(&["delete", id]).code, 0);
    assert_eq!(keys(&["delete", id]).code, 4);
    assert_eq!(keys(&["create", "--scope", "tenant"]).code, 1);
    assert_eq!(keys(&["create", "--scope", "king"]).code, 2);
    let in_memory = run(&["keys", "list", "--store", "memory:"], &dir);
    assert_eq!(in_memory.code, 2);
}

#[test]
fn the_settings_of_the_file_are_in_force() {
    let dir = dir();
    let file = "listen = \"127.0.0.1:0\"\nnode = \"north\"\nmaxRetries = 5\n[retry]\nhttp = { maxRetries = 1 }\n[retry.queues]\nmail = { maxRetries = 2 }\n";
    std::fs::write(dir.path().join("steadfast.toml"), file).unwrap();
    let node = Node::start_in(dir, &[]);
    let url = format!("{}/none", node.url);
    let made =
        |more: &[&str]| node.json(&[&["jobs", "create", &url, "--delay", "1h"], more].concat());
    let plain = made(&[]);
    assert_eq!(plain["maxRetries"], 1);
    assert_eq!(
        plain["retry"]["baseDelay"], "1s",
        "the rest is the preset http"
    );
    assert_eq!(made(&["--queue", "mail"])["maxRetries"], 2);
    let said = node.ask(&["jobs", "create", &url, "--max-retries", "6"]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("must be at most 5 here"), "{said:?}");
    let doctor = node.ask(&["doctor", "--listen", node.url.trim_start_matches("http://")]);
    assert!(doctor.out.contains("node north"), "{doctor:?}");
}

#[test]
fn the_benchmark_prints_one_json_object_per_figure() {
    let dir = dir();
    let small = "bench --json --jobs 2000 --backlog 30000 --starts 5";
    let said = run(&small.split(' ').collect::<Vec<_>>(), &dir);
    assert_eq!(said.code, 0, "{said:?}");
    let names: Vec<String> = said
        .out
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
