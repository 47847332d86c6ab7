//! People sign in with a real provider: the npm package `oidc-provider`, which `cargo xtask test`
//! installs. curl is the browser: it keeps cookies and follows the redirects.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use crate::node::{CommandOutput, Node, dir, output_of, run};

/// The provider, stopped with the test.
struct Provider {
    child: Child,
    issuer: String,
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

/// Where the package is installed; the same as in xtask.
fn package() -> PathBuf {
    let target = PathBuf::from(env!("CARGO_BIN_EXE_steadfast"));
    let target = target.parent().and_then(|it| it.parent()).unwrap();
    let folder = target.join("oidc-provider-8.8.1");
    assert!(
        folder.exists(),
        "the package oidc-provider is missing: `cargo xtask test` installs it in {}",
        folder.display()
    );
    folder
}

impl Provider {
    fn start(redirect_uri: &str) -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/serve/provider.mjs");
        let mut command = Command::new("node");
        command.arg(script).arg(package()).arg(redirect_uri);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let issuer = lines.next().unwrap().unwrap();
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, issuer }
    }
}

fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

const ROLES: &str = "admins=admin,acme-ops=write:acme,staff=read";

/// A node on this address whose people come from this provider.
fn start(address: &str, issuer: &str, client: &str) -> Node {
    let dir = dir();
    fs::write(dir.path().join("secret"), "a secret: with & signs\n").unwrap();
    let url = format!("http://{address}");
    let mut args = vec![
        "--listen",
        address,
        "--public-url",
        &url,
        "--oidc-issuer",
        issuer,
    ];
    args.extend(["--oidc-client-id", client, "--oidc-roles", ROLES]);
    if client == "steadfast" {
        args.extend(["--oidc-client-secret-file", "secret"]);
    }
    Node::start_in(dir, &args)
}

/// A browser: cookies in a file, and redirects that are followed.
struct Browser<'a> {
    node: &'a Node,
    jar: String,
}

impl Browser<'_> {
    fn curl(&self, args: &[&str]) -> CommandOutput {
        let mut command = Command::new("curl");
        command.current_dir(self.node.dir.path());
        command.args(["--silent", "--show-error", "--include", "--max-time", "20"]);
        command
            .args(["--cookie", &self.jar, "--cookie-jar", &self.jar])
            .args(args);
        output_of(command)
    }

    fn get(&self, path: &str) -> String {
        self.curl(&[&format!("{}{path}", self.node.url)]).out
    }

    /// Goes to the provider, signs in there, agrees, and comes back: the last page.
    fn sign_in(&self, login: &str) -> String {
        let start = format!("{}/sign-in/start?next=/queues", self.node.url);
        let page = self.curl(&["--location", &start]).out;
        let page = self.submit(&page, &format!("prompt=login&login={login}&password=x"));
        self.submit(&page, "prompt=consent")
    }

    /// Sends the form of a page of the provider.
    fn submit(&self, page: &str, fields: &str) -> String {
        let (_, action) = page
            .split_once("action=\"")
            .unwrap_or_else(|| panic!("{page}"));
        let (action, _) = action.split_once('"').unwrap();
        self.curl(&["--location", "--data", fields, action]).out
    }
}

fn browser<'a>(node: &'a Node, name: &str) -> Browser<'a> {
    let jar = format!("{name}.cookies");
    Browser { node, jar }
}

