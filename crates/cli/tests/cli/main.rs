//! The real binary, from outside: `node` runs it, `transcript` writes down what it prints.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bench;
mod commands;
mod contexts;
mod demo;
mod dev;
mod doctor;
mod forecast;
mod foreign;
mod help;
mod manual;
mod naming;
mod node;
mod operations;
mod policies;
#[path = "../common/process.rs"]
mod process;
mod readme;
mod serve;
mod stores;
mod top;
mod transcript;
