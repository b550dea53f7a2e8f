//! A counter of a broker over its windows (code 315).

json_object! {
    pub struct BrokerStatsData {
        "statsDay" stats_day: BrokerStatsItem,
        "statsHour" stats_hour: BrokerStatsItem,
        "statsMinute" stats_minute: BrokerStatsItem,
    }
}

json_object! {
    pub struct BrokerStatsItem {
        /// Average of an occurrence.
        "avgpt" avgpt: f64,
        "sum" sum: i64,
        "tps" tps: f64,
    }
}
