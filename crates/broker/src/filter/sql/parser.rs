//! From tokens to an expression, with the grammar of the Java server:
//!
//! ```text
//! selector   := or                                       it has to be a condition
//! or         := and ( OR and )*
//! and        := equality ( AND equality )*
//! equality   := comparison ( '=' comparison | '<>' comparison | IS NULL | IS NOT NULL )*
//! comparison := unary ( ( '>' | '>=' | '<' | '<=' ) unary
//!                     | [NOT] ( CONTAINS | STARTSWITH | ENDSWITH ) string
//!                     | [NOT] BETWEEN unary AND unary
//!                     | [NOT] IN '(' string ( ',' string )* ')' )*
//! unary      := ( '+' | '-' | NOT ) unary | primary
//! primary    := string | number | TRUE | FALSE | NULL | property | '(' or ')'
//! ```
//!
//! NOT binds closer than comparisons do. Unlike there, what follows the expression is an error: the Java server passes
//! over it, so that a filter says less than its writer meant.

mod comparisons;
mod values;

use super::error::{Expected, Place, SqlError};
use super::expression::{Condition, Operand};
use super::lexer::{Keyword, Lexer, Symbol, Token, TokenKind};
use super::limits::{DEPTH_MAX, EXPRESSION_BYTES_MAX};

/// An expression and the properties it asks for.
pub(super) struct Parsed {
    pub(super) condition: Condition,
    pub(super) properties: Vec<Box<str>>,
}

pub(super) fn parse(text: &str) -> Result<Parsed, SqlError> {
    if text.len() > EXPRESSION_BYTES_MAX {
        return Err(SqlError::TooLong(text.len()));
    }
    let mut lexer = Lexer::new(text);
    let (token, ahead) = (lexer.next()?, lexer.next());
    let mut parser = Parser { text, lexer, token, ahead, properties: Vec::new(), nesting: 0 };
    let whole = parser.any()?;
    parser.end()?;
    let condition = parser.condition(whole)?.expression;
    Ok(Parsed { condition, properties: parser.properties })
}

struct Parser<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    token: Token<'a>,
    /// The token behind it. An error in it is none as long as nobody gets there.
    ahead: Result<Token<'a>, SqlError>,
    properties: Vec<Box<str>>,
    /// How many calls for an operand are inside each other.
    nesting: usize,
}

/// A part of the expression, where it starts and how deep its tree is.
struct Part<E> {
    expression: E,
    at: usize,
    depth: usize,
}

type Parse<E> = Result<Part<E>, SqlError>;

