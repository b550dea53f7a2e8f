//! `config/consumerFilter.json`: the registered filters, in the Java server's form.
//!
//! Nothing depends on it here: heartbeats bring the filters. It is kept so that a store can move to the Java server and
//! back, and filters are ready before the first heartbeat. Filters that don't compile are not in it.

use super::registered::{AllFilters, RegisteredFilter, RegisteredFilters};
use super::sql::SqlExpression;
use super::{bloom, registered::GroupFilters};
use crate::replaced_file::FileError;
use crate::state::{ConfigFile, Found};
use roxmq_protocol::json::{Fields, Form, FromJson, JsonError, ToJson, Value, Writer};
use roxmq_protocol::subscription::EXPRESSION_SQL92;
use roxmq_store::Millis;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) const FILTERS_FILE: &str = "consumerFilter.json";

/// How long ago the consumers of a file are taken to have left.
const LEFT_BEFORE_MS: i64 = 30_000;

/// Reads the file at a start; gives what should be said about it. A damaged one costs nothing but itself.
pub(crate) fn load(
    file: &ConfigFile,
    filters: &RegisteredFilters,
    now: Millis,
) -> Result<Option<String>, FileError> {
    let (entries, problem) = match file.load(decode)? {
        Found::Nothing => return Ok(None),
        Found::Damaged(problem) => return Ok(Some(problem)),
        Found::Good(entries) => (entries, None),
        Found::Copy(entries, problem) => (entries, Some(problem)),
    };
    let mut all = AllFilters::default();
    for Entry { group, topic, text, version, born, dead } in entries {
        let compiled = match SqlExpression::compile(&text) {
            Ok(compiled) => Ok(Arc::new(compiled)),
            Err(error) => {
                tracing::warn!(group, topic, expression = text, %error, "a filter of {FILTERS_FILE} is wrong; its consumers are told so when they come");
                continue;
            }
        };
        // Nobody is connected at a start.
        let dead = dead.unwrap_or(Millis(now.0 - LEFT_BEFORE_MS).max(born));
        let filter = RegisteredFilter { text: text.into(), compiled, version, born, dead: Some(dead) };
        let of_group: &mut Arc<GroupFilters> = all.entry(group).or_default();
        Arc::make_mut(of_group).insert(topic, Arc::new(filter));
    }
    filters.restore(all);
    Ok(problem)
}

/// Writes the file if the filters have changed.
pub(crate) fn save(file: &ConfigFile, filters: &RegisteredFilters) -> Result<(), FileError> {
    let Some(all) = filters.take_changed() else { return Ok(()) };
    let saved = file.save(&encode(&all));
    if saved.is_err() {
        filters.put_back();
    }
    saved
}

/// A filter as the file has it.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    group: String,
    topic: String,
    text: String,
    version: i64,
    born: Millis,
    dead: Option<Millis>,
}

impl ToJson for Entry {
    fn write_json(&self, writer: &mut Writer) {
        let bits = bloom::positions(&self.group, &self.topic);
        writer.object(|writer| {
            writer.field("bloomFilterData", &BloomData(bits.to_vec()));
            writer.field("bornTime", &self.born.0);
            writer.field("clientVersion", &self.version);
            writer.field("consumerGroup", &self.group);
            writer.field("dead", &self.dead.is_some());
            writer.field("deadTime", &self.dead.map_or(0, |dead| dead.0));
            writer.field("expression", &self.text);
            writer.field("expressionType", EXPRESSION_SQL92);
            writer.field("topic", &self.topic);
        });
    }
}

struct BloomData(Vec<i32>);

impl ToJson for BloomData {
    fn write_json(&self, writer: &mut Writer) {
        writer.object(|writer| {
            writer.field("bitNum", &(bloom::BITS as i32));
            writer.field("bitPos", &self.0);
        });
    }
}

impl FromJson for Entry {
    /// The Java server takes a filter for dead if its death isn't before its birth.
    fn from_json(value: &Value) -> Result<Self, JsonError> {
        let born = Millis(value.field_or_default("bornTime")?);
        let dead = Millis(value.field_or_default("deadTime")?);
        Ok(Entry {
            group: value.need("consumerGroup")?,
            topic: value.need("topic")?,
            text: value.need("expression")?,
            version: value.field_or_default("clientVersion")?,
            born,
            dead: (dead.0 != 0 && dead >= born).then_some(dead),
        })
    }
}

/// The filters of a topic by group.
struct OfTopic {
    topic: String,
    groups: BTreeMap<String, Entry>,
}

impl ToJson for OfTopic {
    fn write_json(&self, writer: &mut Writer) {
        writer.object(|writer| {
            writer.field("groupFilterData", &self.groups);
            writer.field("topic", &self.topic);
        });
    }
}

