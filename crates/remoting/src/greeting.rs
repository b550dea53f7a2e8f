//! The start of a connection that was accepted: finds out what it is, and hands it to whoever serves that.

use crate::connection::{Connection, Ends, Origin};
use crate::driver::Driver;
use crate::http::{Http2, HttpConnection, UnimplementedGrpc, serve_http1};
use crate::options::{ServerOptions, TlsMode};
use crate::proxy_protocol::{self, ProxyError, Sniffed};
use crate::registry::Registry;
use crate::rewound::Rewound;
use crate::server::{Phase, Running};
use crate::service::Service;
use crate::sniff::{self, Protocol};
use crate::socket::Socket;
use crate::tls::TlsError;
use crate::tls::server::TlsServer;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

/// What is shared by all that a server accepts.
pub(crate) struct Greeter<S> {
    pub service: Arc<S>,
    pub options: Arc<ServerOptions>,
    pub tls: TlsServer,
    pub registry: Arc<Registry>,
}

/// A connection of which is known what it is.
struct Greeted {
    ends: Ends,
    protocol: Protocol,
    io: PlainOrTls,
    /// What was read to find out.
    received: Vec<u8>,
}

enum PlainOrTls {
    Plain(TcpStream),
    Tls(Box<tokio_rustls::server::TlsStream<Rewound<TcpStream>>>),
}

