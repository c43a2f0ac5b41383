use super::FaultyPort;
use super::spoiled_invitations::is_of_invitation;
use crate::mutation::Mutation;
use async_trait::async_trait;
use recado_domain::conversation::{Conversation, ConversationMode, DroppedDrafts, HandOverNote, UsedLimits};
use recado_domain::identity::IdentityKey;
use recado_domain::ids::{ConversationId, MessageId, Ordinal, ThreadId};
use recado_domain::message::Message;
use recado_domain::outbox::{Author, OutboxState};
use recado_domain::typing::TypingSign;
use recado_domain::usage::UsageSum;
use recado_pipeline::ports::{
    CommitOutcome, ConversationFilter, ConversationPage, Conversations, EffectGuard, Page, PageRequest,
    PortResult, Store, WriteOutcome,
};
use recado_pipeline::table::{Write, WriteResult};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

#[async_trait]
impl<S: Store> Conversations for FaultyPort<S> {
    async fn search_conversations(
        &self,
        filter: &ConversationFilter,
        page: &PageRequest,
    ) -> PortResult<ConversationPage> {
        let call = if filter.unlisted {
            "list_unlisted_conversations"
        } else {
            "search_conversations"
        };
        self.around(call, self.inner.search_conversations(filter, page))
            .await
    }

    // A lost sign only lets a reply come sooner. So this is no step at which something may happen.
    async fn put_typing_sign(&self, thread: &ThreadId, sign: &TypingSign) -> PortResult<()> {
        self.inner.put_typing_sign(thread, sign).await
    }

    async fn find_typing_sign(&self, threads: &[ThreadId]) -> PortResult<Option<TypingSign>> {
        self.inner.find_typing_sign(threads).await
    }

    // A process asks for it once, so it is no step at which something may happen.
    async fn keep_identity_key(&self, make: &(dyn Fn() -> IdentityKey + Sync)) -> PortResult<IdentityKey> {
        self.inner.keep_identity_key(make).await
    }

    async fn find_latest_conversation(&self, thread: &ThreadId) -> PortResult<Option<Conversation>> {
        let mut found = self
            .around("latest", self.inner.find_latest_conversation(thread))
            .await?;
        self.saw_conversation(found.as_ref());
        if self.injector.lacks(Mutation::LeadsNowhere)
            && let Some(found) = found.as_mut()
        {
            found.linked.moved_to = None;
        }
        Ok(found)
    }

    async fn find_conversation(&self, id: &ConversationId) -> PortResult<Option<Conversation>> {
        let mut found = self
            .around("conversation", self.inner.find_conversation(id))
            .await?;
        self.saw_conversation(found.as_ref());
        if let Some(conversation) = found.as_mut().filter(|_| self.sees_no_takeover()) {
            self.hide_takeover(conversation).await?;
        }
        Ok(found)
    }

    async fn find_with_history(
        &self,
        id: &ConversationId,
        limit: usize,
    ) -> PortResult<Option<(Conversation, Vec<Message>)>> {
        let effect = async {
            let at = self.injector.common.simulation.elapsed_ms();
            self.injector.read_at.store(at, Ordering::Relaxed);
            self.inner.find_with_history(id, limit).await
        };
        let mut found = self.around("with_history", effect).await?;
        if let Some((conversation, messages)) = &mut found {
            self.injector.saw(&conversation.tenant);
            self.saw(messages);
            if self.injector.lacks(Mutation::NoTurnLease) {
                conversation.lease = None;
            }
            if self.injector.lacks(Mutation::RepliesUncounted) {
                conversation.limits = UsedLimits::default();
            }
            if self.injector.lacks(Mutation::ClosureForgotten) {
                conversation.opening.closed_told_at = None;
            }
        }
        Ok(found)
    }

    async fn list_messages_after(
        &self,
        id: &ConversationId,
        after: Ordinal,
        limit: usize,
    ) -> PortResult<Vec<Message>> {
        let found = self
            .around("messages_after", self.inner.list_messages_after(id, after, limit))
            .await?;
        self.saw(&found);
        Ok(found)
    }

    async fn update_conversation(
        &self,
        conversation: &Conversation,
        used: &[UsageSum],
    ) -> PortResult<WriteOutcome> {
        if used.is_empty() {
            self.update_spoiled(conversation).await
        } else {
            self.update_spoiled_with_use(conversation, used).await
        }
    }

