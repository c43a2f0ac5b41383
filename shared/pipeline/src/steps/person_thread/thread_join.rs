//! Joins two threads that turn out to belong to one person. New messages go to the conversation under the number or, if
//! only the other conversation is active, to the other. The conversation that is left leads to the one that goes on.

use crate::Deps;
use crate::steps::linked_threads::follow_moved_threads;
use crate::steps::save_conversation::save_conversation;
use recado_domain::config::InstanceConfig;
use recado_domain::contact::ContactAddress;
use recado_domain::conversation::{Conversation, ConversationMode, ConversationStatus};
use recado_domain::ids::{ConversationId, ThreadId};
use recado_ports::ports::{PortError, PortResult, WriteOutcome};

/// A message that shows both the phone number and the linked identity of a person.
pub(super) struct ThreadJoin<'a> {
    pub(super) deps: &'a Deps,
    pub(super) bound: &'a InstanceConfig,
    /// Address with the phone number.
    pub(super) shown: &'a ContactAddress,
    /// Linked identity, an address without a number.
    pub(super) also: &'a ContactAddress,
}

fn is_active(conversation: &Conversation) -> bool {
    conversation.status == ConversationStatus::Active
}

fn write_conflict<T>() -> PortResult<T> {
    Err(PortError::contended("conversation"))
}

