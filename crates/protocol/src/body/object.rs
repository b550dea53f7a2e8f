//! The macros by which a body is written down once: its struct, its JSON out and its JSON in.

/// A struct that is a JSON object. Each field has its JSON name in front, in alphabetical order, and behind it the
/// value that counts when it is missing, unless that is the type's own default. `.. extra` at the end keeps unknown
/// fields, for objects that are stored and handed on.
macro_rules! json_object {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[$field_meta:meta])* $json:literal $field:ident: $type:ty $(= $default:expr)?,)*
            $(.. $extra:ident)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
            $(/// Fields that this version doesn't know, kept as they came.
            pub $extra: $crate::json::Map<String, $crate::json::Value>,)?
        }

        impl $name {
            /// The names of the fields in JSON.
            pub const FIELDS: &[&str] = &[$($json),*];
        }

        impl Default for $name {
            fn default() -> Self {
                $name {
                    $($field: json_object!(@default $($default)?),)*
                    $($extra: $crate::json::Map::new(),)?
                }
            }
        }

        impl $crate::json::ToJson for $name {
            fn write_json(&self, writer: &mut $crate::json::Writer) {
                writer.object(|writer| {
                    $(writer.field($json, &self.$field);)*
                    $(for (name, value) in &self.$extra {
                        writer.field(name, value);
                    })?
                });
            }
        }

        impl $crate::json::FromJson for $name {
            fn from_json(value: &$crate::json::Value) -> Result<Self, $crate::json::JsonError> {
                use $crate::json::Fields as _;
                $crate::json::expect_object(value)?;
                Ok($name {
                    $($field: match value.field($json)? {
                        Some(found) => found,
                        None => json_object!(@default $($default)?),
                    },)*
                    $($extra: $crate::json::fields_except(value, Self::FIELDS),)?
                })
            }

            fn read(parser: &mut $crate::json::Parser<'_>) -> Result<Self, $crate::json::JsonError> {
                let mut object = Self::default();
                parser.object(|parser, name| {
                    match &*name {
                        $($json => {
                            object.$field = match parser.field($json)? {
                                Some(found) => found,
                                None => json_object!(@default $($default)?),
                            };
                        })*
                        _ => json_object!(@other object, parser, name $(, $extra)?),
                    }
                    Ok(())
                })?;
                Ok(object)
            }
        }
    };
    (@other $object:ident, $parser:ident, $name:ident) => {{
        $parser.value()?;
    }};
    (@other $object:ident, $parser:ident, $name:ident, $extra:ident) => {{
        let value = $parser.value()?;
        $object.$extra.insert($name.into_owned(), value);
    }};
    (@default) => {
        Default::default()
    };
    (@default $default:expr) => {
        $default
    };
}

/// An enum that is a name in JSON, read in any case. What has another name is `Unknown`, and not written.
macro_rules! json_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident $text:literal,)* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum $name {
            $($(#[$variant_meta])* $variant,)*
            #[default]
            Unknown,
        }

        impl $name {
            pub fn from_name(name: &str) -> Self {
                $(if name.eq_ignore_ascii_case($text) {
                    return $name::$variant;
                })*
                $name::Unknown
            }

            /// The name; nothing for what is unknown.
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $($name::$variant => Some($text),)*
                    $name::Unknown => None,
                }
            }
        }

        impl $crate::json::ToJson for $name {
            fn write_json(&self, writer: &mut $crate::json::Writer) {
                self.name().write_json(writer);
            }

            fn is_null(&self) -> bool {
                *self == $name::Unknown
            }
        }

        impl $crate::json::FromJson for $name {
            fn from_json(value: &$crate::json::Value) -> Result<Self, $crate::json::JsonError> {
                Ok(value.as_str().map_or($name::Unknown, $name::from_name))
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use crate::json::{FromJson, Value};
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    json_object! {
        pub struct Inner {
            "n" number: i64 = 7,
            "set" set: BTreeSet<i32>,
        }
    }

    json_object! {
        pub struct Outer {
            "n" number: i32 = 7,
            "s" text: Option<String>,
            "list" list: Vec<Inner>,
            "map" map: BTreeMap<i32, Option<Inner>>,
            "set" any: Value,
            .. others
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let key = prop::sample::select([Outer::FIELDS, Inner::FIELDS, &["1", "x"]].concat());
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i8>().prop_map(Value::from),
            prop::sample::select(vec!["5", "x", "true", "", "a\"\\\n"]).prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(key.clone().prop_map(str::to_owned), inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    #[test]
    fn the_last_of_equal_names_counts() {
        let check = |text: &str, expected: i32| {
            assert_eq!(
                Outer::from_json_bytes(text.as_bytes()).map(|outer| outer.number),
                Ok(expected),
                "{text}"
            );
        };
        check("{n:1,'n':\"2\"}", 2);
        check("{n:1,n:null}", 7);
        check("{n:null,n:3,}", 3);
    }

    proptest! {
        #[test]
        fn a_text_and_its_tree_are_read_alike(value in any_json()) {
            let read = Outer::from_json_bytes(value.to_string().as_bytes());
            prop_assert_eq!(read.ok(), Outer::from_json(&value).ok());
        }
    }
}
