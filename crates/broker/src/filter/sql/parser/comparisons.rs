//! What compares a value with others: `>` and its like, BETWEEN, IN, CONTAINS, STARTSWITH, ENDSWITH.

use super::super::error::{Expected, SqlError};
use super::super::evaluate::compare_numbers;
use super::super::expression::{Between, Comparison, Condition, InList, Operand, Search, SearchKind};
use super::super::lexer::{Keyword, Symbol, TokenKind};
use super::values::unquoted;
use super::{Parse, Parser, Part};
use std::cmp::Ordering;

impl Parser<'_> {
    pub(super) fn comparison(&mut self) -> Parse<Operand> {
        let mut left = self.unary()?;
        loop {
            left = match self.token.kind {
                TokenKind::Symbol(Symbol::Less) => self.compare(left, Comparison::Less)?,
                TokenKind::Symbol(Symbol::LessOrEqual) => self.compare(left, Comparison::LessOrEqual)?,
                TokenKind::Symbol(Symbol::Greater) => self.compare(left, Comparison::Greater)?,
                TokenKind::Symbol(Symbol::GreaterOrEqual) => {
                    self.compare(left, Comparison::GreaterOrEqual)?
                }
                TokenKind::Keyword(Keyword::Not) => {
                    self.take()?;
                    self.named_comparison(left, true)?
                }
                TokenKind::Keyword(
                    Keyword::Between
                    | Keyword::In
                    | Keyword::Contains
                    | Keyword::StartsWith
                    | Keyword::EndsWith,
                ) => self.named_comparison(left, false)?,
                _ => return Ok(left),
            };
        }
    }

    fn compare(&mut self, left: Part<Operand>, comparison: Comparison) -> Parse<Operand> {
        self.take()?;
        let right = self.unary()?;
        self.check_comparable(&left)?;
        self.check_comparable(&right)?;
        let operands = Box::new([left.expression, right.expression]);
        self.operand(Condition::Compare(comparison, operands), left.at, &[left.depth, right.depth])
    }

    fn check_comparable(&self, part: &Part<Operand>) -> Result<(), SqlError> {
        if part.expression.is_comparable() {
            return Ok(());
        }
        Err(self.wrong_type(part.at, "only numbers and properties can be less or greater"))
    }

    fn named_comparison(&mut self, left: Part<Operand>, negated: bool) -> Parse<Operand> {
        let TokenKind::Keyword(keyword) = self.token.kind else {
            return Err(self.unexpected(Expected::AfterNot));
        };
        match keyword {
            Keyword::Between => self.between(left, negated),
            Keyword::In => self.in_list(left, negated),
            Keyword::Contains => self.search(left, SearchKind::Contains, negated),
            Keyword::StartsWith => self.search(left, SearchKind::StartsWith, negated),
            Keyword::EndsWith => self.search(left, SearchKind::EndsWith, negated),
            _ => Err(self.unexpected(Expected::AfterNot)),
        }
    }

    fn between(&mut self, value: Part<Operand>, negated: bool) -> Parse<Operand> {
        self.take()?;
        let low = self.unary()?;
        self.need(TokenKind::Keyword(Keyword::And), Expected::And)?;
        let high = self.unary()?;
        for part in [&value, &low, &high] {
            self.check_comparable(part)?;
        }
        // What is between them would be nothing; outside of them is everything.
        if !negated && compare_numbers(&low.expression, &high.expression) == Some(Ordering::Greater) {
            return Err(self.wrong_type(low.at, "the first bound of BETWEEN is above the second"));
        }
        let depths = [value.depth, low.depth, high.depth];
        let between =
            Between { value: value.expression, low: low.expression, high: high.expression, negated };
        self.operand(Condition::Between(Box::new(between)), value.at, &depths)
    }

    fn in_list(&mut self, left: Part<Operand>, negated: bool) -> Parse<Operand> {
        self.take()?;
        let Operand::Property(property) = left.expression else {
            return Err(self.wrong_type(left.at, "only a property can be IN a list"));
        };
        self.need(TokenKind::Symbol(Symbol::Open), Expected::Open)?;
        let mut texts = vec![self.text_literal()?];
        while self.take_symbol(Symbol::Comma)? {
            texts.push(self.text_literal()?);
        }
        self.need(TokenKind::Symbol(Symbol::Close), Expected::CommaOrClose)?;
        texts.sort_unstable();
        texts.dedup();
        let list = InList { property, texts: texts.into_boxed_slice(), negated };
        self.operand(Condition::In(list), left.at, &[left.depth])
    }

    fn search(&mut self, left: Part<Operand>, kind: SearchKind, negated: bool) -> Parse<Operand> {
        self.take()?;
        let text = self.text_literal()?;
        let search = Search { kind, negated, value: left.expression, text };
        self.operand(Condition::Search(Box::new(search)), left.at, &[left.depth])
    }

    fn text_literal(&mut self) -> Result<Box<str>, SqlError> {
        let TokenKind::Text(quoted) = self.token.kind else {
            return Err(self.unexpected(Expected::Text));
        };
        self.take()?;
        Ok(unquoted(quoted))
    }
}
