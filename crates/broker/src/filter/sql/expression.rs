//! What an expression is made of.
//!
//! Conditions are true, false or unknown; operands have a value. The parser makes nothing that can't be evaluated:
//! a condition never has a part that could be something else.

/// A condition, with NULL for unknown.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Condition {
    Constant(Option<bool>),
    /// A property where a condition should be. Its value is a text and never TRUE.
    Property(PropertyIndex),
    Not(Box<Condition>),
    /// Joined by AND.
    All(Vec<Condition>),
    /// Joined by OR.
    Any(Vec<Condition>),
    Equal(Box<[Operand; 2]>),
    IsNull(Box<Operand>),
    Compare(Comparison, Box<[Operand; 2]>),
    Between(Box<Between>),
    In(InList),
    Search(Box<Search>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operand {
    Int(i32),
    Long(i64),
    Double(f64),
    Text(Box<str>),
    Property(PropertyIndex),
    Negated(Box<Operand>),
    Condition(Box<Condition>),
}

/// Which of the properties that the expression asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PropertyIndex(pub(super) usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Between {
    pub(super) value: Operand,
    pub(super) low: Operand,
    pub(super) high: Operand,
    pub(super) negated: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct InList {
    pub(super) property: PropertyIndex,
    /// In order, for a binary search.
    pub(super) texts: Box<[Box<str>]>,
    pub(super) negated: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Search {
    pub(super) kind: SearchKind,
    pub(super) negated: bool,
    pub(super) value: Operand,
    pub(super) text: Box<str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SearchKind {
    Contains,
    StartsWith,
    EndsWith,
}

impl Operand {
    pub(super) fn condition(condition: Condition) -> Self {
        Operand::Condition(Box::new(condition))
    }

    fn constant_condition(&self) -> Option<Option<bool>> {
        match self {
            Operand::Condition(condition) => match **condition {
                Condition::Constant(constant) => Some(constant),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn is_null(&self) -> bool {
        self.constant_condition() == Some(None)
    }

    pub(super) fn is_true_or_false(&self) -> bool {
        self.constant_condition().is_some_and(|constant| constant.is_some())
    }

    /// Written as a number, without a sign.
    pub(super) fn is_number(&self) -> bool {
        matches!(self, Operand::Int(_) | Operand::Long(_) | Operand::Double(_))
    }

    /// Whether it may stand beside `<` and its like: a number, or what may become one.
    pub(super) fn is_comparable(&self) -> bool {
        self.is_number() || matches!(self, Operand::Property(_) | Operand::Negated(_))
    }
}
