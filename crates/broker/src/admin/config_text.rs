//! A configuration file's text with some values changed: what its owner wrote stays as it is.

use roxmq_protocol::properties_text;

/// Replaces the last line of each key, in its place, or appends one. Comments, order and other lines stay.
pub(super) fn with_values(text: &str, changes: &[(String, String)]) -> String {
    let mut lines: Vec<String> = logical_lines(text);
    for (key, value) in changes {
        let line = properties_text::write([(key.as_str(), value.as_str())]).trim_end().to_owned();
        match lines.iter_mut().rev().find(|line| key_of(line).as_deref() == Some(key)) {
            Some(found) => *found = line,
            None => lines.push(line),
        }
    }
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

/// Lines, each with its continuations.
fn logical_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut continued = false;
    for line in text.lines() {
        match lines.last_mut() {
            Some(last) if continued => {
                last.push('\n');
                last.push_str(line);
            }
            _ => lines.push(line.to_owned()),
        }
        let comment = !continued && line.trim_start().starts_with(['#', '!']);
        let backslashes = line.len() - line.trim_end_matches('\\').len();
        continued = !comment && backslashes % 2 == 1;
    }
    lines
}

fn key_of(line: &str) -> Option<String> {
    properties_text::parse(line).into_iter().next().map(|(key, _)| key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, changes: &[(&str, &str)], expected: &str) {
        let changes: Vec<_> =
            changes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        assert_eq!(with_values(text, &changes), expected);
    }

    #[test]
    fn values_change_in_their_place() {
        let text = "# my broker\n\nbrokerName = a\ntraceOn: true\n! end\n";
        check(text, &[("traceOn", "false")], "# my broker\n\nbrokerName = a\ntraceOn=false\n! end\n");
        check(
            text,
            &[("regionId", "x y")],
            "# my broker\n\nbrokerName = a\ntraceOn: true\n! end\nregionId=x y\n",
        );
        check("", &[("a", "1")], "a=1\n");
    }

    #[test]
    fn the_line_that_counts_is_changed() {
        check("a=1\na=2", &[("a", "3")], "a=1\na=3\n");
        check("#a=1", &[("a", "3")], "#a=1\na=3\n");
        check("a=1\\\n 2\nb=1", &[("a", "3")], "a=3\nb=1\n");
        check("a=1\\\n b=2\nb=1", &[("b", "3")], "a=1\\\n b=2\nb=3\n");
    }

    #[test]
    fn values_are_escaped() {
        check("", &[("a", "x\\y")], "a=x\\\\y\n");
    }
}
