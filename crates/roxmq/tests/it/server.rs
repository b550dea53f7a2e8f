//! `roxmq server` on free ports of this machine, over a store that outlives it.

use crate::client::Peer;
use crate::process::{Ended, Process, run};
use std::net::TcpListener;
use std::path::Path;

/// Somebody may take a port between the moment it was free and the moment the server wants it.
pub const ATTEMPTS: usize = 10;

/// Files so small that they roll, with what every server here needs.
const SETTINGS: &[&str] = &[
    "bindAddress=127.0.0.1",
    "brokerIP1=127.0.0.1",
    "maxMessageSize=65536",
    "mappedFileSizeCommitLog=1048576",
    "mappedFileSizeConsumeQueue=20000",
    "maxHashSlotNum=5000",
    "maxIndexNum=20000",
];

pub struct Server {
    process: Process,
    pub ports: Ports,
    /// The line that says so.
    pub ready: String,
}

#[derive(Clone, Copy, Debug)]
pub struct Ports {
    pub namesrv: u16,
    pub broker: u16,
    pub fast: u16,
    pub grpc: u16,
}

impl Ports {
    pub fn all(self) -> [u16; 4] {
        [self.namesrv, self.broker, self.fast, self.grpc]
    }
}

impl Server {
    #[track_caller]
    pub fn start(store: &Path, settings: &[&str]) -> Server {
        for _ in 0..ATTEMPTS {
            let ports = free_ports();
            match Server::try_start(store, settings, ports) {
                Ok(server) => return server,
                Err(ended) if ended.stderr.contains("cannot listen on") => {}
                Err(ended) => panic!("the server did not start: {ended:#?}"),
            }
        }
        panic!("{ATTEMPTS} times somebody else took a port that was free");
    }

    pub fn try_start(store: &Path, settings: &[&str], ports: Ports) -> Result<Server, Ended> {
        let own = [
            "server".to_owned(),
            format!("--store={}", store.display()),
            format!("--namesrv-port={}", ports.namesrv),
            format!("--set=listenPort={}", ports.broker),
            format!("--set=grpcServerPort={}", ports.grpc),
        ];
        let arguments: Vec<String> = own.into_iter().chain(flags(settings)).collect();
        let (process, ready) = Process::spawn(&arguments).wait_for_line("RoxMQ is ready")?;
        Ok(Server { process, ports, ready })
    }

    pub fn connect(&self) -> Peer {
        Peer::connect(self.ports.broker).unwrap()
    }

    pub fn kill(self) -> Ended {
        self.process.kill()
    }

    pub fn terminate(self) -> Ended {
        self.process.terminate()
    }
}

/// `roxmq store check` of a store that such a server left.
pub fn check_store(store: &Path, arguments: &[&str]) -> Ended {
    let own = ["store".to_owned(), "check".to_owned(), store.display().to_string()];
    let arguments = arguments.iter().map(|argument| (*argument).to_owned());
    run(&own.into_iter().chain(arguments).chain(flags(&[])).collect::<Vec<_>>())
}

/// What every broker here is told, and more.
pub fn flags(settings: &[&str]) -> impl Iterator<Item = String> {
    SETTINGS.iter().chain(settings).map(|setting| format!("--set={setting}"))
}

/// Four ports that are free now, one of them two above another.
pub fn free_ports() -> Ports {
    let listen = |port| TcpListener::bind(("127.0.0.1", port));
    let any = || listen(0).unwrap();
    loop {
        let broker = any();
        let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
        if let Ok(fast) = listen(port(&broker) - 2) {
            let (namesrv, grpc) = (any(), any());
            return Ports {
                namesrv: port(&namesrv),
                broker: port(&broker),
                fast: port(&fast),
                grpc: port(&grpc),
            };
        }
    }
}
