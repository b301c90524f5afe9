//! What comes after an exchange: the next object of a page, on one connection or several, or the
//! end of the step.

use crate::count::{ErrorKind, PageEnd};
use crate::drive::{
    connections::{Connections, Finished, Order},
    context::Context,
    ids::{ConnectionId, VisitId},
    platform::Platform,
};
use crate::schedule::Model;

use super::users::ThreadUsers;
use super::visit::Visit;

impl ThreadUsers {
    /// An exchange of a visit has ended.
    #[inline]
    pub(super) fn go_on<P: Platform>(
        &mut self,
        cx: &mut Context<P>,
        connections: &mut Connections<P>,
        finished: Finished,
    ) {
        let outcome = finished.outcome;
        let (connection, id) = connections.connection_and_visit(finished.exchange);
        let progress = &cx.clock.progress;
        let visit = &mut self.visits[id];
        visit.n_under_way -= 1;
        if progress.plan().is_credited() {
            visit.n_right += u32::from(outcome.is_ok());
        }
        let step = &self.arms[progress.plan().arm].steps[visit.step as usize];
        if step.objects.is_empty() {
            return self.end_step(cx, connections, id, outcome);
        }
        let is_document = visit.n_asked == 0;
        visit.page_end = visit.page_end.max(PageEnd::of_part(outcome));
        visit.has_left |= outcome.is_err_and(ErrorKind::is_timeout);
        // Without its document a page has no objects, and who left asks for no more.
        let is_hopeless = outcome.is_err_and(|kind| {
            is_document || kind.is_timeout() || kind.is_of_connecting() || progress.is_over()
        });
        if is_hopeless {
            visit.n_asked = step.objects.len() as u32;
        }
        self.next_object(cx, connections, id, connection);
        if is_document && !is_hopeless {
            self.borrow_connections(cx, connections, id);
        }
        let visit = &mut self.visits[id];
        if visit.is_in_page && visit.n_under_way == 0 {
            visit.is_in_page = false;
            let Visit { base_ns, is_measured, page_end, .. } = *visit;
            let time_ns = cx.clock.now_ns.saturating_sub(base_ns);
            cx.tally.page_end(is_measured, time_ns, page_end);
            self.end_step(cx, connections, id, outcome);
        }
    }

    /// Have a connection ask for the page's next object, or end its part in the page.
    fn next_object<P: Platform>(
        &mut self,
        cx: &mut Context<P>,
        connections: &mut Connections<P>,
        id: VisitId,
        connection: ConnectionId,
    ) {
        let visit = &mut self.visits[id];
        let step = &self.arms[cx.clock.progress.plan().arm].steps[visit.step as usize];
        let Some(&object) = step.objects.get(visit.n_asked as usize) else {
            if connection != id.first_connection() {
                // The visit keeps it for its next page.
                self.next_spare[connection] = visit.spare.replace(connection);
            }
            return;
        };
        visit.n_asked += 1;
        let base_ns = cx.clock.now_ns;
        let order = Order { base_ns, is_object: true, ..visit.order(id, object) };
        self.issue(cx, connections, connection, order);
    }

    /// Ask for the page's objects on further connections, as far as there are any.
    fn borrow_connections<P: Platform>(
        &mut self,
        cx: &mut Context<P>,
        connections: &mut Connections<P>,
        id: VisitId,
    ) {
        let arm = cx.clock.progress.plan().arm;
        for _ in 1..self.arms[arm].connections_per_page {
            let visit = &self.visits[id];
            let n_objects = self.arms[arm].steps[visit.step as usize].objects.len();
            if visit.n_asked as usize >= n_objects {
                return;
            }
            let is_slow = visit.is_slow;
            let spare = self.take_spare(id).or_else(|| connections.take_idle(arm, is_slow));
            let Some(connection) = spare else { return };
            self.next_object(cx, connections, id, connection);
        }
    }

    /// A connection that the visit borrowed for a page before.
    fn take_spare(&mut self, id: VisitId) -> Option<ConnectionId> {
        let visit = &mut self.visits[id];
        let connection = visit.spare?;
        visit.spare = self.next_spare[connection].take();
        Some(connection)
    }

    /// Give the connections of a visit back.
    #[inline]
    pub(super) fn release<P: Platform>(
        &mut self,
        model: Model,
        connections: &mut Connections<P>,
        id: VisitId,
    ) {
        while let Some(connection) = self.take_spare(id) {
            if model == Model::Sessions {
                connections.close_if_idle(connection);
            }
            connections.park(connection);
        }
        connections.park(id.first_connection());
    }
}
