//! Lines of a properties file: written, and changed inside a text that people edit.

/// One line, with what would end it or start a comment escaped.
pub fn line(name: &str, value: &str) -> String {
    let mut line = String::with_capacity(name.len() + value.len() + 2);
    line.push_str(name);
    line.push('=');
    for character in value.chars() {
        match character {
            '\\' => line.push_str("\\\\"),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            other => line.push(other),
        }
    }
    line.push('\n');
    line
}

/// The text with these keys set: the line that sets a key is replaced where it stands, a key without one is added at
/// the end, and everything else, comments included, stays as it is.
pub fn edit(text: &str, changes: &[(String, String)]) -> String {
    let mut left: Vec<&(String, String)> = last_of_each(changes);
    let mut edited = String::with_capacity(text.len());
    let mut lines = text.split_inclusive('\n');
    while let Some(first) = lines.next() {
        let mut logical = first.to_owned();
        while is_continued(&logical) {
            let Some(next) = lines.next() else { break };
            logical.push_str(next);
        }
        match changes.iter().rev().find(|(name, _)| key_of(&logical) == Some(name)) {
            Some((name, value)) if left.iter().any(|(known, _)| known == name) => {
                edited.push_str(&line(name, value));
                left.retain(|(known, _)| known != name);
            }
            // A second line for a key that was set above would undo the change.
            Some(_) => {}
            None => edited.push_str(&logical),
        }
    }
    if !edited.is_empty() && !edited.ends_with('\n') {
        edited.push('\n');
    }
    for (name, value) in left {
        edited.push_str(&line(name, value));
    }
    edited
}

fn last_of_each(changes: &[(String, String)]) -> Vec<&(String, String)> {
    let is_last = |at: usize, name: &str| changes[at + 1..].iter().all(|(later, _)| later != name);
    changes
        .iter()
        .enumerate()
        .filter(|(at, (name, _))| is_last(*at, name))
        .map(|(_, change)| change)
        .collect()
}

fn is_continued(line: &str) -> bool {
    let is_comment = line.trim_start().starts_with(['#', '!']);
    let content = line.trim_end_matches(['\n', '\r']);
    let slashes = content.bytes().rev().take_while(|byte| *byte == b'\\').count();
    !is_comment && slashes % 2 == 1 && line.ends_with('\n')
}

/// The key that a line sets; none for blank lines and comments. No key of ours needs an escape.
fn key_of(line: &str) -> Option<&str> {
    let line = line.trim_start();
    if line.is_empty() || line.starts_with(['#', '!']) {
        return None;
    }
    line.split(|c: char| c == '=' || c == ':' || c.is_whitespace()).next()
}
