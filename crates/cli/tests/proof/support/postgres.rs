//! Where nodes find the PostgreSQL server of these tests.

use std::{
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
};

use steadfast_store::testing::{Pooler, Server};

/// A new schema, through the server's own socket.
pub fn fresh_store() -> String {
    store_at(&host(&directory()))
}

/// A new schema, through a pooler that lends connections for one transaction at a time.
pub fn pooled_store() -> String {
    store_at(&format!("{}:6432", host(Pooler::shared().directory())))
}

/// The same at the address of a proxy.
pub fn store_at(address: &str) -> String {
    let schema = Server::shared().fresh_schema();
    format!("postgres://postgres@{address}/postgres?schema={schema}")
}

pub fn connect() -> UnixStream {
    UnixStream::connect(directory().join(".s.PGSQL.5432")).unwrap()
}

/// The directory of a socket as it is written in an address.
fn host(directory: &Path) -> String {
    directory.display().to_string().replace('/', "%2F")
}

fn directory() -> PathBuf {
    Server::shared().directory().to_owned()
}
