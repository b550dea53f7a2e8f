//! Changing keys inside a properties file that people edit.

use roxmq_protocol::properties_text;

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
        let key = key_of(&logical);
        match changes.iter().rev().find(|(name, _)| key.as_ref() == Some(name)) {
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

/// The key that a line sets; none for blank lines and comments.
fn key_of(line: &str) -> Option<String> {
    properties_text::parse(line).into_iter().next().map(|(key, _)| key)
}

fn line(name: &str, value: &str) -> String {
    properties_text::write([(name, value)])
}
