//! A thread's users: who asks for what next, page by page, pause by pause.

mod arrivals;
mod begin_and_end;
mod credited_cycles;
mod entrance;
mod pages;
mod steps;
#[expect(clippy::module_inception, reason = "what the folder is about")]
mod users;
mod visit;

pub(super) use users::ThreadUsers;