#[derive(Debug, thiserror::Error)]
enum GreetError {
    #[error("the peer left before it said anything")]
    PeerLeft,
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Proxy(#[from] ProxyError),
    #[error("it speaks TLS, and tls.server.mode is disabled")]
    TlsDisabled,
    #[error("it speaks no TLS, and tls.server.mode is enforcing")]
    TlsEnforced,
    #[error("{0}")]
    Tls(#[from] TlsError),
    #[error("the TLS handshake failed: {0}")]
    Handshake(io::Error),
}

impl<S: Service> Greeter<S> {
    /// Finds out what was accepted, and hands it on.
    pub async fn serve(self: Arc<Self>, stream: TcpStream, remote: SocketAddr, mut running: Running) {
        let greeting = async {
            // Java's clients connect to every name server, long before they ask one of them something.
            let first = timeout(self.options.idle_timeout, stream.peek(&mut [0])).await?;
            if let Err(error) = first {
                return Ok(Err(error.into()));
            }
            timeout(self.options.greeting_timeout, self.greet(stream, remote)).await
        };
        let greeted = tokio::select! {
            greeted = greeting => greeted,
            () = running.reached(Phase::Draining) => return,
        };
        match greeted {
            Ok(Ok(greeted)) => self.hand_on(greeted, running),
            Ok(Err(GreetError::PeerLeft)) => {
                tracing::debug!(%remote, "the peer left before it said anything")
            }
            Ok(Err(GreetError::Io(error))) => tracing::debug!(%remote, %error, "connection lost"),
            Ok(Err(error)) => tracing::warn!(%remote, %error, "connection refused"),
            Err(_) => tracing::debug!(
                %remote,
                "closed: the peer didn't say which protocol it speaks",
            ),
        }
    }

    async fn greet(&self, mut stream: TcpStream, remote: SocketAddr) -> Result<Greeted, GreetError> {
        let mut ends = Ends {
            remote: canonical(remote),
            local: canonical(stream.local_addr()?),
            origin: if remote.ip().to_canonical().is_loopback() {
                Origin::ThisHost
            } else {
                Origin::Elsewhere
            },
        };
        let mut received = Vec::new();
        proxy_header(&mut stream, &mut received, &mut ends).await?;
        if received.is_empty() {
            receive(&mut stream, &mut received).await?;
        }
        let io = match (sniff::is_tls(&received), self.options.tls.mode) {
            (true, TlsMode::Disabled) => return Err(GreetError::TlsDisabled),
            (false, TlsMode::Enforcing) => return Err(GreetError::TlsEnforced),
            (false, _) => PlainOrTls::Plain(stream),
            (true, _) => {
                let acceptor = TlsAcceptor::from(self.tls.config()?);
                let stream = Rewound::new(std::mem::take(&mut received), stream);
                PlainOrTls::Tls(Box::new(acceptor.accept(stream).await.map_err(GreetError::Handshake)?))
            }
        };
        let mut greeted = Greeted { ends, protocol: Protocol::Remoting, io, received };
        greeted.protocol = match &mut greeted.io {
            PlainOrTls::Plain(io) => protocol(io, &mut greeted.received).await?,
            PlainOrTls::Tls(io) => protocol(io, &mut greeted.received).await?,
        };
        Ok(greeted)
    }

    /// To a task of its own, which is no larger than it needs to be.
    fn hand_on(&self, greeted: Greeted, mut running: Running) {
        let Greeted { ends, protocol, io, received } = greeted;
        if protocol == Protocol::Remoting {
            match io {
                PlainOrTls::Plain(io) => {
                    let io = Socket::new(io);
                    let connection = self.connection(ends).written_through(io.writer());
                    self.drive(io, received, connection, running);
                }
                PlainOrTls::Tls(io) => self.drive(io, received, self.connection(ends), running),
            }
            return;
        }
        let secure = matches!(io, PlainOrTls::Tls(_));
        let stream: Box<dyn crate::http::Stream> = match io {
            PlainOrTls::Plain(io) => Box::new(Rewound::new(received, io)),
            PlainOrTls::Tls(io) => Box::new(Rewound::new(received, io)),
        };
        let phase = running.phase.clone();
        let connection = HttpConnection { stream, remote: ends.remote, local: ends.local, secure, phase };
        let served = match (protocol, &self.options.http2) {
            (Protocol::Http2, Some(http2)) => http2.serve(connection),
            (Protocol::Http2, None) => UnimplementedGrpc.serve(connection),
            _ => Box::pin(serve_http1(connection, Arc::clone(&self.options))),
        };
        tokio::spawn(async move {
            tokio::select! {
                () = served => {}
                () = running.reached(Phase::Ending) => {}
            }
        });
    }

    fn connection(&self, ends: Ends) -> Connection {
        Connection::new(ends, self.options.output_bytes_max)
    }

    fn drive<IO>(&self, io: IO, received: Vec<u8>, connection: Connection, running: Running)
    where
        IO: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        tracing::debug!(remote = %connection.remote(), "connection opened");
        tokio::spawn(Driver::new(
            io,
            received,
            self.service.clone(),
            Arc::new(connection),
            self.registry.clone(),
            Some(running),
        ));
    }
}

/// Takes a PROXY header off the start of the stream, if there is one.
async fn proxy_header(
    stream: &mut TcpStream,
    received: &mut Vec<u8>,
    ends: &mut Ends,
) -> Result<(), GreetError> {
    loop {
        match proxy_protocol::sniff(received)? {
            Sniffed::Absent => return Ok(()),
            Sniffed::Incomplete => receive(stream, received).await?,
            Sniffed::Header { length, addresses } => {
                if let Some((source, destination)) = addresses {
                    ends.remote = canonical(source);
                    ends.local = canonical(destination);
                }
                received.drain(..length);
                return Ok(());
            }
        }
    }
}

async fn protocol(io: &mut (impl AsyncRead + Unpin), received: &mut Vec<u8>) -> Result<Protocol, GreetError> {
    loop {
        if let Some(protocol) = sniff::protocol(received) {
            return Ok(protocol);
        }
        receive(io, received).await?;
    }
}

async fn receive(io: &mut (impl AsyncRead + Unpin), received: &mut Vec<u8>) -> Result<(), GreetError> {
    /// Enough for the first request of most clients.
    const RECEIVED_BYTES: usize = 1024;
    received.reserve(RECEIVED_BYTES);
    if io.read_buf(received).await? == 0 {
        return Err(GreetError::PeerLeft);
    }
    Ok(())
}

/// An IPv4 peer of an IPv6 socket under its own address.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}
