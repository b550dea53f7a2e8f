//! Renews messages when their time comes, and lets go of those whose client is gone.

use super::step::{Step, step};
use super::{Kept, State};
use crate::client::Client;
use crate::invoker::{Unanswered, success};
use crate::proxy::{Proxy, now_ms};
use crate::receipt::{Handle, Received};
use crate::refusal::Refusal;
use crate::retries;
use crate::schema::Code;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

const TIMEOUT: Duration = Duration::from_secs(2);
/// How many messages are renewed at the same time.
const AT_ONCE_MAX: usize = 64;

/// Renews what is due, until the future is dropped. In between it sleeps.
pub async fn run(proxy: &Arc<Proxy>) {
    let mut renewing = JoinSet::new();
    loop {
        let earlier = proxy.renewals.earlier.notified();
        let room = AT_ONCE_MAX - renewing.len();
        let (due, next_ms) = proxy.renewals.take_due(now_ms(), room);
        for kept in due {
            let proxy = Arc::clone(proxy);
            renewing.spawn(async move { renew(&proxy, &kept).await });
        }
        let has_room = renewing.len() < AT_ONCE_MAX;
        tokio::select! {
            () = earlier => {}
            () = until(next_ms), if has_room => {}
            Some(_) = renewing.join_next() => {}
        }
    }
}

async fn until(next_ms: Option<i64>) {
    match next_ms {
        Some(next_ms) => {
            let wait = next_ms.saturating_sub(now_ms()).max(0);
            tokio::time::sleep(Duration::from_millis(wait.unsigned_abs())).await;
        }
        None => std::future::pending().await,
    }
}

async fn renew(proxy: &Proxy, kept: &Arc<Kept>) {
    let mut state = kept.state.lock().await;
    if state.is_over {
        return;
    }
    match take_step(proxy, kept, &mut state).await {
        Some(due_ms) => proxy.renewals.put_back(kept, due_ms),
        None => {
            state.is_over = true;
            proxy.renewals.forget(&kept.client_id, &kept.handle);
        }
    }
}

/// When the message is to be looked at again.
async fn take_step(proxy: &Proxy, kept: &Kept, state: &mut State) -> Option<i64> {
    let client = proxy.clients.known(&kept.client_id)?;
    let now = now_ms();
    let soonest_ms = now.saturating_add_unsigned(proxy.config.renew_period_ms);
    let invisible_ms = match step(
        &proxy.config,
        now.saturating_sub(kept.since_ms),
        state.renewals,
        state.failures,
    ) {
        Step::Renew { invisible_ms } => invisible_ms,
        Step::HandOn => {
            hand_on(proxy, &client, kept, &state.handle).await;
            return None;
        }
        Step::Forget => {
            tracing::warn!(topic = %kept.topic, group = %kept.group, handle = %state.handle, "a message can't be renewed");
            return None;
        }
    };
    match change_invisible(&client, kept, &state.handle, invisible_ms).await {
        Ok(renewed) => {
            state.handle = renewed;
            state.renewals += 1;
            state.failures = 0;
            due_ms(proxy, &state.handle).map(|due_ms| due_ms.max(soonest_ms))
        }
        Err(failure) if failure.is_passing() => {
            tracing::debug!(group = %kept.group, %failure, "a message isn't renewed yet");
            state.failures += 1;
            Some(soonest_ms)
        }
        Err(failure) => {
            tracing::debug!(group = %kept.group, %failure, "a message isn't renewed any more");
            None
        }
    }
}

/// When the message of this handle is to be renewed.
pub fn due_ms(proxy: &Proxy, handle: &str) -> Option<i64> {
    let receipt = Handle::parse(handle).ok()?.receipt;
    let visible_ms = receipt.pop_time.saturating_add(receipt.invisible_time);
    Some(visible_ms.saturating_sub(proxy.config.renew_ahead_ms))
}

/// Why a message stays as it is.
#[derive(Debug, thiserror::Error)]
enum NotChanged {
    #[error(transparent)]
    Unanswered(#[from] Unanswered),
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl NotChanged {
    /// Whether it may go better next time.
    fn is_passing(&self) -> bool {
        match self {
            NotChanged::Unanswered(unanswered) => !matches!(unanswered, Unanswered::NoBroker(_)),
            NotChanged::Refused(refusal) => refusal.code == Code::TooManyRequests,
        }
    }
}

async fn hand_on(proxy: &Proxy, client: &Client, kept: &Kept, handle: &str) {
    let handed_on = async {
        let group = proxy.facts.group(&kept.group).await?;
        let pause_ms = retries::pause_ms(&group.group_retry_policy, kept.reconsume_times);
        change_invisible(client, kept, handle, pause_ms).await
    };
    tracing::warn!(
        topic = %kept.topic, group = %kept.group, client_id = %kept.client_id,
        "a consumer works on a message for longer than renewMaxTimeMillis; others are to try"
    );
    let handed_on: Result<String, NotChanged> = handed_on.await;
    if let Err(failure) = handed_on {
        tracing::debug!(group = %kept.group, %failure, "a message stays out until its time is up");
    }
}

/// Makes messages soon visible whose client, known here no longer, left them behind.
pub async fn release(proxy: &Proxy, client: &Client, left: Vec<Arc<Kept>>) {
    for kept in left {
        let mut state = kept.state.lock().await;
        if std::mem::replace(&mut state.is_over, true) {
            continue;
        }
        let released_ms = proxy.config.released_invisible_ms;
        if let Err(failure) = change_invisible(client, &kept, &state.handle, released_ms).await {
            tracing::debug!(group = %kept.group, %failure, "a message stays out until its time is up");
        }
    }
}

/// The handle that counts from now on.
async fn change_invisible(
    client: &Client,
    kept: &Kept,
    handle: &str,
    invisible_ms: i64,
) -> Result<String, NotChanged> {
    let handle = Handle::parse(handle)?;
    let received =
        Received { topic: &kept.topic, group: &kept.group, lite_topic: kept.lite_topic.as_deref() };
    let change = handle.change_invisible(client, received, invisible_ms);
    let answer = success(client.call(handle.broker(), change, TIMEOUT).await?)?;
    Ok(handle.renewed(&answer)?)
}
