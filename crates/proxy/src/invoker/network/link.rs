//! One client's connections to the brokers: one to each that it calls, made with its first call.
//!
//! A broker takes a connection for the client: what a client has said of itself is said again on each new connection,
//! before anything else. So a broker that was restarted knows its clients as soon as they call it. Requests that wait go
//! over others ([`super::polls`]).

use super::Network;
use super::polls::Polls;
use crate::invoker::{FromBroker, GivenUp, Link, Pending, TakeFromBroker, Unanswered};
use parking_lot::Mutex;
use roxmq_protocol::body::heartbeat::HeartbeatData;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::header::Encoding;
use roxmq_protocol::json::FromJson;
use roxmq_remoting::{CallError, Connection, Output, Service};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Of headers to brokers, which read both and answer in the same: the compact one costs them and us less.
const ENCODING: Encoding = Encoding::Binary;

pub struct NetworkLink {
    network: Arc<Network>,
    take: Arc<TakeFromBroker>,
    slots: Mutex<Vec<Slot>>,
    polls: Polls,
    /// The last heartbeat with all that the client is.
    heartbeat: Mutex<Option<Command>>,
    /// Set under the lock of the slots.
    closed: AtomicBool,
}

/// The place of a broker.
struct Slot {
    broker: Arc<str>,
    /// Where the connection goes to.
    address: Arc<str>,
    connection: Option<Arc<Connection>>,
    /// Held by whoever connects.
    connecting: Arc<tokio::sync::Mutex<()>>,
}

impl Slot {
    fn alive(&self, address: &str) -> Option<&Arc<Connection>> {
        self.connection.as_ref().filter(|connection| *self.address == *address && !connection.is_closed())
    }
}

impl NetworkLink {
    pub(super) fn new(network: Arc<Network>, take: TakeFromBroker) -> Self {
        NetworkLink {
            network,
            take: Arc::new(take),
            slots: Mutex::default(),
            polls: Polls::default(),
            heartbeat: Mutex::default(),
            closed: AtomicBool::new(false),
        }
    }

    async fn connection(&self, broker: &str) -> Result<Arc<Connection>, Unanswered> {
        if self.is_closed() {
            return Err(Unanswered::Unreached {
                broker: broker.into(),
                reason: "the client has left".to_owned(),
            });
        }
        let address = self.network.address(broker)?;
        let connecting = {
            let mut slots = self.slots.lock();
            match slots.iter().find(|slot| *slot.broker == *broker) {
                Some(slot) => match slot.alive(&address) {
                    Some(connection) => return Ok(Arc::clone(connection)),
                    None => Arc::clone(&slot.connecting),
                },
                None => {
                    let connecting = Arc::default();
                    slots.push(Slot {
                        broker: broker.into(),
                        address: Arc::clone(&address),
                        connection: None,
                        connecting: Arc::clone(&connecting),
                    });
                    connecting
                }
            }
        };
        let _connecting = connecting.lock().await;
        if let Some(connection) = self.connected(broker, &address) {
            return Ok(connection);
        }
        let connection = self.connect(broker, &address).await?;
        self.keep(broker, address, Arc::clone(&connection));
        Ok(connection)
    }

    fn connected(&self, broker: &str, address: &str) -> Option<Arc<Connection>> {
        let slots = self.slots.lock();
        slots.iter().find(|slot| *slot.broker == *broker)?.alive(address).cloned()
    }

    async fn connect(&self, broker: &str, address: &Arc<str>) -> Result<Arc<Connection>, Unanswered> {
        let from_broker = Arc::new(BrokersRequests { broker: broker.into(), take: Arc::clone(&self.take) });
        let connection = self.network.connect(broker, address, from_broker).await?;
        if let Some(heartbeat) = self.heartbeat.lock().clone() {
            connection.oneway_in(ENCODING, self.network.signer.sign(heartbeat));
        }
        Ok(connection)
    }

    fn keep(&self, broker: &str, address: Arc<str>, connection: Arc<Connection>) {
        let mut slots = self.slots.lock();
        if self.is_closed() {
            return connection.close();
        }
        let slot = slots.iter_mut().find(|slot| *slot.broker == *broker);
        let old = slot.and_then(|slot| {
            slot.address = address;
            slot.connection.replace(connection)
        });
        drop(slots);
        // A master that has moved.
        if let Some(old) = old {
            old.close();
        }
    }

    /// The client has left: brokers forget it now, whatever calls of it are under way. Those end.
    pub fn close(&self) {
        let mut slots = self.slots.lock();
        self.closed.store(true, Ordering::Release);
        for connection in slots.drain(..).filter_map(|slot| slot.connection) {
            connection.close();
        }
        drop(slots);
        self.polls.close();
    }

    /// The brokers that it has connections to.
    pub fn brokers(&self) -> Vec<Arc<str>> {
        let slots = self.slots.lock();
        let alive = slots.iter().filter(|slot| slot.alive(&slot.address).is_some());
        alive.map(|slot| Arc::clone(&slot.broker)).collect()
    }

