//! Enums whose variants are words, the same in Rust, SQL and JSON.

/// Defines such an enum, with `ALL`, `as_str`, `Display`, `FromStr` and serde. The caller imports
/// `std::fmt` and `std::str::FromStr`; if its crate denies `missing_docs`, each variant needs a doc
/// comment.
#[doc(hidden)]
#[macro_export]
macro_rules! string_enum {
    ($(#[$attribute:meta])* $name:ident, $field:literal { $($(#[$variant_doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(::serde::Serialize, ::serde::Deserialize)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $word)] $variant),+
        }

        impl $name {
            /// Every variant, in the order of their declaration.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The word for this variant in SQL, JSON and logs.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }

        $crate::word_schema!($name { $($word),+ });

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = $crate::Invalid;

            fn from_str(text: &str) -> Result<Self, $crate::Invalid> {
                Self::ALL.iter().copied().find(|word| word.as_str() == text).ok_or_else(|| {
                    let expected = format!("must be one of {}", [$($word),+].join(", "));
                    $crate::Invalid::new($field, format!("{text:?}"), expected)
                })
            }
        }
    };
}

/// The OpenAPI schema of such an enum. The feature is that of this crate, not of the one that defines
/// the enum.
#[cfg(feature = "openapi")]
#[doc(hidden)]
#[macro_export]
macro_rules! word_schema {
    ($name:ident { $($word:literal),+ }) => {
        impl $crate::utoipa::PartialSchema for $name {
            fn schema() -> $crate::utoipa::openapi::RefOr<$crate::utoipa::openapi::Schema> {
                $crate::utoipa::openapi::ObjectBuilder::new()
                    .schema_type($crate::utoipa::openapi::schema::Type::String)
                    .enum_values(Some([$($word),+]))
                    .into()
            }
        }

        impl $crate::utoipa::ToSchema for $name {}
    };
}

/// No schema without the feature.
#[cfg(not(feature = "openapi"))]
#[doc(hidden)]
#[macro_export]
macro_rules! word_schema {
    ($name:ident { $($word:literal),+ }) => {};
}
