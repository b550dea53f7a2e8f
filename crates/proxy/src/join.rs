//! Several things waited for at the same time.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// Waits for all of them, which are few.
pub async fn join_all<F: Future + ?Sized>(mut pending: Vec<Pin<Box<F>>>) -> Vec<F::Output> {
    let mut outputs: Vec<Option<F::Output>> = pending.iter().map(|_| None).collect();
    poll_fn(|context| {
        let mut is_done = true;
        for (future, output) in pending.iter_mut().zip(&mut outputs) {
            if output.is_none() {
                match future.as_mut().poll(context) {
                    Poll::Ready(ready) => *output = Some(ready),
                    Poll::Pending => is_done = false,
                }
            }
        }
        if is_done { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    outputs.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn all_are_waited_for_at_the_same_time() {
        let (first, second) = (oneshot::channel(), oneshot::channel());
        // The first is told by the second, which therefore must not wait for it.
        let mut told = Some(first.0);
        let waits = |receiver: oneshot::Receiver<u8>, mut tells: Option<oneshot::Sender<u8>>| async move {
            if let Some(sender) = tells.take() {
                sender.send(1).expect("somebody waits");
            }
            receiver.await.expect("it is told")
        };
        second.0.send(2).expect("it is kept");
        let pending = vec![Box::pin(waits(first.1, None)), Box::pin(waits(second.1, told.take()))];
        assert_eq!(join_all(pending).await, [1, 2]);
    }
}