#[test]
fn a_person_signs_in_acts_by_name_and_signs_out() {
    let address = free_address();
    let provider = Provider::start(&format!("http://{address}/sign-in/callback"));
    for client in ["steadfast", "public"] {
        let node = start(&address, &provider.issuer, client);
        let ann = browser(&node, "ann");
        assert!(
            ann.get("/sign-in").contains("/sign-in/start"),
            "the way to the provider"
        );
        assert!(
            ann.get("/").contains("303 See Other"),
            "no person is signed in"
        );
        let back = ann.sign_in("ann:admins");
        assert!(
            back.contains("200 OK") && back.contains("refresh: 0; url=/queues"),
            "{back}"
        );
        let page = ann.get("/queues");
        assert!(
            page.contains("ann@example.com: all tenants, admin"),
            "{page}"
        );
        let own = ["--header", "sec-fetch-site: same-origin"];
        let url = |path: &str| format!("{}{path}", node.url);
        let pause = [
            &own[..],
            &["--data", "action=pause&queue=mail", &url("/queues/act")],
        ];
        let paused = ann.curl(&pause.concat()).out;
        assert!(paused.contains("303 See Other"), "{paused}");
        let audit = ann.curl(&[&own[..], &[&url("/api/v1/audit")]].concat()).out;
        assert!(audit.contains("\"name\":\"ann@example.com\""), "{audit}");
        // Programs need a key, also where people sign in.
        let keyless = node.run(&["jobs", "list"]);
        assert!(
            keyless.code == 1 && keyless.err.contains("no_key"),
            "{keyless:?}"
        );
        // The cookie of the sign-in is of no use a second time.
        let again = ann.get("/sign-in/callback?code=x&state=x");
        assert!(again.contains("was not started in this browser"), "{again}");
        let address = url("/sign-out");
        let out = [&own[..], &["--data", "", &address]].concat();
        assert!(ann.curl(&out).out.contains("303 See Other"));
        assert!(ann.get("/queues").contains("303 See Other"), "signed out");
        assert!(node.stop());
    }
}

#[test]
fn roles_come_from_the_claim_and_without_one_there_is_no_session() {
    let address = free_address();
    let provider = Provider::start(&format!("http://{address}/sign-in/callback"));
    let node = start(&address, &provider.issuer, "steadfast");
    for (login, shown) in [
        ("ben:acme-ops", "ben@example.com: tenant acme, tenant"),
        ("eve:staff", "eve@example.com: all tenants, read"),
        ("kim:staff,admins", "kim@example.com: all tenants, admin"),
    ] {
        let browser = browser(&node, &login[..3]);
        browser.sign_in(login);
        let page = browser.get("/queues");
        assert!(page.contains(shown), "{page}");
    }
    let stranger = browser(&node, "tom");
    let refused = stranger.sign_in("tom:guests");
    assert!(refused.contains("403 Forbidden"), "{refused}");
    assert!(
        refused.contains("tom@example.com has signed in, but has no role here"),
        "{refused}"
    );
    assert!(stranger.get("/queues").contains("303 See Other"));
}

/// A provider that says what it is given for each path, for lies that a real one does not tell.
fn lying_provider(answer: impl Fn(&str, &str) -> String + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let issuer = format!("http://{}", listener.local_addr().unwrap());
    let own = issuer.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = vec![0; 8_192];
            let read = stream.read(&mut head).unwrap_or(0);
            let head = String::from_utf8_lossy(&head[..read]).into_owned();
            let path = head.split(' ').nth(1).unwrap_or("");
            let body = answer(path, &own);
            let length = body.len();
            let response = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            let _closed = stream.write_all(response.as_bytes());
        }
    });
    issuer
}

