//! `--help` of every command.

use crate::node::{dir, run};

#[test]
fn every_command_has_help_with_an_example() {
    let dir = dir();
    for verb in [
        "serve",
        "demo",
        "jobs",
        "jobs create",
        "jobs list",
        "jobs show",
        "jobs history",
        "jobs cancel",
        "jobs retry",
        "jobs run-now",
        "jobs edit",
        "jobs watch",
        "schedules",
        "schedules create",
        "schedules edit",
        "schedules list",
        "schedules show",
        "schedules pause",
        "schedules resume",
        "schedules run-now",
        "schedules ticks",
        "schedules delete",
        "dlq",
        "dlq list",
        "dlq requeue",
        "dlq discard",
        "queues",
        "queues list",
        "queues pause",
        "queues resume",
        "gates",
        "gates list",
        "gates show",
        "gates set",
        "gates delete",
        "destinations",
        "destinations list",
        "destinations show",
        "destinations hold",
        "destinations release",
        "destinations set",
        "stats",
        "alerts",
        "endpoints",
        "endpoints list",
        "endpoints create",
        "endpoints delete",
        "endpoints rotate",
        "policy",
        "policy preview",
        "keys",
        "keys create",
        "keys list",
        "keys delete",
        "migrate",
        "doctor",
    ] {
        let args: Vec<&str> = verb.split(' ').chain(["--help"]).collect();
        let help = run(&args, &dir);
        assert_eq!(help.code, 0, "{verb}: {help:?}");
        assert!(
            help.out.contains(&format!("steadfast {verb}")),
            "{}",
            help.out
        );
        assert!(help.out.contains("Example"), "{verb}: {}", help.out);
    }
}
