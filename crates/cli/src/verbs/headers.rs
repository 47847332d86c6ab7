//! Headers as people give them: text, or the name of a secret.

use std::collections::BTreeMap;

use steadfast_core::{HeaderSource, SecretName, SecretReference};

use super::parse_pairs;
use crate::exit::usage;

#[derive(clap::Args)]
pub struct HeaderArgs {
    /// Header of the request, e.g. 'name: value'; may be repeated.
    #[arg(long = "header", short = 'H', value_name = "HEADER")]
    headers: Vec<String>,
    /// Header whose value is a secret, e.g. 'x-api-key: NAME' or 'authorization: Bearer NAME'; may be
    /// repeated.
    #[arg(long = "secret-header", value_name = "HEADER")]
    secret_headers: Vec<String>,
}

impl HeaderArgs {
    pub fn is_empty(&self) -> bool {
        self.headers.is_empty() && self.secret_headers.is_empty()
    }

    /// The headers by name; none if none was given.
    pub fn read(&self) -> anyhow::Result<Option<BTreeMap<String, HeaderSource>>> {
        let texts = parse_pairs(&self.headers, &[':'], "--header")?;
        let texts = texts.into_iter().map(|(name, value)| (name, value.into()));
        let mut headers: BTreeMap<String, HeaderSource> = texts.collect();
        for (name, value) in parse_pairs(&self.secret_headers, &[':'], "--secret-header")? {
            // Names of secrets have no spaces, so the prefix ends at the last one.
            let (prefix, secret) = value.split_at(value.rfind(' ').map_or(0, |at| at + 1));
            let secret = SecretName::new(secret).map_err(|error| usage(error.to_string()))?;
            let prefix = prefix.to_owned();
            if headers
                .insert(name.clone(), SecretReference { secret, prefix }.into())
                .is_some()
            {
                return Err(usage(format!("header {name} is given twice")));
            }
        }
        Ok(Some(headers).filter(|headers| !headers.is_empty()))
    }
}
