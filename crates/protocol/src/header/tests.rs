use super::*;
use crate::command::Command;
use crate::frame::{self, FrameError, PREFIX_BYTES};
use crate::test_bytes::hex;
use proptest::prelude::*;
use std::borrow::Cow;

/// Made with the Java class library: code 38, opaque 7, `consumerGroup=GG`, no body.
const GOLDEN_JSON: &str = r#"{"code":38,"extFields":{"consumerGroup":"GG"},"flag":0,"language":"JAVA","opaque":7,"serializeTypeCurrentRPC":"JSON","version":513}"#;
const GOLDEN_BINARY: &str = "0000002e 0100002a 0026 00 0201 00000007 00000000 00000000 00000015 \
    000d 636f6e73756d657247726f7570 00000002 4747";

fn golden() -> Command {
    Command { opaque: 7, ..Command::request(38).with("consumerGroup", "GG") }
}

fn golden_json_frame() -> Vec<u8> {
    let mut bytes = hex("00000087 00000083");
    bytes.extend_from_slice(GOLDEN_JSON.as_bytes());
    bytes
}

fn encoded(command: &Command, encoding: Encoding) -> Vec<u8> {
    let mut out = Vec::new();
    command.encode(encoding, &mut out);
    out
}

fn decoded(bytes: &[u8]) -> Command {
    assert_eq!(frame::length(bytes), Ok(Some(bytes.len())));
    let frame = frame::decode(bytes).expect("a good frame");
    Command::from_frame(&frame.header, frame.body)
}

#[test]
fn frames_have_the_bytes_of_java_in_both_encodings() {
    assert_eq!(encoded(&golden(), Encoding::Json), golden_json_frame());
    assert_eq!(encoded(&golden(), Encoding::Binary), hex(GOLDEN_BINARY));
}

#[test]
fn frames_of_java_are_read_in_both_encodings() {
    assert_eq!(decoded(&golden_json_frame()), golden());
    assert_eq!(decoded(&hex(GOLDEN_BINARY)), golden());
}

/// Lengths from 128 on have bytes that are no UTF-8; a header is read all the same.
#[test]
fn long_values_are_read_in_the_binary_header() {
    let long = Command::request(10).with("i", "v".repeat(200)).with("topic", "T");
    assert_eq!(decoded(&encoded(&long, Encoding::Binary)), long);
}

#[test]
fn what_16_bits_do_not_hold_goes_out_as_json() {
    let check = |command: Command| {
        let bytes = encoded(&command, Encoding::Binary);
        assert_eq!(frame::decode(&bytes).expect("a frame").header.encoding, Encoding::Json);
        assert_eq!(decoded(&bytes), command);
    };
    check(Command::request(200_050));
    check(Command { version: 40_000, ..Command::request(10) });
    check(Command { ext: vec![("n".repeat(40_000).into(), "v".into())], ..Command::request(10) });
}