fn encode(all: &AllFilters) -> Vec<u8> {
    let mut topics: BTreeMap<String, OfTopic> = BTreeMap::new();
    for (group, filters) in all {
        for (topic, filter) in filters.iter().filter(|(_, filter)| filter.compiled.is_ok()) {
            let entry = Entry {
                group: group.clone(),
                topic: topic.clone(),
                text: filter.text.to_string(),
                version: filter.version,
                born: filter.born,
                dead: filter.dead,
            };
            let of_topic = topics
                .entry(topic.clone())
                .or_insert_with(|| OfTopic { topic: topic.clone(), groups: BTreeMap::new() });
            of_topic.groups.insert(group.clone(), entry);
        }
    }
    let mut writer = Writer::new(Form::Pretty);
    writer.object(|writer| writer.field("filterDataByTopic", &topics));
    writer.into_bytes()
}

fn decode(value: &Value) -> Result<Vec<Entry>, JsonError> {
    let topics: BTreeMap<String, Value> = value.need("filterDataByTopic")?;
    let mut entries = Vec::new();
    for of_topic in topics.values() {
        let groups: BTreeMap<String, Value> = of_topic.need("groupFilterData")?;
        for filter in groups.values() {
            // Only this kind of expression has ever been kept.
            let kind: String = filter.field_or("expressionType", EXPRESSION_SQL92.to_owned())?;
            if kind == EXPRESSION_SQL92 {
                entries.push(Entry::from_json(filter)?);
            }
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use roxmq_protocol::json::parse;
    use roxmq_protocol::subscription::SubscriptionData;
    use roxmq_store::files::OsFiles;

    fn filters() -> RegisteredFilters {
        let filters = RegisteredFilters::default();
        let sql =
            |topic, text| SubscriptionData::parse(topic, text, Some(EXPRESSION_SQL92), 17).expect("SQL92");
        filters.announce("G", &[sql("T", "s = 'it''s'"), sql("Wrong", "a >")], Millis(1_700_000_000_000));
        filters
    }

    #[test]
    fn filters_in_javas_form() {
        let expected = "{\n\t\"filterDataByTopic\":{\n\t\t\"T\":{\n\t\t\t\"groupFilterData\":{\n\t\t\t\t\"G\":{\
             \n\t\t\t\t\t\"bloomFilterData\":{\n\t\t\t\t\t\t\"bitNum\":112,\n\t\t\t\t\t\t\"bitPos\":[\
             \n\t\t\t\t\t\t\t24,\n\t\t\t\t\t\t\t26,\n\t\t\t\t\t\t\t83\n\t\t\t\t\t\t]\n\t\t\t\t\t},\
             \n\t\t\t\t\t\"bornTime\":1700000000000,\n\t\t\t\t\t\"clientVersion\":17,\n\t\t\t\t\t\"consumerGroup\":\"G\",\
             \n\t\t\t\t\t\"dead\":false,\n\t\t\t\t\t\"deadTime\":0,\n\t\t\t\t\t\"expression\":\"s = 'it''s'\",\
             \n\t\t\t\t\t\"expressionType\":\"SQL92\",\n\t\t\t\t\t\"topic\":\"T\"\n\t\t\t\t}\n\t\t\t},\n\t\t\t\"topic\":\"T\"\
             \n\t\t}\n\t}\n}";
        let encoded = encode(&filters().take_changed().expect("changed"));
        assert_eq!(String::from_utf8_lossy(&encoded), expected);
        let entry = Entry {
            group: "G".to_owned(),
            topic: "T".to_owned(),
            text: "s = 'it''s'".to_owned(),
            version: 17,
            born: Millis(1_700_000_000_000),
            dead: None,
        };
        assert_eq!(decode(&parse(&encoded).expect("JSON")), Ok(vec![entry]));
    }

    #[test]
    fn what_was_saved_comes_back_dead() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = ConfigFile::new(Arc::new(OsFiles), dir.path(), FILTERS_FILE);
        let load = |now: i64| {
            let loaded = RegisteredFilters::default();
            let said = load(&file, &loaded, Millis(now)).expect("readable");
            (loaded.get("G", "T").map(|filter| (filter.version, filter.dead)), said)
        };
        assert_eq!(load(0), (None, None));
        let filters = filters();
        save(&file, &filters).expect("written");
        let born = 1_700_000_000_000;
        assert_eq!(load(born + 40_000), (Some((17, Some(Millis(born + 10_000)))), None));
        assert_eq!(load(born + 10_000), (Some((17, Some(Millis(born)))), None));
        filters.group_left("G", Millis(born + 5));
        save(&file, &filters).expect("written");
        assert_eq!(load(born + 40_000), (Some((17, Some(Millis(born + 5)))), None));

        std::fs::write(dir.path().join(FILTERS_FILE), "{").expect("written");
        let (found, said) = load(born + 40_000);
        assert!(found.is_some(), "the copy is read");
        assert!(said.is_some_and(|said| said.contains(FILTERS_FILE) && said.contains("moved to")));
    }
}