impl ThreadJoin<'_> {
    /// Returns the person's thread and conversation from now on. This is either `place` with `newest`, to which the
    /// number leads, or the thread and conversation of the linked identity, whose thread is `other`.
    pub(super) async fn join_threads(
        &self,
        place: ThreadId,
        newest: Option<Conversation>,
        other: ThreadId,
    ) -> PortResult<(ThreadId, Option<Conversation>)> {
        let to = newest.as_ref().map_or_else(
            || ConversationId::new(place.clone(), 1),
            |newest| newest.id.clone(),
        );
        // Usually the linked identity has no conversation yet. Then its first conversation number is made to lead to
        // `to`, so that no conversation can begin there.
        if self.redirect_thread((&other, 1), self.also, &to).await? {
            return Ok((place, newest));
        }
        let Some(nearest) = self.deps.store().find_latest_conversation(&other).await? else {
            return write_conflict();
        };
        let (elsewhere, theirs) = follow_moved_threads(self.deps, other, Some(nearest.clone())).await?;
        if elsewhere == place {
            // An earlier attempt, which did not finish, made the linked identity's thread lead here.
            let left = self.find_left_conversation(nearest).await?;
            let newest = match (newest, left) {
                (Some(newest), Some(left)) => Some(self.resume_join(newest, left).await?),
                (newest, _) => newest,
            };
            return Ok((place, newest));
        }
        match (newest, theirs) {
            (newest, Some(theirs)) if !theirs.may_have_identity(self.also) => {
                self.redirect_again(nearest, &to).await?;
                Ok((place, newest))
            }
            (Some(newest), Some(theirs)) if is_active(&newest) || !is_active(&theirs) => {
                let newest = self.take_over_if_manual(newest, &theirs).await?;
                let left = self.leave_conversation(theirs, &newest).await?;
                Ok((place, Some(replace_conversation(newest, &left))))
            }
            (Some(newest), Some(theirs)) => {
                let left = self.leave_conversation(newest, &theirs).await?;
                Ok((elsewhere, Some(replace_conversation(theirs, &left))))
            }
            (None, Some(theirs)) => {
                if self.redirect_thread((&place, 1), self.shown, &theirs.id).await? {
                    return Ok((elsewhere, Some(theirs)));
                }
                write_conflict()
            }
            (newest, None) => {
                self.redirect_again(nearest, &to).await?;
                Ok((place, newest))
            }
        }
    }

    /// Makes a thread lead to `to` at the place of its conversation `number`. `false`: that conversation has begun
    /// already.
    async fn redirect_thread(
        &self,
        (thread, number): (&ThreadId, u32),
        name: &ContactAddress,
        to: &ConversationId,
    ) -> PortResult<bool> {
        let id = ConversationId::new(thread.clone(), number);
        let now = self.deps.system().now();
        let mut leading = Conversation::start_new(id, self.bound, name.clone(), name.phone_number(), now);
        leading.redirect_to(to);
        Ok(save_conversation(self.deps, &mut leading).await? == WriteOutcome::Written)
    }

    /// Makes the linked identity's thread, which led to another person's conversation, lead to `to`.
    async fn redirect_again(&self, mut nearest: Conversation, to: &ConversationId) -> PortResult<()> {
        if nearest.linked.moved_to.is_none() {
            // Another person's conversation goes on in this thread itself.
            return Ok(());
        }
        nearest.mark_moved_to(to);
        self.write_conversation(&mut nearest).await
    }

    /// Takes `newest` over if people have `theirs` and both conversations are active. This is written before anything
    /// else: after a crash at any point, the join does not let a reply of the agent be claimed.
    async fn take_over_if_manual(
        &self,
        mut newest: Conversation,
        theirs: &Conversation,
    ) -> PortResult<Conversation> {
        let both = is_active(&newest) && is_active(theirs);
        if both && theirs.mode == ConversationMode::Manual && newest.take_over_with(theirs) {
            self.write_conversation(&mut newest).await?;
        }
        Ok(newest)
    }

    /// Goes on with `newest`, for which `left` was left by an earlier attempt. That attempt settled who has which
    /// conversation. A person who took `newest` over since could not know of `left`, so `left` is taken over too.
    async fn resume_join(&self, newest: Conversation, mut left: Conversation) -> PortResult<Conversation> {
        let both = is_active(&newest) && is_active(&left);
        if both && newest.mode == ConversationMode::Manual && left.take_over_with(&newest) {
            self.write_conversation(&mut left).await?;
        }
        Ok(replace_conversation(newest, &left))
    }

    /// Returns the conversation that was left when `nearest`, the newest of its thread, began to lead elsewhere.
    async fn find_left_conversation(&self, nearest: Conversation) -> PortResult<Option<Conversation>> {
        if nearest.listed_status().is_some() {
            return Ok(Some(nearest));
        }
        let before = nearest.id.number_in_thread().saturating_sub(1);
        let before = ConversationId::new(nearest.id.thread_id().clone(), before);
        self.deps.store().find_conversation(&before).await
    }

    /// Leaves `left` for `to`. If people have `to`, `left` is taken over too. A resolved `left` is not changed: the next
    /// conversation number of its thread leads to `to` instead, because a worker that read `left` as resolved would
    /// begin that conversation.
    async fn leave_conversation(
        &self,
        mut left: Conversation,
        to: &Conversation,
    ) -> PortResult<Conversation> {
        if !is_active(&left) {
            let next = left.id.number_in_thread().saturating_add(1);
            let address = left.address.clone();
            return if self
                .redirect_thread((left.id.thread_id(), next), &address, &to.id)
                .await?
            {
                Ok(left)
            } else {
                write_conflict()
            };
        }
        if is_active(to) && to.mode == ConversationMode::Manual {
            left.take_over_with(to);
        }
        left.mark_moved_to(&to.id);
        self.write_conversation(&mut left).await?;
        tracing::info!(conversation_id = %left.id, "left for the person's other conversation");
        Ok(left)
    }

    async fn write_conversation(&self, conversation: &mut Conversation) -> PortResult<()> {
        match save_conversation(self.deps, conversation).await? {
            WriteOutcome::Written => Ok(()),
            WriteOutcome::Conflict => write_conflict(),
        }
    }
}

/// Returns `conversation` after it took the place of `left`. The caller writes it together with the message.
fn replace_conversation(mut conversation: Conversation, left: &Conversation) -> Conversation {
    conversation.absorb_conversation(left);
    conversation
}
