//! `steadfast serve`: settings, access, and the welcome.

use tempfile::TempDir;

use crate::node::{Node, dir, files, output_of, run, steadfast};

const PORT_0: [&str; 2] = ["--listen", "127.0.0.1:0"];

#[test]
fn a_node_says_where_it_is_answers_and_stops_on_a_signal() {
    let node = Node::start(&PORT_0);
    for wanted in [
        "book      http",
        "/api/docs",
        "/healthz",
        "/metrics",
        "curl http",
        "not required",
        "any address\n",
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
    let output = run(&[&args[..], &["127.0.0.1:0"]].concat(), &dir);
    assert_eq!(output.code, 1);
    let expected = "notes.txt is not a Steadfast database";
    assert!(output.err.contains(expected), "{output:?}");
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        "dear diary, this is no database at all"
    );
    assert_eq!(files(&dir), ["notes.txt"]);
}

#[test]
fn mistakes_on_the_command_line_are_answered_with_the_right_form() {
    let dir = dir();
    for (args, code, expected) in [
        (&["--store", "redis:"][..], 2, "use sqlite:FILE or memory:"),
        (&["--grace", "30"], 2, "30 has no unit: use 30s"),
        (&["--retry", "impatient"], 2, "aggressive"),
        (&["--log-level", "=x="], 2, "log.level"),
        (&["--max-retries", "101"], 2, "must be at most 100"),
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
fn a_clock_that_is_moved_by_hand_is_for_stores_in_memory_only() {
    let dir = dir();
    let refused = run(&["serve", "--clock", "manual"], &dir);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("--store memory:"), "{refused:?}");
    assert_eq!(files(&dir), [""; 0]);
    let args = [&PORT_0[..], &["--store", "memory:", "--clock", "manual"]].concat();
    let node = Node::start(&args);
    let created = || node.json(&["jobs", "create", "--kind", "mail"])["createdAt"].clone();
    // Its time stands still.
    assert_eq!(created(), created());
}

#[test]
fn a_database_that_is_not_there_is_waited_for_and_then_named() {
    let dir = dir();
    let store = ["--store", "postgres://me:s3cret@127.0.0.1:1/x"];
    let serve = |wait: &str| {
        let args = ["serve", "--listen", "127.0.0.1:0", "--wait-for-store", wait];
        let output = run(&[&args[..], &store].concat(), &dir);
        assert_eq!(output.code, 1, "{output:?}");
        assert!(output.err.contains("cannot open"), "{output:?}");
        assert!(!output.err.contains("s3cret"), "{output:?}");
        assert!(!output.out.contains("s3cret"), "{output:?}");
        output.out.matches("for the store").count()
    };
    assert_eq!(serve("0s"), 0);
    // Asked several times, said once.
    assert_eq!(serve("1600ms"), 1);
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

#[test]
fn the_benchmark_prints_one_json_object_per_figure() {
    let dir = dir();
    let names = bench_figures(
        "--jobs 2000 --backlog 30000 --starts 5 --requests 500 --calls 50",
        &dir,
    );
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

#[test]
fn the_benchmark_of_flow_control_can_be_short() {
    let dir = dir();
    let names = bench_figures(
        "--flow --jobs 1000 --tenants 500 --destinations 500 --held 1000 --hanging 1 --starts 5",
        &dir,
    );
    for wanted in [
        "claim, 500 tenants",
        "claim, 500 destinations",
        "claim at a gate: maxRunning",
        "create, 500 tenants",
        "claim, 1,000 jobs held back",
        "10 jobs with 1,000 held",
        "with 50 hanging, p99",
    ] {
        assert!(
            names.iter().any(|name| name == wanted),
            "{wanted} is missing in {names:?}"
        );
    }
}

#[test]
fn the_benchmark_of_operations_can_be_short() {
    let dir = dir();
    let names = bench_figures(
        "--operations --jobs 500 --tagged 500 --dead 300 --starts 5",
        &dir,
    );
    for wanted in [
        "fingerprint of a failure",
        "create, unique",
        "create, two tags",
        "list by tag, 500 jobs",
        "requeue of 300 dead letters",
        "start during an operation, p99",
    ] {
        assert!(
            names.iter().any(|name| name == wanted),
            "{wanted} is missing in {names:?}"
        );
    }
}

/// Runs the benchmark; answers with the names of its figures.
fn bench_figures(arguments: &str, dir: &TempDir) -> Vec<String> {
    let arguments = format!("bench --json {arguments}");
    let output = run(&arguments.split(' ').collect::<Vec<_>>(), dir);
    assert_eq!(output.code, 0, "{output:?}");
    let lines = output.out.lines().map(|line| {
        let figure: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(figure["value"].as_f64().unwrap() > 0.0, "{line}");
        figure["name"].as_str().unwrap().to_owned()
    });
    lines.collect()
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

#[test]
fn a_store_that_cannot_be_opened_says_why() {
    let dir = dir();
    let args = ["serve", "--store", "sqlite:none/jobs.db"];
    let output = run(&[&args[..], &PORT_0].concat(), &dir);
    assert_eq!(output.code, 1);
    let expected = "/none does not exist: create it, or choose another file";
    assert!(output.err.contains(expected), "{output:?}");
}
