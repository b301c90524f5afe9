//! What makes no sense of an arm: its steps, and what they ask for.

use super::spec::{Arm, LoadSpec, Order};
use super::traffic::Arrival;
use crate::error::Error;

/// More could not be told apart in a histogram anyway.
const MAX_CONNECTIONS_PER_PAGE: usize = 1000;
pub(super) const CONNECTIONS_PER_PAGE: &str = "1 to 1000";

/// Refuse what makes no sense; `field` is the arm's name for messages.
pub(super) fn check_arm(arm: &Arm, spec: &LoadSpec, field: &str) -> Result<(), Error> {
    if arm.requests.is_empty() {
        return Err(Error::invalid(format!("{field}.requests"), "empty", "at least one"));
    }
    if !(1..=MAX_CONNECTIONS_PER_PAGE).contains(&arm.connections_per_page) {
        let name = format!("{field}.connections_per_page");
        return Err(Error::invalid(name, arm.connections_per_page, CONNECTIONS_PER_PAGE));
    }
    check_first(arm, spec, field)?;
    check_order(arm, spec, field)?;
    check_steps(arm, spec, field)
}

/// Refuse first steps where users come and go, for who would have done them?
fn check_first(arm: &Arm, spec: &LoadSpec, field: &str) -> Result<(), Error> {
    let is_of_users = matches!(spec.arrival, Arrival::Closed) && spec.users.new_ratio == 0.0;
    if arm.first.is_empty() || is_of_users {
        return Ok(());
    }
    let expected = "none but in a closed loop whose users stay the same";
    Err(Error::invalid(format!("{field}.first"), "given", expected))
}

/// Refuse an order where there is none: of requests that come by themselves, or are drawn.
fn check_order(arm: &Arm, spec: &LoadSpec, field: &str) -> Result<(), Error> {
    let has_visits = matches!(spec.arrival, Arrival::Closed | Arrival::Sessions { .. });
    let weighs_alike =
        |step: &super::spec::Step| step.weight.total_cmp(&arm.steps[0].weight).is_eq();
    if arm.order == Order::Mixed || (has_visits && arm.steps.iter().all(weighs_alike)) {
        return Ok(());
    }
    let expected = "mixed but for visits of steps that weigh the same";
    Err(Error::invalid(format!("{field}.order"), "given", expected))
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
    fn each_mistake_of_an_arm_is_one_sentence_with_field_value_and_expectation() {
        let expect = |change: fn(&mut LoadSpec), start: &str| {
            let mut spec = example();
            change(&mut spec);
            let message = check_arm(&spec.arms[0], &spec, "arms[0]").unwrap_err().to_string();
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
        expect(|s| s.arms[0].requests.clear(), "arms[0].requests is empty");
    }
}
