//! HTTPS with certificates of an authority that each test makes, as curl and the command line see it.

use std::{
    fs,
    io::{ErrorKind, Read as _, Write as _},
    net::TcpStream,
    os::unix::fs::symlink,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};

use super::PORT_0;
use crate::node::{CommandOutput, Node, TempDir, dir, output_of, run};

/// An authority of its own.
struct Authority(Issuer<'static, KeyPair>, String);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // With the name of the certificates it signs, they would look as if they signed themselves.
        params
            .distinguished_name
            .push(DnType::CommonName, "test authority");
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self(Issuer::new(params, key), pem)
    }

    /// Writes a certificate for this machine, its key, and the authority, into a directory.
    fn write(&self, dir: &Path, is_expired: bool) {
        let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        let mut params = CertificateParams::new(names).unwrap();
        if is_expired {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2021, 1, 1);
        }
        let key = KeyPair::generate().unwrap();
        let cert = params.signed_by(&key, &self.0).unwrap();
        fs::create_dir_all(dir).unwrap();
        fs::write(dir.join("tls.crt"), cert.pem()).unwrap();
        fs::write(dir.join("tls.key"), key.serialize_pem()).unwrap();
        fs::write(dir.join("ca.pem"), &self.1).unwrap();
    }
}

const FILES: [&str; 4] = ["--tls-cert", "now/tls.crt", "--tls-key", "now/tls.key"];

/// A node whose files are in `now`, and its directory.
fn start(more: &[&str]) -> Node {
    let dir = dir();
    Authority::new().write(&dir.path().join("first"), false);
    symlink("first", dir.path().join("now")).unwrap();
    Node::start_in(dir, &[&PORT_0[..], &FILES, more].concat())
}

fn curl(node: &Node, args: &[&str], path: &str) -> CommandOutput {
    let mut command = Command::new("curl");
    command.current_dir(node.dir.path()).args(args);
    command.args(["--silent", "--show-error", "--max-time", "20"]);
    output_of_curl(command, &format!("{}{path}", node.url))
}

fn output_of_curl(mut command: Command, url: &str) -> CommandOutput {
    command.arg(url);
    output_of(command)
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::yield_now();
    }
}

/// Puts other files in place as Kubernetes does: by a new link that is renamed over the old one.
fn swap(dir: &TempDir, to: &str) {
    let (link, now) = (dir.path().join("next"), dir.path().join("now"));
    symlink(to, &link).unwrap();
    fs::rename(link, now).unwrap();
}

#[test]
fn https_is_served_over_http_2_and_1_and_only_there() {
    let node = start(&[]);
    assert!(node.welcome.contains(&format!("dashboard {}/", node.url)));
    let version = [
        "--cacert",
        "now/ca.pem",
        "--write-out",
        "%{http_version} %{http_code}",
    ];
    for (flag, expected) in [("--http2", "2 200"), ("--http1.1", "1.1 200")] {
        let args = [&version[..], &[flag, "--output", "/dev/null"]].concat();
        assert_eq!(curl(&node, &args, "/api/v1/nodes").out, expected);
    }
    // Many requests at once on one connection.
    let many = [
        "--cacert",
        "now/ca.pem",
        "--parallel",
        "--parallel-max",
        "50",
    ];
    let answers = curl(&node, &many, "/api/v1/stats?limit=[1-60]");
    assert_eq!(
        answers.out.matches("retrySuccessRate").count(),
        60,
        "{answers:?}"
    );
    let stranger = curl(&node, &["--http2"], "/healthz");
    assert!(
        stranger.code != 0 && stranger.err.contains("certificate"),
        "{stranger:?}"
    );
    let plain = node.url.replace("https", "http");
    let mut command = Command::new("curl");
    command.args(["--silent", "--max-time", "20"]);
    assert_ne!(output_of_curl(command, &format!("{plain}/healthz")).code, 0);

    let list = node.run(&["nodes", "list"]);
    assert!(
        list.code == 3 && list.err.contains("certificate"),
        "{list:?}"
    );
    assert_eq!(
        node.run(&["nodes", "list", "--ca-file", "now/ca.pem"]).code,
        0
    );
    let created = ["jobs", "create", "--kind", "k", "--ca-file", "now/ca.pem"];
    assert_eq!(node.run(&created).code, 0);
    let own = curl(&node, &["--cacert", "now/ca.pem"], "/api/v1/openapi.json");
    assert!(
        own.out.contains(&format!("\"url\": \"{}\"", node.url)),
        "its own address"
    );
    assert!(node.stop());
}

#[test]
fn the_certificate_of_the_book_works_with_the_command_line() {
    let book = include_str!("../../../../../docs/tls.md");
    let line = book.lines().find(|line| line.starts_with("$ openssl req"));
    let dir = dir();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &line.unwrap()[2..]])
        .current_dir(dir.path());
    assert!(shell.status().unwrap().success());
    let files = ["--tls-cert", "tls.crt", "--tls-key", "tls.key"];
    let node = Node::start_in(dir, &[&PORT_0[..], &files].concat());
    let listed = node.run(&["nodes", "list", "--ca-file", "tls.crt"]);
    assert_eq!(listed.code, 0, "{listed:?}");
    let by_name = node.url.replace("127.0.0.1", "localhost");
    let by_name = ["nodes", "list", "--ca-file", "tls.crt", "--url", &by_name];
    let listed = node.run(&by_name);
    assert_eq!(listed.code, 0, "{listed:?}");
}

