//! What an expression says of a message, by the rules of the Java server.
//!
//! A condition is true, false or unknown, and two values may be such that they can't be compared at all. That ends the
//! evaluation: the message is not wanted.

use super::expression::{Between, Comparison, Condition, InList, Operand, PropertyIndex, Search, SearchKind};
use super::number;
use std::cmp::Ordering;

/// The values of the expression's properties, as far as the message has them.
pub(super) struct Message<'a> {
    pub(super) values: &'a [Option<&'a [u8]>],
}

/// There is no answer: a text is no number of the type it is compared with, say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Incomparable;

/// Nothing for unknown.
type Truth = Result<Option<bool>, Incomparable>;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Value<'a> {
    Null,
    Bool(bool),
    Int(i32),
    Long(i64),
    Double(f64),
    Text(&'a [u8]),
}

impl<'a> Message<'a> {
    pub(super) fn truth(&self, condition: &'a Condition) -> Truth {
        match condition {
            Condition::Constant(constant) => Ok(*constant),
            Condition::Property(property) => Ok(self.property(*property).map(|_| false)),
            Condition::Not(negated) => Ok(self.truth(negated)?.map(|truth| !truth)),
            Condition::All(conditions) => self.joined(conditions, false),
            Condition::Any(conditions) => self.joined(conditions, true),
            Condition::Equal(operands) => self.equal(&operands[0], &operands[1]),
            Condition::IsNull(operand) => Ok(Some(self.value(operand)? == Value::Null)),
            Condition::Compare(comparison, operands) => {
                let [left, right] = &**operands;
                self.compare(*comparison, self.value(left)?, || self.value(right))
            }
            Condition::Between(between) => self.between(between),
            Condition::In(list) => Ok(self.in_list(list)),
            Condition::Search(search) => self.search(search).map(Some),
        }
    }

    fn property(&self, property: PropertyIndex) -> Option<&'a [u8]> {
        self.values.get(property.0).copied().flatten()
    }

    /// The first condition that decides it ends it: TRUE for OR, FALSE for AND.
    fn joined(&self, conditions: &'a [Condition], decisive: bool) -> Truth {
        let mut result = Some(!decisive);
        for condition in conditions {
            match self.truth(condition)? {
                Some(truth) if truth == decisive => return Ok(Some(decisive)),
                Some(_) => {}
                None => result = None,
            }
        }
        Ok(result)
    }

    fn value(&self, operand: &'a Operand) -> Result<Value<'a>, Incomparable> {
        Ok(match operand {
            Operand::Int(number) => Value::Int(*number),
            Operand::Long(number) => Value::Long(*number),
            Operand::Double(number) => Value::Double(*number),
            Operand::Text(text) => Value::Text(text.as_bytes()),
            Operand::Property(property) => self.property(*property).map_or(Value::Null, Value::Text),
            Operand::Negated(negated) => match self.value(negated)? {
                Value::Int(number) => Value::Int(number.wrapping_neg()),
                Value::Long(number) => Value::Long(number.wrapping_neg()),
                Value::Double(number) => Value::Double(-number),
                Value::Null | Value::Bool(_) | Value::Text(_) => Value::Null,
            },
            Operand::Condition(condition) => self.truth(condition)?.map_or(Value::Null, Value::Bool),
        })
    }

    /// Two values that are missing are equal. With one of them missing it depends on which.
    fn equal(&self, left: &'a Operand, right: &'a Operand) -> Truth {
        match (self.value(left)?, self.value(right)?) {
            (Value::Null, Value::Null) => Ok(Some(true)),
            (Value::Null, _) => Ok(None),
            (_, Value::Null) => Ok(Some(false)),
            (Value::Text(left), Value::Text(right)) => Ok(Some(left == right)),
            (left, right) => Ok(Some(order(left, right)? == Ordering::Equal)),
        }
    }

    fn compare(
        &self,
        comparison: Comparison,
        left: Value<'a>,
        right: impl FnOnce() -> Result<Value<'a>, Incomparable>,
    ) -> Truth {
        if left == Value::Null {
            return Ok(None);
        }
        let order = match (left, right()?) {
            (_, Value::Null) => return Ok(None),
            // Texts are less or greater only as numbers.
            (Value::Text(left), Value::Text(right)) => order_of_doubles(double(left)?, double(right)?),
            (left, right) => order(left, right)?,
        };
        Ok(Some(match comparison {
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterOrEqual => order.is_ge(),
        }))
    }

    /// `value >= low AND value <= high`, or its opposite `value < low OR value > high`.
    fn between(&self, between: &'a Between) -> Truth {
        let Between { value, low, high, negated } = between;
        let (first, second) = match negated {
            false => (Comparison::GreaterOrEqual, Comparison::LessOrEqual),
            true => (Comparison::Less, Comparison::Greater),
        };
        let value = self.value(value)?;
        let at_low = self.compare(first, value, || self.value(low))?;
        if at_low == Some(*negated) {
            return Ok(at_low);
        }
        let at_high = self.compare(second, value, || self.value(high))?;
        if at_high == Some(*negated) {
            return Ok(at_high);
        }
        Ok(at_low.and(at_high))
    }

    fn in_list(&self, list: &InList) -> Option<bool> {
        let value = self.property(list.property)?;
        let found = list.texts.binary_search_by(|text| text.as_bytes().cmp(value)).is_ok();
        Some(found != list.negated)
    }

    /// What has no text in it matches neither the search nor its opposite, and nothing has an empty text in it.
    fn search(&self, search: &'a Search) -> Result<bool, Incomparable> {
        let wanted = &*search.text;
        if wanted.is_empty() {
            return Ok(false);
        }
        let Value::Text(text) = self.value(&search.value)? else {
            return Ok(false);
        };
        let found = match search.kind {
            SearchKind::Contains => std::str::from_utf8(text).is_ok_and(|text| text.contains(wanted)),
            SearchKind::StartsWith => text.starts_with(wanted.as_bytes()),
            SearchKind::EndsWith => text.ends_with(wanted.as_bytes()),
        };
        Ok(found != search.negated)
    }
}

