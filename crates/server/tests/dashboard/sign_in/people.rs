//! People sign in with a provider, and what they may do from then on.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use steadfast_core::Timestamp;
use steadfast_server::{OidcSettings, keys::Scope};
use steadfast_store::{MemoryStore, Store};

use super::provider::{FakeProvider, code};
use crate::node::{Response, ShiftedClock, TestNode};

/// A browser that keeps cookies, and takes the part of the provider's pages as well.
struct Browser<'a> {
    node: &'a TestNode,
    cookies: Vec<(String, String)>,
}

/// A sign-in that has begun.
struct Started {
    state: String,
    nonce: String,
}

impl<'a> Browser<'a> {
    fn new(node: &'a TestNode) -> Self {
        let cookies = Vec::new();
        Self { node, cookies }
    }

    /// The same browser, at another node.
    fn at(&self, node: &'a TestNode) -> Self {
        let cookies = self.cookies.clone();
        Self { node, cookies }
    }

    async fn request(&mut self, method: &str, path: &str, body: &str) -> Response {
        let pairs: Vec<_> = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let cookie = pairs.join("; ");
        let mut headers = vec![("sec-fetch-site", "same-origin"), ("cookie", &*cookie)];
        if path.starts_with("/api/") {
            headers.push(("content-type", "application/json"));
        }
        let response = self.node.request(method, path, &headers, body).await;
        for line in response.head.lines() {
            let Some(cookie) = line.strip_prefix("set-cookie: ") else {
                continue;
            };
            let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
            self.cookies.retain(|(known, _)| known != name);
            if !cookie.contains("Max-Age=0") {
                self.cookies.push((name.to_owned(), value.to_owned()));
            }
        }
        response
    }

    async fn get(&mut self, path: &str) -> Response {
        self.request("GET", path, "").await
    }

    async fn start(&mut self) -> Started {
        let response = self.get("/sign-in/start?next=/queues").await;
        assert_eq!(response.status, 303, "{}", response.body);
        let location = response.header("location").unwrap();
        let value = |name: &str| {
            let (_, value) = location.split_once(&format!("&{name}=")).unwrap();
            value.split('&').next().unwrap().to_owned()
        };
        Started {
            state: value("state"),
            nonce: value("nonce"),
        }
    }

    async fn callback(&mut self, state: &str, answer: &str) -> Response {
        let path = format!("/sign-in/callback?state={state}&{answer}");
        self.get(&path).await
    }

    async fn finish(&mut self, started: &Started, claims: Value, user_info: &Value) -> Response {
        let mut all = json!({"nonce": started.nonce});
        for (name, value) in claims.as_object().unwrap() {
            all[name] = value.clone();
        }
        let answer = format!("code={}", code(&all, user_info));
        self.callback(&started.state, &answer).await
    }

    async fn sign_in(&mut self, claims: Value) -> Response {
        let started = self.start().await;
        self.finish(&started, claims, &Value::Null).await
    }

    fn pending(&self) -> usize {
        let names = self.cookies.iter().map(|(name, _)| name);
        names
            .filter(|name| name.starts_with("steadfast_sign_in_"))
            .count()
    }
}

fn ann(groups: &[&str]) -> Value {
    let email = "ann@example.com";
    json!({"sub": "u1", "email": email, "email_verified": true, "groups": groups})
}

struct Site {
    provider: FakeProvider,
    store: Arc<dyn Store>,
    clock: ShiftedClock,
}

impl Site {
    async fn new() -> Self {
        let clock = ShiftedClock::default();
        Self {
            provider: FakeProvider::start().await,
            store: Arc::new(MemoryStore::new(Arc::new(clock.clone()))),
            clock,
        }
    }

    async fn node(&self, oidc: Option<OidcSettings>) -> TestNode {
        TestNode::with_people(self.store.clone(), self.clock.clone(), oidc).await
    }

    async fn node_with(&self, roles: &[&str]) -> TestNode {
        self.node(Some(self.provider.settings(roles))).await
    }
}

