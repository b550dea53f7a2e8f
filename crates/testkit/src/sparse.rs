//! Bytes with holes: a file of a gigabyte takes the memory of what was written to it.

use std::collections::BTreeMap;

pub const PAGE_BYTES: u64 = 4096;

#[derive(Clone, Debug, Default)]
pub struct Sparse {
    bytes: u64,
    pages: BTreeMap<u64, Box<[u8; PAGE_BYTES as usize]>>,
}

impl Sparse {
    pub fn len(&self) -> u64 {
        self.bytes
    }

    /// Cuts or extends; what is extended is zeros.
    pub fn set_len(&mut self, bytes: u64) {
        if bytes < self.bytes {
            self.clear(bytes, self.bytes - bytes);
        }
        self.bytes = bytes;
    }

    /// False if the range isn't all inside.
    pub fn read(&self, at: u64, out: &mut [u8]) -> bool {
        if at.checked_add(out.len() as u64).is_none_or(|end| end > self.bytes) {
            return false;
        }
        let mut rest = out;
        for (page, from, to) in parts(at, rest.len() as u64) {
            let (part, behind) = rest.split_at_mut(to - from);
            match self.pages.get(&page) {
                Some(bytes) => part.copy_from_slice(&bytes[from..to]),
                None => part.fill(0),
            }
            rest = behind;
        }
        true
    }

    /// Extends if it has to.
    pub fn write(&mut self, at: u64, bytes: &[u8]) {
        let mut rest = bytes;
        for (page, from, to) in parts(at, bytes.len() as u64) {
            let (part, behind) = rest.split_at(to - from);
            let page = self.pages.entry(page).or_insert_with(|| Box::new([0; PAGE_BYTES as usize]));
            page[from..to].copy_from_slice(part);
            rest = behind;
        }
        self.bytes = self.bytes.max(at + bytes.len() as u64);
    }

    pub fn clear(&mut self, at: u64, bytes: u64) {
        let end = at.saturating_add(bytes);
        let touched: Vec<u64> =
            self.pages.range(at / PAGE_BYTES..end.div_ceil(PAGE_BYTES)).map(|(&page, _)| page).collect();
        for page in touched {
            let start = page * PAGE_BYTES;
            let from = at.saturating_sub(start).min(PAGE_BYTES) as usize;
            let to = (end - start).min(PAGE_BYTES) as usize;
            if (from, to) == (0, PAGE_BYTES as usize) {
                self.pages.remove(&page);
            } else if let Some(bytes) = self.pages.get_mut(&page) {
                bytes[from..to].fill(0);
            }
        }
    }
}

/// The pages of a range, with where it begins and ends in each.
pub fn parts(at: u64, bytes: u64) -> impl Iterator<Item = (u64, usize, usize)> {
    let end = at + bytes;
    let pages = if bytes == 0 { 0..0 } else { at / PAGE_BYTES..end.div_ceil(PAGE_BYTES) };
    pages.map(move |page| {
        let start = page * PAGE_BYTES;
        (page, at.saturating_sub(start) as usize, (end - start).min(PAGE_BYTES) as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_was_written_across_pages_and_zeros_elsewhere() {
        let mut file = Sparse::default();
        file.set_len(1 << 40);
        file.write(4090, &[7; 10]);
        let mut out = [9; 14];
        assert!(file.read(4088, &mut out));
        assert_eq!(out, [0, 0, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 0, 0]);
        assert_eq!(file.pages.len(), 2);
        assert!(!file.read((1 << 40) - 3, &mut [0; 4]));
    }

    #[test]
    fn what_was_cut_off_comes_back_as_zeros() {
        let mut file = Sparse::default();
        file.write(0, &[7; 9000]);
        file.set_len(100);
        file.set_len(9000);
        let mut out = vec![9; 9000];
        assert!(file.read(0, &mut out));
        assert_eq!(out.iter().filter(|&&byte| byte == 7).count(), 100);
        file.clear(50, 20);
        assert!(file.read(0, &mut out));
        assert_eq!(out.iter().filter(|&&byte| byte == 7).count(), 80);
    }
}
