//! As much JSON as the server speaks.

use std::fmt::Write as _;

/// Render a string as JSON.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if (c as u32) < 0x20 => {
                // Writing to a string cannot fail.
                let _ = write!(quoted, "\\u{:04x}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Render a number or null.
pub(crate) fn optional(number: Option<u64>) -> String {
    number.map_or("null".to_owned(), |number| number.to_string())
}
