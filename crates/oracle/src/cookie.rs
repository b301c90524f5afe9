//! `Set-Cookie` fields.

/// The fields that `/cookies/WHAT/REST…?path=P&max-age=S` asks for; `None` for nonsense.
pub(crate) fn fields(what: &str, rest: &[&str], query: &str) -> Option<String> {
    let mut path = "/";
    let mut max_age = None;
    for (key, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        match key {
            "path" => path = value,
            "max-age" => max_age = Some(value.parse::<i64>().ok()?),
            _ => {}
        }
    }
    let pairs: Vec<(&str, &str)> = match what {
        "set" if rest.len().is_multiple_of(2) => {
            rest.chunks(2).map(|pair| (pair[0], pair[1])).collect()
        }
        "delete" => rest.iter().map(|name| (*name, "")).collect(),
        _ => return None,
    };
    if what == "delete" {
        max_age = Some(0);
    }
    let age = max_age.map_or(String::new(), |s| format!("; Max-Age={s}"));
    let is_sound = |(name, value): &(&str, &str)| {
        !name.is_empty() && name.bytes().all(is_token) && value.bytes().all(is_octet)
    };
    if pairs.is_empty() || !pairs.iter().all(is_sound) || !path.bytes().all(is_octet) {
        return None;
    }
    let field = |(name, value)| format!("Set-Cookie: {name}={value}; Path={path}{age}\r\n");
    Some(pairs.into_iter().map(field).collect())
}

/// The field that begins a session.
pub(crate) fn session_field(id: &str) -> String {
    format!("Set-Cookie: sid={id}; Path=/\r\n")
}

/// What a name may be of (RFC 9110, 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// What a value may be of (RFC 6265, 4.1.1).
fn is_octet(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\",;\\".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_say_what_the_path_says() {
        let told = |what, rest: &[&str], query| fields(what, rest, query);
        assert_eq!(told("set", &["a", "b"], ""), Some("Set-Cookie: a=b; Path=/\r\n".to_owned()));
        let two = "Set-Cookie: a=; Path=/x; Max-Age=-5\r\nSet-Cookie: c=d; Path=/x; Max-Age=-5\r\n";
        assert_eq!(told("set", &["a", "", "c", "d"], "path=/x&max-age=-5"), Some(two.to_owned()));
        let gone = "Set-Cookie: a=; Path=/; Max-Age=0\r\n";
        assert_eq!(told("delete", &["a"], "max-age=9"), Some(gone.to_owned()));
        for (what, rest) in [
            ("set", &["a"][..]),
            ("set", &[]),
            ("delete", &[]),
            ("set", &["", "b"]),
            ("set", &["a b", "c"]),
            ("set", &["a", "b;c"]),
            ("eat", &["a", "b"]),
        ] {
            assert_eq!(told(what, rest, ""), None, "{what} {rest:?}");
        }
        assert_eq!(told("set", &["a", "b"], "max-age=soon"), None);
    }
}
