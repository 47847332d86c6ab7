//! The server that a command calls, from flags and environment.

use std::{io, path::PathBuf};

use serde::{Serialize, de::DeserializeOwned};
use steadfast_api::TenantPageQuery;
use steadfast_client::{BuildError, Client, ClientError, Request, Response};

use crate::{exit, output, paged_list::PagedList};

#[derive(Clone, Debug, clap::Args)]
pub struct ServerArgs {
    /// URL of the server.
    #[arg(
        long,
        env = "STEADFAST_URL",
        default_value = "http://127.0.0.1:7373",
        global = true,
        help_heading = "Server",
        value_name = "SERVER"
    )]
    pub url: String,
    /// API key, if the server requires one.
    #[arg(
        long,
        env = "STEADFAST_API_KEY",
        hide_env_values = true,
        global = true,
        help_heading = "Server",
        value_name = "KEY"
    )]
    pub api_key: Option<String>,
    /// Additional CA certificates to trust, in PEM.
    #[arg(
        long,
        env = "STEADFAST_CA_FILE",
        global = true,
        help_heading = "Server",
        value_name = "FILE"
    )]
    pub ca_file: Option<PathBuf>,
    /// Print the server's response as JSON.
    #[arg(long, global = true, help_heading = "Server")]
    pub json: bool,
}

impl ServerArgs {
    /// A connection to the server, made with the first call.
    pub fn connect(self) -> anyhow::Result<Server> {
        let mut builder = Client::builder(&self.url);
        if let Some(key) = &self.api_key {
            builder = builder.api_key(key);
        }
        if let Some(path) = &self.ca_file {
            builder = builder.ca_file(path);
        }
        let client = builder.build().map_err(|error| match error {
            BuildError::InvalidUrl { .. } => exit::usage(format!("--url {error}")),
            _ => exit::usage(format!("{:#}", anyhow::Error::from(error))),
        })?;
        Ok(Server {
            client,
            json: self.json,
        })
    }
}

/// A server, and whether its responses are printed as JSON.
pub struct Server {
    pub client: Client,
    pub json: bool,
}

impl Server {
    /// Sends a request. With `--json` the response is printed as it came, and nothing is left to
    /// print.
    pub async fn call<T: DeserializeOwned>(
        &self,
        request: Request<T>,
    ) -> anyhow::Result<Option<T>> {
        let response = self.send(request).await?;
        if self.json {
            print_json(&response)?;
            return Ok(None);
        }
        self.parse(&response).map(Some)
    }

    /// Sends a request, and prints the response: as JSON, or with `print`.
    pub async fn show<T: DeserializeOwned>(
        &self,
        request: Request<T>,
        print: impl FnOnce(&T) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        self.call(request).await?.as_ref().map_or(Ok(()), print)
    }

    /// Prints a value that several responses were put together to: as JSON, or with `print`.
    pub fn print<T: Serialize>(
        &self,
        value: &T,
        print: impl FnOnce(&T) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        match self.json {
            true => output::print_json(value),
            false => print(value),
        }
    }

    /// Sends a request, and returns the response with its status.
    pub async fn send<T>(&self, request: Request<T>) -> anyhow::Result<Response<T>> {
        request.send().await.map_err(|error| self.explain(error))
    }

    /// Sends a request, and returns the response whether or not it is to be printed.
    pub async fn fetch<T: DeserializeOwned>(&self, request: Request<T>) -> anyhow::Result<T> {
        self.parse(&self.send(request).await?)
    }

    /// Fetches a list page by page.
    pub async fn fetch_pages<T: DeserializeOwned + PagedList>(
        &self,
        request: impl Fn(Option<String>) -> Request<T>,
    ) -> anyhow::Result<T> {
        let mut list = self.fetch(request(None)).await?;
        while let Some(after) = list.take_cursor() {
            list.append(self.fetch(request(Some(after))).await?);
        }
        Ok(list)
    }

    /// Fetches a list of one tenant, or of all that the key sees, page by page.
    pub async fn fetch_all<T: DeserializeOwned + PagedList>(
        &self,
        tenant: Option<&String>,
        request: impl Fn(&TenantPageQuery) -> Request<T>,
    ) -> anyhow::Result<T> {
        let page = |after| TenantPageQuery {
            tenant: tenant.cloned(),
            after,
            ..TenantPageQuery::default()
        };
        self.fetch_pages(|after| request(&page(after))).await
    }

    pub fn parse<T: DeserializeOwned>(&self, response: &Response<T>) -> anyhow::Result<T> {
        response.parse().map_err(|error| self.explain(error))
    }

    /// An error with its exit code, and with advice.
    pub fn explain(&self, error: ClientError) -> anyhow::Error {
        exit::client_error(&error, self.client.url())
    }
}

/// Prints a response as it came; a response without a body is an empty object.
pub fn print_json<T>(response: &Response<T>) -> io::Result<()> {
    let json = String::from_utf8_lossy(response.json());
    let json = json.trim_end();
    output::write_line(format_args!(
        "{}",
        if json.is_empty() { "{}" } else { json }
    ))
}
