//! What Prometheus reads at `/metrics`: the broker's figures, under the names and labels of the Java server where it has
//! them too.

use crate::Broker;
use crate::admin_clients::is_read_by;
use crate::admin_clients::queue_view::QueueView;
use crate::clients::ConsumerGroup;
use crate::config::MetricsExporter;
use crate::stats::Totals;
use crate::topics::Topic;
use crate::topics::attributes::MESSAGE_TYPE;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet, prometheus_text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use roxmq_protocol::body::heartbeat::ConsumeType;
use roxmq_protocol::{names, version};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The names of labels and their values.
type Labels = Vec<(&'static str, String)>;

impl Broker {
    /// The metrics in Prometheus's text format, or why there are none.
    pub async fn metrics(self: Arc<Self>) -> Result<String, String> {
        if self.config().metrics_exporter_type == MetricsExporter::Disable {
            return Err("there are no metrics: metricsExporterType is DISABLE".to_owned());
        }
        let broker = Arc::clone(&self);
        // With many queues it takes a while, and how old the oldest message is the disk has to say.
        let text = self.disk_work.run(move || text(broker)).await.map_err(|refusal| refusal.to_string())?;
        text.map_err(|error| error.to_string())
    }
}

fn text(broker: Arc<Broker>) -> Result<String, fmt::Error> {
    let config = broker.config();
    let everywhere = [
        ("cluster", config.broker_cluster_name.clone()),
        ("node_type", "broker".to_owned()),
        ("node_id", config.broker_name.clone()),
    ];
    let everywhere = everywhere.map(|(name, value)| (Cow::Borrowed(name), Cow::Owned(value)));
    let mut registry = Registry::with_prefix_and_labels("rocketmq", everywhere.into_iter());
    registry.register_collector(Box::new(Figures(broker)));
    let mut text = String::new();
    prometheus_text::encode(&mut text, &registry)?;
    Ok(text)
}

struct Figures(Arc<Broker>);

impl fmt::Debug for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Figures")
    }
}

impl Collector for Figures {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let mut families = Families(encoder);
        traffic(&self.0, &mut families)?;
        groups(&self.0, &mut families)?;
        clients(&self.0, &mut families)?;
        tables(&self.0, &mut families)?;
        store(&self.0, &mut families)
    }
}

/// Families of metrics, one behind the other.
struct Families<'a>(DescriptorEncoder<'a>);

impl Families<'_> {
    /// `name` without `_total`.
    fn counter(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Labels, u64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (labels, value) in values {
            family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&value, None)?;
        }
        Ok(())
    }

    /// `name` without its unit.
    fn gauge(
        &mut self,
        name: &str,
        unit: Option<&Unit>,
        help: &str,
        values: impl IntoIterator<Item = (Labels, i64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, unit, MetricType::Gauge)?;
        for (labels, value) in values {
            family.encode_family(&labels)?.encode_gauge(&value)?;
        }
        Ok(())
    }
}

/// Since the start, of topics and groups that had any.
fn traffic(broker: &Broker, families: &mut Families<'_>) -> fmt::Result {
    let mut topics = broker.topics.all();
    topics.retain(|topic| topic.stats.put.count() > 0);
    topics.sort_unstable_by(|a, b| a.topic_name.cmp(&b.topic_name));
    let of_topics = |figure: fn(Totals) -> u64| {
        topics.iter().map(move |topic| (topic_labels(topic), figure(topic.stats.put.totals())))
    };
    families.counter("messages_in", "Messages stored", of_topics(|totals| totals.count))?;
    families.counter(
        "throughput_in",
        "Bytes of the records of messages stored",
        of_topics(|totals| totals.bytes),
    )?;
    let groups = broker.stats.groups();
    let of_groups = |figure: fn(Totals) -> u64| {
        let figures = groups.iter().map(|(topic, group, stats)| (topic, group, stats.get.totals()));
        let given = figures.filter(|(.., totals)| totals.count > 0);
        given.map(move |(topic, group, totals)| (group_labels(topic, group), figure(totals)))
    };
    families.counter("messages_out", "Messages given to consumers", of_groups(|totals| totals.count))?;
    families.counter(
        "throughput_out",
        "Bytes of the records of messages given to consumers",
        of_groups(|totals| totals.bytes),
    )?;
    let lost = groups.iter().filter(|(.., stats)| stats.lost.count() > 0);
    families.counter(
        "consumer_lost_messages",
        "Messages that were deleted before the group had read them",
        lost.map(|(topic, group, stats)| (group_labels(topic, group), stats.lost.count())),
    )
}