impl<'a> Parser<'a> {
    /// Goes one token further, and gives the one that was passed.
    fn take(&mut self) -> Result<Token<'a>, SqlError> {
        let next =
            std::mem::replace(&mut self.ahead, Ok(Token { at: self.text.len(), kind: TokenKind::End }))?;
        if next.kind != TokenKind::End {
            self.ahead = self.lexer.next();
        }
        Ok(std::mem::replace(&mut self.token, next))
    }

    fn is(&self, kind: TokenKind<'_>) -> bool {
        self.token.kind == kind
    }

    fn take_if(&mut self, kind: TokenKind<'_>) -> Result<bool, SqlError> {
        let is = self.is(kind);
        if is {
            self.take()?;
        }
        Ok(is)
    }

    fn take_keyword(&mut self, keyword: Keyword) -> Result<bool, SqlError> {
        self.take_if(TokenKind::Keyword(keyword))
    }

    fn take_symbol(&mut self, symbol: Symbol) -> Result<bool, SqlError> {
        self.take_if(TokenKind::Symbol(symbol))
    }

    fn need(&mut self, kind: TokenKind<'_>, expected: Expected) -> Result<(), SqlError> {
        if self.take_if(kind)? { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    fn unexpected(&self, expected: Expected) -> SqlError {
        SqlError::unexpected(self.text, self.token.at, expected)
    }

    fn wrong_type(&self, at: usize, why: &'static str) -> SqlError {
        SqlError::wrong_type(self.text, at, why)
    }

    /// A part that has others of these depths in it.
    fn part<E>(&self, expression: E, at: usize, depths: &[usize]) -> Parse<E> {
        let depth = 1 + depths.iter().max().copied().unwrap_or(0);
        if depth > DEPTH_MAX {
            return Err(SqlError::TooDeep(Place::new(self.text, at)));
        }
        Ok(Part { expression, at, depth })
    }

    /// A condition where an operand may stand, with others of these depths in it.
    fn operand(&self, condition: Condition, at: usize, depths: &[usize]) -> Parse<Operand> {
        self.part(Operand::condition(condition), at, depths)
    }

    fn condition(&self, part: Part<Operand>) -> Parse<Condition> {
        let Part { expression, at, depth } = part;
        let expression = match expression {
            Operand::Condition(condition) => *condition,
            Operand::Property(property) => Condition::Property(property),
            _ => return Err(self.wrong_type(at, "this is a value and neither true nor false")),
        };
        Ok(Part { expression, at, depth })
    }

    /// A comment that the end of the text ends is no comment for the lexer, but stands where anything may.
    fn end(&self) -> Result<(), SqlError> {
        if self.is(TokenKind::End) || self.text[self.token.at..].starts_with("--") {
            return Ok(());
        }
        Err(self.unexpected(Expected::OperatorOrEnd))
    }

    fn any(&mut self) -> Parse<Operand> {
        self.joined(Keyword::Or, Self::all, Condition::Any)
    }

    fn all(&mut self) -> Parse<Operand> {
        self.joined(Keyword::And, Self::equality, Condition::All)
    }

    /// One part, or several with a keyword between them.
    fn joined(
        &mut self,
        keyword: Keyword,
        part: fn(&mut Self) -> Parse<Operand>,
        join: fn(Vec<Condition>) -> Condition,
    ) -> Parse<Operand> {
        let first = part(self)?;
        if !self.is(TokenKind::Keyword(keyword)) {
            return Ok(first);
        }
        let first = self.condition(first)?;
        let (at, mut depth) = (first.at, first.depth);
        let mut conditions = vec![first.expression];
        while self.take_keyword(keyword)? {
            let next = part(self)?;
            let next = self.condition(next)?;
            depth = depth.max(next.depth);
            conditions.push(next.expression);
        }
        self.operand(join(conditions), at, &[depth])
    }

    fn equality(&mut self) -> Parse<Operand> {
        let mut left = self.comparison()?;
        loop {
            left = if self.take_symbol(Symbol::Equal)? {
                self.equal(left, false)?
            } else if self.take_symbol(Symbol::NotEqual)? {
                self.equal(left, true)?
            } else if self.take_keyword(Keyword::Is)? {
                self.is_null(left)?
            } else {
                return Ok(left);
            };
        }
    }

    fn equal(&mut self, left: Part<Operand>, negated: bool) -> Parse<Operand> {
        let right = self.comparison()?;
        for part in [&left, &right] {
            if part.expression.is_null() {
                return Err(self.wrong_type(part.at, "NULL equals nothing, IS NULL asks for it"));
            }
        }
        let right_is_constant = right.expression.is_number() || matches!(right.expression, Operand::Text(_));
        if left.expression.is_true_or_false() && right_is_constant {
            return Err(self.wrong_type(right.at, "TRUE and FALSE can't be compared with this"));
        }
        let (at, depths) = (left.at, [left.depth, right.depth]);
        self.negatable(Condition::Equal(Box::new([left.expression, right.expression])), negated, at, &depths)
    }

    fn is_null(&mut self, operand: Part<Operand>) -> Parse<Operand> {
        let negated = self.take_keyword(Keyword::Not)?;
        let expected = if negated { Expected::Null } else { Expected::NullOrNotNull };
        self.need(TokenKind::Keyword(Keyword::Null), expected)?;
        let Part { expression, at, depth } = operand;
        self.negatable(Condition::IsNull(Box::new(expression)), negated, at, &[depth])
    }

    fn negatable(&self, condition: Condition, negated: bool, at: usize, depths: &[usize]) -> Parse<Operand> {
        let part = self.operand(condition, at, depths)?;
        if !negated {
            return Ok(part);
        }
        let Part { expression, at, depth } = self.condition(part)?;
        self.operand(Condition::Not(Box::new(expression)), at, &[depth])
    }

    fn unary(&mut self) -> Parse<Operand> {
        self.nesting += 1;
        if self.nesting > DEPTH_MAX {
            return Err(SqlError::TooDeep(Place::new(self.text, self.token.at)));
        }
        let operand = self.unary_nested();
        self.nesting -= 1;
        operand
    }

    fn unary_nested(&mut self) -> Parse<Operand> {
        let at = self.token.at;
        if self.take_symbol(Symbol::Plus)? {
            return self.unary();
        }
        if self.take_symbol(Symbol::Minus)? {
            let Part { expression, depth, .. } = self.unary()?;
            return self.part(Operand::Negated(Box::new(expression)), at, &[depth]);
        }
        if self.take_keyword(Keyword::Not)? {
            let negated = self.unary()?;
            let Part { expression, depth, .. } = self.condition(negated)?;
            return self.operand(Condition::Not(Box::new(expression)), at, &[depth]);
        }
        self.primary()
    }
}