// long: a table
#[tokio::test]
async fn an_old_session_has_the_role_of_the_present_settings() {
    let site = Site::new().await;
    let before = site.node_with(&["ops=admin", "staff=read"]).await;
    let _admin = before.key(Scope::Admin, None).await;
    let mut browser = Browser::new(&before);
    let back = browser.sign_in(ann(&["ops", "staff"])).await;
    assert_eq!(back.status, 200, "{}", back.body);
    let page = browser.get("/queues").await;
    assert!(page.body.contains("ann@example.com: all tenants, admin"));

    let same = |roles: &[&str]| site.provider.settings(roles);
    let admins = || same(&["ops=admin"]);
    let other = FakeProvider::start().await;
    for (change, oidc, shown) in [
        ("nothing", Some(admins()), Some("all tenants, admin")),
        ("role removed", Some(same(&["guests=admin"])), None),
        (
            "role lowered",
            Some(same(&["ops=read"])),
            Some("all tenants, read"),
        ),
        (
            "one of two removed",
            Some(same(&["staff=read"])),
            Some("all tenants, read"),
        ),
        (
            "one tenant",
            Some(same(&["ops=write:acme"])),
            Some("tenant acme, tenant"),
        ),
        (
            "other issuer",
            Some(other.settings(&["ops=admin", "staff=read"])),
            None,
        ),
        (
            "other client",
            Some(OidcSettings {
                client_id: "other".to_owned(),
                ..admins()
            }),
            None,
        ),
        (
            "other claim",
            Some(OidcSettings {
                role_claim: "roles".to_owned(),
                ..admins()
            }),
            None,
        ),
        (
            "shorter sessions",
            Some(OidcSettings {
                session_time: Duration::ZERO,
                ..admins()
            }),
            None,
        ),
        ("no provider", None, None),
    ] {
        let after = site.node(oidc).await;
        let mut browser = browser.at(&after);
        let page = browser.get("/queues").await;
        let expected = if shown.is_some() { 200 } else { 303 };
        assert_eq!(page.status, expected, "{change}");
        assert!(page.body.contains(shown.unwrap_or("")), "{change}");
        let body = r#"{"scope":"admin","name":"x"}"#;
        let created = browser.request("POST", "/api/v1/keys", body).await;
        let expected = match shown {
            Some("all tenants, admin") => 201,
            Some(_) => 403,
            None => 401,
        };
        assert_eq!(created.status, expected, "{change}: {}", created.body);
        after.stop().await;
    }
    before.stop().await;
}

#[tokio::test]
async fn failed_sign_ins_with_the_provider_do_not_block_an_address() {
    let site = Site::new().await;
    let node = site.node_with(&["ops=admin"]).await;
    let key = node.key(Scope::Admin, None).await;
    let mut eve = Browser::new(&node);
    let claims = |name: &str, value: Value| {
        let mut claims = ann(&["ops"]);
        claims[name] = value;
        claims
    };
    let token = |claims: Value| format!("code={}", code(&claims, &Value::Null));
    let failures = [
        ("not started in this browser", None),
        ("refused", Some("error=access_denied".to_owned())),
        ("it answered 400", Some("code=guess".to_owned())),
        ("it has no code", Some("x=y".to_owned())),
        ("calls itself", Some("iss=https://evil.example".to_owned())),
        ("(nonce)", Some(token(claims("nonce", json!("other"))))),
        (
            "another application",
            Some(token(claims("aud", json!("x")))),
        ),
    ];
    for (said, answer) in failures {
        for _ in 0..60 {
            let state = match &answer {
                Some(_) => eve.start().await.state,
                None => "unknown-state".to_owned(),
            };
            let answer = answer.as_deref().unwrap_or("code=x");
            let response = eve.callback(&state, answer).await;
            assert_eq!(response.status, 401, "{said}: {}", response.body);
            assert!(response.body.contains(said), "{said}: {}", response.body);
        }
    }
    for claims in [claims("exp", json!(1)), claims("groups", json!(["none"]))] {
        for _ in 0..60 {
            let response = eve.sign_in(claims.clone()).await;
            assert!(matches!(response.status, 401 | 403), "{}", response.body);
        }
    }
    let with_key = node.post("/sign-in", &format!("key={key}&next=/")).await;
    assert_eq!(with_key.status, 303, "{}", with_key.body);
    assert_eq!(eve.sign_in(ann(&["ops"])).await.status, 200);
    node.stop().await;
}

