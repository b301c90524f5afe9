//! Which step of a mix is taken.

use super::random::{self, stream};

/// Steps by their weights.
///
/// Where all weights are equal the steps go in turn: the mix is exact after every round, and a
/// short run has each of them. Else each is drawn for itself in constant time, by the alias method
/// (Walker 1977; the table is built as by Vose, A linear algorithm for generating random numbers
/// with a given distribution, 1991).
#[derive(Debug, Clone)]
pub(crate) enum Mix {
    InTurn { n: u64 },
    ByWeight { columns: Box<[AliasColumn]> },
}

/// An n-th of all draws: those below the threshold are the column's own step, the others its alias.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AliasColumn {
    /// In units of 2⁻⁶⁴.
    threshold: u64,
    alias: u32,
}

impl Mix {
    /// At least one weight; each at least 0 and finite, and one of them above 0.
    pub(crate) fn new(weights: &[f64]) -> Self {
        if weights.iter().all(|weight| weight.total_cmp(&weights[0]).is_eq()) {
            return Self::InTurn { n: weights.len() as u64 };
        }
        Self::ByWeight { columns: columns(weights) }
    }

    /// The step for the `index`-th choice of a run. The same for the same seed, in whatever order
    /// and by whatever thread it is asked.
    #[inline]
    pub(crate) fn pick(&self, index: u64, seed: u64) -> u32 {
        match self {
            Self::InTurn { n } => (index % n) as u32,
            Self::ByWeight { columns } => {
                let bits = random::hash(seed, stream::MIX, index);
                // One multiplication is both draws: the column, and the place within it.
                let product = u128::from(bits) * columns.len() as u128;
                let (column, place) = ((product >> 64) as u32, product as u64);
                let AliasColumn { threshold, alias } = columns[column as usize];
                if place < threshold { column } else { alias }
            }
        }
    }
}

