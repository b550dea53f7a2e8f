//! The file of what POP has in flight: `popInFlight`, as `docs/formats/pop-state.md` pictures it.
//!
//! ```text
//! "ROXPOP01"  8 bytes
//! position    8 bytes, the log position up to which the file holds everything
//! crc         4 bytes, of what follows and of the position
//! body        the body of a record of the state log
//! ```

use super::snapshot::Snapshot;
use crate::groups::DataVersion;
use roxmq_store::PhyOffset;

pub(super) const FLIGHT_FILE: &str = "popInFlight";

const MAGIC: &[u8; 8] = b"ROXPOP01";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FlightFileError {
    #[error("it doesn't begin with ROXPOP01")]
    Magic,
    #[error("it has {0} bytes, its head alone takes 20")]
    Short(usize),
    #[error("its CRC is {found:#010X} where it says {expected:#010X}")]
    Crc { expected: u32, found: u32 },
}

pub(super) fn encode(snapshot: &Snapshot<Vec<u8>>) -> Vec<u8> {
    let position = snapshot.log_offset.unwrap_or_default().0.to_be_bytes();
    let mut out = Vec::with_capacity(snapshot.table.len() + 20);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&position);
    out.extend_from_slice(&crc(&position, &snapshot.table).to_be_bytes());
    out.extend_from_slice(&snapshot.table);
    out
}

pub(super) fn decode(bytes: &[u8]) -> Result<Snapshot<Vec<u8>>, FlightFileError> {
    let short = || FlightFileError::Short(bytes.len());
    let (magic, rest) = bytes.split_first_chunk::<8>().ok_or_else(short)?;
    if magic != MAGIC {
        return Err(FlightFileError::Magic);
    }
    let (position, rest) = rest.split_first_chunk::<8>().ok_or_else(short)?;
    let (expected, body) = rest.split_first_chunk::<4>().ok_or_else(short)?;
    let (expected, found) = (u32::from_be_bytes(*expected), crc(position, body));
    if expected != found {
        return Err(FlightFileError::Crc { expected, found });
    }
    let log_offset = Some(PhyOffset(i64::from_be_bytes(*position)));
    Ok(Snapshot { version: DataVersion::default(), log_offset, table: body.to_vec() })
}

fn crc(position: &[u8], body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(position);
    hasher.update(body);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_comes_back_and_damage_is_noticed() {
        let snapshot = Snapshot {
            version: DataVersion::default(),
            log_offset: Some(PhyOffset(4711)),
            table: b"in flight".to_vec(),
        };
        let bytes = encode(&snapshot);
        assert_eq!(decode(&bytes), Ok(snapshot));
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(decode(&damaged).is_err(), "byte {at}");
        }
        assert_eq!(decode(b""), Err(FlightFileError::Short(0)));
        assert_eq!(decode(&bytes[..19]), Err(FlightFileError::Short(19)));
    }
}
