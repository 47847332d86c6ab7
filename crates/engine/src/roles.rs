//! The roles of a node. Each is one file of one shape, and tests call its `tick`.

pub mod certifier;
pub mod clock_keeper;
pub mod dead_letter_retention;
pub mod dependency_runner;
pub mod event_feed;
pub mod expirer;
pub mod fetcher;
pub mod forecast_recorder;
pub mod health_keeper;
pub mod keeper;
pub mod log_writer;
pub mod node_heartbeat;
pub mod operation_runner;
pub mod pruner;
pub mod schedule_runner;
pub mod sweeper;
pub mod watcher;
