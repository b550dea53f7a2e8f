use super::super::Encoding;
use super::*;
use proptest::prelude::*;

/// Recorded from the Java server's class library.
const GOLDEN: &str = r#"{"code":38,"extFields":{"consumerGroup":"GG"},"flag":0,"language":"JAVA","opaque":7,"serializeTypeCurrentRPC":"JSON","version":513}"#;

fn header(bytes: &[u8]) -> Result<Header<'_>, HeaderError> {
    Header::decode(Encoding::Json, bytes)
}

/// The fields as plain texts.
fn fields(text: &str) -> Vec<(String, String)> {
    let header = header(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"));
    header.ext.iter().map(|(name, value)| (name.decode().into(), value.decode().into())).collect()
}

#[track_caller]
fn check(text: &str, expected: &[(&str, &str)]) {
    let fields = fields(text);
    let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(fields, expected, "{text}");
}

#[test]
fn javas_header_is_read_and_written() {
    let header = header(GOLDEN.as_bytes()).expect("a header");
    assert_eq!((header.code, header.flag, header.opaque, header.version), (38, 0, 7, 513));
    assert_eq!(header.language, Language::Java);
    let mut out = Vec::new();
    encode(&Command { opaque: 7, ..Command::request(38).with("consumerGroup", "GG") }, &mut out);
    assert_eq!(String::from_utf8(out).as_deref(), Ok(GOLDEN));
}

#[test]
fn fields_in_every_way_of_writing_them() {
    check(r#"{"extFields":{"a":"1","b":"2"}}"#, &[("a", "1"), ("b", "2")]);
    check(r#"{"extFields":{"a":"x\u0001y\u0002","b":"\"q\""}}"#, &[("a", "x\u{1}y\u{2}"), ("b", "\"q\"")]);
    check(
        r#"{"extFields":{"a":"1", "b" : "2" , "c":3,"d":true,"e":null,"f":{"g":["}"]},"h":"4"}}"#,
        &[("a", "1"), ("b", "2"), ("c", "3"), ("d", "true"), ("h", "4")],
    );
    check(r#"{"extFields":{"a\u0062":"1","b":"2"}}"#, &[("ab", "1"), ("b", "2")]);
    check(r#"{ "code": 1, "extFields": { "a": "1" }, "flag": 0 }"#, &[("a", "1")]);
    check(r#"{"extFields":{"":"","a":""}}"#, &[("", ""), ("a", "")]);
    check(r#"{"extFields":{"a":"1",}}"#, &[("a", "1")]);
    check(r#"{"extFields":{},"code":1}"#, &[]);
    check(r#"{"extFields":null}"#, &[]);
    check(r#"{"unknown":{"extFields":{"a":"1"}},"code":1}"#, &[]);
}

#[test]
fn what_is_no_header_is_refused_where_it_breaks() {
    let check = |text: &str, at: usize| match header(text.as_bytes()) {
        Err(HeaderError::Json { at: found, .. }) => assert_eq!(found, at, "{text}"),
        other => panic!("{other:?}: {text}"),
    };
    check("", 0);
    check("[]", 0);
    check(r#"{"extFields":{"a":"1""b":"2"}}"#, 21);
    check(r#"{"extFields":{"a":"1"#, 19);
    check(r#"{"extFields":{"a":"\x"}}"#, 19);
    check(r#"{"extFields":{"a""1"}}"#, 17);
    check(r#"{"code":x}"#, 8);
}

#[test]
fn fields_have_a_limit_however_they_are_written() {
    for separator in [",", ", "] {
        let text = |count: usize| {
            let fields: Vec<_> = (0..count).map(|n| format!(r#""{n}":"v""#)).collect();
            format!(r#"{{"extFields":{{{}}}}}"#, fields.join(separator))
        };
        assert_eq!(fields(&text(FIELDS_MAX)).len(), FIELDS_MAX);
        let error = header(text(FIELDS_MAX + 1).as_bytes()).map(|_| ());
        assert_eq!(error, Err(HeaderError::TooManyFields(FIELDS_MAX)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn blanks_change_nothing(pairs in prop::collection::vec((".{0,12}", "[a\"\\\\\u{1}\u{2}é🚀]{0,20}"), 0..8), blank_at in 0usize..9) {
        let mut text = "{\"extFields\":{".to_owned();
        for (index, (name, value)) in pairs.iter().enumerate() {
            let mut field = Vec::new();
            push_string(name, &mut field);
            field.extend_from_slice(if index == blank_at { b" : " } else { b":" });
            push_string(value, &mut field);
            field.push(b',');
            text.push_str(std::str::from_utf8(&field).expect("text"));
        }
        text.push_str("}}");
        prop_assert_eq!(fields(&text), pairs);
    }

    #[test]
    fn both_readers_read_the_same(mutations in prop::collection::vec((0usize..GOLDEN.len(), prop::sample::select(&b"\"\\{}:, 1-e"[..])), 0..3)) {
        let mut bytes = GOLDEN.as_bytes().to_vec();
        mutations.iter().for_each(|(at, byte)| bytes[*at] = *byte);
        let (mut plainly, mut fully) = (Header::empty(Encoding::Json), Header::empty(Encoding::Json));
        if plain::decode(&bytes, &mut plainly).is_some() {
            let text = String::from_utf8_lossy(&bytes);
            prop_assert!(read(&bytes, &mut fully).is_ok(), "{}", text);
            let parts = |header: &Header<'_>| Command::from_frame(header, b"");
            prop_assert_eq!(parts(&plainly), parts(&fully), "{}", text);
        }
    }

    #[test]
    fn damaged_headers_are_read_or_refused(at in 0usize..GOLDEN.len(), byte in any::<u8>(), cut in 0usize..=GOLDEN.len()) {
        let mut bytes = GOLDEN.as_bytes().to_vec();
        bytes[at] = byte;
        let _ = header(&bytes[..cut]);
    }
}
