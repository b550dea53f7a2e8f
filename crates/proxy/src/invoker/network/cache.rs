//! What others say of things with names, kept while it is used: asked for once however many want it, renewed by a
//! timer, forgotten when nobody wants it any more.
//!
//! That something isn't there is remembered for a moment, so that nobody's mistake becomes a question for each call.
//! What is known stays as long as nobody can be asked.

use crate::refusal::{Refusal, Result};
use crate::schema::Code;
use foldhash::fast::RandomState;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a refusal counts.
const REFUSED_KEPT: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How often what is used is asked for again.
    pub refresh: Duration,
    /// What nobody wanted for so long is forgotten.
    pub unused: Duration,
    pub entries_max: usize,
}

pub struct Cache<T> {
    limits: Limits,
    by_name: Mutex<HashMap<Box<str>, Entry<T>, RandomState>>,
}

struct Entry<T> {
    state: State<T>,
    used: Instant,
    /// Held by whoever asks; the others wait for it and find the answer.
    asking: Arc<tokio::sync::Mutex<()>>,
}

enum State<T> {
    Unknown,
    Known { value: Arc<T>, since: Instant },
    Refused { refusal: Refusal, since: Instant },
}

impl<T> Cache<T> {
    pub fn new(limits: Limits) -> Self {
        Cache { limits, by_name: Mutex::default() }
    }

    /// What is known, asked for with `ask` if that is nothing or too old. `ask` gets what was known before.
    pub async fn get<F>(&self, name: &str, ask: impl FnOnce(Option<Arc<T>>) -> F) -> Result<Arc<T>>
    where
        F: Future<Output = Result<T>>,
    {
        let asking = match self.look(name) {
            Ok(known) => return known,
            Err(asking) => asking,
        };
        let _asking = asking.lock().await;
        match self.look(name) {
            Ok(known) => known,
            Err(_) => {
                let answer = ask(self.known(name)).await;
                self.settle(name, answer, Instant::now())
            }
        }
    }

    /// Asks again, whatever is known.
    pub async fn refresh<F>(&self, name: &str, ask: impl FnOnce(Option<Arc<T>>) -> F)
    where
        F: Future<Output = Result<T>>,
    {
        let Some(asking) = self.by_name.lock().get(name).map(|entry| Arc::clone(&entry.asking)) else {
            return;
        };
        let _asking = asking.lock().await;
        let answer = ask(self.known(name)).await;
        if let Err(refusal) = self.settle(name, answer, Instant::now()) {
            tracing::debug!(name, %refusal, "what was known isn't there any more");
        }
    }

    /// The names of what was used since the time and fits, and forgets what nobody uses.
    pub fn used_since(&self, time: Instant, now: Instant, fits: impl Fn(&T) -> bool) -> Vec<Box<str>> {
        let mut by_name = self.by_name.lock();
        by_name.retain(|_, entry| now.saturating_duration_since(entry.used) < self.limits.unused);
        let used = by_name.iter().filter(|(_, entry)| match &entry.state {
            State::Known { value, .. } => entry.used >= time && fits(value),
            _ => false,
        });
        used.map(|(name, _)| name.clone()).collect()
    }

    pub fn known(&self, name: &str) -> Option<Arc<T>> {
        match &self.by_name.lock().get(name)?.state {
            State::Known { value, .. } => Some(Arc::clone(value)),
            _ => None,
        }
    }

    /// What is known and fresh; else the lock to ask under.
    fn look(&self, name: &str) -> Result<Result<Arc<T>>, Arc<tokio::sync::Mutex<()>>> {
        let now = Instant::now();
        let mut by_name = self.by_name.lock();
        if let Some(entry) = by_name.get_mut(name) {
            entry.used = now;
            return match &entry.state {
                // The timer renews it in time as long as it is used.
                State::Known { value, since, .. } if now - *since < self.limits.refresh * 2 => {
                    Ok(Ok(Arc::clone(value)))
                }
                State::Refused { refusal, since } if now - *since < REFUSED_KEPT => Ok(Err(refusal.clone())),
                _ => Err(Arc::clone(&entry.asking)),
            };
        }
        if by_name.len() >= self.limits.entries_max {
            make_room(&mut by_name);
        }
        let entry = Entry { state: State::Unknown, used: now, asking: Arc::default() };
        let asking = Arc::clone(&entry.asking);
        by_name.insert(name.into(), entry);
        Err(asking)
    }

