//! What the proofs share: nodes and their clients, a small disk, a target, a proxy, and the ledger of promises.

pub mod disk;
pub mod http;
pub mod ledger;
pub mod load;
pub mod node;
pub mod postgres;
pub mod preload;
pub mod proxy;
pub mod target;
pub mod trace;