#[test]
fn a_provider_that_is_away_or_lies_starts_no_session() {
    let address = free_address();
    let start_page = |issuer: &str| {
        let node = start(&address, issuer, "public");
        let page = browser(&node, "ann").get("/sign-in/start");
        assert!(node.stop());
        page
    };
    let away = start_page("http://127.0.0.1:1");
    assert!(away.contains("503 Service Unavailable"), "{away}");
    assert!(
        away.contains("the sign-in provider http://127.0.0.1:1 cannot be reached"),
        "{away}"
    );
    let other = lying_provider(|_, _| {
        let it = "https://evil.example";
        format!(
            r#"{{"issuer":"{it}","authorization_endpoint":"{it}","token_endpoint":"{it}","jwks_uri":"{it}"}}"#
        )
    });
    let page = start_page(&other);
    assert!(page.contains("calls itself https://evil.example"), "{page}");
    let nonsense = start_page(&lying_provider(|_, _| "<html>".to_owned()));
    assert!(
        nonsense.contains("sent an unexpected response"),
        "{nonsense}"
    );

    // A token without a signature, for the right application.
    let unsigned = lying_provider(|path, it| match path {
        "/.well-known/openid-configuration" => format!(
            r#"{{"issuer":"{it}","authorization_endpoint":"{it}/auth","token_endpoint":"{it}/token","jwks_uri":"{it}/keys"}}"#
        ),
        "/keys" => r#"{"keys":[]}"#.to_owned(),
        // {"alg":"none"}.{"aud":"public"}.
        _ => r#"{"access_token":"a","id_token":"eyJhbGciOiJub25lIn0.eyJhdWQiOiJwdWJsaWMifQ."}"#
            .to_owned(),
    });
    let node = start(&address, &unsigned, "public");
    let ann = browser(&node, "ann");
    let sent = ann.get("/sign-in/start");
    let (_, state) = sent.split_once("&state=").unwrap();
    let (state, _) = state.split_once('&').unwrap();
    let back = ann.get(&format!(
        "/sign-in/callback?code=x&state={state}&iss=http://127.0.0.1:2"
    ));
    assert!(back.contains("calls itself http://127.0.0.1:2"), "{back}");
    let sent = ann.get("/sign-in/start");
    let (_, state) = sent.split_once("&state=").unwrap();
    let (state, _) = state.split_once('&').unwrap();
    let back = ann.get(&format!("/sign-in/callback?code=x&state={state}"));
    assert!(
        back.contains("401 Unauthorized") && back.contains("not signed with one of its keys"),
        "{back}"
    );
    assert!(!back.contains("steadfast_session="), "{back}");
    let wrong = ann.get("/sign-in/callback?code=x&state=other");
    assert!(wrong.contains("was not started in this browser"), "{wrong}");
}

#[test]
fn wrong_callbacks_do_not_block_an_address() {
    let address = free_address();
    let node = start(&address, "http://127.0.0.1:1", "public");
    let url = format!("{}/sign-in/callback?code=x&state=[1-60]", node.url);
    let tries = browser(&node, "eve").curl(&[
        "--output",
        "/dev/null",
        "--write-out",
        "%{http_code} ",
        &url,
    ]);
    assert_eq!(tries.out.matches("401").count(), 60, "{tries:?}");
    let page = browser(&node, "ann").get("/sign-in/start");
    assert!(page.contains("cannot be reached"), "{page}");
}

#[test]
fn settings_that_cannot_be_meant_are_named() {
    let dir = dir();
    let issuer = ["--oidc-issuer", "https://login.example.com"];
    let client = ["--oidc-client-id", "steadfast"];
    let public = ["--public-url", "https://jobs.example.com"];
    let roles = |roles: &'static str| ["--oidc-roles", roles];
    for (args, said) in [
        (vec![issuer], "oidc.clientId is not"),
        (vec![client], "oidc.issuer is not"),
        (vec![issuer, client], "oidc requires publicUrl"),
        (vec![issuer, client, public], "oidc.roles has 0 entries"),
        (
            vec![issuer, client, public, roles("a=write")],
            "write needs a tenant",
        ),
        (
            vec![issuer, client, public, roles("a=owner")],
            "must have the form VALUE=ROLE",
        ),
        (
            vec![
                ["--oidc-issuer", "http://login.example.com"],
                client,
                public,
                roles("a=read"),
            ],
            "must be an https URL",
        ),
        (
            vec![
                issuer,
                client,
                ["--public-url", "http://jobs.example.com"],
                roles("a=read"),
            ],
            "with oidc it must be an https URL",
        ),
        (
            vec![
                issuer,
                client,
                public,
                roles("a=read"),
                ["--oidc-client-secret-file", "none"],
            ],
            "cannot read oidc.clientSecretFile none",
        ),
    ] {
        let args = [&["serve", "--listen", "127.0.0.1:0"], &args.concat()[..]].concat();
        let output = run(&args, &dir);
        assert_eq!(output.code, 2, "{output:?}");
        assert!(output.err.contains(said), "{output:?}");
    }
}
