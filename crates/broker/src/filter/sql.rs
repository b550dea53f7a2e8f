//! SQL92 expressions over a message's properties, as the Java server has them.

mod error;
mod evaluate;
mod expression;
mod lexer;
mod limits;
mod number;
mod parser;

#[cfg(test)]
mod tests;

pub use error::{Expected, Place, SqlError};

use evaluate::Message;
use expression::Condition;
use limits::PROPERTIES_MAX;
use roxmq_protocol::properties::Properties;

/// An expression that is ready to be asked about messages.
#[derive(Clone, Debug, PartialEq)]
pub struct SqlExpression {
    condition: Condition,
    /// Their order is that of the indices in the condition.
    properties: Box<[Box<str>]>,
}

impl SqlExpression {
    pub fn compile(text: &str) -> Result<Self, SqlError> {
        let parsed = parser::parse(text)?;
        Ok(SqlExpression { condition: parsed.condition, properties: parsed.properties.into_boxed_slice() })
    }

    /// Whether the expression is true for a message with these encoded properties; not if it is false, unknown, or
    /// can't be told. Allocates nothing.
    pub fn matches(&self, properties: &[u8]) -> bool {
        self.truth(properties) == Ok(Some(true))
    }

    fn truth(&self, properties: &[u8]) -> Result<Option<bool>, evaluate::Incomparable> {
        let mut values = [None; PROPERTIES_MAX];
        // Of two properties with one name the later counts.
        for (name, value) in Properties::new(properties).items() {
            if let Some(at) = self.properties.iter().position(|wanted| wanted.as_bytes() == name) {
                values[at] = Some(value);
            }
        }
        Message { values: &values }.truth(&self.condition)
    }
}
