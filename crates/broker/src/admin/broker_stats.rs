//! One statistic over a minute, an hour and a day (315).

use super::answer;
use crate::Broker;
use crate::refusal::Refusal;
use crate::service::Caller;
use crate::stats::WindowSum;
use roxmq_protocol::body::broker_stats::{BrokerStatsData, BrokerStatsItem};
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::request::group::ViewBrokerStats;

pub(crate) fn handle(broker: &Broker, _: &Caller<'_>, frame: &Frame<'_>) -> Result<Command, Refusal> {
    let header = ViewBrokerStats::decode(&frame.header.ext)?;
    let config = broker.config();
    let view = broker.stats.view(&broker.topics, &config.broker_cluster_name);
    let Some(windows) = view.find(&header.stats_name, &header.stats_key) else {
        let remark = format!("The stats <{}> <{}> not exist", header.stats_name, header.stats_key);
        return Err(Refusal::failed(remark));
    };
    Ok(answer(&BrokerStatsData {
        stats_day: item(windows.day),
        stats_hour: item(windows.hour),
        stats_minute: item(windows.minute),
    }))
}

fn item(window: WindowSum) -> BrokerStatsItem {
    let sum = i64::try_from(window.sum).unwrap_or(i64::MAX);
    BrokerStatsItem { avgpt: window.average, sum, tps: window.tps }
}
