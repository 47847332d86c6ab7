//! The store as people write it. A password in it is never shown.

use std::{
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

use rustix::fs::Access;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use steadfast::{
    MemoryStore, PostgresOptions, PostgresStore, SqliteOptions, SqliteStore,
    store::{OpenError, Store, TableStore},
};

use crate::exit::{ExitError, usage};

#[derive(Clone, PartialEq, Eq)]
pub enum StoreUrl {
    Sqlite(PathBuf),
    Memory,
    /// A connection URL, which may hold a password. Its parameter `schema` is Steadfast's own.
    Postgres(String),
}

impl StoreUrl {
    /// Opens the store; creates it if it does not exist, and migrates it. Of the options, a database
    /// has only the keys. `direct` leads to the same database without a pooler.
    pub async fn open(
        &self,
        options: SqliteOptions,
        direct: Option<&Self>,
    ) -> anyhow::Result<Arc<dyn Store>> {
        match self {
            Self::Sqlite(path) => {
                let store = SqliteStore::open(path, options);
                let store = store.map_err(|error| match reason_of(path, &error) {
                    Some(reason) => anyhow::anyhow!("{error}\n  {reason}"),
                    None => error.into(),
                })?;
                Ok(Arc::new(store))
            }
            Self::Memory => Ok(Arc::new(MemoryStore::default())),
            Self::Postgres(url) => {
                let options = PostgresOptions::default()
                    .existing(options.existing)
                    .encryption(options.encryption);
                let options = match direct {
                    Some(Self::Postgres(direct)) => options.direct(&split_schema(direct).0),
                    _ => options,
                };
                Ok(Arc::new(open_postgres(url, options).await?))
            }
        }
    }

    /// Opens the store as rows, even if it is being moved or was moved. Unless it must exist, it is
    /// created and migrated as well.
    pub async fn open_tables(&self, options: SqliteOptions) -> anyhow::Result<OpenTables> {
        match self {
            Self::Sqlite(path) => {
                let store = SqliteStore::open(path, options.for_move(true))?;
                Ok(OpenTables {
                    store: Arc::new(store.clone()),
                    tables: Arc::new(store),
                })
            }
            Self::Memory => Err(not_durable()),
            Self::Postgres(url) => {
                let options = PostgresOptions::default()
                    .for_move(true)
                    .existing(options.existing)
                    .encryption(options.encryption);
                let store = open_postgres(url, options).await?;
                Ok(OpenTables {
                    store: Arc::new(store.clone()),
                    tables: Arc::new(store),
                })
            }
        }
    }

    /// Opens a store that exists, with its keys.
    pub async fn open_encrypted(&self, options: SqliteOptions) -> anyhow::Result<Arc<dyn Store>> {
        match self {
            Self::Sqlite(path) if !path.exists() => {
                Err(ExitError::NotFound(format!("{self} does not exist")).into())
            }
            Self::Sqlite(path) => {
                // The store exists, so another application may have tables in the file.
                Ok(Arc::new(SqliteStore::open(path, options.share(true))?))
            }
            Self::Memory => Err(not_durable()),
            Self::Postgres(url) => {
                let options = PostgresOptions::default().encryption(options.encryption);
                Ok(Arc::new(open_postgres(url, options).await?))
            }
        }
    }

    /// Whether stored data outlives the process.
    pub fn is_durable(&self) -> bool {
        !matches!(self, Self::Memory)
    }
}

/// A store in memory cannot be copied, moved or checked.
pub fn not_durable() -> anyhow::Error {
    usage("memory: has nothing that outlives its node")
}

/// A store, and the same store as rows.
pub struct OpenTables {
    pub store: Arc<dyn Store>,
    pub tables: Arc<dyn TableStore>,
}

async fn open_postgres(url: &str, options: PostgresOptions) -> Result<PostgresStore, OpenError> {
    let (url, schema) = split_schema(url);
    let options = match schema {
        Some(schema) => options.schema(schema),
        None => options,
    };
    PostgresStore::open(&url, options).await
}

/// Why a file cannot be opened, and what to do about it: SQLite gives no reason.
fn reason_of(path: &Path, error: &OpenError) -> Option<String> {
    match error {
        OpenError::Io { .. } => {}
        OpenError::LogMissing { .. } => {
            return Some(
                "to continue without it, run `steadfast serve --accept-loss` once".to_owned(),
            );
        }
        _ => return None,
    }
    let parent = path.parent();
    let parent = parent.filter(|parent| !parent.as_os_str().is_empty());
    let directory = parent.unwrap_or(Path::new("."));
    let shown = std::path::absolute(directory);
    let shown = shown.as_deref().unwrap_or(directory).display();
    let choice = "or choose another file with --store sqlite:FILE";
    let may_write = |path: &Path| rustix::fs::access(path, Access::READ_OK | Access::WRITE_OK);
    if !directory.exists() {
        Some(format!(
            "the directory {shown} does not exist: create it, {choice}"
        ))
    } else if may_write(directory).is_err() {
        Some(format!(
            "this user cannot write to the directory {shown}: change its permissions, {choice}"
        ))
    } else if path.exists() && may_write(path).is_err() {
        let file = path.display();
        Some(format!(
            "this user cannot write to the file {file}: change its permissions, {choice}"
        ))
    } else {
        None
    }
}

impl FromStr for StoreUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("sqlite", path)) if !path.is_empty() => Ok(Self::Sqlite(path.into())),
            Some(("memory", "")) => Ok(Self::Memory),
            Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => {
                Ok(Self::Postgres(text.to_owned()))
            }
            _ => Err(format!(
                "{text:?} is not a store: use sqlite:FILE or memory: or postgres://USER@HOST/DATABASE"
            )),
        }
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Memory => f.write_str("memory:"),
            Self::Postgres(url) => f.write_str(&without_password(url)),
        }
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The schema is part of the URL, so that one text names the store; PostgreSQL itself knows no
/// such parameter.
fn split_schema(url: &str) -> (String, Option<&str>) {
    let Some((address, parameters)) = url.split_once('?') else {
        return (url.to_owned(), None);
    };
    let (ours, theirs): (Vec<&str>, Vec<&str>) = parameters
        .split('&')
        .partition(|parameter| parameter.starts_with("schema="));
    let schema = ours.last().and_then(|it| it.strip_prefix("schema="));
    let mark = if theirs.is_empty() { "" } else { "?" };
    (format!("{address}{mark}{}", theirs.join("&")), schema)
}

