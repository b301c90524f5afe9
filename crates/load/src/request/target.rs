//! An arm, checked and ready to load.

use std::sync::Arc;

use super::rendered::Rendered;
use crate::error::Error;
use crate::input::{Arm, LoadSpec, Step};
use crate::schedule::Mix;
use crate::wire::{Endpoint, TlsClient};

/// What all threads need to know of an arm.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) endpoint: Endpoint,
    pub(crate) tls: Option<TlsClient>,
    pub(crate) requests: Arc<[Rendered]>,
    pub(crate) steps: Arc<[Step]>,
    pub(crate) mix: Arc<Mix>,
    pub(crate) connections_per_page: usize,
}

impl Target {
    /// Prepare all arms of a spec that was checked; what can't be rendered is refused.
    pub(crate) fn all(spec: &LoadSpec) -> Result<Vec<Self>, Error> {
        let target = |(index, arm): (usize, &Arm)| Self::new(arm, spec, &format!("arms[{index}]"));
        spec.arms.iter().enumerate().map(target).collect()
    }

    /// Prepare `arm`; `field` is its name for messages.
    fn new(arm: &Arm, spec: &LoadSpec, field: &str) -> Result<Self, Error> {
        let endpoint = Endpoint::parse(&arm.address, &format!("{field}.address"))?;
        let says_close = spec.requests_per_connection == 1;
        let rendered = arm.requests.iter().enumerate().map(|(number, request)| {
            Rendered::new(request, says_close, &format!("{field}.requests[{number}]"))
        });
        let tls =
            arm.tls.as_ref().map(|tls| TlsClient::new(tls, &format!("{field}.tls"))).transpose()?;
        let weights: Vec<f64> = arm.steps.iter().map(|step| step.weight).collect();
        Ok(Self {
            endpoint,
            tls,
            requests: rendered.collect::<Result<Vec<_>, _>>()?.into(),
            steps: arm.steps.clone().into(),
            mix: Arc::new(Mix::new(&weights)),
            connections_per_page: arm.connections_per_page,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::example;

    #[test]
    fn an_arm_is_prepared() {
        assert_eq!(Target::all(&example()).unwrap().len(), 1);
    }

    #[test]
    fn what_cannot_be_rendered_is_one_sentence_with_field_value_and_expectation() {
        let expect = |change: fn(&mut LoadSpec), start: &str| {
            let mut spec = example();
            change(&mut spec);
            let message = Target::all(&spec).unwrap_err().to_string();
            assert!(message.starts_with(start), "{message}");
            assert!(message.contains("; expected "), "{message}");
            assert!(!message.contains('\n') && !message.ends_with('.'), "{message}");
        };
        expect(|s| s.arms[0].address = "127.0.0.1:0".into(), "arms[0].address is 127.0.0.1:0");
        expect(|s| s.arms[0].requests[0].target.clear(), "arms[0].requests[0].target is \"\"");
        expect(
            |s| s.arms[0].address = "localhost:80".into(),
            "arms[0].address is \"localhost:80\"",
        );
    }
}
