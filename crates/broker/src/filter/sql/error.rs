//! What is wrong with an expression, and where.

use super::limits::{DEPTH_MAX, EXPRESSION_BYTES_MAX, PROPERTIES_MAX};
use std::fmt;

/// How much of the expression an error shows from its place on.
const SHOWN_CHARACTERS_MAX: usize = 24;

/// Places are those of characters, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SqlError {
    #[error("the expression has {0} bytes, over the limit of {EXPRESSION_BYTES_MAX}")]
    TooLong(usize),
    #[error("the expression is nested deeper than {DEPTH_MAX} levels at {0}")]
    TooDeep(Place),
    #[error("the expression asks for more than {PROPERTIES_MAX} different properties at {0}")]
    TooManyProperties(Place),
    #[error("expected {expected} at {place}")]
    Unexpected { place: Place, expected: Expected },
    #[error("the {what} that starts at {place} is not closed")]
    Unclosed { place: Place, what: &'static str },
    #[error("the number at {place} is out of range: {range}")]
    OutOfRange { place: Place, range: &'static str },
    #[error("{why}, at {place}")]
    WrongType { place: Place, why: &'static str },
}

/// A place in the expression, with what stands there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    character: usize,
    text: String,
}

impl Place {
    /// `at` is in bytes, on the border of a character.
    pub(super) fn new(text: &str, at: usize) -> Self {
        let (before, rest) = text.split_at_checked(at).unwrap_or((text, ""));
        let mut shown: String = rest.chars().take(SHOWN_CHARACTERS_MAX).collect();
        if shown.len() < rest.len() {
            shown.push('…');
        }
        Place { character: before.chars().count() + 1, text: shown }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.text.is_empty() {
            return write!(f, "character {} (the end of the expression)", self.character);
        }
        write!(f, "character {}: {:?}", self.character, self.text)
    }
}

/// What could have stood at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    Token,
    Value,
    Text,
    NullOrNotNull,
    Null,
    AfterNot,
    And,
    Open,
    CommaOrClose,
    Close,
    OperatorOrEnd,
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Expected::Token => "a property, a number, a string in single quotes or an operator",
            Expected::Value => "a property, a number, a string, TRUE, FALSE, NULL, NOT or '('",
            Expected::Text => "a string in single quotes",
            Expected::NullOrNotNull => "NULL or NOT NULL",
            Expected::Null => "NULL",
            Expected::AfterNot => "IN, BETWEEN, CONTAINS, STARTSWITH or ENDSWITH after NOT",
            Expected::And => "AND between the bounds of BETWEEN",
            Expected::Open => "'(' before the list of IN",
            Expected::CommaOrClose => "',' or ')' in the list of IN",
            Expected::Close => "an operator or ')'",
            Expected::OperatorOrEnd => "an operator or the end of the expression",
        })
    }
}

impl SqlError {
    pub(super) fn unexpected(text: &str, at: usize, expected: Expected) -> Self {
        SqlError::Unexpected { place: Place::new(text, at), expected }
    }

    pub(super) fn unclosed(text: &str, at: usize, what: &'static str) -> Self {
        SqlError::Unclosed { place: Place::new(text, at), what }
    }

    pub(super) fn wrong_type(text: &str, at: usize, why: &'static str) -> Self {
        SqlError::WrongType { place: Place::new(text, at), why }
    }
}