/// Hides the password between user name and host, and in the parameter `password`.
fn without_password(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
    let authority = rest.split(['/', '?']).next().unwrap_or(rest);
    // The driver reads on to an `@`, so a password may hold what would end it elsewhere.
    let end = authority.rfind('@').or_else(|| rest.rfind('@'));
    let (user, place) = match end {
        Some(end) => {
            let (user, password) = rest[..end].split_once(':').unwrap_or((&rest[..end], ""));
            let hidden = if password.is_empty() { "" } else { ":***" };
            (format!("{user}{hidden}@"), &rest[end + 1..])
        }
        None => (String::new(), rest),
    };
    let (path, parameters) = place.split_once('?').unwrap_or((place, ""));
    let shown: Vec<String> = parameters
        .split('&')
        .filter(|parameter| !parameter.is_empty())
        .map(|parameter| match parameter.split_once('=') {
            Some((name, _)) if is_password(name) => format!("{name}=***"),
            _ => parameter.to_owned(),
        })
        .collect();
    let mark = if shown.is_empty() { "" } else { "?" };
    format!("{scheme}://{user}{path}{mark}{}", shown.join("&"))
}

/// The driver decodes names, so `p%61ssword` is one, too.
fn is_password(name: &str) -> bool {
    let mut decoded = form_urlencoded::parse(name.as_bytes());
    decoded.any(|(name, _)| name.contains("password"))
}

impl Serialize for StoreUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for StoreUrl {
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
            ("postgres://me:s/3?c@db/jobs", "postgres://me:***@db/jobs"),
            (
                "postgres://db/jobs?p%61ssword=s3cret",
                "postgres://db/jobs?p%61ssword=***",
            ),
            ("postgres://db", "postgres://db"),
            (
                "postgres://db/jobs?user=me&password=s3cret&sslmode=require",
                "postgres://db/jobs?user=me&password=***&sslmode=require",
            ),
        ] {
            let store: StoreUrl = url.parse().unwrap();
            assert_eq!(store.to_string(), shown);
            assert_eq!(format!("{store:?}"), shown);
        }
    }

    #[test]
    fn the_schema_is_taken_out_of_the_url() {
        for (url, plain, schema) in [
            ("postgres://db/x", "postgres://db/x", None),
            (
                "postgres://db/x?schema=jobs",
                "postgres://db/x",
                Some("jobs"),
            ),
            (
                "postgres://db/x?sslmode=require&schema=jobs&user=me",
                "postgres://db/x?sslmode=require&user=me",
                Some("jobs"),
            ),
        ] {
            assert_eq!(split_schema(url), (plain.to_owned(), schema));
        }
    }

    #[test]
    fn a_wrong_store_is_answered_with_the_right_forms() {
        for text in ["", "redis:", "sqlite:", "memory", "memory:x", "postgres:db"] {
            let message = text.parse::<StoreUrl>().unwrap_err();
            assert!(message.contains("use sqlite:FILE or memory:"), "{message}");
        }
    }
}