    async fn commit_messages(
        &self,
        conversation: &Conversation,
        messages: &[Message],
        beside: &[Write],
    ) -> PortResult<CommitOutcome> {
        if self.injector.function == "deferred-reply" && !is_of_invitation(beside) {
            return self.commit_spoiled_reply(conversation, messages, beside).await;
        }
        let beside = self.spoil_committed_invitation(self.spoil_client_writes(beside));
        let effect = async {
            let commits = self.inner.commit_messages(conversation, messages, &beside);
            let committed = commits.await?;
            if committed == CommitOutcome::Committed {
                self.injector.note_commit(messages);
            }
            Ok(committed)
        };
        self.around("commit", effect).await
    }

    async fn write_guarded(&self, guard: &EffectGuard, writes: &[Write]) -> PortResult<Option<WriteResult>> {
        self.begin_spoiled(guard, writes).await
    }

    async fn list_messages(&self, id: &ConversationId, page: &PageRequest) -> PortResult<Page<Message>> {
        let found = self
            .around("messages", self.inner.list_messages(id, page))
            .await?;
        self.saw(&found.items);
        Ok(found)
    }

    async fn find_message(&self, id: &MessageId) -> PortResult<Option<Message>> {
        let mut found = self.around("message", self.inner.find_message(id)).await?;
        self.saw(found.as_slice());
        if let Some(message) = found
            .as_ref()
            .filter(|_| self.injector.function == "deferred-reply")
        {
            self.injector.note_found_claim(message);
        }
        if self.injector.lacks(Mutation::ReviveAlways)
            && self.injector.function == "sender"
            && let Some(out) = found.as_mut().and_then(|message| message.out.as_mut())
            && let OutboxState::Sent { at } = out.state
        {
            // Of the death that it had before.
            let mut deaths = out.history.iter().filter(|step| step.what == "dead");
            let at = deaths.next_back().map_or(at, |step| step.at);
            let reason = recado_domain::reason::Reason::WhatsappPermanentError;
            out.state = OutboxState::Dead { at, reason };
        }
        if self.injector.function == "api"
            && self.injector.lacks(Mutation::PossiblySentForgotten)
            && let Some(out) = found.as_mut().and_then(|message| message.out.as_mut())
        {
            out.maybe_sent = false;
        }
        Ok(found)
    }
}

/// The same reply as an answer to everything.
fn covering_all(conversation: &Conversation, parts: &[Message]) -> (Conversation, Vec<Message>) {
    let (mut conversation, mut parts) = (conversation.clone(), parts.to_vec());
    conversation.answered = conversation.turn_upto;
    for out in parts.iter_mut().filter_map(|part| part.out.as_mut()) {
        out.covers = conversation.turn_upto;
    }
    (conversation, parts)
}

/// The same reply of an agent that is not known, so that nothing is summed up.
fn leaving_agent_out(parts: &[Message]) -> Vec<Message> {
    let mut parts = parts.to_vec();
    let outs = parts.iter_mut().filter_map(|part| part.out.as_mut());
    for turn in outs.filter_map(|out| out.turn.as_mut()) {
        turn.agent = None;
    }
    parts
}

impl<S: Store> FaultyPort<S> {
    /// Whether a mutation leaves this write out.
    async fn is_left_out(&self, changed: &Conversation) -> PortResult<bool> {
        if self.injector.lacks(Mutation::BeginsUnderIdentity) && changed.address.is_numberless() {
            return Ok(changed.listed_status().is_none());
        }
        if !self.injector.lacks(Mutation::LeftIsNotTakenOver) || changed.mode == ConversationMode::Ai {
            return Ok(false);
        }
        let before = self.inner.find_conversation(&changed.id).await?;
        Ok(before
            .is_some_and(|before| before.linked.moved_to.is_some() && before.mode == ConversationMode::Ai))
    }

    /// Writes a conversation, or what a mutation makes of it.
    async fn update_spoiled(&self, conversation: &Conversation) -> PortResult<WriteOutcome> {
        let mut changed = conversation.clone();
        if self.injector.lacks(Mutation::GiveBackKeepsAnswered)
            && let Some(before) = self.inner.find_conversation(&conversation.id).await?
            && before.mode == ConversationMode::Manual
            && changed.mode == ConversationMode::Ai
        {
            changed.answered = before.answered;
        }
        if self.injector.lacks(Mutation::SilencesForgotten) {
            changed.silences.clear();
        }
        if self.injector.lacks(Mutation::DoneEffectsUnnoted) {
            let is_done = |note: &HandOverNote| note.text.contains(": was done.");
            changed.people.hand_over_note = changed.people.hand_over_note.filter(|note| !is_done(note));
        }
        if self.injector.lacks(Mutation::DroppedDraftsUncounted) {
            changed.dropped_drafts = DroppedDrafts::default();
        }
        if self.is_left_out(conversation).await? {
            return Ok(WriteOutcome::Written);
        }
        let written = self
            .around("update", self.inner.update_conversation(&changed, &[]))
            .await?;
        if written == WriteOutcome::Conflict && self.injector.lacks(Mutation::GoOnAfterConflict) {
            return Ok(WriteOutcome::Written);
        }
        Ok(written)
    }

