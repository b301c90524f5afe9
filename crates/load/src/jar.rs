//! Stub.
#[derive(Debug, Default)]
pub(crate) struct Jar(Vec<u8>);
impl Jar {
    pub(crate) fn take(&mut self, _v: &[u8], _t: &[u8], _now: i64) {}
    pub(crate) fn write_header(&self, _t: &[u8], _out: &mut Vec<u8>) {}
    pub(crate) fn clear(&mut self) {}
    pub(crate) fn is_empty(&self) -> bool {
        true
    }
}
