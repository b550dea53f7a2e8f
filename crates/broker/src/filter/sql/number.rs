//! Numbers in the texts of properties, read as Java reads them.

/// A text as a double: blanks around it, a sign, `NaN`, `Infinity`, an exponent and a letter for the type are all
/// allowed. Hexadecimal floats are not read, which Java would.
pub(super) fn double(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?.trim_matches(|character| character <= ' ');
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    match unsigned {
        "NaN" => return Some(f64::NAN),
        "Infinity" if text.starts_with('-') => return Some(f64::NEG_INFINITY),
        "Infinity" => return Some(f64::INFINITY),
        _ => {}
    }
    // Else Rust would read its own names of these.
    if !unsigned.starts_with(|character: char| character.is_ascii_digit() || character == '.') {
        return None;
    }
    text.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(text).parse().ok()
}

/// A text as a whole number of exactly this type: digits with a sign at most.
pub(super) fn whole<N: std::str::FromStr>(text: &[u8]) -> Option<N> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_as_java_has_them() {
        let check = |text: &str, expected: Option<f64>| {
            let number = double(text.as_bytes());
            assert_eq!(number.map(f64::to_bits), expected.map(f64::to_bits), "{text}");
        };
        check("5", Some(5.0));
        check(" 5.0\t", Some(5.0));
        check("+.5", Some(0.5));
        check("-5.", Some(-5.0));
        check("1e3", Some(1000.0));
        check("1E-3d", Some(0.001));
        check("7f", Some(7.0));
        check("1e400", Some(f64::INFINITY));
        check("NaN", Some(f64::NAN));
        check("-NaN", Some(f64::NAN));
        check("-Infinity", Some(f64::NEG_INFINITY));
        for text in ["", " ", ".", "-", "inf", "nan", "infinity", "NaNd", "1dd", "1e", "5 5", "1_0", "five"] {
            check(text, None);
        }
    }

    #[test]
    fn whole_numbers_are_of_their_type() {
        assert_eq!(whole::<i32>(b"-5"), Some(-5));
        assert_eq!(whole::<i32>(b"+05"), Some(5));
        assert_eq!(whole::<i32>(b"2147483648"), None);
        assert_eq!(whole::<i64>(b"2147483648"), Some(2_147_483_648));
        for text in ["", " 5", "5.0", "5L", "-", "\u{e9}"] {
            assert_eq!(whole::<i64>(text.as_bytes()), None, "{text}");
        }
    }
}
