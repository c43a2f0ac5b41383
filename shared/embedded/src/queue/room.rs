use super::Owner;
use std::collections::BTreeMap;

/// How much one owner may hold in relation to what is free.
const TIMES_WHAT_IS_FREE: usize = 3;

/// Workers, and for whom they are working.
///
/// An owner gets another one only while it holds less than three times what is free. So one alone gets three quarters of
/// them, several get equal parts, and something is free for whoever comes next, however slow their work is.
#[derive(Debug, Clone)]
pub struct Room {
    free: usize,
    held: BTreeMap<Owner, usize>,
    times: usize,
}

impl Room {
    /// So many workers, none of which works yet.
    pub fn of(workers: usize) -> Self {
        Self {
            free: workers,
            held: BTreeMap::new(),
            times: TIMES_WHAT_IS_FREE,
        }
    }

    /// So many, all of which one owner may hold.
    pub(super) fn undivided(workers: usize) -> Self {
        Self {
            times: usize::MAX,
            ..Self::of(workers)
        }
    }

    /// How many are free, whoever may have them.
    pub fn free(&self) -> usize {
        self.free
    }

    /// Whether `owner` may have another.
    pub fn admits(&self, owner: &Owner) -> bool {
        let held = self.held.get(owner).copied().unwrap_or(0);
        held < self.free.saturating_mul(self.times)
    }

    /// One begins to work for `owner`.
    pub fn enter(&mut self, owner: &Owner) {
        self.free = self.free.saturating_sub(1);
        *self.held.entry(owner.clone()).or_default() += 1;
    }

    /// One that worked for `owner` is free again.
    pub fn leave(&mut self, owner: &Owner) {
        let Some(held) = self.held.get_mut(owner) else {
            return;
        };
        *held -= 1;
        if *held == 0 {
            self.held.remove(owner);
        }
        self.free += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(name: &str) -> Owner {
        Owner::column(name.to_owned())
    }

    /// How many each of `owners` holds once none of them gets more.
    fn filled(room: &mut Room, owners: &[Owner]) -> Vec<usize> {
        while owners.iter().any(|owner| room.admits(owner)) {
            for owner in owners {
                if room.admits(owner) {
                    room.enter(owner);
                }
            }
        }
        owners
            .iter()
            .map(|owner| room.held.get(owner).copied().unwrap_or(0))
            .collect()
    }

    #[test]
    fn one_owner_gets_three_quarters_and_others_find_room_beside_it() {
        let mut room = Room::of(80);
        assert_eq!(filled(&mut room, &[owner("a")]), [60]);
        assert!(!room.admits(&owner("a")) && room.admits(&owner("b")));
        let mut room = Room::of(80);
        let [a, b] = filled(&mut room, &[owner("a"), owner("b")])[..] else {
            panic!("two owners")
        };
        assert!(a.abs_diff(b) <= 1 && a + b < 80, "{a} and {b}");
        assert!(room.admits(&owner("c")));
    }

    #[test]
    fn whoever_leaves_makes_room() {
        let mut room = Room::of(4);
        assert_eq!(filled(&mut room, &[owner("a")]), [3]);
        room.leave(&owner("a"));
        assert!(room.admits(&owner("a")));
        room.leave(&owner("b"));
        assert_eq!(room.free(), 2, "who is not there cannot leave");
    }

    #[test]
    fn an_undivided_room_may_be_filled_by_one() {
        let mut room = Room::undivided(10);
        assert_eq!(filled(&mut room, &[owner("a")]), [10]);
    }
}
