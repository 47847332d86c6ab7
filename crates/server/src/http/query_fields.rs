//! Query strings and forms read field by field.

use std::borrow::Cow;

use serde::{
    de::{self, DeserializeSeed, Deserializer, IntoDeserializer, Visitor},
    forward_to_deserialize_any,
};

use crate::http::field_error::FieldError;

/// Reads a value out of names and values.
pub fn read<'de, T, P>(pairs: P) -> Result<T, FieldError>
where
    T: de::DeserializeOwned,
    P: Iterator<Item = (Cow<'de, str>, Cow<'de, str>)>,
{
    let pairs = Pairs {
        pairs: grouped(pairs).into_iter(),
        value: None,
    };
    T::deserialize(de::value::MapAccessDeserializer::new(pairs))
}

/// The values of each name, in the order in which the names come first.
fn grouped<'de>(
    pairs: impl Iterator<Item = (Cow<'de, str>, Cow<'de, str>)>,
) -> Vec<(Cow<'de, str>, Values<'de>)> {
    let mut grouped: Vec<(Cow<'de, str>, Values<'de>)> = Vec::new();
    for (name, value) in pairs {
        match grouped.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.more.push(value),
            None => {
                let values = Values {
                    first: value,
                    more: Vec::new(),
                };
                grouped.push((name, values));
            }
        }
    }
    grouped
}

/// The values of one name.
struct Values<'de> {
    first: Cow<'de, str>,
    more: Vec<Cow<'de, str>>,
}

struct Pairs<'de> {
    pairs: std::vec::IntoIter<(Cow<'de, str>, Values<'de>)>,
    value: Option<(String, Values<'de>)>,
}

impl<'de> de::MapAccess<'de> for Pairs<'de> {
    type Error = FieldError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, FieldError> {
        let Some((name, value)) = self.pairs.next() else {
            return Ok(None);
        };
        let read = seed.deserialize(name.as_ref().into_deserializer());
        self.value = Some((name.into_owned(), value));
        read.map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, FieldError> {
        let Some((name, value)) = self.value.take() else {
            return Err(de::Error::custom("a value without a name"));
        };
        let value = seed.deserialize(value);
        value.map_err(|error| error.within(name))
    }
}

/// A field that is no list has one value.
impl<'de> Values<'de> {
    fn single(self) -> Result<Text<'de>, FieldError> {
        match self.more.is_empty() {
            true => Ok(Text(self.first)),
            false => Err(de::Error::custom("must be given once")),
        }
    }
}

impl<'de> Deserializer<'de> for Values<'de> {
    type Error = FieldError;

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        let all = std::iter::once(self.first).chain(self.more);
        let texts = all.map(Cow::into_owned);
        visitor.visit_seq(de::value::SeqDeserializer::new(texts))
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        self.single()?.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        self.single()?.deserialize_option(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        self.single()?.deserialize_bool(visitor)
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        self.single()?.deserialize_u64(visitor)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        self.single()?.deserialize_u64(visitor)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        self.single()?.deserialize_u64(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        self.single()?.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct tuple tuple_struct map struct identifier ignored_any
    }
}

/// The value of a field. A number, or true or false, is text that is one.
struct Text<'de>(Cow<'de, str>);

impl<'de> Deserializer<'de> for Text<'de> {
    type Error = FieldError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        visitor.visit_string(self.0.into_owned())
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        visitor.visit_some(self)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.0.parse() {
            Ok(is_set) => visitor.visit_bool(is_set),
            Err(_) => Err(de::Error::custom("must be true or false")),
        }
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.0.parse() {
            Ok(number) => visitor.visit_u64(number),
            Err(_) => Err(de::Error::custom("must be a whole number")),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        visitor.visit_enum(self.0.into_owned().into_deserializer())
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
