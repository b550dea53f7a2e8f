//! The grammar, the types and the null logic, as tables.

use super::evaluate::Incomparable;
use super::limits::{DEPTH_MAX, EXPRESSION_BYTES_MAX, PROPERTIES_MAX};
use super::*;
use proptest::prelude::*;
use roxmq_protocol::properties::push;

const TRUE: Result<Option<bool>, Incomparable> = Ok(Some(true));
const FALSE: Result<Option<bool>, Incomparable> = Ok(Some(false));
const NULL: Result<Option<bool>, Incomparable> = Ok(None);
const NONE: Result<Option<bool>, Incomparable> = Err(Incomparable);

fn properties() -> Vec<u8> {
    let mut properties = Vec::new();
    for (name, value) in [
        ("a", "4"),
        ("TAGS", "TagA"),
        ("b", "true"),
        ("s", "abc"),
        ("f", "5.0"),
        ("big", "12345678901"),
        ("sp", " 5 "),
        ("q", "it's"),
        // The later of two counts.
        ("a", "5"),
    ] {
        push(&mut properties, name, value);
    }
    properties
}

#[track_caller]
fn check(text: &str, expected: Result<Option<bool>, Incomparable>) {
    let expression = SqlExpression::compile(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let properties = properties();
    assert_eq!(expression.truth(&properties), expected, "{text}");
    assert_eq!(expression.matches(&properties), expected == TRUE, "{text}");
}

#[track_caller]
fn check_refused(text: &str, expected: &str) {
    let error = SqlExpression::compile(text).expect_err(text).to_string();
    assert!(error.contains(expected), "{text}: {error}");
}

#[test]
fn numbers() {
    check("a = 5", TRUE);
    check("a = 5L", TRUE);
    check("a <> 5", FALSE);
    check("a > 4", TRUE);
    check("4 < a", TRUE);
    check("a >= 5.0", TRUE);
    check("a < 5", FALSE);
    check("a <= 4.99", FALSE);
    check("5. = a", TRUE);
    check(".5e1 = a", TRUE);
    check("-5 < a", TRUE);
    check("a = - - 5", TRUE);
    check("a = +5", TRUE);
    check("+a = 5", TRUE);
    check("5 = 5.0", TRUE);
    check("12345678901 = 12345678901.0", TRUE);
    check("12345678901 > 5", TRUE);
    check("5.5 > 5", TRUE);
    check("2147483648 > a", TRUE);
}

#[test]
fn a_text_is_read_as_the_type_it_is_compared_with() {
    check("f = 5", NONE);
    check("f = 5.0", TRUE);
    check("f > 4", NONE);
    check("big > 1", NONE);
    check("big > 1L", NONE);
    check("big > 2147483648", TRUE);
    check("big = 12345678901", TRUE);
    check("big > 1.0", TRUE);
    check("sp = 5", NONE);
    check("sp = 5.0", TRUE);
    check("s = 5", NONE);
    check("5 = s", NONE);
    check("s > 5.0", NONE);
    check("a > f", FALSE);
    check("a >= f", TRUE);
    check("a > s", NONE);
    check("a = f", FALSE);
    // Whatever else the expression says, the answer is not known.
    check("s > 5 OR a = 5", NONE);
    check("a = 5 OR s > 5", TRUE);
    check("a = 6 AND s > 5", FALSE);
    check("NOT (s > 5)", NONE);
}

#[test]
fn texts() {
    check("s = 'abc'", TRUE);
    check("'abc' = s", TRUE);
    check("s = 'ABC'", FALSE);
    check("s <> 'x'", TRUE);
    check("q = 'it''s'", TRUE);
    check("'a' = 'a'", TRUE);
    check("s IN ('x', 'abc')", TRUE);
    check("(s) in ('x')", FALSE);
    check("s NOT IN ('x', 'y')", TRUE);
    check("s NOT IN ('abc')", FALSE);
    check("q IN ('it''s', 'b')", TRUE);
    check("s CONTAINS 'b'", TRUE);
    check("s contains 'x'", FALSE);
    check("s NOT CONTAINS 'x'", TRUE);
    check("s STARTSWITH 'ab'", TRUE);
    check("s STARTSWITH 'b'", FALSE);
    check("s NOT STARTSWITH 'b'", TRUE);
    check("s ENDSWITH 'bc'", TRUE);
    check("s ENDSWITH 'abcd'", FALSE);
    check("s NOT ENDSWITH 'bc'", FALSE);
    check("TAGS = 'TagA' AND s IS NOT NULL", TRUE);
}

#[test]
fn a_search_in_nothing_or_for_nothing_is_false_both_ways() {
    check("s CONTAINS ''", FALSE);
    check("s NOT CONTAINS ''", FALSE);
    check("miss CONTAINS 'a'", FALSE);
    check("miss NOT CONTAINS 'a'", FALSE);
    check("miss NOT STARTSWITH 'a'", FALSE);
    check("miss NOT ENDSWITH 'a'", FALSE);
    check("5 NOT CONTAINS '5'", FALSE);
    check("(a = 5) CONTAINS 'x'", FALSE);
    check("(s > 5) CONTAINS 'x'", NONE);
    check("(s > 5) CONTAINS ''", FALSE);
}

#[test]
fn between() {
    check("a BETWEEN 1 AND 9", TRUE);
    check("a BETWEEN 5 AND 5", TRUE);
    check("a BETWEEN 6 AND 9", FALSE);
    check("a NOT BETWEEN 1 AND 9", FALSE);
    check("a NOT BETWEEN 6 AND 9", TRUE);
    check("a NOT BETWEEN 9 AND 1", TRUE);
    check("a BETWEEN -9 AND -1", FALSE);
    check("a BETWEEN -1 AND -9", FALSE);
    check("a BETWEEN miss AND 9", NULL);
    check("a BETWEEN miss AND 4", FALSE);
    check("a BETWEEN 6 AND miss", FALSE);
    check("a NOT BETWEEN miss AND 9", NULL);
    check("a NOT BETWEEN miss AND 4", TRUE);
    check("miss BETWEEN 1 AND 9", NULL);
    check("a BETWEEN 6 AND s", FALSE);
    check("a BETWEEN 1 AND s", NONE);
    check("5 BETWEEN a AND 5", TRUE);
    check("-(a BETWEEN 1 AND 9) BETWEEN 1 AND 9", NULL);
}

#[test]
fn what_is_missing_is_unknown() {
    check("miss = 5", NULL);
    check("5 = miss", FALSE);
    check("miss <> 5", NULL);
    check("5 <> miss", TRUE);
    check("miss = miss2", TRUE);
    check("miss <> miss2", FALSE);
    check("miss > 5", NULL);
    check("5 > miss", NULL);
    check("miss > s", NULL);
    check("miss IN ('a')", NULL);
    check("miss NOT IN ('a')", NULL);
    check("miss IS NULL", TRUE);
    check("miss IS NOT NULL", FALSE);
    check("a IS NULL", FALSE);
    check("a IS NOT NULL", TRUE);
    check("NULL IS NULL", TRUE);
    check("(miss > 5) IS NULL", TRUE);
    check("(s > 5) IS NULL", NONE);
    check("-s IS NULL", TRUE);
    check("-s < 1", NULL);
}

#[test]
fn three_valued_logic() {
    let values = [("TRUE", Some(true)), ("FALSE", Some(false)), ("NULL", None)];
    for (left, l) in values {
        for (right, r) in values {
            let and = match (l, r) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            };
            let or = match (l, r) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            };
            check(&format!("{left} AND {right}"), Ok(and));
            check(&format!("{left} OR {right}"), Ok(or));
            check(&format!("{left} AND {right} AND TRUE"), Ok(and));
            check(&format!("FALSE OR {left} OR {right}"), Ok(or));
        }
        check(&format!("NOT {left}"), Ok(l.map(|l| !l)));
    }
}

