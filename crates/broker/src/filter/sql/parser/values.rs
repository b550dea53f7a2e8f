//! The values of an expression: literals, properties, and what stands in brackets.

use super::super::error::{Expected, Place, SqlError};
use super::super::expression::{Condition, Operand, PropertyIndex};
use super::super::lexer::{Keyword, Symbol, Token, TokenKind};
use super::super::limits::PROPERTIES_MAX;
use super::{Parse, Parser};

impl Parser<'_> {
    pub(super) fn primary(&mut self) -> Parse<Operand> {
        let Token { at, kind } = self.token;
        let operand = match kind {
            TokenKind::Text(quoted) => Operand::Text(unquoted(quoted)),
            TokenKind::Integer(digits) => self.integer(digits, at)?,
            TokenKind::Float(text) => self.float(text, at)?,
            TokenKind::Name(name) => Operand::Property(self.property(name, at)?),
            TokenKind::Keyword(Keyword::True) => Operand::condition(Condition::Constant(Some(true))),
            TokenKind::Keyword(Keyword::False) => Operand::condition(Condition::Constant(Some(false))),
            TokenKind::Keyword(Keyword::Null) => Operand::condition(Condition::Constant(None)),
            TokenKind::Symbol(Symbol::Open) => {
                self.take()?;
                let inner = self.any()?;
                self.need(TokenKind::Symbol(Symbol::Close), Expected::Close)?;
                return Ok(inner);
            }
            _ => return Err(self.unexpected(Expected::Value)),
        };
        self.take()?;
        self.part(operand, at, &[])
    }

    /// Numbers that fit 32 bits are of that type, which decides how the text of a property is read.
    fn integer(&self, digits: &str, at: usize) -> Result<Operand, SqlError> {
        let number: i64 = digits.parse().map_err(|_| SqlError::OutOfRange {
            place: Place::new(self.text, at),
            range: "whole numbers reach to 9223372036854775807",
        })?;
        Ok(i32::try_from(number).map_or(Operand::Long(number), Operand::Int))
    }

    /// As with the Java server, zero is no float.
    fn float(&self, text: &str, at: usize) -> Result<Operand, SqlError> {
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() && number > 0.0 => Ok(Operand::Double(number)),
            _ => Err(SqlError::OutOfRange {
                place: Place::new(self.text, at),
                range: "numbers with a point or an exponent reach from 4.9E-324 to 1.7976931348623157E308; write zero as 0",
            }),
        }
    }

    fn property(&mut self, name: &str, at: usize) -> Result<PropertyIndex, SqlError> {
        if let Some(known) = self.properties.iter().position(|known| **known == *name) {
            return Ok(PropertyIndex(known));
        }
        if self.properties.len() == PROPERTIES_MAX {
            return Err(SqlError::TooManyProperties(Place::new(self.text, at)));
        }
        self.properties.push(name.into());
        Ok(PropertyIndex(self.properties.len() - 1))
    }
}

pub(super) fn unquoted(quoted: &str) -> Box<str> {
    quoted.replace("''", "'").into()
}