#[tokio::test]
async fn an_address_with_too_many_wrong_keys_waits_and_its_people_still_sign_in() {
    let site = Site::new().await;
    let node = site.node_with(&["ops=admin"]).await;
    let key = node.key(Scope::Admin, None).await;
    for _ in 0..5 {
        let tries = (0..10).map(|_| node.post("/sign-in", "key=sf_wrong"));
        for response in futures_util::future::join_all(tries).await {
            assert_eq!(response.status, 401, "{}", response.body);
        }
    }
    let refused = node.post("/sign-in", &format!("key={key}")).await;
    assert_eq!(refused.status, 429, "{}", refused.body);
    let mut browser = Browser::new(&node);
    assert_eq!(browser.sign_in(ann(&["ops"])).await.status, 200);
    node.stop().await;
}

#[tokio::test]
async fn sign_ins_in_several_tabs_do_not_disturb_each_other() {
    let site = Site::new().await;
    let node = site.node_with(&["ops=admin"]).await;
    let groups = || ann(&["ops"]);
    for is_first_refused in [false, true] {
        for is_second_ended_first in [false, true] {
            let mut browser = Browser::new(&node);
            let (one, other) = (browser.start().await, browser.start().await);
            // A link on another site, with and without the right cookie.
            for state in ["", "x", "unknown-state", &format!("{}x", one.state)] {
                let forged = browser.callback(state, "code=x").await;
                assert_eq!(forged.status, 401);
            }
            assert_eq!(browser.pending(), 2);
            let (first, second) = match is_second_ended_first {
                false => (one, other),
                true => (other, one),
            };
            if is_first_refused {
                let refused = browser.callback(&first.state, "error=access_denied").await;
                assert!(refused.body.contains("refused"), "{}", refused.body);
            } else {
                let back = browser.finish(&first, groups(), &Value::Null).await;
                assert_eq!(back.status, 200, "{}", back.body);
            }
            assert_eq!(browser.pending(), 1);
            let again = browser.finish(&first, groups(), &Value::Null).await;
            assert_eq!(again.status, 401, "a state is of no use a second time");
            let back = browser.finish(&second, groups(), &Value::Null).await;
            assert_eq!(back.status, 200, "{}", back.body);
            assert_eq!(browser.pending(), 0);
            assert_eq!(browser.get("/queues").await.status, 200);
        }
    }
    let mut browser = Browser::new(&node);
    let mut started = Vec::new();
    for _ in 0..10 {
        started.push(browser.start().await);
        assert!(browser.pending() <= 4);
    }
    let newest = started.last().unwrap();
    assert_eq!(
        browser.finish(newest, groups(), &Value::Null).await.status,
        200
    );
    node.stop().await;
}

#[tokio::test]
async fn a_key_that_a_person_creates_names_the_person_and_expires() {
    let site = Site::new().await;
    let node = site.node_with(&["ops=admin", "acme=write:acme"]).await;
    let days = |count: u64| Duration::from_secs(count * 24 * 60 * 60);
    let mut browser = Browser::new(&node);
    browser.sign_in(ann(&["ops"])).await;
    let empty = browser.get("/keys").await.body;
    assert!(empty.contains("No key exists yet"), "{empty}");
    for (groups, scope) in [("ops", "admin"), ("acme", "tenant"), ("acme", "read")] {
        browser.sign_in(ann(&[groups])).await;
        let create = json!({"scope": scope, "name": "program"}).to_string();
        let created = browser.request("POST", "/api/v1/keys", &create).await;
        assert_eq!(created.status, 201, "{}", created.body);
        let key: Value = serde_json::from_str(&created.body).unwrap();
        assert_eq!(key["createdBy"], "ann@example.com");
        let expires_at: Timestamp = serde_json::from_value(key["expiresAt"].clone()).unwrap();
        let now = site.store.now();
        assert!(expires_at > now.plus(days(89)) && expires_at <= now.plus(days(90)));
        for (after, status) in [(89, 201), (91, 422)] {
            let at = now.plus(days(after));
            let create = json!({"scope": scope, "name": "x", "expiresAt": at}).to_string();
            let created = browser.request("POST", "/api/v1/keys", &create).await;
            assert_eq!(created.status, status, "{}", created.body);
            if status == 422 {
                assert!(created.body.contains("at most 90 days"), "{}", created.body);
            }
        }
        let page = browser.get("/keys").await.body;
        assert!(page.contains("by ann@example.com") && page.contains("placeholder=\"90\""));
    }
    // The last admin key can go: an administrator can still sign in.
    let refused = browser.get("/api/v1/jobs?tenant=other").await;
    assert!(
        refused.body.contains("your role is for tenant acme only"),
        "{}",
        refused.body
    );
    browser.sign_in(ann(&["ops"])).await;
    let list = browser.get("/api/v1/keys").await.body;
    let list: Value = serde_json::from_str(&list).unwrap();
    for key in list["keys"].as_array().unwrap() {
        let path = format!("/api/v1/keys/{}", key["id"].as_str().unwrap());
        let revoked = browser.request("DELETE", &path, "").await;
        assert_eq!(revoked.status, 204, "{}", revoked.body);
    }
    assert_eq!(browser.get("/keys").await.status, 200);
    assert_eq!(
        node.get("/api/v1/jobs").await.status,
        401,
        "it stays closed"
    );
    node.stop().await;
}

