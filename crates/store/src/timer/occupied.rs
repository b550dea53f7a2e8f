//! Which slots of the wheel have messages: a bit for each, so that the next one is found without reading any.

#[derive(Debug)]
pub(super) struct Occupied {
    words: Vec<u64>,
    slots: usize,
}

impl Occupied {
    pub fn new(slots: usize) -> Occupied {
        Occupied { words: vec![0; slots.div_ceil(64)], slots }
    }

    pub fn has(&self, slot: usize) -> bool {
        self.words[slot / 64] & 1 << (slot % 64) != 0
    }

    pub fn set(&mut self, slot: usize) {
        self.words[slot / 64] |= 1 << (slot % 64);
    }

    pub fn clear(&mut self, slot: usize) {
        self.words[slot / 64] &= !(1 << (slot % 64));
    }

    /// How many slots behind `from` the first one lies that has messages, once around.
    pub fn distance(&self, from: usize) -> Option<usize> {
        let found = self.next(from).or_else(|| self.next(0))?;
        Some((found + self.slots - from) % self.slots)
    }

    fn next(&self, from: usize) -> Option<usize> {
        let first = self.words[from / 64] & u64::MAX << (from % 64);
        if first != 0 {
            return Some(from / 64 * 64 + first.trailing_zeros() as usize);
        }
        let behind = from / 64 + 1;
        let at = self.words[behind..].iter().position(|word| *word != 0)? + behind;
        Some(at * 64 + self.words[at].trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_one_is_found_once_around() {
        let mut occupied = Occupied::new(200);
        assert_eq!(occupied.distance(5), None);
        occupied.set(199);
        occupied.set(64);
        for (from, distance) in [(0, 64), (64, 0), (65, 134), (199, 0)] {
            assert_eq!(occupied.distance(from), Some(distance), "{from}");
        }
        occupied.clear(199);
        assert_eq!(occupied.distance(65), Some(199));
        assert!(occupied.has(64) && !occupied.has(199));
    }
}
