//! Which queues a client of a group reads, and whether it pulls or pops them: requests 400, 401 and 402.
//!
//! A client that leaves sharing out to the server asks the broker for its queues of a topic. All clients of a group
//! ask the same question of the same tables, so that their shares fit together; nothing is kept of an answer.

mod modes;
mod queues;
pub(crate) mod requests;
mod strategy;

pub(crate) use modes::RequestModes;
pub(crate) use queues::TopicRoutes;
