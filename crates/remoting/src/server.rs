//! Listeners.

use crate::connection::{Abort, Stage};
use crate::greeting::Greeter;
use crate::options::ServerOptions;
use crate::reactors::{Place, Places, Reactors};
use crate::registry::Registry;
use crate::service::Service;
use crate::tls::TlsError;
use crate::tls::server::TlsServer;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;

/// Connections that the kernel keeps for us until we accept them.
const BACKLOG: u32 = 1024;
/// The first pause after a failed accept, doubled with each one that follows.
const ACCEPT_PAUSE_MIN: Duration = Duration::from_millis(10);
const ACCEPT_PAUSE_MAX: Duration = Duration::from_secs(1);
/// What tasks get to end in after they were told to end at once.
const ABORT_WAIT: Duration = Duration::from_secs(2);

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot listen on {address}: {reason}")]
    Listen { address: SocketAddr, reason: io::Error },
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// How far a server is on its way to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Serving,
    /// Connections stay, but no new ones are accepted.
    NotAccepting,
    /// Everything ends as soon as nothing is in flight.
    Draining,
    /// Everything ends now.
    Ending,
}

/// Done when the server has come so far, or is gone.
pub(crate) async fn reached(awaited: Phase, phase: &mut watch::Receiver<Phase>) {
    // An error says that the server is gone.
    let _ = phase.wait_for(|phase| *phase >= awaited).await;
}

/// What a connection's task holds until it ends: the server waits for that, and its reactor has room again.
pub(crate) struct Running {
    /// None without reactors.
    _place: Option<Place>,
    pub phase: watch::Receiver<Phase>,
}

impl Running {
    pub async fn reached(&mut self, awaited: Phase) {
        reached(awaited, &mut self.phase).await;
    }
}

/// A running server. Dropped without a shutdown, it closes everything at once.
#[derive(Debug)]
pub struct Server {
    local_addrs: Vec<SocketAddr>,
    registry: Arc<Registry>,
    /// Every task of the server holds a receiver.
    phase: watch::Sender<Phase>,
}

impl Server {
    /// Binds every address, and serves each connection on a task: of the reactor that it gets a place on, or of the current
    /// tokio runtime if there are none.
    pub async fn start<S: Service>(options: ServerOptions, service: Arc<S>) -> Result<Server, StartError> {
        let tls = TlsServer::new(options.tls.clone())?;
        let listeners =
            options.listen.iter().map(|address| listen(*address)).collect::<Result<Vec<_>, _>>()?;
        let local_addrs = listeners.iter().map(|(_, address)| *address).collect();
        let registry = Registry::start(options.idle_timeout);
        let greeter =
            Arc::new(Greeter { service, options: Arc::new(options), tls, registry: registry.clone() });
        let (phase, _) = watch::channel(Phase::Serving);
        for (listener, address) in listeners {
            tracing::info!(%address, "listening");
            tokio::spawn(accept(listener, greeter.clone(), phase.subscribe()));
        }
        Ok(Server { local_addrs, registry, phase })
    }

    /// The addresses that are listened on, in the order of the options.
    pub fn local_addrs(&self) -> &[SocketAddr] {
        &self.local_addrs
    }

    /// How many remoting connections are open.
    pub fn connection_count(&self) -> usize {
        self.registry.len()
    }

    /// Stops accepting; connections stay.
    pub fn stop_accepting(&self) {
        self.phase.send_if_modified(|phase| {
            let accepting = *phase == Phase::Serving;
            if accepting {
                *phase = Phase::NotAccepting;
            }
            accepting
        });
    }

    /// Lets connections finish what is in flight, at most for `grace`, then closes them.
    pub async fn shutdown(self, grace: Duration) {
        self.phase.send_replace(Phase::Draining);
        self.registry.advance_all(Stage::Draining);
        if tokio::time::timeout(grace, self.phase.closed()).await.is_err() {
            self.phase.send_replace(Phase::Ending);
            self.registry.advance_all(Stage::Aborted(Abort::GraceOver));
            if tokio::time::timeout(ABORT_WAIT, self.phase.closed()).await.is_err() {
                tracing::warn!("some connections outlive the server's shutdown");
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.registry.advance_all(Stage::Aborted(Abort::Dropped));
    }
}

fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let bind = || -> io::Result<(TcpListener, SocketAddr)> {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        let listener = socket.listen(BACKLOG)?;
        let local = listener.local_addr()?;
        Ok((listener, local))
    };
    bind().map_err(|reason| StartError::Listen { address, reason })
}

async fn accept<S: Service>(listener: TcpListener, greeter: Arc<Greeter<S>>, phase: watch::Receiver<Phase>) {
    let mut stopping = phase.clone();
    let mut places = greeter.options.reactors.as_ref().map(Reactors::places);
    let mut pause = ACCEPT_PAUSE_MIN;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = reached(Phase::NotAccepting, &mut stopping) => return,
        };
        match accepted {
            Ok((stream, remote)) => {
                pause = ACCEPT_PAUSE_MIN;
                if let Err(error) = serve(&greeter, stream, remote, places.as_mut(), &phase) {
                    tracing::debug!(%remote, %error, "the peer left before it was greeted");
                }
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => {
                // Most often no file descriptor is left: trying again at once would only burn the CPU.
                tracing::warn!(%error, ?pause, "cannot accept connections; trying again after a pause");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(ACCEPT_PAUSE_MAX);
            }
        }
    }
}

/// Starts the task of a connection.
fn serve<S: Service>(
    greeter: &Arc<Greeter<S>>,
    stream: TcpStream,
    remote: SocketAddr,
    places: Option<&mut Places>,
    phase: &watch::Receiver<Phase>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (greeter, phase) = (greeter.clone(), phase.clone());
    let Some(places) = places else {
        tokio::spawn(greeter.serve(stream, remote, Running { _place: None, phase }));
        return Ok(());
    };
    let stream = stream.into_std()?;
    let place = places.take();
    let runtime = place.runtime();
    let running = Running { _place: Some(place), phase };
    runtime.spawn(async move {
        match TcpStream::from_std(stream) {
            Ok(stream) => greeter.serve(stream, remote, running).await,
            Err(error) => tracing::debug!(%remote, %error, "a connection has no place on its reactor"),
        }
    });
    Ok(())
}