    fn settle(&self, name: &str, answer: Result<T>, now: Instant) -> Result<Arc<T>> {
        let mut by_name = self.by_name.lock();
        // Forgotten meanwhile, it is of use to whoever asked.
        let Some(entry) = by_name.get_mut(name) else { return answer.map(Arc::new) };
        let refusal = match answer {
            Ok(value) => {
                let value = Arc::new(value);
                entry.state = State::Known { value: Arc::clone(&value), since: now };
                return Ok(value);
            }
            Err(refusal) => refusal,
        };
        if let State::Known { value, since } = &mut entry.state
            && !is_gone(&refusal)
        {
            *since = now;
            return Ok(Arc::clone(value));
        }
        entry.state = State::Refused { refusal: refusal.clone(), since: now };
        Err(refusal)
    }
}

fn is_gone(refusal: &Refusal) -> bool {
    matches!(refusal.code, Code::TopicNotFound | Code::ConsumerGroupNotFound | Code::Unauthorized)
}

/// Lets go of what is no use, and of the half that was used least lately.
fn make_room<T>(by_name: &mut HashMap<Box<str>, Entry<T>, RandomState>) {
    by_name.retain(|_, entry| matches!(entry.state, State::Known { .. }));
    let mut ages: Vec<_> = by_name.values().map(|entry| entry.used).collect();
    let middle = ages.len() / 2;
    if middle < ages.len() {
        let (_, middle, _) = ages.select_nth_unstable(middle);
        by_name.retain(|_, entry| entry.used > *middle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    const LIMITS: Limits =
        Limits { refresh: Duration::from_secs(60), unused: Duration::from_secs(300), entries_max: 4 };

    fn refusal(code: Code) -> Refusal {
        Refusal::new(code, "because")
    }

    #[tokio::test]
    async fn it_is_asked_once_for_many() {
        let cache = Arc::new(Cache::new(LIMITS));
        let asked = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let (sender, receiver) = tokio::sync::watch::channel(false);
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..10 {
            let (cache, asked, mut receiver) = (Arc::clone(&cache), Arc::clone(&asked), receiver.clone());
            tasks.spawn(async move {
                let ask = |_| async move {
                    asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    receiver.wait_for(|go| *go).await.expect("it is told");
                    Ok(7)
                };
                cache.get("t", ask).await
            });
        }
        tokio::task::yield_now().await;
        sender.send(true).expect("they wait");
        while let Some(value) = tasks.join_next().await {
            assert_eq!(value.expect("no panic").as_deref(), Ok(&7));
        }
        assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn what_is_missing_is_not_asked_for_by_every_call() {
        let cache: Cache<i32> = Cache::new(LIMITS);
        let asked = Cell::new(0);
        for _ in 0..3 {
            let ask = |_| async {
                asked.set(asked.get() + 1);
                Err(refusal(Code::TopicNotFound))
            };
            assert_eq!(cache.get("t", ask).await, Err(refusal(Code::TopicNotFound)));
        }
        assert_eq!(asked.get(), 1);
    }

    #[tokio::test]
    async fn what_is_known_stays_until_it_is_said_to_be_gone() {
        let cache = Cache::new(LIMITS);
        let get = |answer: Result<i32>| {
            let cache = &cache;
            async move {
                cache.refresh("t", |_| async { answer }).await;
                cache.get("t", |_| async { Err(refusal(Code::ProxyTimeout)) }).await.map(|value| *value)
            }
        };
        assert_eq!(
            cache.get("t", |before| async move { Ok(before.map_or(1, |_| 9)) }).await.as_deref(),
            Ok(&1)
        );
        assert_eq!(get(Err(refusal(Code::InternalServerError))).await, Ok(1));
        assert_eq!(get(Ok(2)).await, Ok(2));
        assert_eq!(get(Err(refusal(Code::TopicNotFound))).await, Err(refusal(Code::TopicNotFound)));
    }

    #[tokio::test]
    async fn it_has_a_limit_and_forgets_what_nobody_wants() {
        let cache = Cache::new(LIMITS);
        for name in 0..100 {
            let got = cache.get(&name.to_string(), |_| async move { Ok(name) }).await;
            assert_eq!(got.as_deref(), Ok(&name));
            assert!(cache.by_name.lock().len() <= LIMITS.entries_max);
        }
        let start = Instant::now() - LIMITS.unused;
        assert_eq!(cache.used_since(start, Instant::now(), |value| *value == 99), ["99".into()]);
        assert!(cache.used_since(start, Instant::now() + LIMITS.unused, |_| true).is_empty());
        assert!(cache.by_name.lock().is_empty());
    }
}
