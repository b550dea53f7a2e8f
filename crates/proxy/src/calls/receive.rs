//! Messages handed out to a consumer, by a pop that may wait for them.

mod frames;
mod polling;
mod popped;
mod release;
mod renewer;
mod screen;

pub use frames::Frames;

use super::sync_lite::BOUND_TOPIC;
use crate::caller::{Caller, deadline};
use crate::client::Client;
use crate::invoker::Topic;
use crate::names;
use crate::proxy::{Proxy, now_ms};
use crate::refusal::{Refusal, Result, ok};
use crate::schema::{ClientType, Code, FilterExpression, FilterType, ReceiveMessageRequest};
use crate::waiting::Waiting;
use crate::wire_time::ms_of_duration;
use polling::Wish;
use release::{Source, Undelivered};
use renewer::Renewer;
use roxmq_protocol::body::group_config::SubscriptionGroupConfig;
use roxmq_protocol::code::{request, response};
use roxmq_protocol::command::Command;
use roxmq_protocol::request::pop::{ANY_QUEUE, INIT_MODE_MAX};
use roxmq_protocol::subscription::{EXPRESSION_SQL92, EXPRESSION_TAG, SubscriptionData};
use roxmq_protocol::sys_flag::perm;
use screen::{Screen, Screened};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tonic::Request;
use tonic::metadata::MetadataMap;

/// What a client waits for an answer where its settings don't say.
const REQUEST_TIMEOUT_MS: i64 = 3_000;
/// What the broker gets for its answer beyond the time that it waits for messages.
const ANSWER_TIME: Duration = Duration::from_secs(3);

pub async fn handle(proxy: &Arc<Proxy>, request: Box<Request<ReceiveMessageRequest>>) -> Frames {
    match proxy.client(&request) {
        Err(refusal) => Frames::refusal_alone(refusal),
        Ok(client) => receive(proxy, client, request).await.unwrap_or_else(Frames::refusal),
    }
}

async fn receive(
    proxy: &Arc<Proxy>,
    client: Arc<Client>,
    request: Box<Request<ReceiveMessageRequest>>,
) -> Result<Frames> {
    // Many receives wait at a time: while they do, they keep nothing of the request and of the way to the plan.
    let Plan { source, pop, timeout, screen } = Box::pin(Plan::of(proxy, &client, request)).await?;
    let leftovers = Arc::clone(&source);
    let answer = Waiting::start(client, Arc::clone(&source.broker), pop, timeout, leftovers).await?;
    match answer.code {
        response::SUCCESS => {}
        response::POLLING_FULL => {
            let text = "as many receives wait already as may (popPollingSize for a queue, maxPopPollingSize for all)";
            return Err(Refusal::new(Code::TooManyRequests, text));
        }
        response::POLLING_TIMEOUT | response::PULL_NOT_FOUND => return Err(nothing("no new message")),
        _ => return Err(Refusal::from_broker(&answer)),
    }
    let popped = popped::read(&answer, &source)?;
    let Screened { deliver, others } = screen.look(popped);
    // From here on they go back if the client goes.
    let messages = Undelivered::new(Arc::clone(&source), deliver);
    if !others.is_empty() {
        Box::pin(others.put_away(&source)).await;
    }
    if messages.is_empty() {
        return Err(nothing("no match message"));
    }
    Ok(Frames::messages(ok(), messages))
}

fn nothing(text: &str) -> Refusal {
    Refusal::new(Code::MessageNotFound, text)
}

/// What the broker is asked, and what is done with its answer.
struct Plan {
    source: Arc<Source>,
    pop: Command,
    timeout: Duration,
    screen: Screen,
}

impl Plan {
    async fn of(
        proxy: &Arc<Proxy>,
        client: &Arc<Client>,
        request: Box<Request<ReceiveMessageRequest>>,
    ) -> Result<Plan> {
        let asked = request.get_ref();
        let poll_ms = poll_ms(proxy, client, request.metadata(), asked)?;
        let queue = asked.message_queue.as_ref();
        let topic_name = names::topic(queue.and_then(|queue| queue.topic.as_ref()))?;
        let group_name = names::group(asked.group.as_ref())?;
        if asked.batch_size < 1 {
            let text = format!("the batch size is {}; it must be 1 or more", asked.batch_size);
            return Err(Refusal::new(Code::BadRequest, text));
        }
        let invisible_ms = invisible_ms(proxy, asked)?;
        let filter = filter(topic_name, asked.filter_expression.as_ref())?;
        let topic = proxy.facts.topic(topic_name).await?;
        let group = proxy.facts.group(group_name).await?;
        let wanted = queue.and_then(|queue| queue.broker.as_ref()).map_or("", |broker| broker.name.as_str());
        let broker = choose_broker(proxy, &topic, wanted).ok_or_else(|| {
            Refusal::new(Code::Forbidden, format!("topic {topic_name} has no queue that can be read"))
        })?;
        let is_lite = client.client_type() == Some(ClientType::LitePushConsumer);
        if is_lite {
            check_lite_load(proxy, client)?;
        } else {
            check_not_lite(client, &group)?;
        }
        let count = asked.batch_size.min(proxy.config.receive_batch_max);
        let pop = if is_lite {
            client.request(request::POP_LITE_MESSAGE).with("clientId", &client.id).with("maxMsgNum", count)
        } else {
            client
                .request(request::POP_MESSAGE)
                .with("queueId", ANY_QUEUE)
                .with("maxMsgNums", count)
                .with("initMode", INIT_MODE_MAX)
                .with("expType", &filter.expression_type)
                .with("exp", &filter.sub_string)
                .with("order", group.consume_message_orderly)
        };
        let pop = pop
            .with("consumerGroup", group_name)
            .with("topic", topic_name)
            .with("invisibleTime", invisible_ms)
            .with("pollTime", poll_ms)
            .with("bornTime", now_ms())
            .with_some("attemptId", asked.attempt_id.as_deref().filter(|id| !id.is_empty()));
        let source = Arc::new(Source {
            client: Arc::clone(client),
            broker,
            topic: topic_name.into(),
            group: group_name.into(),
            is_lite,
            released_ms: proxy.config.released_invisible_ms,
            renewer: is_renewed(proxy, asked).then(|| Renewer::of(proxy)),
        });
        let timeout = Duration::from_millis(poll_ms.unsigned_abs()) + ANSWER_TIME;
        let attempts_max = group.retry_max_times.saturating_add(1);
        Ok(Plan { source, pop, timeout, screen: Screen { tags: filter.tags_set, attempts_max } })
    }
}

