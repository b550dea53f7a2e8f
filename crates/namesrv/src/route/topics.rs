//! Single topics: told by a broker (217), and removed (216).

use super::table::{RouteTable, TopicQueues};

impl RouteTable {
    /// Sets the topic on each of these brokers. If one of them isn't registered nothing is set, and its name comes
    /// back: a route to a broker without an address is of no use.
    pub fn register_topic(&mut self, topic: &str, queues: &[(String, TopicQueues)]) -> Result<(), String> {
        if let Some((unknown, _)) = queues.iter().find(|(name, _)| !self.brokers.contains_key(name)) {
            return Err(unknown.clone());
        }
        for (broker_name, queues) in queues {
            self.set_queues(topic, broker_name, *queues);
        }
        Ok(())
    }

    /// Removes the topic, from one cluster or from all. Whether no broker has it now.
    pub fn delete_topic(&mut self, topic: &str, cluster: Option<&str>) -> bool {
        if let Some(cluster) = cluster {
            let names = self.clusters.get(cluster);
            let stays = |broker_name: &String| names.is_none_or(|names| !names.contains(broker_name));
            if let Some(brokers) = self.topics.get_mut(topic) {
                brokers.retain(|broker_name, _| stays(broker_name));
            }
            if let Some(brokers) = self.mappings.get_mut(topic) {
                brokers.retain(|broker_name, _| stays(broker_name));
            }
            if self.topics.get(topic).is_some_and(|brokers| !brokers.is_empty()) {
                return false;
            }
        }
        self.topics.remove(topic);
        self.mappings.remove(topic);
        true
    }

    /// Keeps on this broker only the topics that the test accepts.
    pub(super) fn retain_topics(&mut self, broker_name: &str, keep: impl Fn(&str) -> bool) {
        self.topics.retain(|topic, brokers| {
            if brokers.contains_key(broker_name) && !keep(topic) {
                brokers.remove(broker_name);
            }
            !brokers.is_empty()
        });
    }

    pub(super) fn forget_mappings(&mut self, broker_name: &str) {
        self.mappings.retain(|_, brokers| {
            brokers.remove(broker_name);
            !brokers.is_empty()
        });
    }
}
