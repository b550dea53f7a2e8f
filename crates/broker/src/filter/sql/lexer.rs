//! The tokens of SQL92 expressions.

use super::error::{Expected, SqlError};

/// A token and where it starts, in bytes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token<'a> {
    pub(super) at: usize,
    pub(super) kind: TokenKind<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TokenKind<'a> {
    Keyword(Keyword),
    /// The name of a property.
    Name(&'a str),
    /// Digits, without the letter that may end them.
    Integer(&'a str),
    Float(&'a str),
    /// What stands between the quotes, doubled quotes still doubled.
    Text(&'a str),
    Symbol(Symbol),
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keyword {
    Not,
    And,
    Or,
    Between,
    In,
    True,
    False,
    Null,
    Is,
    Contains,
    StartsWith,
    EndsWith,
}

const KEYWORDS: [(&str, Keyword); 12] = [
    ("NOT", Keyword::Not),
    ("AND", Keyword::And),
    ("OR", Keyword::Or),
    ("BETWEEN", Keyword::Between),
    ("IN", Keyword::In),
    ("TRUE", Keyword::True),
    ("FALSE", Keyword::False),
    ("NULL", Keyword::Null),
    ("IS", Keyword::Is),
    ("CONTAINS", Keyword::Contains),
    ("STARTSWITH", Keyword::StartsWith),
    ("ENDSWITH", Keyword::EndsWith),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Symbol {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Open,
    Close,
    Comma,
    Plus,
    Minus,
}

/// The longer ones before those that they start with.
const SYMBOLS: [(&str, Symbol); 11] = [
    ("<>", Symbol::NotEqual),
    ("<=", Symbol::LessOrEqual),
    (">=", Symbol::GreaterOrEqual),
    ("=", Symbol::Equal),
    ("<", Symbol::Less),
    (">", Symbol::Greater),
    ("(", Symbol::Open),
    (")", Symbol::Close),
    (",", Symbol::Comma),
    ("+", Symbol::Plus),
    ("-", Symbol::Minus),
];

pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Lexer { text, at: 0 }
    }

    pub(super) fn next(&mut self) -> Result<Token<'a>, SqlError> {
        self.skip_blanks()?;
        let at = self.at;
        let rest = &self.text[at..];
        let (kind, bytes) = match rest.bytes().next() {
            None => (TokenKind::End, 0),
            Some(b'\'') => text(rest).ok_or_else(|| SqlError::unclosed(self.text, at, "string"))?,
            Some(byte) if is_name_start(byte) => name(rest),
            Some(byte) if byte.is_ascii_digit() || (byte == b'.' && has_digit(rest, 1)) => number(rest),
            Some(_) => symbol(rest).ok_or_else(|| SqlError::unexpected(self.text, at, Expected::Token))?,
        };
        self.at += bytes;
        Ok(Token { at, kind })
    }

    fn skip_blanks(&mut self) -> Result<(), SqlError> {
        loop {
            let rest = &self.text[self.at..];
            let blanks = rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']).len();
            let skipped = match &rest[blanks..] {
                comment if comment.starts_with("/*") => {
                    let end = comment[2..].find("*/");
                    let at = self.at + blanks;
                    4 + end.ok_or_else(|| SqlError::unclosed(self.text, at, "comment"))?
                }
                // Without the end of its line it is no comment but two signs, which count at the end of an
                // expression only where they may be part of it.
                comment if comment.starts_with("--") => comment.find(['\n', '\r']).map_or(0, |end| end + 1),
                _ => 0,
            };
            self.at += blanks + skipped;
            if skipped == 0 {
                return Ok(());
            }
        }
    }
}

fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$'
}

fn name(rest: &str) -> (TokenKind<'_>, usize) {
    let is_part = |byte: u8| is_name_start(byte) || byte.is_ascii_digit();
    let name = &rest[..rest.bytes().take_while(|byte| is_part(*byte)).count()];
    let keyword = KEYWORDS.iter().find(|(keyword, _)| keyword.eq_ignore_ascii_case(name));
    let kind = keyword.map_or(TokenKind::Name(name), |(_, keyword)| TokenKind::Keyword(*keyword));
    (kind, name.len())
}

fn symbol(rest: &str) -> Option<(TokenKind<'_>, usize)> {
    let (text, symbol) = SYMBOLS.iter().find(|(text, _)| rest.starts_with(text))?;
    Some((TokenKind::Symbol(*symbol), text.len()))
}

/// A string in quotes; a quote in it is doubled.
fn text(rest: &str) -> Option<(TokenKind<'_>, usize)> {
    let mut end = 1;
    loop {
        end += rest[end..].find('\'')?;
        if !rest[end + 1..].starts_with('\'') {
            return Some((TokenKind::Text(&rest[1..end]), end + 1));
        }
        end += 2;
    }
}

fn digits(rest: &str, from: usize) -> usize {
    rest.bytes().skip(from).take_while(u8::is_ascii_digit).count()
}

fn has_digit(rest: &str, at: usize) -> bool {
    digits(rest, at) > 0
}

/// The longest number that the text starts with. A point or an exponent makes it a float.
fn number(rest: &str) -> (TokenKind<'_>, usize) {
    let bytes = rest.as_bytes();
    let whole = digits(rest, 0);
    let mut end = whole;
    if bytes.get(end) == Some(&b'.') {
        end += 1 + digits(rest, end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(rest, end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    if end > whole {
        return (TokenKind::Float(&rest[..end]), end);
    }
    // No number starts with a zero that means nothing: what follows it is another one.
    let whole = if bytes[0] == b'0' { 1 } else { whole };
    let is_marked_long = matches!(bytes.get(whole), Some(b'l' | b'L'));
    (TokenKind::Integer(&rest[..whole]), whole + usize::from(is_marked_long))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Symbol::{Close, Equal, Less, LessOrEqual, Minus, NotEqual, Open};
    use TokenKind::{Float, Integer, Name, Text};

    const fn symbol(symbol: Symbol) -> TokenKind<'static> {
        TokenKind::Symbol(symbol)
    }

    fn all(text: &str) -> Result<Vec<TokenKind<'_>>, SqlError> {
        let mut lexer = Lexer::new(text);
        let mut kinds = Vec::new();
        loop {
            match lexer.next()?.kind {
                TokenKind::End => return Ok(kinds),
                kind => kinds.push(kind),
            }
        }
    }

    #[test]
    fn tokens() {
        let check = |text: &str, expected: &[TokenKind<'_>]| {
            assert_eq!(all(text).as_deref(), Ok(expected), "{text}");
        };
        check("", &[]);
        check(" \t\r\n\u{c}", &[]);
        check("a_1$ $ _b", &[Name("a_1$"), Name("$"), Name("_b")]);
        check(
            "not nOt NOTE",
            &[TokenKind::Keyword(Keyword::Not), TokenKind::Keyword(Keyword::Not), Name("NOTE")],
        );
        check("0 17 17l 17L 0L", &[Integer("0"), Integer("17"), Integer("17"), Integer("17"), Integer("0")]);
        check(
            "1. 1.5 .5 1e3 1.5E+3 .5e-3 1.e3",
            &[
                Float("1."),
                Float("1.5"),
                Float(".5"),
                Float("1e3"),
                Float("1.5E+3"),
                Float(".5e-3"),
                Float("1.e3"),
            ],
        );
        check(
            "1e 1e+ 1.5.5",
            &[
                Integer("1"),
                Name("e"),
                Integer("1"),
                Name("e"),
                symbol(Symbol::Plus),
                Float("1.5"),
                Float(".5"),
            ],
        );
        check("'' 'a' 'it''s' 'é\n' ''''", &[Text(""), Text("a"), Text("it''s"), Text("é\n"), Text("''")]);
        check(
            "a<>b<=1<2=(3)",
            &[
                Name("a"),
                symbol(NotEqual),
                Name("b"),
                symbol(LessOrEqual),
                Integer("1"),
                symbol(Less),
                Integer("2"),
                symbol(Equal),
                symbol(Open),
                Integer("3"),
                symbol(Close),
            ],
        );
        check("a/* b **/c -- d\n- e /*/*/", &[Name("a"), Name("c"), symbol(Minus), Name("e")]);
        check("a --b", &[Name("a"), symbol(Minus), symbol(Minus), Name("b")]);
    }

    #[test]
    fn what_is_no_token_is_said_with_its_place() {
        let check = |text: &str, expected: &str| {
            let error = all(text).expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        };
        check("a = 5;", "character 6");
        check("s != 'x'", "character 3");
        check("a.b = 1", "character 2");
        check("é > 1", "character 1");
        check("'é' = é", "character 7");
        check("a = 'open", "the string that starts at character 5: \"'open\" is not closed");
        check("a /* open *", "the comment that starts at character 3: \"/* open *\" is not closed");
        check("a / b", "character 3");
    }
}
