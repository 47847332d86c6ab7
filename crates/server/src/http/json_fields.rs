//! JSON read field by field, so that what is wrong with it is known with its place.
//!
//! Slower than `serde_json` alone, which reads all that is right; this reads a body again only when
//! that has failed.

use serde::{
    de::{self, DeserializeSeed, Deserializer, IntoDeserializer, Visitor},
    forward_to_deserialize_any,
};
use serde_json::value::RawValue;

use crate::http::field_error::FieldError;

/// Reads a value out of JSON text.
pub fn read<'de, T: de::Deserialize<'de>>(text: &'de str) -> Result<T, FieldError> {
    T::deserialize(Node(text.trim()))
}

/// Some JSON, not yet looked into.
struct Node<'de>(&'de str);

/// The entries of an object in their order, duplicates included.
struct Entries<'de>(Vec<(String, &'de RawValue)>);

impl<'de> de::Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;

        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: de::MapAccess<'de>>(
                self,
                mut map: M,
            ) -> Result<Entries<'de>, M::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(EntriesVisitor)
    }
}

fn parse<'de, T: de::Deserialize<'de>>(text: &'de str) -> Result<T, FieldError> {
    serde_json::from_str(text).map_err(de::Error::custom)
}

impl<'de> Deserializer<'de> for Node<'de> {
    type Error = FieldError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.0.bytes().next() {
            Some(b'{') => {
                let Entries(entries) = parse(self.0)?;
                visitor.visit_map(Object {
                    entries: entries.into_iter(),
                    value: None,
                })
            }
            Some(b'[') => {
                let items: Vec<&RawValue> = parse(self.0)?;
                visitor.visit_seq(List {
                    items: items.into_iter().enumerate(),
                })
            }
            Some(b'"') => visitor.visit_string(parse(self.0)?),
            Some(b't' | b'f') => visitor.visit_bool(parse(self.0)?),
            Some(b'n') => visitor.visit_unit(),
            _ => visit_number(&parse(self.0)?, visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        if self.0 == "null" {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    /// Payloads are kept as the text they are, which only the library that wrote them can do.
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        if name.starts_with('$') {
            let mut json = serde_json::Deserializer::from_str(self.0);
            return json
                .deserialize_newtype_struct(name, visitor)
                .map_err(de::Error::custom);
        }
        visitor.visit_newtype_struct(self)
    }

    /// serde would also take a list, with a value for each field in their order.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        if self.0.starts_with('[') {
            return Err(de::Error::invalid_type(de::Unexpected::Seq, &visitor));
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        if !self.0.starts_with('"') {
            let words = words.join(", ");
            return Err(de::Error::custom(format!("must be one of {words}")));
        }
        let word: String = parse(self.0)?;
        visitor.visit_enum(word.into_deserializer())
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

fn visit_number<'de, V: Visitor<'de>>(
    number: &serde_json::Number,
    visitor: V,
) -> Result<V::Value, FieldError> {
    match (number.as_u64(), number.as_i64(), number.as_f64()) {
        (Some(number), _, _) => visitor.visit_u64(number),
        (None, Some(number), _) => visitor.visit_i64(number),
        (None, None, Some(number)) => visitor.visit_f64(number),
        (None, None, None) => Err(de::Error::custom("must be a smaller number")),
    }
}

struct Object<'de> {
    entries: std::vec::IntoIter<(String, &'de RawValue)>,
    value: Option<(String, &'de RawValue)>,
}

impl<'de> de::MapAccess<'de> for Object<'de> {
    type Error = FieldError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, FieldError> {
        let Some((key, value)) = self.entries.next() else {
            return Ok(None);
        };
        let read = seed.deserialize(key.clone().into_deserializer());
        self.value = Some((key, value));
        read.map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, FieldError> {
        let Some((key, value)) = self.value.take() else {
            return Err(de::Error::custom("a value without a field"));
        };
        let value = seed.deserialize(Node(value.get()));
        value.map_err(|error| error.within(key))
    }
}

struct List<'de> {
    items: std::iter::Enumerate<std::vec::IntoIter<&'de RawValue>>,
}

impl<'de> de::SeqAccess<'de> for List<'de> {
    type Error = FieldError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, FieldError> {
        let Some((index, item)) = self.items.next() else {
            return Ok(None);
        };
        let value = seed.deserialize(Node(item.get()));
        value.map(Some).map_err(|error| error.at_index(index))
    }
}
