//! Commands on a store itself: encrypted ones, foreign ones, and ones that cannot be read.

use rusqlite::Connection;
use tempfile::TempDir;

use crate::node::{CommandOutput, Node, dir, run};

const STORE: &str = "sqlite:steadfast.db";
const KEYS: [&str; 2] = ["--encryption-key-file", "keys.txt"];

/// A directory with an encrypted store that has an admin key.
fn encrypted() -> TempDir {
    let dir = dir();
    let key = format!("k1:{}=\n", "A".repeat(43));
    std::fs::write(dir.path().join("keys.txt"), key).unwrap();
    let made = create_key(&dir, &KEYS);
    assert_eq!(made.code, 0, "{made:?}");
    dir
}

fn create_key(dir: &TempDir, more: &[&str]) -> CommandOutput {
    let create = ["keys", "create", "--store", STORE, "--scope", "admin"];
    run(&[&create[..], more].concat(), dir)
}

fn damage_keys(dir: &TempDir, file: &str, body: &str) {
    let conn = Connection::open(dir.path().join(file)).unwrap();
    let sql = "UPDATE steadfast_record SET body = ?1 WHERE kind = 'key'";
    assert_eq!(conn.execute(sql, [body]).unwrap(), 1);
}

#[test]
fn an_encrypted_store_is_backed_up_restored_and_checked_with_its_key() {
    let dir = encrypted();
    let backup = run(&["backup", "copy.db", "--store", STORE], &dir);
    assert_eq!(backup.code, 0, "{backup:?}");
    let restore = ["restore", "copy.db", "--to", "sqlite:new.db"];
    let check = ["check", "--store", "sqlite:new.db"];
    let with_key = |args: &[&str]| run(&[args, &KEYS].concat(), &dir);

    let refused = run(&restore, &dir);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains(KEYS[0]), "{refused:?}");
    let help = run(&["restore", "--help"], &dir);
    assert!(help.out.contains(KEYS[0]), "{help:?}");

    let restored = with_key(&restore);
    assert_eq!(restored.code, 0, "{restored:?}");
    let well = with_key(&check);
    assert_eq!(well.code, 0, "{well:?}");
    // Without the key, the contents cannot be checked.
    let unknown = run(&check, &dir);
    assert_eq!(unknown.code, 1, "{unknown:?}");
    assert!(unknown.out.contains("fail  contents"), "{unknown:?}");
    damage_keys(&dir, "new.db", "~k1~damaged");
    let ill = with_key(&check);
    assert_eq!(ill.code, 1, "{ill:?}");
    assert!(ill.out.contains("document key/"), "{ill:?}");
}

#[test]
fn a_check_creates_nothing() {
    let dir = dir();
    let conn = Connection::open(dir.path().join("app.db")).unwrap();
    conn.execute_batch("CREATE TABLE invoice (id INTEGER)")
        .unwrap();
    let checked = run(&["check", "--store", "sqlite:app.db", "--share"], &dir);
    assert_eq!(checked.code, 1, "{checked:?}");
    assert!(
        checked.err.contains("is not a Steadfast store"),
        "{checked:?}"
    );
    let tables = "SELECT count(*) FROM sqlite_master";
    let tables: i64 = conn.query_row(tables, [], |row| row.get(0)).unwrap();
    assert_eq!(tables, 1);
}

#[test]
fn a_server_whose_keys_cannot_be_read_is_not_open_to_everybody() {
    for body in ["~k1~damaged", "{\"scope\": \"a word of a newer version\"}"] {
        let dir = encrypted();
        damage_keys(&dir, "steadfast.db", body);
        let args = ["--listen", "127.0.0.1:0", KEYS[0], KEYS[1]];
        let node = Node::start_in(dir, &args);
        let listed = node.run(&["jobs", "list"]);
        assert_ne!(listed.code, 0, "{listed:?}");
        assert!(
            listed.err.contains("401") || listed.err.contains("API key"),
            "{listed:?}"
        );
        let made = node.run(&["keys", "create", "--scope", "admin"]);
        assert_ne!(made.code, 0, "{made:?}");
        node.stop();
    }
}
