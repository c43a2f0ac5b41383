//! Shows the contact, while its turn is handled, that its messages were read and that somebody types.

use crate::Deps;
use crate::deps::capabilities;
use crate::steps::beside::{run_beside, run_until_done};
use crate::steps::turn::LeasedTurn;
use recado_domain::config::InstanceConfig;
use recado_domain::contact::ContactAddress;
use std::future::Future;
use std::sync::Arc;

/// The messages of the contact that a turn answers, and what the contact is shown about them.
#[derive(Debug)]
pub(super) struct SeenMessages {
    bound: Arc<InstanceConfig>,
    address: ContactAddress,
    /// The provider's ids, the oldest first.
    ids: Vec<String>,
}

impl SeenMessages {
    /// Collects the messages that the turn answers.
    pub(super) fn from_leased_turn(turn: &LeasedTurn<'_>) -> Self {
        let ids = turn.reading.owed_messages();
        Self {
            bound: Arc::clone(&turn.bound),
            address: turn.conversation.address.clone(),
            ids: ids
                .filter_map(|message| message.provider_message_id.clone())
                .collect(),
        }
    }

    /// Runs `work`, the rest of the turn, and marks the messages as read meanwhile, where the instance is configured so.
    /// The reply never waits for the marks, and a failure has no effect.
    pub(super) async fn mark_read_during<T>(&self, deps: &Deps, work: impl Future<Output = T> + Send) -> T {
        let instance = &self.bound.instance;
        // Where "typing…" marks them, too, one request does both.
        let types = instance.typing && capabilities(deps, &self.bound).typing_marks_read;
        match self.ids.last() {
            Some(newest) if instance.mark_read && types => {
                let typing = deps.providers().show_typing(&self.bound, &self.address, newest);
                run_beside(deps, work, typing).await
            }
            Some(_) if instance.mark_read => {
                let marks = deps
                    .providers()
                    .mark_messages_read(&self.bound, &self.address, &self.ids);
                run_beside(deps, work, marks).await
            }
            _ => work.await,
        }
    }

    /// Runs `work`, and meanwhile shows "typing…" where the instance is configured so, again and again until the work is
    /// done. It then ends at once, and the reply waits for nothing.
    pub(super) async fn show_typing_during<T>(&self, deps: &Deps, work: impl Future<Output = T> + Send) -> T {
        let instance = &self.bound.instance;
        let Some(newest) = self.ids.last().filter(|_| instance.typing) else {
            return work.await;
        };
        let known = capabilities(deps, &self.bound);
        let lasts = known.typing_lasts.unsigned_abs();
        // The first time, [`Self::mark_read_during`] shows it.
        let is_shown = instance.mark_read && known.typing_marks_read;
        let types = async {
            if is_shown {
                deps.system().sleep(lasts).await;
            }
            loop {
                let shows = deps.providers().show_typing(&self.bound, &self.address, newest);
                // Both together: a request that fails at once is not repeated at once.
                futures::join!(shows, deps.system().sleep(lasts));
            }
        };
        run_until_done(work, types).await
    }
}
