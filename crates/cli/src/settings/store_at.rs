//! Where jobs live, as people write it. A password in it is never shown.

use std::{fmt, path::PathBuf, str::FromStr, sync::Arc};

use anyhow::bail;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use steadfast::{MemoryStore, SqliteOptions, SqliteStore, Store};

#[derive(Clone, PartialEq, Eq)]
pub enum StoreAt {
    Sqlite(PathBuf),
    Memory,
    /// A connection URL, which may hold a password.
    Postgres(String),
}

impl StoreAt {
    /// Opens the store, makes it if it is not there, and brings it up to date.
    pub async fn open(&self, share: bool) -> anyhow::Result<Arc<dyn Store>> {
        match self {
            Self::Sqlite(path) => {
                let options = SqliteOptions::default().share(share);
                Ok(Arc::new(SqliteStore::open(path, options)?))
            }
            Self::Memory => Ok(Arc::new(MemoryStore::default())),
            Self::Postgres(_) => {
                bail!("this build has no PostgreSQL store; use --store sqlite:FILE")
            }
        }
    }

    /// Whether what is stored is still there for the next process.
    pub fn is_durable(&self) -> bool {
        !matches!(self, Self::Memory)
    }
}

impl FromStr for StoreAt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("sqlite", path)) if !path.is_empty() => Ok(Self::Sqlite(path.into())),
            Some(("memory", "")) => Ok(Self::Memory),
            Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => {
                Ok(Self::Postgres(text.to_owned()))
            }
            _ => Err(format!(
                "{text:?} is no store: use sqlite:FILE or memory: or postgres://USER@HOST/DATABASE"
            )),
        }
    }
}

impl fmt::Display for StoreAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Memory => f.write_str("memory:"),
            Self::Postgres(url) => f.write_str(&without_password(url)),
        }
    }
}

impl fmt::Debug for StoreAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Hides what is between the user's name and the host, and a `password` among the parameters.
fn without_password(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    let authority = match authority.rsplit_once('@') {
        Some((who, host)) => {
            let (user, password) = who.split_once(':').unwrap_or((who, ""));
            let hidden = if password.is_empty() { "" } else { ":***" };
            format!("{user}{hidden}@{host}")
        }
        None => authority.to_owned(),
    };
    let (path, parameters) = tail.split_once('?').unwrap_or((tail, ""));
    let shown: Vec<String> = parameters
        .split('&')
        .filter(|parameter| !parameter.is_empty())
        .map(|parameter| match parameter.split_once('=') {
            Some((name, _)) if name.contains("password") => format!("{name}=***"),
            _ => parameter.to_owned(),
        })
        .collect();
    let mark = if shown.is_empty() { "" } else { "?" };
    format!("{scheme}://{authority}{path}{mark}{}", shown.join("&"))
}

impl Serialize for StoreAt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for StoreAt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        for (url, shown) in [
            ("postgres://me:s3cret@db/jobs", "postgres://me:***@db/jobs"),
            ("postgres://me:s@c@db/jobs", "postgres://me:***@db/jobs"),
            ("postgres://me@db/jobs", "postgres://me@db/jobs"),
            ("postgres://db", "postgres://db"),
            (
                "postgres://db/jobs?user=me&password=s3cret&sslmode=require",
                "postgres://db/jobs?user=me&password=***&sslmode=require",
            ),
        ] {
            let store: StoreAt = url.parse().unwrap();
            assert_eq!(store.to_string(), shown);
            assert_eq!(format!("{store:?}"), shown);
        }
    }

    #[test]
    fn what_is_no_store_is_answered_with_what_would_be_one() {
        for text in ["", "redis:", "sqlite:", "memory", "memory:x", "postgres:db"] {
            let said = text.parse::<StoreAt>().unwrap_err();
            assert!(said.contains("use sqlite:FILE or memory:"), "{said}");
        }
    }
}
