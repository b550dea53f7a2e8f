//! Golden bytes as they stand in documents.

/// Bytes from hex digits with blanks anywhere.
pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let nibble = |digit: u8| (digit as char).to_digit(16).expect("a hex digit") as u8;
    digits.chunks(2).map(|pair| nibble(pair[0]) << 4 | nibble(pair[1])).collect()
}
