//! Changes values in a text that people edit: what they wrote stays as it is.

use super::{is_continued, parse, write};

/// Replaces the last line of each key, which is the one that counts, in its place, or adds one at the end. Comments,
/// order and other lines stay.
pub fn edit(text: &str, changes: &[(String, String)]) -> String {
    let mut lines = lines_with_continuations(text);
    if let Some(last) = lines.last_mut()
        && !last.ends_with('\n')
    {
        last.push('\n');
    }
    for (key, value) in changes {
        let line = write([(key.as_str(), value.as_str())]);
        match lines.iter_mut().rev().find(|line| key_of(line).as_ref() == Some(key)) {
            Some(found) => *found = line,
            None => lines.push(line),
        }
    }
    lines.concat()
}

/// As they stand there, line ends included.
fn lines_with_continuations(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut continued = false;
    for line in text.split_inclusive('\n') {
        match lines.last_mut() {
            Some(last) if continued => last.push_str(line),
            _ => lines.push(line.to_owned()),
        }
        let is_comment = !continued && line.trim_start().starts_with(['#', '!']);
        continued = !is_comment && is_continued(line.trim_end_matches(['\n', '\r']));
    }
    lines
}

/// The key that a line sets; none for blank lines and comments.
fn key_of(line: &str) -> Option<String> {
    parse(line).into_iter().next().map(|(key, _)| key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, changes: &[(&str, &str)], expected: &str) {
        let changes: Vec<_> =
            changes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        assert_eq!(edit(text, &changes), expected, "{text:?}");
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
        check("a=1\r\nb=2\r\n", &[("b", "3")], "a=1\r\nb=3\n");
        check("a=0\n", &[("a", "1"), ("a", "2")], "a=2\n");
    }

    #[test]
    fn the_line_that_counts_is_changed() {
        check("a=1\na=2", &[("a", "3")], "a=1\na=3\n");
        check("#a=1", &[("a", "3")], "#a=1\na=3\n");
        check("a=1\\\n 2\nb=1", &[("a", "3"), ("c", "4")], "a=3\nb=1\nc=4\n");
        check("a=1\\\n b=2\nb=1", &[("b", "3")], "a=1\\\n b=2\nb=3\n");
        check("a=1\\\n# 2\n", &[("a", "3")], "a=3\n");
    }

    #[test]
    fn values_are_escaped() {
        check("", &[("a", "x\ny\\z")], "a=x\\ny\\\\z\n");
    }
}
