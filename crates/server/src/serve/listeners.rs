//! The sockets that a server accepts connections on.

use std::{io, net::SocketAddr, sync::Arc};

use tokio::net::TcpListener;

use crate::tls::Tls;

/// The sockets of a server: with TLS, without, or one of each.
#[derive(Default)]
pub struct Listeners(pub(super) Vec<Listener>);

pub(super) struct Listener {
    pub socket: TcpListener,
    pub tls: Option<Arc<Tls>>,
}

impl Listeners {
    /// Accepts plain HTTP on this socket, too.
    #[must_use]
    pub fn with_plain(mut self, socket: TcpListener) -> Self {
        self.0.push(Listener { socket, tls: None });
        self
    }

    /// Accepts HTTPS on this socket, too, with HTTP/2 for clients that speak it.
    #[must_use]
    pub fn with_tls(mut self, socket: TcpListener, tls: Tls) -> Self {
        let tls = Some(Arc::new(tls));
        self.0.push(Listener { socket, tls });
        self
    }

    /// Each address, and whether it has TLS.
    pub(super) fn addresses(&self) -> io::Result<Vec<(SocketAddr, bool)>> {
        let addresses = self.0.iter().map(|listener| {
            let address = listener.socket.local_addr()?;
            Ok((address, listener.tls.is_some()))
        });
        addresses.collect()
    }

    pub(super) fn certificates(&self) -> Vec<Arc<Tls>> {
        let listeners = self.0.iter();
        listeners.filter_map(|it| it.tls.clone()).collect()
    }
}

/// Plain HTTP on one socket.
impl From<TcpListener> for Listeners {
    fn from(socket: TcpListener) -> Self {
        Self::default().with_plain(socket)
    }
}
