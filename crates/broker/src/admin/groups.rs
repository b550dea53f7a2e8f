//! Consumer groups made, changed, deleted and shown: 200, 225, 207, 201, 352.

use super::{answer, success, table_part};
use crate::Broker;
use crate::groups::SubscriptionGroupConfig;
use crate::refusal::Refusal;
use crate::service::Caller;
use roxmq_protocol::body::attributes::{apply, changes_of};
use roxmq_protocol::body::group_config::SubscriptionGroupList;
use roxmq_protocol::body::group_table::SubscriptionGroupTable;
use roxmq_protocol::code::response;
use roxmq_protocol::command::Command;
use roxmq_protocol::frame::Frame;
use roxmq_protocol::json::FromJson;
use roxmq_protocol::names;
use roxmq_protocol::request::group::{DeleteGroup, GroupHeader};
use roxmq_protocol::request::topic::TablePart;

/// What the Java server knows of a group beyond its fields.
const ATTRIBUTES: [&str; 8] = [
    "priority.factor",
    "lite.bind.topic",
    "lite.sub.model",
    "lite.sub.reset.offset.exclusive",
    "lite.sub.reset.offset.unsubscribe",
    "lite.sub.client.quota",
    "lite.sub.client.max.event.cnt",
    "lite.sub.wildcard",
];

/// Makes or changes a group (200).
pub(crate) fn update(broker: &Broker, caller: &Caller<'_>, frame: &Frame<'_>) -> Result<Command, Refusal> {
    let config = SubscriptionGroupConfig::from_json_bytes(frame.body)?;
    put(broker, resolve(broker, config)?, caller)?;
    Ok(success())
}

/// Makes or changes several groups (225): all of them, or none if one can't be.
pub(crate) fn update_list(
    broker: &Broker,
    caller: &Caller<'_>,
    frame: &Frame<'_>,
) -> Result<Command, Refusal> {
    let list = SubscriptionGroupList::from_json_bytes(frame.body)?.group_config_list;
    let resolved = list.into_iter().map(|config| resolve(broker, config)).collect::<Result<Vec<_>, _>>()?;
    for config in resolved {
        put(broker, config, caller)?;
    }
    Ok(success())
}

/// The configuration as it will be kept, if it may be. Its attributes are changes to those that are kept.
fn resolve(broker: &Broker, config: SubscriptionGroupConfig) -> Result<SubscriptionGroupConfig, Refusal> {
    names::check_group(&config.group_name)?;
    let changes = changes_of(&config.attributes)?;
    if let Some(unknown) = changes.keys().find(|key| !ATTRIBUTES.contains(&key.as_str())) {
        return Err(Refusal::failed(format!("unsupported key: {unknown}")));
    }
    let known = broker.groups.get(&config.group_name);
    let current = known.map(|known| known.attributes.clone()).unwrap_or_default();
    Ok(SubscriptionGroupConfig { attributes: apply(&current, &changes), ..config })
}

fn put(broker: &Broker, config: SubscriptionGroupConfig, caller: &Caller<'_>) -> Result<(), Refusal> {
    if names::is_lmq(&config.group_name) {
        return Ok(());
    }
    if broker.groups.get(&config.group_name).is_some_and(|known| *known == config) {
        return Ok(());
    }
    tracing::info!(group = config.group_name, caller = %caller.connection.remote(), "a group is made or changed");
    Ok(broker.groups.put(config)?)
}

/// Deletes a group, with its offsets if that is asked for (207).
pub(crate) fn delete(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let fields = request.ext_fields();
    let header = DeleteGroup::decode(&fields)?;
    if names::is_system_group(&header.group_name) {
        let remark = format!("The group[{}] is one of the system's and can't be deleted.", header.group_name);
        return Err(Refusal::invalid(remark));
    }
    broker.delete_group(&header.group_name, header.clean_offset)?;
    tracing::info!(group = %header.group_name, clean_offset = header.clean_offset, "a group was deleted");
    Ok(success())
}

/// The table of groups, or a part of it (201).
pub(crate) fn table(broker: &Broker, request: &Command) -> Result<Command, Refusal> {
    let fields = request.ext_fields();
    let part = TablePart::decode_groups(&fields)?;
    let data_version = broker.groups.data_version();
    let groups = broker.groups.all();
    let range = table_part::range(&part, &broker.config(), data_version, groups.len())?;
    let shown = &groups[range];
    let mut forbidden_table = broker.groups.forbidden_table();
    if shown.len() < groups.len() {
        forbidden_table.retain(|group, _| shown.iter().any(|shown| shown.group_name == *group));
    }
    let table = SubscriptionGroupTable {
        data_version,
        forbidden_table,
        subscription_group_table: shown
            .iter()
            .map(|group| (group.group_name.clone(), (**group).clone()))
            .collect(),
    };
    Ok(answer(&table).with("totalGroupNum", groups.len()))
}

/// One group's settings (352). Like the Java server, this makes the group if that is allowed.
pub(crate) fn show(broker: &Broker, _: &Caller<'_>, frame: &Frame<'_>) -> Result<Command, Refusal> {
    let group = GroupHeader::decode(&frame.header.ext)?.group;
    match broker.groups.get_or_create(&group) {
        Some(config) => Ok(answer(&*config)),
        None => Err(Refusal::new(
            response::SUBSCRIPTION_GROUP_NOT_EXIST,
            format!("No group in this broker. group: {group}"),
        )),
    }
}
