//! How results are written down for those who read them elsewhere: times in seconds, what is empty
//! left out, columns as bytes.
//!
//! Names and shapes are those of `Measurement` in Python; a test there holds the two against each
//! other.

use std::collections::BTreeMap;

use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

/// Nanoseconds as seconds.
pub(super) fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// A list that is made as it is written.
pub(super) struct Each<F>(pub(super) F);

impl<F, I> Serialize for Each<F>
where
    F: Fn() -> I,
    I: ExactSizeIterator<Item: Serialize>,
{
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let items = (self.0)();
        let mut list = to.serialize_seq(Some(items.len()))?;
        for item in items {
            list.serialize_element(&item)?;
        }
        list.end()
    }
}

/// Numbers side by side in this machine's order of bytes, as `numpy.frombuffer` takes them.
pub(super) fn column<S: Serializer, T: Column>(numbers: &[T], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_bytes(&T::bytes(numbers))
}

/// A number of a column.
pub(crate) trait Column: Sized {
    fn bytes(numbers: &[Self]) -> Vec<u8>;
}

impl Column for u64 {
    fn bytes(numbers: &[Self]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
    }
}

impl Column for u32 {
    fn bytes(numbers: &[Self]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
    }
}

/// By number, written as text: the keys of what is also kept as JSON.
pub(crate) fn by_text<S: Serializer>(
    counts: &BTreeMap<u16, u64>,
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_map(counts.iter().map(|(number, count)| (number.to_string(), count)))
}

/// Whether it says nothing.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
