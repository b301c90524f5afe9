//! Text with words that stand for something else in each request: `{n}`, `{user}`, `{random}`.
//!
//! A template is taken apart once; rendering copies its pieces and writes numbers between them.

use crate::schedule::random::{self, stream};

/// Digits of `{random}`.
const HEX_DIGITS: usize = 16;

/// What the words stand for in one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Vars {
    /// The number of the request in the run.
    pub(super) n: u64,
    /// The number of the user.
    pub(crate) user: u64,
    pub(super) random: u64,
}

impl Vars {
    /// Those of the `n`-th request of a run, by `user`.
    pub(crate) const fn new(n: u64, user: u64, seed: u64) -> Self {
        Self { n, user, random: random::hash(seed, stream::TEMPLATE, n) }
    }
}

/// A text, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template {
    /// All of it but the words.
    text: Box<[u8]>,
    slots: Box<[Slot]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    /// Where in the text the word's value goes; ascending.
    at: usize,
    word: Word,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    N,
    User,
    Random,
}

/// A word in braces that stands for nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{{{0}}}` stands for nothing; there are `{{n}}`, `{{user}}`, `{{random}}`")]
pub(super) struct UnknownWord(pub(super) String);

impl Template {
    /// Take `source` apart. A word is ASCII letters and `_` in braces; a second pair of braces
    /// takes its meaning away: `{{n}}` is the text `{n}`.
    ///
    /// `is_strict` refuses any word but the three. Otherwise, as a body needs it, whatever isn't
    /// one of them is text as it stands, in however many braces.
    pub(super) fn parse(source: &[u8], is_strict: bool) -> Result<Self, UnknownWord> {
        let (mut text, mut slots) = (Vec::with_capacity(source.len()), Vec::new());
        let mut rest = source;
        while let Some((&first, after)) = rest.split_first() {
            let escaped = word_in_braces(after)
                .filter(|name| first == b'{' && after.get(name.len() + 2) == Some(&b'}'))
                .filter(|name| is_strict || Word::named(name).is_some());
            if let Some(name) = escaped {
                text.extend_from_slice(&after[..name.len() + 2]);
                rest = &after[name.len() + 3..];
                continue;
            }
            match word_in_braces(rest).map(|name| (name, Word::named(name))) {
                Some((name, Some(word))) => {
                    slots.push(Slot { at: text.len(), word });
                    rest = &rest[name.len() + 2..];
                }
                Some((name, None)) if is_strict => {
                    return Err(UnknownWord(String::from_utf8_lossy(name).into_owned()));
                }
                _ => {
                    text.push(first);
                    rest = after;
                }
            }
        }
        Ok(Self { text: text.into(), slots: slots.into() })
    }

    /// Whether every rendering is the same.
    pub(super) fn is_fixed(&self) -> bool {
        self.slots.is_empty()
    }

    /// How many bytes [`render`](Self::render) will write.
    pub(super) fn len(&self, vars: &Vars) -> usize {
        self.slots.iter().fold(self.text.len(), |length, slot| length + slot.word.len(vars))
    }

    /// Write the text of one request behind what `out` has. Allocates only where `out` has no room.
    #[inline]
    pub(super) fn render(&self, vars: &Vars, out: &mut Vec<u8>) {
        let mut from = 0;
        for slot in &self.slots {
            out.extend_from_slice(&self.text[from..slot.at]);
            slot.word.write(vars, out);
            from = slot.at;
        }
        out.extend_from_slice(&self.text[from..]);
    }
}

/// The name, if `rest` begins with a word in braces.
fn word_in_braces(rest: &[u8]) -> Option<&[u8]> {
    let inner = rest.strip_prefix(b"{")?;
    let n_letters = inner.iter().position(|&byte| !byte.is_ascii_alphabetic() && byte != b'_')?;
    (n_letters > 0 && inner[n_letters] == b'}').then(|| &inner[..n_letters])
}

impl Word {
    fn named(name: &[u8]) -> Option<Self> {
        match name {
            b"n" => Some(Self::N),
            b"user" => Some(Self::User),
            b"random" => Some(Self::Random),
            _ => None,
        }
    }

    fn len(self, vars: &Vars) -> usize {
        match self {
            Self::N => decimal_len(vars.n),
            Self::User => decimal_len(vars.user),
            Self::Random => HEX_DIGITS,
        }
    }

    fn write(self, vars: &Vars, out: &mut Vec<u8>) {
        match self {
            Self::N => push_decimal(vars.n, out),
            Self::User => push_decimal(vars.user, out),
            Self::Random => push_hex(vars.random, out),
        }
    }
}

/// How many digits `number` has.
fn decimal_len(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |last| last as usize + 1)
}

/// Write `number` without what `format!` costs.
pub(super) fn push_decimal(number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let (mut left, mut from) = (number, digits.len());
    loop {
        from -= 1;
        digits[from] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[from..]);
}

