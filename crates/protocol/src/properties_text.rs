//! Java's properties text: configuration files, and the bodies that read or change a configuration.
//!
//! A line is a key and a value with `=`, `:` or blanks between them. `#` or `!` at its start makes it a comment, a
//! backslash at its end continues it, and backslashes escape, `\uXXXX` among them.

mod edit;

pub use edit::edit;

/// Reads keys and values in order; of equal keys the last counts, which is left to the caller. A broken `\u` stands
/// for itself: one bad line is no reason to lose a configuration.
pub fn parse(text: &str) -> Vec<(String, String)> {
    logical_lines(text).map(|line| split(&line)).collect()
}

/// Writes a line for each pair, escaped so that [`parse`] gives the same.
pub fn write<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut out = String::new();
    for (key, value) in pairs {
        escape(key, true, &mut out);
        out.push('=');
        escape(value, false, &mut out);
        out.push('\n');
    }
    out
}

/// Lines with their continuations joined, without comments and empty ones.
fn logical_lines(text: &str) -> impl Iterator<Item = String> {
    let mut lines = text.split(['\n', '\r']);
    std::iter::from_fn(move || {
        let mut line = lines.by_ref().map(trim_start).find(|line| !is_skipped(line))?.to_owned();
        while is_continued(&line) {
            line.pop();
            // A CR and LF make an empty line between the two parts.
            match lines.by_ref().map(trim_start).find(|line| !line.is_empty()) {
                Some(next) => line.push_str(next),
                None => break,
            }
        }
        Some(line)
    })
}

fn trim_start(line: &str) -> &str {
    line.trim_start_matches([' ', '\t', '\u{c}'])
}

fn is_skipped(line: &str) -> bool {
    line.is_empty() || line.starts_with(['#', '!'])
}

/// An odd number of backslashes at the end: the last of them isn't escaped itself.
fn is_continued(line: &str) -> bool {
    (line.len() - line.trim_end_matches('\\').len()) % 2 == 1
}

fn split(line: &str) -> (String, String) {
    let mut escaped = false;
    let end = line.find(|character: char| {
        let is_end = !escaped && matches!(character, '=' | ':' | ' ' | '\t' | '\u{c}');
        escaped = character == '\\' && !escaped;
        is_end
    });
    let (key, rest) = line.split_at(end.unwrap_or(line.len()));
    let rest = trim_start(rest);
    let value = rest.strip_prefix(['=', ':']).map_or(rest, trim_start);
    (unescape(key), unescape(value))
}

fn unescape(text: &str) -> String {
    let mut units = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        if character != '\\' {
            units.extend_from_slice(character.encode_utf16(&mut [0; 2]));
            continue;
        }
        let Some(escaped) = rest.chars().next() else {
            break;
        };
        rest = &rest[escaped.len_utf8()..];
        let plain = match escaped {
            't' => '\t',
            'n' => '\n',
            'r' => '\r',
            'f' => '\u{c}',
            'u' => match rest.get(..4).and_then(hex_unit) {
                Some(unit) => {
                    units.push(unit);
                    rest = &rest[4..];
                    continue;
                }
                None => 'u',
            },
            other => other,
        };
        units.extend_from_slice(plain.encode_utf16(&mut [0; 2]));
    }
    // Characters beyond 16 bits come as two escapes, so they are joined at the end.
    String::from_utf16_lossy(&units)
}

fn hex_unit(digits: &str) -> Option<u16> {
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
}

fn escape(text: &str, is_key: bool, out: &mut String) {
    for (at, character) in text.char_indices() {
        match character {
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\u{c}' => out.push_str("\\f"),
            '\\' => out.push_str("\\\\"),
            '=' | ':' | '#' | '!' | ' ' if is_key || (at == 0 && character == ' ') => {
                out.push('\\');
                out.push(character);
            }
            _ => out.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_are_read_as_java_reads_them() {
        let check = |text: &str, expected: &[(&str, &str)]| {
            let pairs = parse(text);
            let pairs: Vec<_> = pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
            assert_eq!(pairs, expected, "{text:?}");
        };
        check("a=1\nb:2\nc 3\nd\t = 4", &[("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")]);
        check("# x=1\n  ! y=2\n\n \t\nz=3 \r\n", &[("z", "3 ")]);
        check("a=1,\\\n   2,\\\r\n\t3\nb=4", &[("a", "1,2,3"), ("b", "4")]);
        check("a=x\\\\\nb=1", &[("a", "x\\"), ("b", "1")]);
        check("a\\=b\\ c=d=e", &[("a=b c", "d=e")]);
        check("a", &[("a", "")]);
        check("=v", &[("", "v")]);
        check("path=C:\\\\x\\ty", &[("path", "C:\\x\ty")]);
        check("a=\\u00e9\\ud83d\\ude80\\u12", &[("a", "é🚀u12")]);
        check("a=1\\", &[("a", "1")]);
        check("a==b", &[("a", "=b")]);
    }

    #[test]
    fn what_is_written_is_plain_where_it_can_be() {
        let pairs = [("brokerIP1", "127.0.0.1"), ("a b", " c=d\n")];
        assert_eq!(write(pairs), "brokerIP1=127.0.0.1\na\\ b=\\ c=d\\n\n");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn pairs_come_back(pairs in prop::collection::vec(("[a-z=:#! \\\\é\t]{1,6}", "[a-z=:#! \\\\é\n\r\u{c}]{0,6}"), 0..5)) {
            let text = write(pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())));
            prop_assert_eq!(parse(&text), pairs);
        }

        #[test]
        fn any_text_is_read(text in "[a\\\\u0\n\r=: #é]{0,40}") {
            let _ = parse(&text);
        }
    }
}
