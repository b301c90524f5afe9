//! Doubly linked lists through one table, so that a connection moves between lists in constant
//! time and without allocation. A connection is in one list at most.

const NONE: u32 = u32::MAX;

/// The neighbours of every connection.
#[derive(Debug)]
pub(crate) struct Links(Vec<Link>);

#[derive(Debug, Clone, Copy)]
struct Link {
    previous: u32,
    next: u32,
}

/// One list. Its members' neighbours are in [`Links`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct List {
    head: u32,
    tail: u32,
}

impl Links {
    pub(crate) fn new(len: usize) -> Self {
        Self(vec![Link { previous: NONE, next: NONE }; len])
    }

    pub(crate) fn push_back(&mut self, list: &mut List, member: u32) {
        self.0[member as usize] = Link { previous: list.tail, next: NONE };
        match list.tail {
            NONE => list.head = member,
            tail => self.0[tail as usize].next = member,
        }
        list.tail = member;
    }

    /// Put a member behind another one of the list; `None`: in front of all.
    pub(crate) fn insert_after(&mut self, list: &mut List, before: Option<u32>, member: u32) {
        let next = before.map_or(list.head, |before| self.0[before as usize].next);
        self.0[member as usize] = Link { previous: before.unwrap_or(NONE), next };
        match before {
            None => list.head = member,
            Some(before) => self.0[before as usize].next = member,
        }
        match next {
            NONE => list.tail = member,
            next => self.0[next as usize].previous = member,
        }
    }

    /// The member before this one in its list.
    pub(crate) fn previous(&self, member: u32) -> Option<u32> {
        let previous = self.0[member as usize].previous;
        (previous != NONE).then_some(previous)
    }

    /// Take a member of `list` out of it.
    pub(crate) fn remove(&mut self, list: &mut List, member: u32) {
        let Link { previous, next } = self.0[member as usize];
        match previous {
            NONE => list.head = next,
            previous => self.0[previous as usize].next = next,
        }
        match next {
            NONE => list.tail = previous,
            next => self.0[next as usize].previous = previous,
        }
    }

    /// Take the member that was added last.
    pub(crate) fn pop_back(&mut self, list: &mut List) -> Option<u32> {
        let member = list.last()?;
        self.remove(list, member);
        Some(member)
    }
}

impl List {
    pub(crate) const fn new() -> Self {
        Self { head: NONE, tail: NONE }
    }

    pub(crate) const fn first(self) -> Option<u32> {
        if self.head == NONE { None } else { Some(self.head) }
    }

    pub(crate) const fn last(self) -> Option<u32> {
        if self.tail == NONE { None } else { Some(self.tail) }
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.head == NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(links: &Links, list: List) -> Vec<u32> {
        let mut found = Vec::new();
        let mut at = list.head;
        while at != NONE {
            found.push(at);
            at = links.0[at as usize].next;
        }
        found
    }

    #[test]
    fn members_leave_from_the_middle_and_the_ends() {
        let (mut links, mut list) = (Links::new(5), List::new());
        for member in [3, 0, 4, 1] {
            links.push_back(&mut list, member);
        }
        links.remove(&mut list, 0);
        assert_eq!(members(&links, list), [3, 4, 1]);
        links.remove(&mut list, 3);
        assert_eq!((list.first(), list.last()), (Some(4), Some(1)));
        assert_eq!(links.pop_back(&mut list), Some(1));
        assert_eq!(links.pop_back(&mut list), Some(4));
        assert_eq!(links.pop_back(&mut list), None);
        assert!(list.is_empty());
    }

    #[test]
    fn a_member_is_put_in_front_between_and_behind() {
        let (mut links, mut list) = (Links::new(5), List::new());
        links.insert_after(&mut list, None, 2);
        links.insert_after(&mut list, None, 0);
        links.insert_after(&mut list, Some(0), 1);
        links.insert_after(&mut list, Some(2), 4);
        assert_eq!(members(&links, list), [0, 1, 2, 4]);
        assert_eq!((list.first(), list.last()), (Some(0), Some(4)));
        assert_eq!((links.previous(1), links.previous(0)), (Some(0), None));
    }

    #[test]
    fn a_member_moves_between_lists() {
        let (mut links, mut open, mut closed) = (Links::new(2), List::new(), List::new());
        links.push_back(&mut open, 0);
        links.push_back(&mut open, 1);
        links.remove(&mut open, 0);
        links.push_back(&mut closed, 0);
        assert_eq!((members(&links, open), members(&links, closed)), (vec![1], vec![0]));
    }
}
