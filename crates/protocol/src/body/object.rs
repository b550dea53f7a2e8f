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
        }
    };
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
