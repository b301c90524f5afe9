//! An arm, checked and ready to load.

use std::sync::Arc;

use super::rendered::Rendered;
use crate::error::Error;
use crate::input::{Arm, Arrival, LoadSpec, Step};
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

/// More could not be told apart in a histogram anyway.
const MAX_CONNECTIONS_PER_PAGE: usize = 1000;

impl Target {
    /// Check and prepare all arms.
    pub(crate) fn all(spec: &LoadSpec) -> Result<Vec<Self>, Error> {
        let target = |(index, arm): (usize, &Arm)| Self::new(arm, spec, &format!("arms[{index}]"));
        spec.arms.iter().enumerate().map(target).collect()
    }

    /// Check and prepare `arm`; `field` is its name for messages.
    fn new(arm: &Arm, spec: &LoadSpec, field: &str) -> Result<Self, Error> {
        let endpoint = Endpoint::parse(&arm.address, &format!("{field}.address"))?;
        if arm.requests.is_empty() {
            return Err(Error::invalid(format!("{field}.requests"), "empty", "at least one"));
        }
        if !(1..=MAX_CONNECTIONS_PER_PAGE).contains(&arm.connections_per_page) {
            let name = format!("{field}.connections_per_page");
            return Err(Error::invalid(name, arm.connections_per_page, "1 to 1000"));
        }
        check_steps(arm, spec, field)?;
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

fn check_steps(arm: &Arm, spec: &LoadSpec, field: &str) -> Result<(), Error> {
    if arm.steps.is_empty() {
        return Err(Error::invalid(format!("{field}.steps"), "empty", "at least one"));
    }
    let n_requests = arm.requests.len();
    let known = format!("the index of one of {n_requests} requests");
    for (number, step) in arm.steps.iter().enumerate() {
        let name = |part: &str| format!("{field}.steps[{number}].{part}");
        if step.request >= n_requests {
            return Err(Error::invalid(name("request"), step.request, known));
        }
        for (place, &object) in step.objects.iter().enumerate() {
            if object >= n_requests {
                return Err(Error::invalid(name(&format!("objects[{place}]")), object, known));
            }
        }
        if !(step.weight.is_finite() && step.weight >= 0.0) {
            return Err(Error::invalid(name("weight"), step.weight, "a finite weight, at least 0"));
        }
    }
    if arm.steps.iter().all(|step| step.weight == 0.0) {
        let value = "of weight 0 in all";
        return Err(Error::invalid(format!("{field}.steps"), value, "a weight above 0"));
    }
    if let Arrival::Replay { steps, .. } = &spec.arrival
        && let Some(step) = steps.iter().find(|&&step| step as usize >= arm.steps.len())
    {
        let expected = format!("the index of one of {} steps", arm.steps.len());
        return Err(Error::invalid("arrival.steps", step, expected));
    }
    Ok(())
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
    fn each_mistake_of_an_arm_is_one_sentence_with_field_value_and_expectation() {
        let expect = |change: fn(&mut LoadSpec), start: &str| {
            let mut spec = example();
            change(&mut spec);
            let message = Target::all(&spec).unwrap_err().to_string();
            assert!(message.starts_with(start), "{message}");
            assert!(message.contains("; expected "), "{message}");
            assert!(!message.contains('\n') && !message.ends_with('.'), "{message}");
        };
        expect(|s| s.arms[0].steps.clear(), "arms[0].steps is empty");
        expect(|s| s.arms[0].steps[0].request = 1, "arms[0].steps[0].request is 1");
        expect(|s| s.arms[0].steps[0].objects = vec![7], "arms[0].steps[0].objects[0] is 7");
        expect(|s| s.arms[0].steps[0].weight = 0.0, "arms[0].steps is of weight 0 in all");
        expect(|s| s.arms[0].steps[0].weight = f64::NAN, "arms[0].steps[0].weight is NaN");
        expect(|s| s.arms[0].connections_per_page = 0, "arms[0].connections_per_page is 0");
        expect(|s| s.arms[0].address = "127.0.0.1:0".into(), "arms[0].address is 127.0.0.1:0");
        expect(|s| s.arms[0].requests.clear(), "arms[0].requests is empty");
        expect(|s| s.arms[0].requests[0].target.clear(), "arms[0].requests[0].target is \"\"");
        expect(
            |s| s.arms[0].address = "localhost:80".into(),
            "arms[0].address is \"localhost:80\"",
        );
    }
}