    /// What the client says of itself, to be said to each broker that it will be connected to.
    pub fn set_heartbeat(&self, heartbeat: Command) {
        *self.heartbeat.lock() = Some(heartbeat);
    }

    /// Sends a request that nobody answers.
    pub async fn oneway(&self, broker: &str, request: Command) -> Result<(), Unanswered> {
        self.connection(broker).await?.oneway_in(ENCODING, self.network.signer.sign(request));
        Ok(())
    }

    /// Why a call that was handed to a connection has no answer.
    fn unanswered(&self, broker: &str, reason: CallError) -> Unanswered {
        if reason == CallError::Closed {
            self.network.look_again();
        }
        Unanswered::of_call(broker, reason)
    }

    /// What the client is from now on, as far as the brokers accepted it.
    fn note(&self, request: &Command, answer: &Command) {
        if answer.code != response::SUCCESS {
            return;
        }
        match request.code {
            request::HEART_BEAT if is_complete(request) => *self.heartbeat.lock() = Some(request.clone()),
            // What is left of it the next heartbeat says.
            request::UNREGISTER_CLIENT => *self.heartbeat.lock() = None,
            _ => {}
        }
    }
}

async fn in_time<T>(
    broker: &str,
    timeout: Duration,
    connecting: impl Future<Output = Result<T, Unanswered>>,
) -> Result<T, Unanswered> {
    let connected = tokio::time::timeout(timeout, connecting).await;
    connected.unwrap_or_else(|_| Err(Unanswered::of_call(broker, CallError::Timeout(timeout))))
}

/// Clients that have said what they subscribe to may leave it out for as long as it stays the same.
fn is_complete(heartbeat: &Command) -> bool {
    HeartbeatData::from_json_bytes(&heartbeat.body).is_ok_and(|data| !data.without_sub)
}

impl Link for NetworkLink {
    fn call<'a>(
        &'a self,
        broker: &'a str,
        request: Command,
        timeout: Duration,
    ) -> Pending<'a, Command, Unanswered> {
        Box::pin(async move {
            let start = Instant::now();
            let connection = in_time(broker, timeout, self.connection(broker)).await?;
            let noted = matches!(request.code, request::HEART_BEAT | request::UNREGISTER_CLIENT)
                .then(|| request.clone());
            let signed = self.network.signer.sign(request);
            let answer = connection.call_in(ENCODING, signed, timeout.saturating_sub(start.elapsed())).await;
            let answer = answer.map_err(|reason| self.unanswered(broker, reason))?;
            if let Some(request) = noted {
                self.note(&request, &answer);
            }
            Ok(answer)
        })
    }

    fn call_until<'a>(
        &'a self,
        broker: &'a str,
        request: Box<Command>,
        timeout: Duration,
        given_up: GivenUp,
    ) -> Pending<'a, Command, Unanswered> {
        Box::pin(async move {
            let start = Instant::now();
            let Some(poll) = in_time(broker, timeout, self.polls.begin(&self.network, broker)).await? else {
                return self.call(broker, *request, timeout).await;
            };
            let connection = Arc::clone(poll.connection());
            let signed = self.network.signer.sign(*request);
            let mut call =
                pin!(connection.call_in(ENCODING, signed, timeout.saturating_sub(start.elapsed())));
            tokio::select! {
                biased;
                () = given_up => {}
                answer = &mut call => {
                    let answer = answer.map_err(|reason| self.unanswered(broker, reason))?;
                    poll.end();
                    return Ok(answer);
                }
            }
            connection.close();
            call.await.map_err(|reason| Unanswered::of_call(broker, reason))
        })
    }

    fn answer(&self, broker: &str, opaque: i32, answer: Command) {
        let slots = self.slots.lock();
        let slot = slots.iter().find(|slot| *slot.broker == *broker);
        if let Some(connection) = slot.and_then(|slot| slot.connection.clone()) {
            drop(slots);
            connection.respond(opaque, ENCODING, answer);
        }
    }

    /// Connections that brokers close are made again as they are needed.
    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}

impl Drop for NetworkLink {
    fn drop(&mut self) {
        self.close();
    }
}

/// What a broker asks over a client's connection.
struct BrokersRequests {
    broker: Arc<str>,
    take: Arc<TakeFromBroker>,
}

impl Service for BrokersRequests {
    type Session = ();

    fn open(&self, _: &Arc<Connection>) {}

    fn request(&self, (): &mut (), _: &Arc<Connection>, frame: &Frame<'_>, _: &mut Output) {
        let request = Command::from_frame(&frame.header, frame.body);
        (self.take)(FromBroker { broker: Arc::clone(&self.broker), request });
    }

    fn burst_end(&self, (): &mut (), _: &Arc<Connection>, _: &mut Output) {}

    fn close(&self, (): (), _: &Arc<Connection>) {}
}
