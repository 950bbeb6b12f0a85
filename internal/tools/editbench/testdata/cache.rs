//! A cache that forgets what was not asked for lately, bounded by count and by bytes.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forgotten {
    Aged,
    Crowded,
    Removed,
}

#[derive(Debug, Clone)]
pub struct Limits {
    pub entries: usize,
    pub bytes: usize,
    pub age: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            entries: 1024,
            bytes: 8 << 20,
            age: Duration::from_secs(300),
        }
    }
}

struct Slot<V> {
    value: V,
    size: usize,
    used: Instant,
    stored: Instant,
}

pub struct Cache<K, V> {
    slots: HashMap<K, Slot<V>>,
    limits: Limits,
    held: usize,
    hits: u64,
    misses: u64,
}

impl<K: Hash + Eq + Clone, V> Cache<K, V> {
    pub fn new(limits: Limits) -> Self {
        Cache {
            slots: HashMap::with_capacity(limits.entries),
            limits,
            held: 0,
            hits: 0,
            misses: 0,
        }
    }

    pub fn find(&mut self, key: &K, now: Instant) -> Option<&V> {
        let aged = match self.slots.get(key) {
            Some(slot) => now.duration_since(slot.stored) > self.limits.age,
            None => {
                self.misses += 1;
                return None;
            }
        };
        if aged {
            self.forget(key, Forgotten::Aged);
            self.misses += 1;
            return None;
        }
        self.hits += 1;
        let slot = self.slots.get_mut(key)?;
        slot.used = now; // the next sweep takes others first
        Some(&slot.value)
    }

    pub fn store(&mut self, key: K, value: V, size: usize, now: Instant) -> bool {
        if size > self.limits.bytes {
            return false;
        }
        if self.slots.contains_key(&key) {
            self.forget(&key, Forgotten::Removed);
        }
        while self.slots.len() >= self.limits.entries || self.held + size > self.limits.bytes {
            match self.oldest() {
                Some(victim) => self.forget(&victim, Forgotten::Crowded),
                None => break,
            }
        }
        self.held += size;
        self.slots.insert(key, Slot { value, size, used: now, stored: now });
        true
    }

    pub fn rate(&self) -> f64 {
        let asked = self.hits + self.misses;
        if asked == 0 {
            return 0.0;
        }
        self.hits as f64 / asked as f64
    }

    fn oldest(&self) -> Option<K> {
        self.slots
            .iter()
            .min_by_key(|(_, slot)| slot.used)
            .map(|(key, _)| key.clone())
    }

    fn forget(&mut self, key: &K, why: Forgotten) {
        if let Some(slot) = self.slots.remove(key) {
            self.held -= slot.size;
            log::trace!("forgot an entry of {} bytes: {:?}", slot.size, why);
        }
    }
}
