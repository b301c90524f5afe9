//! Stub.
#[derive(Debug)]
pub(crate) struct Throttle;
impl Throttle {
    pub(crate) fn new(_r: f64) -> Self {
        Self
    }
    pub(crate) fn allowance(&mut self, _now: u64) -> usize {
        1 << 30
    }
    pub(crate) fn spend(&mut self, _n: usize) {}
    pub(crate) fn ready_at_ns(&self) -> u64 {
        0
    }
}
