//! PostgreSQL is brought back to a moment: a base backup, and the archived log after it.

use serde_json::json;
use steadfast_store::testing::Server;
use tokio_postgres::NoTls;

use super::succeed;
use crate::node::{Node, until};

#[test]
fn postgresql_is_recovered_to_the_moment_before_a_mistake() {
    let archive = tempfile::tempdir().unwrap();
    let dir = tempfile::tempdir().unwrap();
    open_to_everyone(archive.path());
    let path = archive.path().display();
    let settings = format!(
        "-c archive_mode=on -c archive_command='cp %p {path}/%f.part && mv {path}/%f.part {path}/%f'"
    );
    let server = Server::start_with(&[], &settings).unwrap();
    let store = store_on(&server);
    let node = Node::start_on(&store, dir.path());
    let create = |kind: &str| {
        let created = node.create(&json!({"kind": kind, "lease": "1s"}));
        created["id"].as_str().unwrap().to_owned()
    };
    let before = create("before");
    let mut copy = server.base_backup().unwrap();
    let after = create("after");
    let ask = json!({"worker": "w", "kinds": ["after"], "max": 1});
    node.post("/api/v1/claims", &ask).is(200);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(&server.url(), NoTls).await.unwrap();
        tokio::spawn(connection);
        let point = "SELECT pg_create_restore_point('before_the_mistake')";
        client.batch_execute(point).await.unwrap();
        client
            .batch_execute("DELETE FROM steadfast.job")
            .await
            .unwrap();
        let row = client
            .query_one("SELECT pg_walfile_name(pg_switch_wal())", &[])
            .await
            .unwrap();
        let file: String = row.get(0);
        until("the log to be archived", || {
            archive.path().join(&file).exists().then_some(())
        });
    });
    node.kill();
    server.crash().unwrap();

    let settings = format!(
        "-c restore_command='cp {path}/%f %p' -c recovery_target_name=before_the_mistake -c recovery_target_action=promote"
    );
    copy.recover(&settings).unwrap();
    let store = store_on(&copy);
    succeed(&["check", "--store", &store], dir.path());
    let node = Node::start_on(&store, dir.path());
    assert_eq!(
        node.get(&format!("/api/v1/jobs/{before}"))["label"],
        "ready"
    );
    // Its worker is gone, and its lease has expired.
    until("the attempt to be lost", || {
        let attempts = node.attempts(&after);
        attempts
            .iter()
            .any(|attempt| attempt["status"] == "LOST")
            .then_some(())
    });
}

fn store_on(server: &Server) -> String {
    let socket = server.directory().display().to_string().replace('/', "%2F");
    format!("postgres://postgres@{socket}/postgres")
}

/// The server runs as another user if this process is root.
fn open_to_everyone(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
}
