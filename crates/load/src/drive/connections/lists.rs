//! Doubly linked lists through one table, so that a thing moves between lists in constant time and
//! without allocation. It is in one list at most.

use std::marker::PhantomData;

use crate::drive::ids::Id;

const NONE: u32 = u32::MAX;

/// The neighbours of every thing of a kind.
#[derive(Debug)]
pub(super) struct Links<I> {
    links: Vec<Neighbours>,
    ids: PhantomData<I>,
}

#[derive(Debug, Clone, Copy)]
struct Neighbours {
    previous: u32,
    next: u32,
}

/// One list. Its members' neighbours are in [`Links`].
#[derive(Debug, Clone, Copy)]
pub(super) struct List<I> {
    head: u32,
    tail: u32,
    ids: PhantomData<I>,
}

#[inline]
fn some<I: Id>(place: u32) -> Option<I> {
    if place == NONE { None } else { Some(I::new(place as usize)) }
}

impl<I: Id> Links<I> {
    pub(super) fn new(len: usize) -> Self {
        Self { links: vec![Neighbours { previous: NONE, next: NONE }; len], ids: PhantomData }
    }

    #[inline]
    pub(super) fn push_back(&mut self, list: &mut List<I>, member: I) {
        self.insert_after(list, list.last(), member);
    }

    /// Put a member behind another one of the list; `None`: in front of all.
    #[inline]
    pub(super) fn insert_after(&mut self, list: &mut List<I>, before: Option<I>, member: I) {
        let place = member.index() as u32;
        let next = before.map_or(list.head, |before| self.links[before.index()].next);
        let previous = before.map_or(NONE, |before| before.index() as u32);
        self.links[member.index()] = Neighbours { previous, next };
        match before {
            None => list.head = place,
            Some(before) => self.links[before.index()].next = place,
        }
        match next {
            NONE => list.tail = place,
            next => self.links[next as usize].previous = place,
        }
    }

    /// The member before this one in its list.
    pub(super) fn previous(&self, member: I) -> Option<I> {
        some(self.links[member.index()].previous)
    }

    /// Take a member of `list` out of it.
    #[inline]
    pub(super) fn remove(&mut self, list: &mut List<I>, member: I) {
        let Neighbours { previous, next } = self.links[member.index()];
        match previous {
            NONE => list.head = next,
            previous => self.links[previous as usize].next = next,
        }
        match next {
            NONE => list.tail = previous,
            next => self.links[next as usize].previous = previous,
        }
    }

    /// Take the member that was added last.
    #[inline]
    pub(super) fn pop_back(&mut self, list: &mut List<I>) -> Option<I> {
        let member = list.last()?;
        self.remove(list, member);
        Some(member)
    }
}

impl<I: Id> List<I> {
    pub(super) const fn new() -> Self {
        Self { head: NONE, tail: NONE, ids: PhantomData }
    }

    #[inline]
    pub(super) fn first(self) -> Option<I> {
        some(self.head)
    }

    #[inline]
    pub(super) fn last(self) -> Option<I> {
        some(self.tail)
    }

    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.head == NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::ids::ExchangeId;

    type Ids = Vec<ExchangeId>;

    fn id(number: usize) -> ExchangeId {
        ExchangeId::new(number)
    }

    fn ids<const N: usize>(numbers: [usize; N]) -> Ids {
        numbers.map(id).to_vec()
    }

    fn members(links: &Links<ExchangeId>, list: List<ExchangeId>) -> Ids {
        std::iter::successors(list.first(), |at| some(links.links[at.index()].next)).collect()
    }

    #[test]
    fn members_leave_from_the_middle_and_the_ends() {
        let (mut links, mut list) = (Links::new(5), List::new());
        for member in ids([3, 0, 4, 1]) {
            links.push_back(&mut list, member);
        }
        links.remove(&mut list, id(0));
        assert_eq!(members(&links, list), ids([3, 4, 1]));
        links.remove(&mut list, id(3));
        assert_eq!((list.first(), list.last()), (Some(id(4)), Some(id(1))));
        assert_eq!(links.pop_back(&mut list), Some(id(1)));
        assert_eq!(links.pop_back(&mut list), Some(id(4)));
        assert_eq!(links.pop_back(&mut list), None);
        assert!(list.is_empty());
    }

    #[test]
    fn a_member_is_put_in_front_between_and_behind() {
        let (mut links, mut list) = (Links::new(5), List::new());
        links.insert_after(&mut list, None, id(2));
        links.insert_after(&mut list, None, id(0));
        links.insert_after(&mut list, Some(id(0)), id(1));
        links.insert_after(&mut list, Some(id(2)), id(4));
        assert_eq!(members(&links, list), ids([0, 1, 2, 4]));
        assert_eq!((list.first(), list.last()), (Some(id(0)), Some(id(4))));
        assert_eq!((links.previous(id(1)), links.previous(id(0))), (Some(id(0)), None));
    }

    #[test]
    fn a_member_moves_between_lists() {
        let (mut links, mut open, mut closed) = (Links::new(2), List::new(), List::new());
        links.push_back(&mut open, id(0));
        links.push_back(&mut open, id(1));
        links.remove(&mut open, id(0));
        links.push_back(&mut closed, id(0));
        assert_eq!((members(&links, open), members(&links, closed)), (ids([1]), ids([0])));
    }
}
