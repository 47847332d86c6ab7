//! The server that a command calls, from flags, environment and contexts.

pub mod contexts;
mod paged_list;

use std::{
    io::{self, IsTerminal as _, Write as _},
    path::PathBuf,
};

use serde::{Serialize, de::DeserializeOwned};
use steadfast_api::TenantPageQuery;
use steadfast_client::{Client, ClientError, Request, Response};

use self::{
    contexts::{Contexts, ServerContext},
    paged_list::PagedList,
};
use crate::{exit, output};

/// Where a server listens by default.
const URL_DEFAULT: &str = "http://127.0.0.1:7373";
const CONTEXT_VARIABLE: &str = "STEADFAST_CONTEXT";

/// The answer to a question that a command would ask.
#[derive(clap::Args)]
pub struct ConfirmArgs {
    /// Do not ask for confirmation, which a production context needs.
    #[arg(long, short)]
    pub yes: bool,
}

#[derive(Clone, Debug, Default, clap::Args)]
pub struct ServerArgs {
    /// URL of the server [env: STEADFAST_URL] [default: that of the context, or
    /// http://127.0.0.1:7373].
    // clap reads no variable here. Its usage lines demand a flag whose variable is set, and it does
    // not tell a flag from a variable: a URL overrides the context of the variable, and contradicts
    // that of the flag.
    #[arg(long, global = true, help_heading = "Server", value_name = "SERVER")]
    pub url: Option<String>,
    /// Server by name, from `steadfast context add` [env: STEADFAST_CONTEXT] [default: the context
    /// in use].
    #[arg(long, global = true, help_heading = "Server", value_name = "NAME")]
    pub context: Option<String>,
    /// API key, if the server requires one [env: STEADFAST_API_KEY].
    #[arg(long, global = true, help_heading = "Server", value_name = "KEY")]
    pub api_key: Option<String>,
    /// Additional CA certificates to trust, in PEM [env: STEADFAST_CA_FILE].
    #[arg(long, global = true, help_heading = "Server", value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    /// Print the server's response as JSON.
    #[arg(long, global = true, help_heading = "Server")]
    pub json: bool,
}

impl ServerArgs {
    /// A server that is known, whatever the contexts of the user are.
    pub fn of_url(url: String) -> Self {
        Self {
            url: Some(url),
            ..Self::default()
        }
    }

    /// A connection to the server of flags and environment, which win over the context.
    pub fn connect(self) -> anyhow::Result<Server> {
        let args = Self {
            url: self.url.or_else(|| variable("STEADFAST_URL")),
            api_key: self.api_key.or_else(|| variable("STEADFAST_API_KEY")),
            ca_file: self
                .ca_file
                .or_else(|| variable("STEADFAST_CA_FILE").map(PathBuf::from)),
            ..self
        };
        args.connect_as_named()
    }

    /// A connection to the server that these name, made with the first call; for what they leave out,
    /// the context counts. A URL replaces it whole: its key must not reach another server.
    pub fn connect_as_named(self) -> anyhow::Result<Server> {
        let context = self.choose_context()?;
        let (name, context) = context.map_or((None, None), |(name, it)| (Some(name), Some(it)));
        let of_context = context.as_ref();
        let url = self.url.or_else(|| of_context.map(|it| it.url.clone()));
        let url = url.unwrap_or_else(|| URL_DEFAULT.to_owned());
        let api_key = match (self.api_key, of_context) {
            (None, Some(context)) => context.read_key()?,
            (key, _) => key,
        };
        let of_context = context.as_ref();
        let ca_file = self.ca_file.or_else(|| of_context?.ca_file.clone());
        let is_production = of_context.is_some_and(|it| it.production);
        Ok(Server {
            client: contexts::client(&url, api_key.as_deref(), ca_file.as_deref())?,
            has_key: api_key.is_some(),
            json: self.json,
            production: name.filter(|_| is_production),
        })
    }

    fn choose_context(&self) -> anyhow::Result<Option<(String, ServerContext)>> {
        match (&self.url, &self.context) {
            (Some(url), Some(name)) => Err(exit::usage(format!(
                "--context {name} and the URL {url} (--url or STEADFAST_URL) both name a server; \
                 use one of them"
            ))),
            (Some(_), None) => Ok(None),
            (None, named) => {
                let named = named.clone().or_else(|| variable(CONTEXT_VARIABLE));
                Contexts::read()?.choose(named)
            }
        }
    }
}

/// The value of a variable of the environment, unless it is empty.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// A server, and whether its responses are printed as JSON.
pub struct Server {
    pub client: Client,
    pub has_key: bool,
    pub json: bool,
    /// The context, if it is marked as production.
    pub production: Option<String>,
}

impl Server {
    /// Asks a person before many things are changed; a script must pass `--yes`.
    pub fn confirm(&self, question: &str, yes: bool) -> anyhow::Result<()> {
        if let Some(name) = &self.production {
            let sentence = format!("production: context {name}, {}", self.client.url());
            output::warn_in_colour(&sentence);
        }
        if yes {
            return Ok(());
        }
        if !io::stdin().is_terminal() {
            return Err(exit::usage(format!("{question} Pass --yes to confirm.")));
        }
        let mut err = io::stderr().lock();
        write!(err, "{} [y/N] ", output::escape(question))?;
        err.flush()?;
        let mut answer = String::new();
        io::stdin().read_line(&mut answer)?;
        match answer.trim().to_lowercase().as_str() {
            "y" | "yes" => Ok(()),
            _ => Err(exit::usage("nothing was changed")),
        }
    }

    /// Asks before one thing is destroyed, if this is a production server.
    pub fn confirm_in_production(&self, question: &str, yes: bool) -> anyhow::Result<()> {
        match self.production {
            Some(_) => self.confirm(question, yes),
            None => Ok(()),
        }
    }

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