fn columns(weights: &[f64]) -> Box<[AliasColumn]> {
    let n = weights.len();
    let heaviest = (0..n).max_by(|&a, &b| weights[a].total_cmp(&weights[b])).unwrap_or(0);
    // By the largest first: a sum of large weights must not overflow.
    let shares: Vec<f64> = weights.iter().map(|weight| weight / weights[heaviest]).collect();
    let sum: f64 = shares.iter().sum();
    // How full a column is with its own step; the mean is 1.
    let mut heights: Vec<f64> = shares.iter().map(|share| share * n as f64 / sum).collect();
    // What the loop leaves is full but for rounding, and may not become a step of weight 0.
    let mut columns: Vec<AliasColumn> = (0..n)
        .map(|step| {
            let (threshold, alias) =
                if weights[step] > 0.0 { (u64::MAX, step) } else { (0, heaviest) };
            AliasColumn { threshold, alias: alias as u32 }
        })
        .collect();
    let (mut low, mut high): (Vec<usize>, Vec<usize>) =
        (0..n).partition(|&step| heights[step] < 1.0);
    while let (Some(&to_fill), Some(&giver)) = (low.last(), high.last()) {
        low.pop();
        let threshold = (heights[to_fill] * 2_f64.powi(64)) as u64;
        columns[to_fill] = AliasColumn { threshold, alias: giver as u32 };
        heights[giver] = heights[giver] + heights[to_fill] - 1.0;
        if heights[giver] < 1.0 {
            high.pop();
            low.push(giver);
        }
    }
    columns.into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What the table gives each step of all draws, exactly.
    fn probabilities(mix: &Mix, n: usize) -> Vec<f64> {
        let Mix::ByWeight { columns } = mix else { return vec![1.0 / n as f64; n] };
        assert_eq!(columns.len(), n);
        let mut parts = vec![0_u128; n];
        for (step, column) in columns.iter().enumerate() {
            parts[step] += u128::from(column.threshold);
            parts[column.alias as usize] += (1 << 64) - u128::from(column.threshold);
        }
        parts.into_iter().map(|part| part as f64 / 2_f64.powi(64) / n as f64).collect()
    }

    fn counts(mix: &Mix, n: usize, n_draws: u64, seed: u64) -> Vec<u64> {
        let mut counts = vec![0; n];
        (0..n_draws).for_each(|index| counts[mix.pick(index, seed) as usize] += 1);
        counts
    }

    #[test]
    fn equal_weights_go_in_turn() {
        let mix = Mix::new(&[0.1; 3]);
        let picks: Vec<u32> = (0..7).map(|index| mix.pick(index, 9)).collect();
        assert_eq!(picks, [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(Mix::new(&[5.0]).pick(u64::MAX, 0), 0);
    }

    #[test]
    fn a_weight_of_0_is_never_picked() {
        for weights in [&[0.0, 1.0][..], &[1.0, 0.0, 1.0, 1.0], &[0.0, 1e-300, 0.0]] {
            let mix = Mix::new(weights);
            for (step, count) in counts(&mix, weights.len(), 20_000, 3).into_iter().enumerate() {
                assert_eq!(count == 0, weights[step] <= 0.0, "{weights:?}, {step}");
            }
        }
    }

    #[test]
    fn frequencies_are_those_of_the_weights() {
        let weights = [50.0, 20.0, 10.0, 10.0, 5.0, 2.0, 1.0, 1.0, 0.5, 0.5];
        let (mix, n_draws) = (Mix::new(&weights), 20_000);
        let mut n_rejected = 0;
        for seed in 0..100 {
            let statistic: f64 = std::iter::zip(counts(&mix, 10, n_draws, seed), weights)
                .map(|(count, weight)| {
                    let expected = n_draws as f64 * weight / 100.0;
                    (count as f64 - expected).powi(2) / expected
                })
                .sum();
            // χ² with 9 degrees of freedom is above 21.67 with probability 0.01.
            n_rejected += u32::from(statistic > 21.67);
        }
        // Of 100 tests at 1 %, more than 6 fail with probability 0.0001.
        assert!(n_rejected <= 6, "{n_rejected}");
    }

    #[test]
    fn a_seed_gives_one_sequence_in_any_order() {
        let mix = Mix::new(&[3.0, 2.0, 1.0]);
        let forth: Vec<u32> = (0..1000).map(|index| mix.pick(index, 1)).collect();
        let mut back: Vec<u32> = (0..1000).rev().map(|index| mix.pick(index, 1)).collect();
        back.reverse();
        assert_eq!(forth, back);
        let other: Vec<u32> = (0..1000).map(|index| mix.pick(index, 2)).collect();
        assert_ne!(forth, other);
    }

    fn weights() -> impl Strategy<Value = Vec<f64>> {
        let weight = prop_oneof![
            1 => Just(0.0),
            3 => (1..10_u32).prop_map(f64::from),
            3 => 1e-9..1e9_f64,
            1 => 1e300..f64::MAX,
        ];
        prop::collection::vec(weight, 1..200)
            .prop_filter("sums to nothing", |weights| weights.iter().any(|&weight| weight > 0.0))
    }

    proptest! {
        #[test]
        fn the_table_holds_the_weights_exactly(weights in weights()) {
            let probabilities = probabilities(&Mix::new(&weights), weights.len());
            let largest = weights.iter().copied().fold(0.0, f64::max);
            let sum: f64 = weights.iter().map(|weight| weight / largest).sum();
            for (probability, weight) in std::iter::zip(&probabilities, &weights) {
                prop_assert!((probability - weight / largest / sum).abs() < 1e-12);
                prop_assert!(*weight > 0.0 || *probability <= 0.0, "weight 0 may be picked");
            }
            prop_assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }

        #[test]
        fn picks_are_steps(weights in weights(), index in any::<u64>(), seed in any::<u64>()) {
            prop_assert!((Mix::new(&weights).pick(index, seed) as usize) < weights.len());
        }
    }
}
