//! Stories of batches of invitations: paused and resumed, cancelled and sent anew.

use super::story::Story;
use super::teller::Teller;
use crate::fake_world::Fate;
use crate::plan::address;
use crate::queue::WorkQueues;
use recado_domain::contact::ContactAddress;
use recado_domain::invitations::BatchOrder;
use recado_pipeline::ports::Store;
use std::fmt::Debug;

/// Number of guests.
const GUESTS: usize = 5;

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
        self.sim.prepare_occasion(&guests);
        self.on_line(|line| line.script.extend([Fate::Throttled; 2]));
        let tell = self.clone();
        self.happens(async move {
            let Some(first) = tell.sim.send_batch(GUESTS, "first").await else {
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
                tell.sim.send_batch(GUESTS, "second").await;
            }
        });
    }
}