fn push_hex(bits: u64, out: &mut Vec<u8>) {
    let digit =
        |at: usize| b"0123456789abcdef"[(bits >> (4 * (HEX_DIGITS - 1 - at)) & 15) as usize];
    out.extend_from_slice(&std::array::from_fn::<u8, HEX_DIGITS, _>(digit));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const VARS: Vars = Vars { n: 42, user: 7, random: 0x00ab_cdef_0123_4567 };

    fn rendered(source: &str, is_strict: bool) -> String {
        let template = Template::parse(source.as_bytes(), is_strict).unwrap();
        let mut out = b"before ".to_vec();
        template.render(&VARS, &mut out);
        let text = String::from_utf8(out).unwrap();
        let text = text.strip_prefix("before ").unwrap().to_owned();
        assert_eq!(template.len(&VARS), text.len(), "{source:?}");
        text
    }

    #[test]
    fn words_stand_for_their_values() {
        for is_strict in [false, true] {
            let of = |source| rendered(source, is_strict);
            assert_eq!(of("/item/{n}?u={user}&r={random}"), "/item/42?u=7&r=00abcdef01234567");
            assert_eq!(of("{n}"), "42");
            assert_eq!(of("{n}{n}{user}"), "42427");
            assert_eq!(of(""), "");
            assert_eq!(of("plain"), "plain");
        }
    }

    #[test]
    fn two_pairs_of_braces_are_one_as_text() {
        for is_strict in [false, true] {
            let of = |source| rendered(source, is_strict);
            assert_eq!(of("{{n}}"), "{n}");
            assert_eq!(of("{{user}}{{random}}{n}"), "{user}{random}42");
            assert_eq!(of("{{n}"), "{42");
            assert_eq!(of("{n}}"), "42}");
            assert_eq!(of("{{{n}}}"), "{{n}}");
            assert_eq!(of("{{{{n}}}}"), "{{{n}}}");
        }
        assert_eq!(rendered("{{other_word}}", true), "{other_word}");
        assert_eq!(rendered("{{other_word}}", false), "{{other_word}}");
    }

    #[test]
    fn braces_around_what_is_no_word_are_text() {
        for source in ["{}", "{", "}", "{{}}", "{1}", "{n1}", "{n", "n}", "{ n }", "{a-b}", "{é}"]
        {
            assert_eq!(rendered(source, true), source);
            assert_eq!(rendered(source, false), source);
        }
        let json = r#"{"id":{n},"of":{"user":"{user}","kind":{},"x":[{"y":null}]}}"#;
        let expected = r#"{"id":42,"of":{"user":"7","kind":{},"x":[{"y":null}]}}"#;
        assert_eq!(rendered(json, false), expected);
        assert_eq!(rendered("{name} {{name}} {N}", false), "{name} {{name}} {N}");
    }

    #[test]
    fn an_unknown_word_is_refused_where_it_must_be() {
        for (source, name) in [("/{name}", "name"), ("{n}{N}", "N"), ("{_}", "_"), ("{{x}", "x")] {
            let refused = Template::parse(source.as_bytes(), true);
            assert_eq!(refused, Err(UnknownWord(name.to_owned())), "{source:?}");
            assert!(Template::parse(source.as_bytes(), false).is_ok());
        }
        assert_eq!(
            UnknownWord("name".to_owned()).to_string(),
            "`{name}` stands for nothing; there are `{n}`, `{user}`, `{random}`"
        );
    }

    #[test]
    fn what_has_no_word_is_fixed() {
        let is_fixed = |source: &[u8]| Template::parse(source, true).unwrap().is_fixed();
        assert!(is_fixed(b"/a?b={}") && is_fixed(b"{{n}}") && is_fixed(b"\xff\0"));
        assert!(!is_fixed(b"/{n}"));
    }

    #[test]
    fn random_is_of_the_seed_and_the_request() {
        let of = |n, user, seed| Vars::new(n, user, seed).random;
        assert_eq!(of(1, 2, 3), of(1, 9, 3));
        assert!(of(1, 2, 3) != of(2, 2, 3) && of(1, 2, 3) != of(1, 2, 4));
    }

    #[test]
    fn rendering_needs_no_more_room_than_it_says() {
        let template = Template::parse(b"a{n}b{user}c{random}", true).unwrap();
        let mut out = Vec::with_capacity(template.len(&VARS));
        let (room, place) = (out.capacity(), out.as_ptr());
        for _ in 0..3 {
            out.clear();
            template.render(&VARS, &mut out);
        }
        assert_eq!((out.capacity(), out.as_ptr()), (room, place));
    }

    proptest! {
        #[test]
        fn numbers_are_written_as_format_does(number in any::<u64>(), shift in 0..64_u32) {
            let number = number >> shift;
            let mut out = Vec::new();
            push_decimal(number, &mut out);
            prop_assert_eq!(decimal_len(number), out.len());
            prop_assert_eq!(String::from_utf8_lossy(&out), number.to_string());
            out.clear();
            push_hex(number, &mut out);
            prop_assert_eq!(String::from_utf8_lossy(&out), format!("{number:016x}"));
        }

        #[test]
        fn the_length_is_exact_and_other_text_is_kept(
            parts in prop::collection::vec(
                prop_oneof!["[a-z{}\\[\\]\": ]{0,8}", "\\{(n|user|random|name)\\}"], 0..8),
            n in any::<u64>(),
            user in any::<u64>(),
        ) {
            let source = parts.concat();
            let vars = Vars::new(n, user, 1);
            let template = Template::parse(source.as_bytes(), false).unwrap();
            let mut out = Vec::new();
            template.render(&vars, &mut out);
            prop_assert_eq!(out.len(), template.len(&vars));
            if !source.contains("{{") {
                let expected = source
                    .replace("{n}", &n.to_string())
                    .replace("{user}", &user.to_string())
                    .replace("{random}", &format!("{:016x}", vars.random));
                prop_assert_eq!(String::from_utf8(out).unwrap(), expected);
            }
        }
    }
}