#[test]
fn true_and_false() {
    check("b = TRUE", TRUE);
    check("b = false", FALSE);
    check("s = FALSE", TRUE);
    check("s <> TRUE", TRUE);
    check("TRUE = b", NONE);
    check("1 = TRUE", FALSE);
    check("TRUE = TRUE", TRUE);
    check("TRUE <> FALSE", TRUE);
    check("'true' = TRUE", TRUE);
    check("(a = 5) = TRUE", TRUE);
    check("(a = 5) = 's'", NONE);
    check("(a = 5) = 1", FALSE);
    check("(miss = 5) = TRUE", NULL);
    check("TRUE", TRUE);
    // A text is never true by itself.
    check("b", FALSE);
    check("miss", NULL);
    check("NOT b", TRUE);
    check("NOT miss", NULL);
    check("b OR a = 5", TRUE);
}

#[test]
fn what_binds_closer() {
    check("TRUE OR FALSE AND FALSE", TRUE);
    check("(TRUE OR FALSE) AND FALSE", FALSE);
    // (NOT a) = 1, as with the Java server.
    check("NOT a = 1", FALSE);
    check("NOT (a = 1)", TRUE);
    check("a = 5 = TRUE", TRUE);
    check("a = 5 IS NOT NULL", TRUE);
    check("a > 4 = TRUE", TRUE);
    check("a = 5 -- as is said", TRUE);
    check("a = 5 -- as is said\n AND b = TRUE", TRUE);
    check("/* five? */ a = /**/ 5", TRUE);
    check("a=5 and b=TRUE and not(s='x')", TRUE);
}

