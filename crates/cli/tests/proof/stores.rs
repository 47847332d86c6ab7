//! Stores that are backed up, checked, moved to another database, recovered, and encrypted again.

mod backup;
mod check;
mod moving;
mod recovery;
mod rotation;

use std::{path::Path, thread};

use crate::{
    load::Load,
    node::{Node, until},
    process::steadfast,
};

/// How a command ended, and what it printed.
#[derive(Debug)]
struct Finished {
    code: i32,
    out: String,
    err: String,
}

fn run(args: &[&str], dir: &Path) -> Finished {
    let output = steadfast(args, dir).output().unwrap();
    Finished {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs a command that must succeed.
fn succeed(args: &[&str], dir: &Path) -> String {
    let finished = run(args, dir);
    assert_eq!(finished.code, 0, "{args:?}: {finished:?}");
    finished.out
}

/// Creates and runs jobs until a number of them is acknowledged, does something meanwhile, and stops the node.
fn fill(load: &Load, node: Node, jobs: u64, meanwhile: impl FnOnce(&Node)) {
    let address = node.address().to_owned();
    thread::scope(|scope| {
        scope.spawn(|| load.create(&address, 150));
        scope.spawn(|| load.create(&address, 1));
        scope.spawn(|| load.work(&address));
        until("jobs to be created", || {
            (load.ledger.lock().unwrap().acknowledged() >= jobs).then_some(())
        });
        meanwhile(&node);
        node.stop();
    });
}
