//! Encrypted connections, to a server that has a certificate.

use std::net::TcpListener;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use steadfast_store::{
    JobStore as _, PostgresOptions, PostgresStore,
    testing::Server,
    tokio_postgres::{self, Client, NoTls},
};

use crate::common::jobs;

/// A server with a certificate for `localhost`, and the address of its port.
fn encrypted() -> (Server, String) {
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = certificate.signed_by(&key, &authority).unwrap();
    let stranger = CertificateParams::default().self_signed(&key).unwrap();
    let files = [
        ("server.pem", certificate.pem()),
        ("server.key", key.serialize_pem()),
        ("ca.pem", authority.pem()),
        ("stranger.pem", stranger.pem()),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, &**text)).collect();
    // No other process is likely to get the same port just after it was free.
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let settings = format!(
        "-c listen_addresses=127.0.0.1 -c port={port} -c ssl=on \
         -c ssl_cert_file=../server.pem -c ssl_key_file=../server.key"
    );
    let server = Server::start_with(&files, &settings).unwrap();
    (server, format!("localhost:{port}"))
}

async fn opens(host: &str, words: &str) -> Result<PostgresStore, String> {
    let url = format!("postgres://postgres@{host}/postgres?{words}");
    let options = PostgresOptions::default().connections(1);
    let opened = PostgresStore::open(&url, options).await;
    opened.map_err(|error| error.to_string())
}

#[tokio::test]
async fn connections_are_encrypted_as_the_address_says() {
    let (server, host) = encrypted();
    let roots = |name: &str| {
        let path = server.directory().join(name);
        format!("&sslrootcert={}", path.display())
    };
    for (name, words, is_encrypted) in [
        ("a", "sslmode=disable".to_owned(), false),
        ("b", "sslmode=prefer".to_owned(), true),
        ("c", "sslmode=require".to_owned(), true),
        ("d", format!("sslmode=verify-full{}", roots("ca.pem")), true),
    ] {
        let words = format!("{words}&application_name={name}");
        let store = opens(&host, &words).await.unwrap();
        store.enqueue(jobs(&store, 1), None).await.unwrap();
        let sql = "SELECT count(*) FILTER (WHERE ssl), count(*) FROM pg_stat_ssl \
            JOIN pg_stat_activity USING (pid) WHERE application_name = $1";
        let row = user(&host).await.query_one(sql, &[&name]).await.unwrap();
        let (encrypted, all): (i64, i64) = (row.get(0), row.get(1));
        assert!(all > 0, "{words}");
        assert_eq!(encrypted, if is_encrypted { all } else { 0 }, "{words}");
    }
    let other_name = host.replace("localhost", "127.0.0.1");
    for (host, words) in [
        (
            &host,
            format!("sslmode=verify-full{}", roots("stranger.pem")),
        ),
        (&host, format!("sslmode=require{}", roots("stranger.pem"))),
        (
            &other_name,
            format!("sslmode=verify-full{}", roots("ca.pem")),
        ),
        (&host, "sslmode=verify-full".to_owned()),
        (
            &host,
            format!("sslmode=verify-full{}", roots("missing.pem")),
        ),
    ] {
        assert!(opens(host, &words).await.is_err(), "{host} {words}");
    }
}

/// A connection beside those of the stores.
async fn user(host: &str) -> Client {
    let url = format!("postgres://postgres@{host}/postgres?sslmode=disable");
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}
