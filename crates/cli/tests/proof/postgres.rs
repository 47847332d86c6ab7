//! Where nodes find the PostgreSQL server of these tests.

use steadfast_store::testing::Server;

/// A schema that nobody else uses, through the server's own socket.
pub fn fresh_store() -> String {
    let server = Server::shared();
    let socket = server.directory().display().to_string().replace('/', "%2F");
    let schema = server.fresh_schema();
    format!("postgres://postgres@{socket}/postgres?schema={schema}")
}
