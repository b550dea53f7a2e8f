//! What anybody may have made up, as a log line may show it.

const CHARS_MAX: usize = 200;

/// The beginning of the text, in one line.
pub fn shown(text: &str) -> String {
    text.chars().take(CHARS_MAX).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_one_line_and_short() {
        assert_eq!(shown("a\nb"), "a\\nb");
        assert_eq!(shown(&"x".repeat(CHARS_MAX + 1)), "x".repeat(CHARS_MAX));
    }
}