#[test]
fn json_headers_are_read_leniently() {
    let read = |text: &str| {
        let header =
            Header::decode(Encoding::Json, text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
        Command::from_frame(&header, b"")
    };
    let check_ext = |fields: &str, expected: &[(&str, &str)]| {
        let command = read(&format!(r#"{{"code":1,"extFields":{fields}}}"#));
        let pairs: Vec<_> = command.ext.iter().map(|(name, value)| (name.as_ref(), value.as_str())).collect();
        assert_eq!(pairs, expected, "{fields}");
    };
    check_ext(
        r#"{"a":5,"b":true,"c":null,"d":-1.5e3,"e":"x"}"#,
        &[("a", "5"), ("b", "true"), ("d", "-1.5e3"), ("e", "x")],
    );
    check_ext(r#"{ "a" : { "b" : [ 1, "]" ] } , "c" : "d" , }"#, &[("c", "d")]);
    check_ext(r#"{"i":"KEYS\u0001k1\u0002","\u0061":"\"é\\"}"#, &[("i", "KEYS\u{1}k1\u{2}"), ("a", "\"é\\")]);
    check_ext("null", &[]);
    check_ext("[1]", &[]);
    check_ext("{}", &[]);
    let check_language =
        |value: &str, expected| assert_eq!(read(&format!(r#"{{"language":{value}}}"#)).language, expected);
    check_language("\"GO\"", Language::Go);
    check_language("\"rust\"", Language::Rust);
    check_language("9", Language::Go);
    check_language("\"COBOL\"", Language::Unknown);
    check_language("null", Language::Unknown);
    let command =
        read(r#"{"opaque":-2147483648,"flag":"3","remark":null,"body":{"x":[]},"version":null,"new":[{}]}"#);
    assert_eq!((command.opaque, command.flag, command.remark, command.version), (i32::MIN, 3, None, 0));
}

#[test]
fn the_last_of_equal_fields_counts() {
    let header = Header::decode(Encoding::Json, br#"{"extFields":{"a":"1","a":"2"}}"#).expect("a header");
    assert_eq!(header.ext.str("a").as_deref(), Some("2"));
}

#[test]
fn broken_headers_are_refused_where_they_break() {
    let check = |encoding: Encoding, bytes: &[u8], expected: &str| {
        let error = Header::decode(encoding, bytes).expect_err("broken");
        assert_eq!(error.to_string(), expected, "{bytes:02x?}");
    };
    let json = |text: &str, expected: &str| check(Encoding::Json, text.as_bytes(), expected);
    json("", "the JSON header is broken at byte 0: an object should start here");
    json("null", "the JSON header is broken at byte 0: an object should start here");
    json(r#"{"code":"#, "the JSON header is broken at byte 8: a value should start here");
    json(r#"{"code":x}"#, "the JSON header is broken at byte 8: a 32-bit number should be here");
    json(r#"{"code":2147483648}"#, "the JSON header is broken at byte 8: a 32-bit number should be here");
    json(r#"{"remark":"a"#, "the JSON header is broken at byte 11: a string doesn't end");
    json(r#"{"remark":"\q"}"#, "the JSON header is broken at byte 11: an escape isn't one of JSON's");
    let nested = format!(r#"{{"x":{}"#, "[".repeat(100_000));
    json(&nested, "the JSON header is broken at byte 69: values are nested too deep");
    let fields: Vec<_> = (0..1025).map(|field| format!("\"{field}\":1")).collect();
    json(&format!(r#"{{"extFields":{{{}}}}}"#, fields.join(",")), "the header has more than 1024 fields");

    let binary = |bytes: &str, expected: &str| check(Encoding::Binary, &hex(bytes), expected);
    let fixed = "0026 00 0201 00000007 00000000";
    binary("0026 00", "the binary header ends inside the version");
    let text = "the binary header gives the remark a length of -1 where 0 bytes are left";
    binary(&format!("{fixed} ffffffff"), text);
    let text = "the binary header gives the remark a length of 2147483647 where 4 bytes are left";
    binary(&format!("{fixed} 7fffffff 00000000"), text);
    let text = "the binary header gives the fields a length of 9 where 2 bytes are left";
    binary(&format!("{fixed} 00000000 00000009 0001"), text);
    let text = "the binary header gives a field's name a length of -1 where 0 bytes are left";
    binary(&format!("{fixed} 00000000 00000002 ffff"), text);
    let text = "the binary header gives a field's value a length of -2 where 0 bytes are left";
    binary(&format!("{fixed} 00000000 00000007 0001 61 fffffffe"), text);
}

/// C++ clients send properties in their system's encoding, GBK for one; their connections were closed.
#[test]
fn texts_in_another_encoding_are_garbled_and_all_else_is_read() {
    for encoding in [Encoding::Json, Encoding::Binary] {
        let mut command = Command::request(310).with("i", "city~~end").with("b", "T").body("body");
        command.remark = Some("r~~".to_owned());
        let bytes: Vec<u8> = encoded(&command, encoding)
            .into_iter()
            .map(|byte| if byte == b'~' { 0xb1 } else { byte })
            .collect();
        let read =
            frame::read(&bytes, |frame| Command::from_frame(&frame.header, frame.body)).expect("a frame");
        let garbled = |text: &str| text.replace('~', "\u{fffd}");
        assert_eq!(read.field("i"), Some(&*garbled("city~~end")));
        assert_eq!(read.remark, Some(garbled("r~~")));
        assert_eq!((read.field("b"), &read.body[..]), (Some("T"), &b"body"[..]));
    }
    assert!(frame::read(b"\0\0\0\x06\0\0\0\x02{]", |_| ()).is_err());
}

#[test]
fn broken_frames_are_refused() {
    let length = |bytes: &str| frame::length(&hex(bytes));
    assert_eq!(length("000000"), Ok(None));
    assert_eq!(length("00fffffc"), Ok(Some(16_777_216)));
    assert_eq!(length("00fffffd"), Err(FrameError::TooLong { length: 16_777_217 }));
    assert_eq!(length("00000003"), Err(FrameError::TooShort(3)));
    assert_eq!(length("ffffffff"), Err(FrameError::TooShort(-1)));
    let decode = |bytes: &str| frame::decode(&hex(bytes)).map(|frame| frame.header.code);
    assert_eq!(decode("00000004 02000000"), Err(FrameError::UnknownEncoding(2)));
    assert_eq!(decode("00000006 00000003 7b7d"), Err(FrameError::HeaderTooLong { header: 3, frame: 2 }));
    assert_eq!(decode("00000006 00000002 7b7d"), Ok(0));
    assert_eq!(decode("000000"), Err(FrameError::TooShort(3)));
}

fn any_command() -> impl Strategy<Value = Command> {
    let fields = prop::collection::vec(("[a-zA-Z_]{1,9}", "\\PC{1,9}|[\u{1}\u{2}\"\\\\]{1,9}"), 0..9);
    let numbers = any::<(i16, i16, i32, i32)>();
    let parts =
        (numbers, 0u8..14, prop::option::of(".{1,20}"), fields, prop::collection::vec(any::<u8>(), 0..50));
    parts.prop_map(|((code, version, opaque, flag), language, remark, fields, body)| Command {
        code: i32::from(code),
        language: Language::from_ordinal(language),
        version: i32::from(version),
        opaque,
        flag,
        remark,
        ext: fields.into_iter().map(|(name, value)| (Cow::Owned(name), value)).collect(),
        body: body.into(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn commands_come_back_in_both_encodings(command in any_command()) {
        for encoding in [Encoding::Json, Encoding::Binary] {
            prop_assert_eq!(&decoded(&encoded(&command, encoding)), &command);
        }
    }

    #[test]
    fn damaged_frames_never_panic(command in any_command(), binary in any::<bool>(), at in any::<usize>(), byte in any::<u8>()) {
        let mut bytes = encoded(&command, if binary { Encoding::Binary } else { Encoding::Json });
        let at = at % bytes.len();
        bytes[at] = byte;
        let _ = frame::length(&bytes);
        if let Ok(frame) = frame::decode(&bytes) {
            let _ = Command::from_frame(&frame.header, frame.body);
        }
        let _ = frame::decode(&bytes[..at]);
        let _ = frame::read(&bytes, |_| ());
    }

    #[test]
    fn any_header_is_read_or_refused(text in "[{}\\[\\]\":,a0\\\\u\\-. é]{0,40}", bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = Header::decode(Encoding::Json, text.as_bytes());
        let _ = Header::decode(Encoding::Json, format!("{{\"extFields\":{text}}}").as_bytes());
        let _ = Header::decode(Encoding::Binary, &bytes);
    }
}

#[test]
fn the_prefix_is_what_a_frame_begins_with() {
    let mut out = vec![9];
    let start = frame::begin(&mut out);
    out.extend_from_slice(b"{}");
    frame::finish(start, Encoding::Json, 5, &mut out);
    assert_eq!(out, hex("09 0000000b 00000002 7b7d"));
    assert_eq!(out.len(), 1 + PREFIX_BYTES + 2);
}