#[test]
fn a_server_that_cannot_be_trusted_or_speaks_another_protocol_has_its_sentence() {
    let node = start(&["--plain-listen", "127.0.0.1:0"]);
    let refused = |args: &[&str], sentences: [&str; 2]| {
        let output = node.run(&[&["nodes", "list"], args].concat());
        assert_eq!(output.code, 3, "{output:?}");
        for sentence in sentences {
            assert!(output.err.contains(sentence), "{output:?}");
        }
        assert!(
            !output.err.contains("is `steadfast serve` running"),
            "{output:?}"
        );
    };
    refused(
        &[],
        [
            "no trusted authority signed",
            "pass its certificate with --ca-file",
        ],
    );
    let plain = node.url.replace("https", "http");
    refused(
        &["--url", &plain],
        ["is not HTTP", "if the server speaks TLS, use https://"],
    );
    let without = Node::start(&PORT_0);
    let https = without.url.replace("http", "https");
    refused(&["--url", &https], ["does not speak TLS", "use http://"]);

    for (name, is_ca, sentence) in [
        ("127.0.0.1", true, "is that of an authority (CA:TRUE)"),
        ("example.com", false, "use a name of the certificate"),
    ] {
        let dir = dir();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        if is_ca {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        }
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        fs::write(dir.path().join("tls.crt"), pem).unwrap();
        fs::write(dir.path().join("tls.key"), key.serialize_pem()).unwrap();
        let files = ["--tls-cert", "tls.crt", "--tls-key", "tls.key"];
        let node = Node::start_in(dir, &[&PORT_0[..], &files].concat());
        let output = node.run(&["nodes", "list", "--ca-file", "tls.crt"]);
        assert_eq!(output.code, 3, "{output:?}");
        assert!(output.err.contains(sentence), "{output:?}");
    }
}

#[test]
fn cookies_travel_over_https_only_if_the_server_or_its_public_url_has_it() {
    let key = "sf_".to_owned() + &"a1b2c3d4".repeat(8);
    let sign_in = |node: &Node| {
        let form = format!("key={key}");
        let args = ["--cacert", "now/ca.pem", "--include", "--data", &form];
        let args = [&args[..], &["--header", "sec-fetch-site: same-origin"]].concat();
        let answer = curl(node, &args, "/sign-in").out.to_lowercase();
        let is_secure = answer.contains("; secure");
        let prefix = if is_secure { "__host-" } else { "" };
        let cookie = format!("set-cookie: {prefix}steadfast_session=");
        assert!(answer.contains(&cookie), "{answer}");
        is_secure
    };
    let variables = [("STEADFAST_ADMIN_KEY", &*key)];
    let with = |more: &[&str]| {
        let dir = dir();
        Authority::new().write(&dir.path().join("now"), false);
        Node::start_with(dir, &[&PORT_0[..], more].concat(), &variables)
    };
    assert!(sign_in(&with(&FILES)));
    assert!(!sign_in(&with(&[])));
    assert!(sign_in(&with(&[
        "--public-url",
        "https://jobs.example.com"
    ])));
    let node = with(&["--public-url", "https://jobs.example.com/ops/"]);
    let described = curl(&node, &[], "/api/v1/openapi.json").out;
    assert!(described.contains("\"url\": \"https://jobs.example.com/ops\""));
    assert!(
        node.welcome
            .contains("dashboard https://jobs.example.com/ops/")
    );
}

#[test]
fn renewed_files_are_used_without_a_restart_and_bad_ones_are_an_alert() {
    let node = start(&["--node", "alpha"]);
    let path = |name: &str| node.dir.path().join(name);
    let is_served = |ca: &str| curl(&node, &["--cacert", ca], "/healthz").code == 0;
    assert!(is_served("first/ca.pem"));
    Authority::new().write(&path("second"), false);
    assert!(!is_served("second/ca.pem"));
    swap(&node.dir, "second");
    until("the new certificate", || is_served("second/ca.pem"));
    assert!(!is_served("first/ca.pem"));

    let alerts = || {
        let listed = node.run(&["alerts", "--firing", "--json", "--ca-file", "second/ca.pem"]);
        // Alerts that fire are an exit code of their own.
        assert!(
            matches!(listed.code, 0 | 1) && listed.err.is_empty(),
            "{listed:?}"
        );
        listed.out
    };
    // The key is gone, then is that of another certificate, then the certificate has expired.
    let key = fs::read(path("second/tls.key")).unwrap();
    let cert = fs::read(path("second/tls.crt")).unwrap();
    Authority::new().write(&path("expired"), true);
    fs::remove_file(path("second/tls.key")).unwrap();
    until("a missing key", || {
        alerts().contains("cannot read the TLS file now/tls.key")
    });
    assert!(is_served("second/ca.pem"));
    fs::write(path("second/tls.key"), key).unwrap();
    until("the alert ends", || !alerts().contains("certificate"));
    fs::copy(path("first/tls.crt"), path("second/tls.crt")).unwrap();
    until("a wrong pair", || {
        alerts().contains("does not belong to the certificate")
    });
    assert!(alerts().contains("node alpha"));
    assert!(is_served("second/ca.pem"));
    // A rename over the file mends it.
    fs::write(path("second/renewed"), cert).unwrap();
    fs::rename(path("second/renewed"), path("second/tls.crt")).unwrap();
    until("the alert ends", || !alerts().contains("certificate"));
    swap(&node.dir, "expired");
    until("an expired one", || {
        alerts().contains("expired at 2021-01-01")
    });
    assert!(is_served("second/ca.pem"));
}

