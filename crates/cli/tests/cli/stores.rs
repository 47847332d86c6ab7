//! Commands on a store itself: encrypted ones, foreign ones, and ones that cannot be read.

use rusqlite::Connection;
use tempfile::TempDir;

use crate::node::{CommandOutput, Node, dir, output_of, run};

const STORE: &str = "sqlite:steadfast.db";
const KEYS: [&str; 2] = ["--encryption-key-file", "keys.txt"];

/// A directory with an encrypted store that has an admin key.
fn encrypted() -> TempDir {
    let dir = dir();
    let key = format!("k1:{}A=\n", "D".repeat(42));
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
    assert!(
        refused.err.contains("copy.db cannot be opened"),
        "{refused:?}"
    );
    assert!(!refused.err.contains("partial"), "{refused:?}");
    let help = run(&["restore", "--help"], &dir);
    assert!(help.out.contains(KEYS[0]), "{help:?}");

    let restored = with_key(&restore);
    assert_eq!(restored.code, 0, "{restored:?}");
    let well = with_key(&check);
    assert_eq!(well.code, 0, "{well:?}");
    // Without the key, every encrypted row would look corrupt.
    let unknown = run(&check, &dir);
    assert_eq!(unknown.code, 1, "{unknown:?}");
    assert!(
        unknown
            .err
            .contains("encrypted with key `k1`, which was not given"),
        "{unknown:?}"
    );
    assert_eq!(unknown.out, "", "{unknown:?}");
    damage_keys(&dir, "new.db", "~k1~damaged");
    let ill = with_key(&check);
    assert_eq!(ill.code, 1, "{ill:?}");
    assert!(ill.out.contains("document key/"), "{ill:?}");
}

#[test]
fn a_missing_file_and_a_wrong_target_have_the_same_exit_codes_everywhere() {
    let dir = dir();
    assert_eq!(run(&["migrate", "--store", STORE], &dir).code, 0);
    std::fs::write(dir.path().join("notes.txt"), "dear diary, no database").unwrap();
    let conn = Connection::open(dir.path().join("app.db")).unwrap();
    conn.execute_batch("CREATE TABLE invoice (id INTEGER)")
        .unwrap();
    for (args, code, sentence) in [
        (
            ["backup", "b.db", "--store", "sqlite:no.db"],
            4,
            "does not exist",
        ),
        (
            ["restore", "no.db", "--to", "sqlite:new.db"],
            4,
            "does not exist",
        ),
        (
            ["restore", "steadfast.db", "--to", STORE],
            2,
            "is not empty",
        ),
    ] {
        let refused = run(&args, &dir);
        assert_eq!(refused.code, code, "{refused:?}");
        assert!(refused.err.contains(sentence), "{refused:?}");
    }
    for target in ["sqlite:notes.txt", "sqlite:app.db"] {
        let refused = run(&["move", "--from", STORE, "--to", target], &dir);
        assert_eq!(refused.code, 2, "{refused:?}");
        let sentence = "is not an empty store: choose a file that does not exist";
        assert!(refused.err.contains(sentence), "{refused:?}");
    }
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

#[test]
fn another_encryption_key_is_an_operation_of_the_nodes() {
    let dir = encrypted();
    let old = std::fs::read_to_string(dir.path().join("keys.txt")).unwrap();
    let new = format!("k2:{}=\n{old}", "B".repeat(42) + "A");
    std::fs::write(dir.path().join("keys.txt"), new).unwrap();
    let made = create_key(&dir, &[&KEYS[..], &["--json"]].concat());
    let made: serde_json::Value = serde_json::from_str(&made.out).unwrap();
    let token = made["token"].as_str().unwrap().to_owned();
    let node = Node::start_in(dir, &["--listen", "127.0.0.1:0", KEYS[0], KEYS[1]]);
    let as_admin = |args: &[&str]| {
        let mut command = node.command(args);
        command.env("STEADFAST_API_KEY", &token);
        output_of(command)
    };
    let rotated = as_admin(&["keys", "rotate-encryption"]);
    assert_eq!(rotated.code, 0, "{rotated:?}");
    assert!(rotated.out.contains("encrypted again, of "), "{rotated:?}");
    let unused = "key k1 is no longer used: remove it";
    assert!(rotated.out.contains(unused), "{rotated:?}");
    let listed = as_admin(&["operations", "list", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed.out).unwrap();
    let operation = &listed["operations"][0];
    assert_eq!(operation["kind"], "rotate_encryption", "{operation}");
    assert_eq!(operation["status"], "done", "{operation}");
    assert_eq!(operation["encryption"]["key"], "k2", "{operation}");
    assert_eq!(operation["filter"], "", "{operation}");
    let id = operation["id"].as_str().unwrap();
    let shown = as_admin(&["operations", "show", id]);
    let report = "encryption with key k2 is done: ";
    assert!(shown.out.contains(report), "{shown:?}");
    let audit = as_admin(&["audit", "--subject", id]);
    for action in ["encryption.rotate ", "encryption.rotated"] {
        assert!(audit.out.contains(action), "{audit:?}");
    }
    // The store can do it as well, and then has nothing left to do.
    let store = run(
        &[&["keys", "rotate-encryption", "--store", STORE], &KEYS[..]].concat(),
        &node.dir,
    );
    assert_eq!(store.code, 0, "{store:?}");
    assert!(
        store.out.starts_with("0 values encrypted again"),
        "{store:?}"
    );
    node.stop();
}

#[test]
fn a_node_without_an_encryption_key_rotates_nothing() {
    let node = Node::start(&["--listen", "127.0.0.1:0"]);
    let refused = node.run(&["keys", "rotate-encryption"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    let sentence = "this node has no encryption key; start it with --encryption-key-file";
    assert!(refused.err.contains(sentence), "{refused:?}");
    assert_eq!(
        node.json(&["operations", "list"])["operations"],
        serde_json::json!([])
    );
    let store = run(&["keys", "rotate-encryption", "--store", STORE], &node.dir);
    assert_eq!(store.code, 2, "{store:?}");
    assert!(
        store.err.contains("give --encryption-key-file"),
        "{store:?}"
    );
    node.stop();
}

#[test]
fn a_key_file_that_cannot_be_used_is_named_and_nothing_is_changed() {
    let dir = encrypted();
    let path = |name: &str| dir.path().join(name);
    let other = format!("k1:{}=\n", "C".repeat(42) + "A");
    for (file, text) in [("short.txt", "k1:c2hvcnQ=\n"), ("other.txt", &*other)] {
        std::fs::write(path(file), text).unwrap();
    }
    let before = std::fs::read(path("steadfast.db")).unwrap();
    for (file, code, sentence) in [
        ("none.txt", 2, "cannot read the encryption keys in none.txt"),
        (
            "short.txt",
            2,
            "encryption keys in short.txt: line 1: a key is 32 random bytes",
        ),
        (
            "other.txt",
            1,
            "is not the key `k1` that it was encrypted with",
        ),
    ] {
        let file = ["--encryption-key-file", file];
        let serve = ["serve", "--store", STORE, "--listen", "127.0.0.1:0"];
        let list = ["keys", "list", "--store", STORE];
        let rotate = ["keys", "rotate-encryption", "--store", STORE];
        for args in [&serve[..], &list, &rotate] {
            let refused = run(&[args, &file].concat(), &dir);
            assert_eq!(refused.code, code, "{args:?} {refused:?}");
            assert!(refused.err.contains(sentence), "{args:?} {refused:?}");
        }
    }
    assert_eq!(std::fs::read(path("steadfast.db")).unwrap(), before);
}
