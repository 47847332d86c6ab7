//! Where nodes find the PostgreSQL server of these tests.

use std::{os::unix::net::UnixStream, path::PathBuf};

use steadfast_store::testing::Server;

/// A new schema, through the server's own socket.
pub fn fresh_store() -> String {
    let socket = directory().display().to_string().replace('/', "%2F");
    store_at(&socket)
}

/// The same at the address of a proxy.
pub fn store_at(address: &str) -> String {
    let schema = Server::shared().fresh_schema();
    format!("postgres://postgres@{address}/postgres?schema={schema}")
}

pub fn connect() -> UnixStream {
    UnixStream::connect(directory().join(".s.PGSQL.5432")).unwrap()
}

fn directory() -> PathBuf {
    Server::shared().directory().to_owned()
}
