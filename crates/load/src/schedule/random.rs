//! Random bits by counting: the bits of an index are a function of the index.
//!
//! There is no state to share or to advance, so any thread can draw for any index in any order,
//! and a run's draws are the same however many threads it has. The hash is splitmix64 (Steele,
//! Lea and Flood, Fast splittable pseudorandom number generators, 2014, with Stafford's thirteenth
//! mixer), at a starting point that is itself a hash of seed and stream.
//!
//! All of it is integer arithmetic and the four operations that IEEE 754 defines to the last bit,
//! the logarithm too: a seed means the same on every machine.

/// What draws are for. Draws of different streams are independent of each other.
pub(crate) mod stream {
    /// Gaps between arrivals; the index is the arrival's.
    pub(crate) const ARRIVAL: u64 = 1;
    /// Which step is taken; the index is the step's over the run.
    pub(crate) const MIX: u64 = 2;
    /// How many steps a visit has; the index is the visit's.
    pub(crate) const VISIT_LENGTH: u64 = 3;
    /// How long a user pauses.
    pub(crate) const THINK: u64 = 4;
    /// What `{random}` stands for; the index is the request's.
    pub(crate) const TEMPLATE: u64 = 5;
    /// Whether a visit is by a new user.
    pub(crate) const IS_NEW: u64 = 6;
    /// Which user returns.
    pub(crate) const RETURNING: u64 = 7;
    /// Whether a user is a slow one.
    pub(crate) const IS_SLOW: u64 = 8;
    /// When a user of a closed loop begins; the index is the user's.
    pub(crate) const BEGIN: u64 = 9;
    /// The seed of arms that draw by themselves; the index is their number.
    pub(crate) const ARM: u64 = 10;
}

/// An odd number near 2⁶⁴ divided by the golden ratio: its multiples are spread evenly.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The bits of one seed and stream; cheaper than [`hash`] where many are drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bits {
    start: u64,
}

impl Bits {
    pub(crate) const fn new(seed: u64, stream: u64) -> Self {
        // The stream is mixed by itself first: else a seed that is a neighbour's would give, in
        // some other stream, the neighbour's bits.
        Self { start: mixed(seed ^ mixed(stream.wrapping_add(STEP))) }
    }

    /// 64 independent, fair bits.
    #[inline]
    pub(crate) const fn at(self, index: u64) -> u64 {
        mixed(self.start.wrapping_add(index.wrapping_add(1).wrapping_mul(STEP)))
    }
}

/// The bits of `index`.
#[inline]
pub(crate) const fn hash(seed: u64, stream: u64, index: u64) -> u64 {
    Bits::new(seed, stream).at(index)
}

/// The seed of an arm that draws by this number; by the run's own where that is 0.
pub(crate) const fn arm_seed(seed: u64, number: u64) -> u64 {
    if number == 0 { seed } else { hash(seed, stream::ARM, number) }
}

#[inline]
const fn mixed(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Even on `[0, 1)`, in steps of 2⁻⁵².
#[inline]
pub(crate) const fn unit(bits: u64) -> f64 {
    // As the fraction of a number between 1 and 2: cheaper than a conversion, which besides would
    // make a processor wait for the draw before.
    f64::from_bits(1.0_f64.to_bits() | bits >> 12) - 1.0
}

/// Exponential with mean 1; at most 37.
#[inline]
pub(super) fn exponential(bits: u64) -> f64 {
    // 1 − u is exact, and never 0. The system's logarithm differs in the last bit between machines.
    -libm::log(1.0 - unit(bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bits_of_an_index_never_change() {
        // A saved seed must keep its meaning from release to release.
        assert_eq!(hash(0, 0, 0), 0x568a_9b0b_1a2c_05ec);
        assert_eq!(hash(1, 2, 2), 0xbfdd_a205_eebc_cef0);
    }

    #[test]
    fn one_bit_of_any_input_turns_half_of_the_bits() {
        let n_indices = 2_000_u64;
        for bit in 0..64 {
            let flips = |of: fn(u64, u64) -> u64| {
                let turned = (0..n_indices).map(|i| (of(i, 0) ^ of(i, 1 << bit)).count_ones());
                f64::from(turned.sum::<u32>()) / n_indices as f64
            };
            // 32 of 64 bits on average; the standard error is 4 / √2000 = 0.09.
            for (what, mean) in [
                ("seed", flips(|i, flip| hash(7 ^ flip, 1, i))),
                ("stream", flips(|i, flip| hash(7, 1 ^ flip, i))),
                ("index", flips(|i, flip| hash(7, 1, i ^ flip))),
            ] {
                assert!((mean - 32.0).abs() < 0.5, "{what}, bit {bit}: {mean}");
            }
        }
    }

    #[test]
    fn seeds_and_streams_do_not_share_bits() {
        let mut seen = std::collections::HashSet::new();
        for seed in 0..20 {
            for stream in 0..20 {
                assert!((0..100).all(|index| seen.insert(hash(seed, stream, index))));
            }
        }
    }

    #[test]
    fn each_bit_is_fair_and_neighbours_are_independent() {
        let n = 1_u64 << 15;
        let bits = Bits::new(3, stream::ARRIVAL);
        let (mut ones, mut changes) = ([0_u64; 64], [0_u64; 64]);
        for index in 0..n {
            let (these, next) = (bits.at(index), bits.at(index + 1));
            for bit in 0..64 {
                ones[bit] += these >> bit & 1;
                changes[bit] += (these ^ next) >> bit & 1;
            }
        }
        for (bit, count) in ones.into_iter().chain(changes).enumerate() {
            // Five standard errors of a fair coin.
            let bound = 5.0 * 0.5 * (n as f64).sqrt();
            assert!((count as f64 - n as f64 / 2.0).abs() < bound, "bit {}", bit % 64);
        }
    }

    #[test]
    fn units_and_exponentials_keep_to_their_ranges() {
        assert!(unit(0).abs() < f64::MIN_POSITIVE && exponential(0).abs() < f64::MIN_POSITIVE);
        assert!(unit(u64::MAX) < 1.0 && unit(u64::MAX) > 1.0 - 1e-15);
        assert!(exponential(u64::MAX) > 36.0 && exponential(u64::MAX) < 37.0);
    }

    #[test]
    fn exponentials_have_their_distribution() {
        let n = 100_000;
        let bits = Bits::new(1, stream::ARRIVAL);
        let mut draws: Vec<f64> = (0..n).map(|i| exponential(bits.at(i))).collect();
        draws.sort_by(f64::total_cmp);
        // Kolmogorov's distance; above 1.95 / √n with probability 0.001.
        let distance = draws.iter().enumerate().fold(0.0_f64, |most, (i, draw)| {
            let expected = 1.0 - (-draw).exp();
            let (before, after) = (i as f64 / n as f64, (i + 1) as f64 / n as f64);
            most.max((expected - before).abs()).max((expected - after).abs())
        });
        assert!(distance * (n as f64).sqrt() < 1.95, "{distance}");
    }
}
