//! What is asked: an arm's requests, rendered as far as they can be before the run.

mod rendered;
mod target;
mod template;

pub(crate) use rendered::Rendered;
pub(crate) use target::Target;
pub(crate) use template::Vars;
