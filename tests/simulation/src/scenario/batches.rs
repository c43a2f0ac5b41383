//! Stories of invitations: batches that are paused and resumed, cancelled and sent anew, or that share a limit of people, and
//! single invitations.

use super::story::Story;
use super::teller::Teller;
use crate::fake_world::SendBehaviour;
use crate::plan::{address, bound};
use crate::queue::WorkQueues;
use recado_domain::config::{InstanceConfig, Portfolio};
use recado_domain::contact::ContactAddress;
use recado_domain::invitations::{BatchOrder, InvitationState};
use recado_domain::provider::Provider;
use recado_pipeline::ports::Store;
use std::fmt::Debug;

/// Number of guests.
const GUESTS: usize = 5;

/// Number of guests of each number of a portfolio.
const SHARED_GUESTS: usize = 2;

/// The word by which a guest wants no more invitations.
pub const STOP_WORD: &str = "SAIR";

/// The word by which a guest wants invitations again.
pub const START_WORD: &str = "START";

/// Time at which a guest writes the first, in milliseconds since the start.
const STOP_MS: i64 = 60_000;

/// The limits of the portfolio: of three people, two are for batches.
const PEOPLE: (u32, u32) = (3, 250);

/// Two numbers of one portfolio, of which the first keeps the budget.
pub(super) fn portfolio_bounds() -> Vec<InstanceConfig> {
    let mut bounds = vec![
        bound(0, 0, Provider::Meta, None),
        bound(1, 0, Provider::Meta, None),
    ];
    let budget_owner = bounds[0].instance.id.clone();
    for bound in &mut bounds {
        bound.instance.portfolio = Some(Portfolio {
            instance: Some(budget_owner.clone()),
            people_per_day: None,
        });
    }
    bounds
}

/// A contact at Meta, whose address is the digits alone.
fn meta_address(line: usize, contact: usize) -> ContactAddress {
    let number = address(line, contact).phone_number().expect("a number");
    ContactAddress::parse(number.trim_start_matches('+')).expect("an address")
}

impl<S, Q> Teller<S, Q>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    /// A request to pause that nobody waits for any more may take effect after the batch was resumed: then it is resumed again.
    async fn keep_running(&self, batch: usize) {
        for _ in 0..3 {
            self.sim.simulation().sleep(150_000).await;
            if self.sim.is_batch_paused(batch) {
                self.sim.order_batch(batch, BatchOrder::Resume).await;
            }
        }
    }

    /// A batch is stopped while its first invitations wait for their second attempt and its last are not made. Then it is resumed, or the same
    /// template is sent to the same guests again.
    pub(super) fn batch(&self, story: Story) {
        let guests: Vec<ContactAddress> = (0..GUESTS).map(|number| address(0, number)).collect();
        self.sim.prepare_occasion(0, &guests);
        self.on_line(|line| line.script.extend([SendBehaviour::Throttled; 2]));
        let tell = self.clone();
        self.happens(async move {
            let Some(first) = tell.sim.send_batch(0, GUESTS, "first").await else {
                return;
            };
            tell.sim.simulation().sleep(3_300).await;
            if story == Story::BatchPaused {
                tell.sim.order_batch(first, BatchOrder::Pause).await;
                tell.sim.simulation().sleep(40_000).await;
                tell.sim.order_batch(first, BatchOrder::Resume).await;
                tell.keep_running(first).await;
            } else {
                tell.sim.order_batch(first, BatchOrder::Cancel).await;
                tell.sim.send_batch(0, GUESTS, "second").await;
            }
        });
    }

    /// Two numbers of a portfolio have a batch each, for more people than its limit leaves to batches. A contact writes meanwhile. Then the
    /// limit rises.
    pub(super) fn one_portfolio(&self) {
        for line in 0..2 {
            let guests: Vec<ContactAddress> = (0..SHARED_GUESTS)
                .map(|number| meta_address(line, number))
                .collect();
            self.sim.prepare_occasion(line, &guests);
        }
        self.says_to(&meta_address(0, SHARED_GUESTS), "m1", false, 30_000, 30_000);
        let tell = self.clone();
        self.happens(async move {
            tell.sim.tell_limit(PEOPLE.0).await;
            for line in 0..2 {
                tell.sim
                    .send_batch(line, SHARED_GUESTS, &format!("of-{line}"))
                    .await;
            }
            tell.sim.simulation().sleep(400_000).await;
            tell.sim.tell_limit(PEOPLE.1).await;
        });
    }

    /// A client invites a guest. The provider's answer says nothing, and the guest wants no invitations before it is tried again.
    pub(super) fn invited_stops(&self) {
        let guest = address(0, 0);
        self.sim.prepare_occasion(0, std::slice::from_ref(&guest));
        self.on_line(|line| line.script.push_back(SendBehaviour::Unexplained));
        self.says_to(&guest, STOP_WORD, false, STOP_MS, STOP_MS);
        let tell = self.clone();
        self.happens(async move {
            tell.sim.invite(0, None, "one").await;
        });
    }

    /// A client invites one guest, and again by the number; two clients invite another guest at once.
    pub(super) fn invited_alone(&self) {
        let guests = [address(0, 0), address(0, 1)];
        self.sim.prepare_occasion(0, &guests);
        for key in ["one", "other"] {
            let tell = self.clone();
            self.happens(async move {
                tell.sim.invite(1, None, key).await;
            });
        }
        let tell = self.clone();
        self.happens(async move {
            tell.sim.invite(0, None, "first").await;
            tell.sim.simulation().sleep(20_000).await;
            let again = tell.sim.invite(0, Some(&guests[0]), "again").await;
            // A backup may not know the first one.
            if !tell.sim.was_restored() && !matches!(again, Some(InvitationState::Duplicate { .. })) {
                let told = format!("the client was told of a repeated invitation: {again:?}");
                tell.sim.common.broken(told);
            }
        });
    }
}
