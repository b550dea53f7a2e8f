//! A request that waits at a broker for what a client wants, which may stop to want it at any moment.
//!
//! Dropped, the request is given up: the broker is told, so that nothing waits there for nobody. What it has taken out
//! by then comes nevertheless, and goes to who takes leftovers.

use crate::client::Client;
use crate::invoker::Pending;
use crate::refusal::Result;
use roxmq_protocol::command::Command;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::oneshot;

/// Done when a request is given up.
#[derive(Debug)]
pub struct GivenUp(oneshot::Receiver<()>);

impl Future for GivenUp {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // The other side says it by being dropped.
        Pin::new(&mut self.0).poll(context).map(drop)
    }
}

/// Takes an answer that its client doesn't.
pub trait Leftovers: Clone + Send + 'static {
    fn take(self, answer: Command) -> impl Future<Output = ()> + Send;
}

/// Answers that nobody misses.
#[derive(Clone, Debug)]
pub struct Nothing;

impl Leftovers for Nothing {
    async fn take(self, _: Command) {}
}

pub struct Waiting<L: Leftovers> {
    leftovers: L,
    /// Gone when it is answered.
    answer: Option<Pending<'static, Command>>,
    give_up: Option<oneshot::Sender<()>>,
}

impl<L: Leftovers> Waiting<L> {
    pub fn start(
        client: Arc<Client>,
        broker: Arc<str>,
        request: Command,
        timeout: Duration,
        leftovers: L,
    ) -> Self {
        let (give_up, given_up) = oneshot::channel();
        let request = Box::new(request);
        let answer: Pending<'static, Command> =
            Box::pin(
                async move { Ok(client.call_until(&broker, request, timeout, GivenUp(given_up)).await?) },
            );
        Waiting { leftovers, answer: Some(answer), give_up: Some(give_up) }
    }
}

impl<L: Leftovers + Unpin> Future for Waiting<L> {
    type Output = Result<Command>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<Command>> {
        let Some(pending) = &mut self.answer else { return Poll::Pending };
        let answer = ready!(pending.as_mut().poll(context));
        self.answer = None;
        Poll::Ready(answer)
    }
}

impl<L: Leftovers> Drop for Waiting<L> {
    fn drop(&mut self) {
        self.give_up = None;
        // Without a runtime the process ends, and so does the broker or the connection to it.
        if let Some(answer) = self.answer.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let leftovers = self.leftovers.clone();
            runtime.spawn(async move {
                if let Ok(answer) = answer.await {
                    leftovers.take(answer).await;
                }
            });
        }
    }
}