fn poll_ms(
    proxy: &Proxy,
    client: &Client,
    metadata: &MetadataMap,
    asked: &ReceiveMessageRequest,
) -> Result<i64> {
    let settings = client.settings();
    let request_timeout = settings.as_ref().and_then(|settings| settings.request_timeout.as_ref());
    let wish = Wish {
        asked_ms: asked.long_polling_timeout.as_ref().map(ms_of_duration),
        remaining_ms: deadline(metadata).map(|left| i64::try_from(left.as_millis()).unwrap_or(i64::MAX)),
        request_timeout_ms: request_timeout.map_or(REQUEST_TIMEOUT_MS, ms_of_duration),
    };
    let limits = proxy.config.polling_ms_min..=proxy.config.polling_ms_max;
    wish.poll_ms(limits).map_err(|error| {
        let version = Caller::of(metadata).map_or("", |caller| caller.version);
        Refusal::new(polling::error_code(version), error.to_string())
    })
}

/// Whether the server keeps the messages out of sight for as long as the client works on them.
fn is_renewed(proxy: &Proxy, asked: &ReceiveMessageRequest) -> bool {
    asked.auto_renew && proxy.config.auto_renew
}

/// A group for lite topics has clients that say so.
fn check_not_lite(client: &Client, group: &SubscriptionGroupConfig) -> Result<()> {
    let Some(bound) = group.attributes.get(BOUND_TOPIC) else { return Ok(()) };
    let name = &group.group_name;
    if client.settings().is_none() {
        let text = format!(
            "group {name} is for the lite topics of {bound}, and the settings of client {} are not known (any more)",
            client.id
        );
        return Err(Refusal::new(Code::BadRequest, text));
    }
    let text = format!("group {name} is only for consumers of the lite topics of {bound}");
    Err(Refusal::new(Code::IllegalConsumerGroup, text))
}

/// Lite topics are many: a client that doesn't get done with some gets no more.
fn check_lite_load(proxy: &Proxy, client: &Client) -> Result<()> {
    let limit = proxy.config.lite_unacknowledged_max;
    if proxy.renewals.count_of(&client.id) <= limit {
        return Ok(());
    }
    let text = format!("more than {limit} messages (maxLiteRenewNumPerChannel) are not acknowledged yet");
    Err(Refusal::new(Code::Forbidden, text))
}

fn invisible_ms(proxy: &Proxy, asked: &ReceiveMessageRequest) -> Result<i64> {
    let config = &proxy.config;
    if is_renewed(proxy, asked) {
        return Ok(config.renewed_invisible_ms);
    }
    let wanted = asked.invisible_duration.as_ref().map_or(0, ms_of_duration);
    let (min, max) = (config.invisible_ms_min, config.invisible_ms_max);
    if (min..=max).contains(&wanted) {
        return Ok(wanted);
    }
    let text = format!(
        "messages can't be invisible for {wanted} ms, only for {min} to {max} \
         (minInvisibleTimeMillsForRecv, maxInvisibleTimeMills)"
    );
    Err(Refusal::new(Code::IllegalInvisibleTime, text))
}

fn filter(topic: &str, expression: Option<&FilterExpression>) -> Result<SubscriptionData> {
    let kind = match expression.map(FilterExpression::r#type) {
        Some(FilterType::Sql) => EXPRESSION_SQL92,
        _ => EXPRESSION_TAG,
    };
    let text = expression.map_or("", |expression| expression.expression.as_str());
    SubscriptionData::parse(topic, text, Some(kind), 0)
        .map_err(|error| Refusal::new(Code::IllegalFilterExpression, error.to_string()))
}

/// The wanted broker if it can be read from, else the one whose turn it is. Brokers that can't be reached are chosen
/// only if there is no other.
fn choose_broker(proxy: &Proxy, topic: &Topic, wanted: &str) -> Option<Arc<str>> {
    let readable = || {
        let brokers = topic.brokers.iter().filter(|broker| broker.id == 0 && broker.read_queues > 0);
        brokers.filter(|broker| perm::is_readable(broker.perm)).map(|broker| &broker.name)
    };
    let reachable = || readable().filter(|name| proxy.invoker.is_reachable(name));
    if let Some(name) = reachable().find(|name| ***name == *wanted) {
        return Some(Arc::clone(name));
    }
    let turn = proxy.turn.fetch_add(1, Ordering::Relaxed);
    match reachable().count() {
        0 => readable().nth(turn.checked_rem(readable().count())?).cloned(),
        count => reachable().nth(turn % count).cloned(),
    }
}