#[test]
fn what_is_refused_says_where_and_why() {
    check_refused("", "expected a property");
    check_refused("  ", "character 3 (the end of the expression)");
    check_refused("a >", "character 4 (the end of the expression)");
    check_refused("a > 5 AND", "expected a property, a number");
    check_refused("a = = 5", "character 5: \"= 5\"");
    check_refused("(a = 5", "')' at character 7");
    check_refused("a = 5)", "the end of the expression at character 6: \")\"");
    check_refused("a = 5 garbage", "character 7: \"garbage\"");
    check_refused("s LIKE 'a%'", "character 3: \"LIKE 'a%'\"");
    check_refused("a = 05", "character 6: \"5\"");
    check_refused("a = 5 - 1", "character 7: \"- 1\"");
    check_refused("a = 5;", "character 6: \";\"");
    check_refused("s != 'x'", "character 3: \"!= 'x'\"");
    check_refused("a.b = 1", "character 2: \".b = 1\"");
    check_refused("s = 'open", "not closed");
    check_refused("a IS 5", "expected NULL or NOT NULL at character 6");
    check_refused("a IS NOT 5", "expected NULL at character 10");
    check_refused("a NOT 5", "after NOT at character 7");
    check_refused("a NOT NULL", "after NOT at character 7");
    check_refused("a BETWEEN 1 OR 2", "AND between the bounds of BETWEEN at character 13");
    check_refused("a BETWEEN 9 AND 1", "the first bound of BETWEEN is above the second");
    check_refused("a BETWEEN NULL AND 1", "only numbers and properties");
    check_refused("a BETWEEN 'a' AND 'b'", "only numbers and properties");
    check_refused("a IN ()", "a string in single quotes at character 7");
    check_refused("a IN (1)", "a string in single quotes at character 7");
    check_refused("a IN 'x'", "'(' before the list of IN");
    check_refused("a IN ('x' 'y')", "',' or ')' in the list of IN at character 11");
    check_refused("5 IN ('x')", "only a property can be IN a list");
    check_refused("s CONTAINS t", "a string in single quotes at character 12");
    check_refused("a = NULL", "NULL equals nothing, IS NULL asks for it, at character 5");
    check_refused("NULL <> a", "NULL equals nothing");
    check_refused("TRUE = 1", "TRUE and FALSE can't be compared with this");
    check_refused("FALSE = 'x'", "TRUE and FALSE can't be compared with this");
    check_refused("s > 'a'", "only numbers and properties can be less or greater, at character 5");
    check_refused("a > TRUE", "only numbers and properties");
    check_refused("1 < a < 9", "only numbers and properties can be less or greater, at character 1");
    check_refused("5", "neither true nor false, at character 1");
    check_refused("'x'", "neither true nor false");
    check_refused("-a", "neither true nor false");
    check_refused("a = 5 AND 5", "neither true nor false, at character 11");
    check_refused("NOT 5", "neither true nor false, at character 5");
    check_refused("a = 9223372036854775808", "whole numbers reach to");
    check_refused("a = 0.0", "write zero as 0");
    check_refused("a = 1e400", "1.7976931348623157E308");
    check_refused("é = 1", "character 1");
    check_refused("s = 'é' é", "character 9: \"é\"");
    check("a = 9223372036854775807", FALSE);
    check("f > 4.9e-324", TRUE);
}