    /// Writes a conversation with what a turn used, or what a mutation makes of them.
    async fn update_spoiled_with_use(
        &self,
        conversation: &Conversation,
        used: &[UsageSum],
    ) -> PortResult<WriteOutcome> {
        let mut changed = conversation.clone();
        if self.injector.lacks(Mutation::SilencesForgotten) {
            changed.silences.clear();
        }
        if self.injector.lacks(Mutation::DroppedDraftsUncounted) {
            changed.dropped_drafts = DroppedDrafts::default();
        }
        let summed = if self.injector.lacks(Mutation::UnsentUseUncounted) {
            &[]
        } else {
            used
        };
        let writes = self.inner.update_conversation(&changed, summed);
        let written = self.around("update_with_use", writes).await?;
        if written == WriteOutcome::Conflict && self.injector.lacks(Mutation::GoOnAfterConflict) {
            return Ok(WriteOutcome::Written);
        }
        Ok(written)
    }

    /// Makes a conversation look as its open replies knew it, for a mutation; where they are of several epochs, that tells.
    async fn hide_takeover(&self, conversation: &mut Conversation) -> PortResult<()> {
        let open = self.inner.list_open_messages(conversation.id.thread_id()).await?;
        let of_it = open
            .iter()
            .filter(|message| message.conversation == conversation.id);
        let outs = of_it.filter_map(|message| message.out.as_ref());
        let epochs: BTreeSet<u64> = outs
            .filter(|out| out.author == Author::Ai)
            .map(|out| out.epoch)
            .collect();
        if let (Some(epoch), 1) = (epochs.first(), epochs.len()) {
            (conversation.mode, conversation.epoch) = (ConversationMode::Ai, *epoch);
        }
        Ok(())
    }

    /// Commits a reply, or what a mutation makes of it.
    async fn commit_spoiled_reply(
        &self,
        conversation: &Conversation,
        parts: &[Message],
        beside: &[Write],
    ) -> PortResult<CommitOutcome> {
        let all = self
            .injector
            .lacks(Mutation::UnreadIsCovered)
            .then(|| covering_all(conversation, parts));
        let (conversation, parts) = all.as_ref().map_or((conversation, parts), |(c, p)| (c, p));
        let uncounted = self
            .injector
            .lacks(Mutation::UsageUncounted)
            .then(|| leaving_agent_out(parts));
        let stored = uncounted.as_deref().unwrap_or(parts);
        let forgets_effects = self.injector.lacks(Mutation::CommitBesideEffects);
        let beside = if forgets_effects { &[] } else { beside };
        let effect = async {
            let commits = self.inner.commit_messages(conversation, stored, beside);
            let written = commits.await?;
            if written == CommitOutcome::Committed {
                self.injector.note_commit(parts);
                if uncounted.is_some() {
                    self.injector.note_uncounted(parts);
                }
            }
            Ok(written)
        };
        let written = self.around("commit", effect).await?;
        if written != CommitOutcome::Committed && self.injector.lacks(Mutation::CommitUnconditional) {
            return self.commit_anyway(conversation, parts).await;
        }
        Ok(written)
    }

    /// Commits on whatever the conversation is by now.
    async fn commit_anyway(&self, drafted: &Conversation, parts: &[Message]) -> PortResult<CommitOutcome> {
        let Some(mut conversation) = self.inner.find_conversation(&drafted.id).await? else {
            return Ok(CommitOutcome::Conflict);
        };
        let mut parts = parts.to_vec();
        conversation.answered = conversation.answered.max(drafted.answered);
        conversation.rev += 1;
        for part in &mut parts {
            conversation.last = conversation.last.next_ordinal();
            part.ordinal = conversation.last;
            if let Some(out) = &mut part.out {
                out.epoch = conversation.epoch;
            }
        }
        self.injector.note_commit(&parts);
        self.inner.commit_messages(&conversation, &parts, &[]).await
    }
}
