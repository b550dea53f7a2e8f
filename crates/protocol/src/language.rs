//! The languages a peer can say it is written in.

use crate::text::Text;

macro_rules! languages {
    ($($variant:ident $ordinal:literal $name:literal,)*) => {
        /// Reported in connection lists; only `CPP` ever changed an answer.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum Language {
            $($variant,)*
            /// A language that this table doesn't have.
            #[default]
            Unknown,
        }

        impl Language {
            pub fn from_ordinal(ordinal: u8) -> Self {
                match ordinal {
                    $($ordinal => Language::$variant,)*
                    _ => Language::Unknown,
                }
            }

            pub fn from_name(name: &str) -> Self {
                Language::from_text(Text::plain(name))
            }

            /// Reads a name in any case, or an ordinal as a text.
            pub fn from_text(name: Text<'_>) -> Self {
                $(if name.bytes().eq_ignore_ascii_case($name.as_bytes()) {
                    return Language::$variant;
                })*
                let ordinal = name.integer().and_then(|ordinal| u8::try_from(ordinal).ok());
                ordinal.map_or(Language::Unknown, Language::from_ordinal)
            }

            pub fn ordinal(self) -> u8 {
                match self {
                    $(Language::$variant => $ordinal,)*
                    Language::Unknown => Language::Other.ordinal(),
                }
            }

            pub fn name(self) -> &'static str {
                match self {
                    $(Language::$variant => $name,)*
                    Language::Unknown => Language::Other.name(),
                }
            }
        }
    };
}

languages! {
    Java 0 "JAVA",
    Cpp 1 "CPP",
    Dotnet 2 "DOTNET",
    Python 3 "PYTHON",
    Delphi 4 "DELPHI",
    Erlang 5 "ERLANG",
    Ruby 6 "RUBY",
    Other 7 "OTHER",
    Http 8 "HTTP",
    Go 9 "GO",
    Php 10 "PHP",
    Oms 11 "OMS",
    Rust 12 "RUST",
    NodeJs 13 "NODE_JS",
}
