//! The distributions of a row of intervals, packed into one array.

use super::histogram::{Coarse, Distribution};

/// A bucket of [`Coarse`] in the upper 16 bits, how often it was hit in the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cell(u64);

impl Cell {
    const COUNT_BITS: u32 = 48;

    const fn new(bucket: usize, count: u64) -> Self {
        Self((bucket as u64) << Self::COUNT_BITS | count)
    }

    const fn bucket(self) -> usize {
        (self.0 >> Self::COUNT_BITS) as usize
    }

    const fn count(self) -> u64 {
        self.0 & ((1 << Self::COUNT_BITS) - 1)
    }
}

/// One interval: its cells begin where those of the one before end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row {
    end: usize,
    sum_ns: u128,
    max_ns: u64,
}

/// The distributions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Cells {
    rows: Vec<Row>,
    cells: Vec<Cell>,
}

impl Cells {
    pub(super) fn with_room(n_rows: usize, n_cells: usize) -> Self {
        Self { rows: Vec::with_capacity(n_rows), cells: Vec::with_capacity(n_cells) }
    }

    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.cells.clear();
    }

    /// How many distributions there are.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn n_cells(&self) -> usize {
        self.cells.len()
    }

    #[cfg(test)]
    pub(super) fn room(&self) -> (usize, usize) {
        (self.rows.capacity(), self.cells.capacity())
    }

    pub(super) fn push(&mut self, latencies: &Coarse) {
        self.cells.extend(latencies.cells().map(|(bucket, count)| Cell::new(bucket, count)));
        self.rows.push(Row {
            end: self.cells.len(),
            sum_ns: latencies.sum_ns(),
            max_ns: latencies.max_ns(),
        });
    }

    /// Add a distribution to what is recorded in `into`; nothing, if it does not exist.
    pub(super) fn add_to(&self, index: usize, into: &mut Coarse) {
        if let Some(row) = self.rows.get(index) {
            into.add(self.counted(index, row), row.sum_ns, row.max_ns);
        }
    }

    pub(super) fn distribution(&self, index: usize) -> Distribution {
        self.rows.get(index).map_or_else(Distribution::default, |row| {
            let counted = self.counted(index, row);
            Distribution::of::<{ Coarse::DIGIT_BITS }>(counted, row.sum_ns, row.max_ns)
        })
    }

    fn counted(&self, index: usize, row: &Row) -> impl Iterator<Item = (usize, u64)> {
        let begin = if index == 0 { 0 } else { self.rows[index - 1].end };
        self.cells[begin..row.end].iter().map(|cell| (cell.bucket(), cell.count()))
    }

    /// Join the first with the second, the third with the fourth and so on, in place. A last one
    /// that has no other to join is taken out and added to `odd`.
    pub(super) fn join_pairs(&mut self, odd: &mut Coarse, scratch: &mut Scratch) {
        let n_pairs = self.rows.len() / 2;
        if self.rows.len() % 2 == 1 {
            self.add_to(2 * n_pairs, odd);
        }
        let (mut from, mut to) = (0, 0);
        for pair in 0..n_pairs {
            let (first, second) = (self.rows[2 * pair], self.rows[2 * pair + 1]);
            to = self.join(from, first.end, second.end, to, scratch);
            from = second.end;
            self.rows[pair] = Row {
                end: to,
                sum_ns: first.sum_ns + second.sum_ns,
                max_ns: first.max_ns.max(second.max_ns),
            };
        }
        self.rows.truncate(n_pairs);
        self.cells.truncate(to);
    }

    /// Join the cells `from..middle` and `middle..end`, each ascending, into those from `to` on,
    /// which is not after `from`. Returns where they end.
    fn join(
        &mut self,
        from: usize,
        middle: usize,
        end: usize,
        to: usize,
        scratch: &mut Scratch,
    ) -> usize {
        // The first ones are read from a copy. The second ones are never overtaken: what is
        // written are at most all first ones and those of the second ones that were read.
        let firsts = &mut scratch.0;
        firsts.clear();
        firsts.extend_from_slice(&self.cells[from..middle]);
        let (mut a, mut b, mut to) = (0, middle, to);
        while a < firsts.len() || b < end {
            let first = firsts.get(a).copied();
            let second = (b < end).then(|| self.cells[b]);
            let bucket_of = |cell: Option<Cell>| cell.map_or(usize::MAX, Cell::bucket);
            let bucket = bucket_of(first).min(bucket_of(second));
            let mut count = 0;
            if let Some(cell) = first.filter(|cell| cell.bucket() == bucket) {
                count += cell.count();
                a += 1;
            }
            if let Some(cell) = second.filter(|cell| cell.bucket() == bucket) {
                count += cell.count();
                b += 1;
            }
            self.cells[to] = Cell::new(bucket, count);
            to += 1;
        }
        to
    }
}

/// Room for a copy of one distribution's cells while two are joined.
#[derive(Debug)]
pub(super) struct Scratch(Vec<Cell>);

impl Scratch {
    pub(super) fn new() -> Self {
        Self(Vec::with_capacity(Coarse::LEN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coarse(values_ns: &[u64]) -> Coarse {
        let mut recorder = Coarse::new();
        for &value_ns in values_ns {
            recorder.record(value_ns);
        }
        recorder
    }

    fn cells(rows: &[&[u64]]) -> Cells {
        let mut cells = Cells::default();
        for values_ns in rows {
            cells.push(&coarse(values_ns));
        }
        cells
    }

    #[test]
    fn each_row_is_what_was_pushed() {
        let rows: [&[u64]; 3] = [&[1, 1, 9], &[], &[7_000_000_000]];
        let cells = cells(&rows);
        for (index, values_ns) in rows.iter().enumerate() {
            assert_eq!(cells.distribution(index), coarse(values_ns).distribution());
        }
        assert_eq!(cells.distribution(3), Distribution::default());
    }

    #[test]
    fn pairs_are_joined_and_an_odd_one_is_handed_on() {
        let mut five = cells(&[&[1, 5, 9], &[2, 5], &[], &[8, 8], &[3]]);
        let mut odd = coarse(&[4]);
        five.join_pairs(&mut odd, &mut Scratch::new());
        assert_eq!(five, cells(&[&[1, 5, 9, 2, 5], &[8, 8]]));
        assert_eq!(odd.distribution(), coarse(&[3, 4]).distribution());
        let mut none = Cells::default();
        none.join_pairs(&mut odd, &mut Scratch::new());
        assert_eq!(none.len(), 0);
    }
}