/// How two numbers of an expression compare; nothing if one of them is something else.
pub(super) fn compare_numbers(left: &Operand, right: &Operand) -> Option<Ordering> {
    if !left.is_number() || !right.is_number() {
        return None;
    }
    let message = Message { values: &[] };
    let (left, right) = (message.value(left).ok()?, message.value(right).ok()?);
    order(left, right).ok()
}

/// Compares values of different types by making one of them the other's: a text becomes what it is compared with, and
/// the narrower number the wider. TRUE and FALSE are less than any number.
fn order(left: Value<'_>, right: Value<'_>) -> Result<Ordering, Incomparable> {
    use Value::{Bool, Double, Int, Long, Null, Text};
    Ok(match (left, right) {
        (Bool(left), Bool(right)) => left.cmp(&right),
        (Int(left), Int(right)) => left.cmp(&right),
        (Long(left), Long(right)) => left.cmp(&right),
        (Double(left), Double(right)) => order_of_doubles(left, right),
        (Text(left), Text(right)) => left.cmp(right),

        (Int(left), Long(right)) => i64::from(left).cmp(&right),
        (Long(left), Int(right)) => left.cmp(&i64::from(right)),
        (Int(left), Double(right)) => order_of_doubles(f64::from(left), right),
        (Double(left), Int(right)) => order_of_doubles(left, f64::from(right)),
        (Long(left), Double(right)) => order_of_doubles(left as f64, right),
        (Double(left), Long(right)) => order_of_doubles(left, right as f64),

        (Text(left), Bool(right)) => left.eq_ignore_ascii_case(b"true").cmp(&right),
        (Text(left), Int(right)) => whole::<i32>(left)?.cmp(&right),
        (Int(left), Text(right)) => left.cmp(&whole(right)?),
        (Text(left), Long(right)) => whole::<i64>(left)?.cmp(&right),
        (Long(left), Text(right)) => left.cmp(&whole(right)?),
        (Text(left), Double(right)) => order_of_doubles(double(left)?, right),
        (Double(left), Text(right)) => order_of_doubles(left, double(right)?),

        // The Java server stumbles over these, and over no message with them is anything known.
        (Bool(_), Text(_)) | (Null, _) | (_, Null) => return Err(Incomparable),
        (Bool(_), Int(_) | Long(_) | Double(_)) | (Int(_) | Long(_) | Double(_), Bool(_)) => Ordering::Less,
    })
}

/// As Java orders them: negative zero is below zero, and NaN above all and equal to itself.
fn order_of_doubles(left: f64, right: f64) -> Ordering {
    left.total_cmp(&right)
}

fn double(text: &[u8]) -> Result<f64, Incomparable> {
    number::double(text).ok_or(Incomparable)
}

fn whole<N: std::str::FromStr>(text: &[u8]) -> Result<N, Incomparable> {
    number::whole(text).ok_or(Incomparable)
}
