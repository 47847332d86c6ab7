//! A resolver that does not answer: only those who asked for such a name may wait.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use steadfast_sim::prove;

use crate::{
    node::{FILE, Node, serve, until},
    preload,
    process::steadfast,
    target::Target,
};

/// Names that end in `.slow.example` take this long to be looked up, whatever the caller's patience.
const LOOKUP_SECONDS: u32 = 20;
const SLOW_JOBS: usize = 1_000;
/// The longest wait of another caller on a busy machine: less than one lookup.
const WAIT_MAX: Duration = Duration::from_secs(15);
/// Threads of the whole process: runtime, store, lookups.
const THREADS_MAX: usize = 150;

/// Stands before the resolver of the C library.
const RESOLVER: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>
typedef int (*lookup)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **found) {
    const char *slow = ".slow.example";
    if (name && strlen(name) > strlen(slow) && !strcmp(name + strlen(name) - strlen(slow), slow)) {
        sleep(SECONDS);
        return EAI_AGAIN;
    }
    return ((lookup)dlsym(RTLD_NEXT, "getaddrinfo"))(name, service, hints, found);
}
"#;

#[test]
fn a_resolver_that_does_not_answer_delays_no_other_caller() {
    let rounds = prove::times(1);
    let dir = tempfile::tempdir().unwrap();
    let source = RESOLVER.replace("SECONDS", &LOOKUP_SECONDS.to_string());
    let resolver = preload::build(dir.path(), &source);
    let target = Target::start(|_| Some(200));
    let (mut slowest, mut threads, mut answered) = (Duration::ZERO, 0, 0);
    for round in 0..rounds {
        let place = dir.path().join(format!("round-{round}"));
        std::fs::create_dir(&place).unwrap();
        let mut command = steadfast(&serve(FILE), &place);
        command.env("LD_PRELOAD", &resolver);
        let node = Node::run(command);
        let retry = json!({"maxRetries": 100, "backoff": "fixed", "baseDelay": 0, "maxDelay": 0,
                           "jitter": "none"});
        let slow = |number| {
            let url = format!("http://h{number}.slow.example/");
            json!({"http": {"url": url}, "timeout": "50ms", "retry": retry, "priority": 0})
        };
        let jobs: Vec<Value> = (0..SLOW_JOBS).map(slow).collect();
        node.create(&json!({"jobs": jobs}));
        until("a lookup to fail", || {
            (node.get("/api/v1/stats")["retrying"] != 0 || has_failed(&node)).then_some(())
        });
        for _ in 0..10 {
            let begun = Instant::now();
            node.get("/api/v1/jobs?limit=50");
            node.get("/readyz");
            let healthy = json!({"api": target.url, "priority": 9});
            let id = node.create(&healthy)["id"].as_str().unwrap().to_owned();
            until("a healthy job to run", || {
                let job = node.get(&format!("/api/v1/jobs/{id}"));
                (job["label"] == "succeeded").then_some(())
            });
            slowest = slowest.max(begun.elapsed());
            answered += 1;
        }
        threads = threads.max(node.threads());
        node.kill();
    }
    prove::tell(
        "slow resolver",
        &[
            (
                "jobs with a name that is not answered",
                rounds * SLOW_JOBS as u64,
            ),
            ("reads, creates and healthy jobs meanwhile", answered),
            (
                "milliseconds for the slowest",
                u64::try_from(slowest.as_millis()).unwrap(),
            ),
            ("threads at most", threads as u64),
        ],
    );
    assert!(slowest < WAIT_MAX, "another caller waited for {slowest:?}");
    assert!(threads < THREADS_MAX, "{threads} threads");
}

fn has_failed(node: &Node) -> bool {
    let metrics = node.http().unwrap().text("/metrics").unwrap();
    metrics
        .lines()
        .any(|line| line.starts_with("steadfast_retries_total") && !line.ends_with(" 0"))
}