#[test]
fn files_that_cannot_be_used_are_named_at_the_start() {
    let dir = dir();
    let path = |name: &str| dir.path().join(name);
    Authority::new().write(&path("now"), false);
    Authority::new().write(&path("other"), false);
    fs::write(path("empty"), "").unwrap();
    let cases: [(&[&str], &str); 8] = [
        (
            &["--tls-cert", "now/tls.crt"],
            "tls.key is not: set the file of its private key",
        ),
        (
            &["--tls-key", "now/tls.key"],
            "tls.cert is not: set the file of its certificate",
        ),
        (
            &["--plain-listen", "127.0.0.1:0"],
            "tls.plainListen requires tls.cert",
        ),
        (
            &["--tls-cert", "none", "--tls-key", "now/tls.key"],
            "cannot read the TLS file none",
        ),
        (
            &["--tls-cert", "empty", "--tls-key", "now/tls.key"],
            "empty contains no certificate",
        ),
        (
            &["--tls-cert", "now/tls.crt", "--tls-key", "now/tls.crt"],
            "contains no private key",
        ),
        (
            &["--tls-cert", "now/tls.crt", "--tls-key", "other/tls.key"],
            "the private key in other/tls.key does not belong to the certificate in now/tls.crt",
        ),
        (
            &["--public-url", "jobs.example.com"],
            "must be an http or https URL",
        ),
    ];
    for (args, said) in cases {
        let output = run(&[&["serve"], &PORT_0[..], args].concat(), &dir);
        assert_eq!(output.code, 2, "{output:?}");
        assert!(output.err.contains(said), "{output:?}");
        let checked = run(&[&["doctor"], args].concat(), &dir);
        assert!(
            checked.code == 1 && checked.out.contains(said),
            "{checked:?}"
        );
    }
    // An expired certificate does not stop the jobs.
    Authority::new().write(&path("now"), true);
    let checked = run(&[&["doctor"], &FILES[..]].concat(), &dir);
    assert!(checked.out.contains("expired at 2021-01-01"), "{checked:?}");
    let node = Node::start_in(dir, &[&PORT_0[..], &FILES].concat());
    let health = curl(&node, &["--insecure"], "/healthz");
    assert_eq!(health.code, 0, "{health:?}");
}

#[test]
fn plain_http_beside_https_is_served_where_asked_for() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    let node = start(&["--plain-listen", &address]);
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error"]);
    let plain = output_of_curl(command, &format!("http://{address}/healthz"));
    assert_eq!(plain.code, 0, "{plain:?}");
    assert_eq!(curl(&node, &["--cacert", "now/ca.pem"], "/healthz").code, 0);
    let dir = dir();
    Authority::new().write(&dir.path().join("now"), false);
    let args = [
        &["serve"],
        &PORT_0[..],
        &FILES,
        &["--plain-listen", "0.0.0.0:0"],
    ]
    .concat();
    let open = run(&args, &dir);
    assert!(
        open.code == 1 && open.err.contains("refusing to listen on 0.0.0.0:0"),
        "{open:?}"
    );
}

#[test]
fn connections_that_never_finish_their_handshake_keep_no_client_waiting() {
    let node = start(&["--connections", "64", "--connections-per-address", "64"]);
    let address = node.url.trim_start_matches("https://");
    let mut silent: Vec<TcpStream> = Vec::new();
    for round in 0..200 {
        let mut stream = TcpStream::connect(address).unwrap();
        if round % 2 == 0 {
            // The beginning of a handshake, or something else.
            let bytes: &[u8] = if round % 4 == 0 {
                b"\x16\x03\x01\x02\x00"
            } else {
                b"GET / HTTP/1.1\r\n\r\n"
            };
            let _closed = stream.write_all(bytes);
        }
        silent.push(stream);
    }
    for _ in 0..5 {
        let health = curl(&node, &["--cacert", "now/ca.pem"], "/healthz");
        assert_eq!(health.code, 0, "{health:?}");
    }
    // They are closed after a while.
    let mut last = silent.pop().unwrap();
    last.set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let read = last.read(&mut [0; 1]);
    let is_closed = match &read {
        Ok(bytes) => *bytes == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    };
    assert!(is_closed, "{read:?}");
}
