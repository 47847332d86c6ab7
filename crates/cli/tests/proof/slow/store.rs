//! A store whose commits take seconds: creates are refused instead of piling up, and what was accepted
//! goes on.

use std::{fs, sync::mpsc, thread, time::Duration};

use serde_json::json;
use steadfast_sim::prove;
use steadfast_store::testing::Server;
use tokio_postgres::NoTls;

use crate::{
    node::{FILE, Node, serve, until},
    preload,
    process::steadfast,
    target::Target,
};

/// Synchronising a file takes three seconds while a file exists.
const DISK: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
typedef int (*sync_file)(int);
static int slow_sync(const char *name, int file) {
    if (access("MARK", F_OK) == 0) sleep(3);
    return ((sync_file)dlsym(RTLD_NEXT, name))(file);
}
int fsync(int file) { return slow_sync("fsync", file); }
int fdatasync(int file) { return slow_sync("fdatasync", file); }
"#;

/// How often another caller comes.
const CREATE_EVERY: Duration = Duration::from_millis(400);

#[test]
fn creates_are_refused_while_the_disk_is_slow() {
    let dir = tempfile::tempdir().unwrap();
    let mark = dir.path().join("slow");
    let source = DISK.replace("MARK", mark.to_str().unwrap());
    let mut command = steadfast(&serve(FILE), dir.path());
    command.env("LD_PRELOAD", preload::build(dir.path(), &source));
    let node = Node::run(command);
    refuses_creates(&node, "slow disk", |is_slow| match is_slow {
        true => fs::write(&mark, "").unwrap(),
        false => fs::remove_file(&mark).unwrap(),
    });
    node.stop();
}

/// With a standby that does not answer, commits on PostgreSQL wait for as long as it is away.
#[test]
fn creates_are_refused_while_a_synchronous_standby_is_away() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start().unwrap();
    let socket = server.directory().display().to_string().replace('/', "%2F");
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    let (client, connection) = runtime
        .block_on(tokio_postgres::connect(&server.url(), NoTls))
        .unwrap();
    runtime.spawn(connection);
    let node = Node::start_on(
        &format!("postgres://postgres@{socket}/postgres"),
        dir.path(),
    );
    refuses_creates(&node, "standby away", |is_slow| {
        let names = if is_slow { "gone" } else { "" };
        for sql in [
            &*format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'"),
            "SELECT pg_reload_conf()",
        ] {
            runtime.block_on(client.batch_execute(sql)).unwrap();
        }
    });
    node.stop();
}

fn refuses_creates(node: &Node, proof: &str, set_slow: impl Fn(bool)) {
    let target = Target::start(|_| Some(200));
    let job = json!({"api": target.url, "delay": "1s"});
    let create = || node.post("/api/v1/jobs", &job);
    let mut accepted = vec![create()];
    set_slow(true);
    let mut refused = 0;
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        // Each caller waits for as long as its commit takes, so there is another one all the time.
        while refused == 0 {
            let sender = sender.clone();
            scope.spawn(move || sender.send(create()).unwrap());
            if let Ok(answer) = receiver.recv_timeout(CREATE_EVERY) {
                refused += u64::from(answer.status == 503);
                accepted.push(answer);
            }
        }
        set_slow(false);
        drop(sender);
        accepted.extend(receiver);
    });
    // It recovers.
    assert_eq!(metric(node, "steadfast_store_slow "), 1);
    until("a create to be accepted", || {
        accepted.push(create());
        (accepted.last()?.status == 201).then_some(())
    });
    for answer in accepted.extract_if(.., |answer| answer.status != 201) {
        let problem = answer.is(503);
        assert_eq!(problem["code"], "store_slow", "{problem}");
        let detail = problem["detail"].as_str().unwrap();
        let is_cause = detail.starts_with("the store ") && detail.contains("longer than 2s");
        assert!(is_cause, "{detail}");
    }
    let accepted = accepted.len() as u64;
    until("all jobs to run", || {
        (node.get("/api/v1/stats")["succeeded"] == accepted).then_some(())
    });
    assert_eq!(target.check_none_twice(), accepted);
    let counted = metric(
        node,
        "steadfast_creates_refused_total{reason=\"store_slow\"} ",
    );
    assert!(counted >= refused);
    prove::tell(
        proof,
        &[("jobs accepted", accepted), ("creates refused", counted)],
    );
}

fn metric(node: &Node, name: &str) -> u64 {
    let text = node.http().unwrap().text("/metrics").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap().trim().parse().unwrap()
}
