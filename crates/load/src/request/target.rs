//! An arm, checked and ready to load.

use std::sync::Arc;

use super::rendered::Rendered;
use crate::error::Error;
use crate::input::{Arm, LoadSpec, Order, Request, Step};
use crate::schedule::Mix;
use crate::sys::Network;
use crate::wire::{Endpoint, TlsClient};

/// What all threads need to know of an arm.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) endpoint: Endpoint,
    /// The namespace that its connections are made in; `None` where no arm names one, and threads
    /// stay where they are.
    pub(crate) network: Option<Arc<Network>>,
    pub(crate) tls: Option<TlsClient>,
    pub(crate) requests: Arc<[Rendered]>,
    /// Those of the mix, and then the first ones.
    pub(crate) steps: Arc<[Step]>,
    /// Visits take them in their order.
    pub(crate) is_in_order: bool,
    pub(crate) mix: Arc<Mix>,
    pub(crate) connections_per_page: usize,
}

impl Target {
    /// Prepare all arms of a spec that was checked; what can't be rendered is refused.
    pub(crate) fn all(spec: &LoadSpec) -> Result<Vec<Self>, Error> {
        let target = |(index, arm): (usize, &Arm)| Self::new(arm, spec, &format!("arms[{index}]"));
        let mut targets: Vec<_> =
            spec.arms.iter().enumerate().map(target).collect::<Result<_, _>>()?;
        let is_home = |target: &Self| target.network.is_none();
        if targets.iter().any(is_home) && !targets.iter().all(is_home) {
            // Some are elsewhere, so there is a way back to remember.
            let failed = Error::system("entering this process's own network namespace again");
            let home = Network::of_this_thread().map_err(failed)?;
            for target in targets.iter_mut().filter(|target| is_home(target)) {
                target.network = Some(Arc::clone(&home));
            }
        }
        Ok(targets)
    }

    /// Prepare `arm`; `field` is its name for messages.
    fn new(arm: &Arm, spec: &LoadSpec, field: &str) -> Result<Self, Error> {
        let endpoint = Endpoint::parse(&arm.address, &format!("{field}.address"))?;
        let network = network(&arm.network, &format!("{field}.network"))?;
        let says_close = spec.requests_per_connection == 1;
        let rendered = |requests: &[Request], name: &str| {
            let each = requests.iter().enumerate().map(|(number, request)| {
                Rendered::new(request, says_close, &format!("{field}.{name}[{number}]"))
            });
            each.collect::<Result<Vec<_>, _>>()
        };
        let mut requests = rendered(&arm.requests, "requests")?;
        requests.append(&mut rendered(&arm.first, "first")?);
        let first = (arm.requests.len()..requests.len()).map(Step::request);
        let tls =
            arm.tls.as_ref().map(|tls| TlsClient::new(tls, &format!("{field}.tls"))).transpose()?;
        let weights: Vec<f64> = arm.steps.iter().map(|step| step.weight).collect();
        Ok(Self {
            endpoint,
            network,
            tls,
            requests: requests.into(),
            steps: arm.steps.iter().cloned().chain(first).collect(),
            is_in_order: arm.order == Order::Given,
            mix: Arc::new(Mix::new(&weights)),
            connections_per_page: arm.connections_per_page,
        })
    }
}

/// Open the namespace of an arm; `field` is its name for messages.
fn network(path: &str, field: &str) -> Result<Option<Arc<Network>>, Error> {
    if path.is_empty() {
        return Ok(None);
    }
    Network::open(path).map(Some).map_err(|error| {
        let expected = match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => "one that this process may enter (CAP_SYS_ADMIN)",
            _ => "the path of a network namespace, such as /proc/4711/ns/net",
        };
        Error::invalid(field, format!("{path:?}"), format!("{expected}: {error}"))
    })
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
        expect(
            |s| s.arms[0].network = "/proc/self/ns/uts".into(),
            "arms[0].network is \"/proc/self/ns/uts\"",
        );
    }
}