#[test]
fn hostile_expressions_meet_limits() {
    let n = 10_000;
    for nested in ["(", "NOT ", "-", "+", "NOT (", "-("] {
        check_refused(&nested.repeat(n), "nested deeper than 100 levels");
    }
    check_refused(&format!("a{}", " IS NULL".repeat(n / 2)), "nested deeper");
    check_refused(&format!("a{}", " = a".repeat(n)), "nested deeper");
    check_refused(&format!("a{}", " CONTAINS 'a'".repeat(n / 4)), "nested deeper");
    check_refused(&" ".repeat(EXPRESSION_BYTES_MAX + 1), "65537 bytes, over the limit of 65536");
    let many = |count: usize| (0..count).map(|n| format!("p{n}")).collect::<Vec<_>>().join(" OR ");
    check_refused(&many(PROPERTIES_MAX + 1), "more than 64 different properties");
    check(&many(PROPERTIES_MAX), NULL);
    // As deep as it may be, and as long.
    let deep = DEPTH_MAX - 3;
    check(&format!("{}a = 5{}", "NOT(".repeat(deep / 2), ")".repeat(deep / 2)), TRUE);
    check(&format!("a = 5{}", " AND a = 5".repeat(n / 2)), TRUE);
    let list: Vec<String> = (0..5000).map(|n| format!("'{n}'")).collect();
    check(&format!("a IN ({})", list.join(",")), TRUE);
}

/// What the Java server's own classes (5.5.0) say to expressions made at random, on the same properties.
#[test]
fn java_says_the_same() {
    for line in include_str!("java.txt").lines() {
        let (expected, text) = line.split_once('\t').expect("two columns");
        let found = match SqlExpression::compile(text).map(|expression| expression.truth(&properties())) {
            Err(_) => "refused",
            Ok(Err(Incomparable)) => "none",
            Ok(Ok(None)) => "null",
            Ok(Ok(Some(false))) => "false",
            Ok(Ok(Some(true))) => "true",
        };
        assert_eq!(found, expected, "{text}");
    }
}

/// Pieces that make valid expressions likely.
fn piece() -> impl Strategy<Value = String> {
    let pieces = [
        "a",
        "s",
        "miss",
        "b",
        "5",
        "5.5",
        "12345678901",
        "'abc'",
        "''",
        "TRUE",
        "FALSE",
        "NULL",
        "NOT",
        "AND",
        "OR",
        "=",
        "<>",
        "<",
        ">=",
        "BETWEEN",
        "IN",
        "IN ('a','abc')",
        "IS NULL",
        "IS NOT NULL",
        "CONTAINS 'b'",
        "NOT ENDSWITH 'c'",
        "(",
        ")",
        "-",
        "+",
        ",",
        "--",
        "/*",
        "*/",
        "'",
        "\n",
    ];
    prop::sample::select(pieces.to_vec()).prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_text_and_no_properties_panic(text in ".{0,40}", bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        if let Ok(expression) = SqlExpression::compile(&text) {
            expression.matches(&bytes);
        }
        let known = SqlExpression::compile("a > 5 AND s CONTAINS 'b' OR miss IS NULL").expect("good");
        known.matches(&bytes);
    }

    #[test]
    fn no_row_of_tokens_panics(pieces in prop::collection::vec(piece(), 0..14), glue in "[ ]?") {
        match SqlExpression::compile(&pieces.join(&glue)) {
            Ok(expression) => drop(expression.truth(&properties())),
            Err(error) => drop(error.to_string()),
        }
    }
}