// long: a table
#[tokio::test]
async fn userinfo_adds_claims_to_the_token_and_an_unverified_address_gives_no_role() {
    let site = Site::new().await;
    let nested = OidcSettings {
        role_claim: "realm_access.roles".to_owned(),
        ..site.provider.settings(&["ops=admin"])
    };
    let by_email = OidcSettings {
        role_claim: "email".to_owned(),
        ..site.provider.settings(&["ann@example.com=admin"])
    };
    let groups = site.provider.settings(&["ops=admin"]);
    let (email, none) = ("ann@example.com", Value::Null);
    for (settings, claims, user_info, said) in [
        (
            &groups,
            json!({"sub": "u1", "groups": ["ops"]}),
            none.clone(),
            Ok("person (u1): all tenants"),
        ),
        (
            &groups,
            json!({"sub": "u1"}),
            none.clone(),
            Err("it answered 403"),
        ),
        (
            &groups,
            json!({"sub": "u1"}),
            json!({"sub": "u2", "groups": ["ops"]}),
            Err("describes another person"),
        ),
        (
            &groups,
            json!({"sub": "u2", "groups": ["ops"]}),
            json!({"sub": "u2", "preferred_username": email}),
            Ok("ann@example.com (u2): all tenants"),
        ),
        (
            &groups,
            json!({"sub": "u2", "groups": ["none"], "email": email}),
            json!({"sub": "u2", "groups": ["ops"]}),
            Err("has no role here"),
        ),
        (
            &nested,
            json!({"sub": "u1", "realm_access": {"a": 1}}),
            json!({"sub": "u1", "realm_access": {"roles": ["ops"]}}),
            Ok("person (u1): all tenants"),
        ),
        (
            &by_email,
            json!({"sub": "u1", "email": email, "email_verified": true}),
            none.clone(),
            Ok("ann@example.com: all tenants"),
        ),
        (
            &by_email,
            json!({"sub": "u2", "email": email, "email_verified": false}),
            none.clone(),
            Err("has no role here"),
        ),
    ] {
        let node = site.node(Some(settings.clone())).await;
        let mut browser = Browser::new(&node);
        let started = browser.start().await;
        let back = browser.finish(&started, claims.clone(), &user_info).await;
        let page = match said {
            Ok(_) => browser.get("/queues").await,
            Err(_) => back,
        };
        let (Ok(said) | Err(said)) = said;
        assert!(page.body.contains(said), "{claims}: {}", page.body);
        node.stop().await;
    }
}

#[tokio::test]
async fn the_sign_in_page_says_how_long_a_session_lasts() {
    let site = Site::new().await;
    let node = site.node_with(&["ops=admin"]).await;
    let page = node.get("/sign-in").await.body;
    let said = "You stay signed in for up to 8h with single sign-on, 12h with a key";
    assert!(page.contains(said), "{page}");
    node.stop().await;
}