/// How far groups are behind, where they have consumed at all.
fn groups(broker: &Broker, families: &mut Families<'_>) -> fmt::Result {
    let mut lags = Vec::new();
    for (group, topics) in broker.offsets.all() {
        for topic in topics.keys().filter(|topic| is_read_by(broker, topic, &group)) {
            let Some(config) = broker.topics.get(topic) else { continue };
            let queues = (0..config.read_queue_nums).map(|id| QueueView::of(broker, topic, id));
            lags.push((group_labels(topic, &group), queues.map(|queue| queue.lag(&group)).sum()));
        }
    }
    families.gauge("consumer_lag_messages", None, "Messages that the group has not consumed", lags)
}

fn clients(broker: &Broker, families: &mut Families<'_>) -> fmt::Result {
    let producers = broker.clients.producer_groups();
    let connections = producers.iter().flat_map(|group| group.members.iter());
    let labels =
        connections.map(|member| client_labels(member.client.language.name(), member.client.version));
    families.gauge("producer_connections", None, "Producers that are connected", counted(labels))?;
    let consumers = broker.clients.consumer_groups();
    let labels = consumers.iter().flat_map(|group| consumer_labels(group));
    families.gauge("consumer_connections", None, "Consumers that are connected", counted(labels))
}

fn tables(broker: &Broker, families: &mut Families<'_>) -> fmt::Result {
    let mut gauge = |name: &str, help: &str, value: i64| families.gauge(name, None, help, [(vec![], value)]);
    gauge(
        "broker_permission",
        "brokerPermission: 4 to read, 2 to write",
        broker.config().broker_permission.into(),
    )?;
    gauge("topic_number", "Topics", broker.topics.len() as i64)?;
    gauge("consumer_group_number", "Consumer groups", broker.groups.len() as i64)?;
    gauge("half_messages", "Transactions that wait for their end", broker.transactions.pending() as i64)?;
    gauge("timing_messages", "Messages that wait for their time on the timer wheel", broker.timers.waiting())
}

fn store(broker: &Broker, families: &mut Families<'_>) -> fmt::Result {
    let store = &broker.store;
    let (min, max) = (store.min_phy_offset().0, store.max_phy_offset().0);
    let labels = || vec![("storage_type", "local".to_owned()), ("storage_medium", "disk".to_owned())];
    let mut gauge = |name: &str, unit: Option<&Unit>, help: &str, value: i64| {
        families.gauge(name, unit, help, [(labels(), value)])
    };
    gauge("storage_size", Some(&Unit::Bytes), "Length of the log", max - min)?;
    let unflushed = broker.unflushed_bytes() as i64;
    gauge("storage_flush_behind_bytes", None, "Bytes of the log that are not on the disk yet", unflushed)?;
    gauge("storage_dispatch_behind_bytes", None, "Bytes of the log that no queue knows yet", 0)?;
    let Ok(Some(oldest)) = broker.oldest_store_time() else { return Ok(()) };
    let unit = Unit::Other("milliseconds".to_owned());
    let age = broker.clock.now().0 - oldest.0;
    gauge("storage_message_reserve_time", Some(&unit), "Age of the oldest message of the log", age)
}

/// How often each value is there, in order.
fn counted(all: impl Iterator<Item = Labels>) -> BTreeMap<Labels, i64> {
    let mut counts = BTreeMap::new();
    for labels in all {
        *counts.entry(labels).or_default() += 1;
    }
    counts
}

fn topic_labels(topic: &Topic) -> Labels {
    let kind = topic.attributes.get(MESSAGE_TYPE).map_or("NORMAL", String::as_str);
    vec![
        ("topic", topic.topic_name.clone()),
        ("message_type", kind.to_lowercase()),
        ("is_system", names::is_system_topic(&topic.topic_name).to_string()),
    ]
}

fn group_labels(topic: &str, group: &str) -> Labels {
    vec![
        ("topic", topic.to_owned()),
        ("consumer_group", group.to_owned()),
        ("is_retry", names::group_of_retry_topic(topic).is_some().to_string()),
        ("is_system", names::is_system_topic(topic).to_string()),
    ]
}

fn client_labels(language: &str, client_version: i32) -> Labels {
    vec![("language", language.to_lowercase()), ("version", version::name(client_version).to_lowercase())]
}

fn consumer_labels(group: &ConsumerGroup) -> impl Iterator<Item = Labels> {
    let mode = match group.info.consume_type {
        ConsumeType::Actively => "pull",
        ConsumeType::Pop => "pop",
        _ => "push",
    };
    group.members.iter().map(move |member| {
        let mut labels = client_labels(member.client.language.name(), member.client.version);
        labels.push(("consumer_group", group.name.to_string()));
        labels.push(("consume_mode", mode.to_owned()));
        labels
    })
}
