//! A server in this process, on its own port.

use std::sync::Arc;

use steadfast_client::{Client, ClientBuilder};
use steadfast_engine::{
    Engine,
    http::{AddressPolicy, Outbound, OutboundRules},
};
use steadfast_server::{App, Metrics, Settings};
use steadfast_store::MemoryStore;
use tokio::net::TcpListener;

pub struct Server {
    pub url: String,
    /// Stops with the test.
    _engine: Engine,
}

impl Server {
    pub async fn start() -> Self {
        let rules = OutboundRules::new(AddressPolicy::Any);
        let metrics = Arc::new(Metrics::default());
        let engine = Engine::builder(Arc::new(MemoryStore::default()))
            .observer(metrics.clone())
            .outbound(Outbound::builder(rules).build().unwrap())
            .start()
            .unwrap();
        let settings = Settings {
            open: true,
            ..Settings::default()
        };
        let app = App::new(engine.client(), engine.node(), metrics, settings);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(steadfast_server::serve(
            listener,
            app,
            std::future::pending(),
        ));
        Self {
            url,
            _engine: engine,
        }
    }

    pub fn builder(&self) -> ClientBuilder {
        Client::builder(&self.url)
    }

    pub fn client(&self) -> Client {
        self.builder().build().unwrap()
    }
}
