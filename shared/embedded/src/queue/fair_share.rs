use super::tenant_key::TenantKey;
use std::collections::BTreeMap;

/// The factor of the fair share: a tenant may start another worker while it holds fewer than this many times the free
/// workers.
const SHARE_LIMIT: usize = 3;

/// The workers of a queue, and the tenant for which each is working.
///
/// A tenant gets another worker only while it holds less than three times as many as are free. So a tenant alone gets
/// three quarters of the workers, several tenants get equal parts, and some workers stay free for the next tenant,
/// however slow the work is.
#[derive(Debug, Clone)]
pub struct FairShare {
    free: usize,
    held: BTreeMap<TenantKey, usize>,
    share_limit: usize,
}

impl FairShare {
    /// Creates a pool of `workers` free workers.
    pub fn for_workers(workers: usize) -> Self {
        Self {
            free: workers,
            held: BTreeMap::new(),
            share_limit: SHARE_LIMIT,
        }
    }

    /// Creates a pool of `workers` free workers, all of which one tenant may hold.
    pub(super) fn without_limit(workers: usize) -> Self {
        Self {
            share_limit: usize::MAX,
            ..Self::for_workers(workers)
        }
    }

    /// Returns the number of free workers, regardless of tenant.
    pub fn free_workers(&self) -> usize {
        self.free
    }

    /// Returns whether `owner` may start another worker.
    pub fn may_start(&self, owner: &TenantKey) -> bool {
        let held = self.held.get(owner).copied().unwrap_or(0);
        held < self.free.saturating_mul(self.share_limit)
    }

    /// Records that a worker starts to work for `owner`.
    pub fn start_work(&mut self, owner: &TenantKey) {
        self.free = self.free.saturating_sub(1);
        *self.held.entry(owner.clone()).or_default() += 1;
    }

    /// Records that a worker has finished its work for `owner` and is free again.
    pub fn finish_work(&mut self, owner: &TenantKey) {
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

    fn owner(name: &str) -> TenantKey {
        TenantKey::from_column(name.to_owned())
    }

    /// How many each of `owners` holds once none of them gets more.
    fn filled(room: &mut FairShare, owners: &[TenantKey]) -> Vec<usize> {
        while owners.iter().any(|owner| room.may_start(owner)) {
            for owner in owners {
                if room.may_start(owner) {
                    room.start_work(owner);
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
        let mut room = FairShare::for_workers(80);
        assert_eq!(filled(&mut room, &[owner("a")]), [60]);
        assert!(!room.may_start(&owner("a")) && room.may_start(&owner("b")));
        let mut room = FairShare::for_workers(80);
        let [a, b] = filled(&mut room, &[owner("a"), owner("b")])[..] else {
            panic!("two owners")
        };
        assert!(a.abs_diff(b) <= 1 && a + b < 80, "{a} and {b}");
        assert!(room.may_start(&owner("c")));
    }

    #[test]
    fn whoever_leaves_makes_room() {
        let mut room = FairShare::for_workers(4);
        assert_eq!(filled(&mut room, &[owner("a")]), [3]);
        room.finish_work(&owner("a"));
        assert!(room.may_start(&owner("a")));
        room.finish_work(&owner("b"));
        assert_eq!(room.free_workers(), 2, "who is not there cannot leave");
    }

    #[test]
    fn an_undivided_room_may_be_filled_by_one() {
        let mut room = FairShare::without_limit(10);
        assert_eq!(filled(&mut room, &[owner("a")]), [10]);
    }
}
