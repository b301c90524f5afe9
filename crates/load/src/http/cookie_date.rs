//! The dates that `Set-Cookie` has.

/// What the tokens of a date were taken for.
#[derive(Debug, Default)]
struct Parts {
    time: Option<[u64; 3]>,
    day: Option<u64>,
    month: Option<u64>,
    year: Option<u64>,
}

/// Seconds since 1970 of a cookie's `Expires`, in UTC; 0 for all that is before. `None` where it
/// isn't a date.
///
/// Servers write dates in at least three ways (IMF-fixdate, RFC 850, asctime) and many that are
/// nearly one of these. This is the reading of RFC 6265 section 5.1.1, as browsers have it: the
/// text falls into tokens, and what a token is follows from its looks.
pub(super) fn unix_s(date: &[u8]) -> Option<u64> {
    let mut parts = Parts::default();
    date.split(|&byte| is_delimiter(byte)).for_each(|token| parts.take(token));
    let ([hour, minute, second], day) = (parts.time?, parts.day?);
    let (month, year) = (parts.month?, parts.year?);
    let is_time = hour < 24 && minute < 60 && second < 60;
    if !is_time || year < 1601 || !(1..=days_in(month, year)).contains(&day) {
        return None;
    }
    let days = days_to(year) + (1..month).map(|month| days_in(month, year)).sum::<u64>() + day - 1;
    let Some(days) = days.checked_sub(days_to(1970)) else { return Some(0) };
    Some(days * 86_400 + hour * 3600 + minute * 60 + second)
}

impl Parts {
    /// Take a token for the first part that it looks like and that is still missing: 10 is a day,
    /// and a year once there is a day.
    fn take(&mut self, token: &[u8]) {
        if self.time.is_none()
            && let Some(time) = time(token)
        {
            self.time = Some(time);
        } else if self.day.is_none()
            && let Some((day, _)) = number(token, 1, 2)
        {
            self.day = Some(day);
        } else if self.month.is_none()
            && let Some(month) = month(token)
        {
            self.month = Some(month);
        } else if self.year.is_none()
            && let Some((year, _)) = number(token, 2, 4)
        {
            self.year = Some(match year {
                0..70 => year + 2000,
                70..100 => year + 1900,
                _ => year,
            });
        }
    }
}

const fn is_delimiter(byte: u8) -> bool {
    matches!(byte, b'\t' | 0x20..=0x2f | 0x3b..=0x40 | 0x5b..=0x60 | 0x7b..=0x7e)
}

/// The number that `text` begins with, if it has so many digits; and what follows.
fn number(text: &[u8], least: usize, most: usize) -> Option<(u64, &[u8])> {
    let n_digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !(least..=most).contains(&n_digits) {
        return None;
    }
    let (digits, rest) = text.split_at(n_digits);
    Some((digits.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0')), rest))
}

fn time(token: &[u8]) -> Option<[u64; 3]> {
    let (hour, rest) = number(token, 1, 2)?;
    let (minute, rest) = number(rest.strip_prefix(b":")?, 1, 2)?;
    let (second, _) = number(rest.strip_prefix(b":")?, 1, 2)?;
    Some([hour, minute, second])
}

/// From 1.
fn month(token: &[u8]) -> Option<u64> {
    const NAMES: [&[u8; 3]; 12] = [
        b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov",
        b"dec",
    ];
    let name = token.first_chunk::<3>()?;
    NAMES.iter().position(|month| month.eq_ignore_ascii_case(name)).map(|before| before as u64 + 1)
}

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in(month: u64, year: u64) -> u64 {
    match month {
        2 => 28 + u64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from the first of January of the year 1 to that of `year`.
const fn days_to(year: u64) -> u64 {
    let before = year - 1;
    before * 365 + before / 4 - before / 100 + before / 400
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_date_may_be_written_in_many_ways() {
        for date in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "Sun, 06-Nov-1994 08:49:37 GMT",
            "6 november 1994 8:49:37",
            "nov;6;94;08:49:37garbage",
        ] {
            assert_eq!(unix_s(date.as_bytes()), Some(784_111_777), "{date}");
        }
    }

    #[test]
    fn dates_of_all_times_are_counted_from_1970() {
        for (date, expected) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Thu, 01 Jan 1970 00:00:01 GMT", 1),
            ("Wed, 31 Dec 1969 23:59:59 GMT", 0),
            ("1 Jan 1601 00:00:00", 0),
            ("29 Feb 2000 12:00:00", 951_825_600),
            ("1 Mar 2000 00:00:00", 951_868_800),
            ("19 Jan 38 03:14:08", 1 << 31),
            ("31 Dec 69 23:59:59", 3_155_759_999),
            ("1 Jan 70 00:00:00", 0),
            ("31 Dec 9999 23:59:59", 253_402_300_799),
        ] {
            assert_eq!(unix_s(date.as_bytes()), Some(expected), "{date}");
        }
    }

    #[test]
    fn what_is_no_date_is_none() {
        for date in [
            "",
            "0",
            "-1",
            "tomorrow",
            "06 Nov 1994",
            "Nov 1994 08:49:37",
            "06 1994 08:49:37",
            "06 Nov 08:49:37",
            "00 Nov 1994 08:49:37",
            "31 Nov 1994 08:49:37",
            "29 Feb 1900 08:49:37",
            "29 Feb 2001 08:49:37",
            "06 Nov 1600 08:49:37",
            "06 Nov 11994 08:49:37",
            "06 Nov 1994 24:00:00",
            "06 Nov 1994 23:60:00",
            "06 Nov 1994 23:00:60",
            "06 Nov 1994 08:49",
            "08:49:37 94 6 nov",
            "99999999999999999999999999 Nov 1994 08:49:37",
        ] {
            assert_eq!(unix_s(date.as_bytes()), None, "{date}");
        }
    }

    proptest! {
        #[test]
        fn a_day_is_86400_s_after_the_one_before(days in 0..2_932_000_u64) {
            // By the calendar of Hinnant's algorithm, which counts from March.
            let z = days + 719_468;
            let (era, of_era) = (z / 146_097, z % 146_097);
            let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
            let of_year = of_era - (365 * year + year / 4 - year / 100);
            let from_march = (5 * of_year + 2) / 153;
            let day = of_year - (153 * from_march + 2) / 5 + 1;
            let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
            let year = year + era * 400 + u64::from(month <= 2);
            let name = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct",
                "Nov", "Dec"][month as usize - 1];
            let date = format!("Xyz, {day:02} {name} {year} 00:00:00 GMT");
            prop_assert_eq!(unix_s(date.as_bytes()), Some(days * 86_400), "{}", date);
        }

        #[test]
        fn arbitrary_bytes_never_panic(date in prop::collection::vec(any::<u8>(), 0..60)) {
            unix_s(&date);
        }
    }
}
