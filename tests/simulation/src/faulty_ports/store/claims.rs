use super::FaultyPort;
use crate::mutation::Mutation;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::contact::ContactAddress;
use recado_domain::conversation::{Conversation, ConversationMode};
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent, QueueName};
use recado_domain::delivery::{Delivery, DeliveryKey, StatusUpdate};
use recado_domain::ids::{InstanceId, ThreadId};
use recado_domain::instance::{Echo, InFlightSend};
use recado_domain::message::Message;
use recado_domain::outbox::{Author, Outbox, OutboxState};
use recado_domain::usage::UsageSum;
use recado_pipeline::ports::{
    ClaimGuard, ClaimOutcome, DeliveryChange, DeliveryLink, NoteChange, OutboxStore, PortResult, Store,
    System, WriteOutcome,
};
use recado_pipeline::records::dead_letters::put_dead_letter;
use std::sync::atomic::Ordering;

#[async_trait]
impl<S: Store> OutboxStore for FaultyPort<S> {
    async fn update_closed_message(
        &self,
        message: &Message,
        used: Option<&UsageSum>,
    ) -> PortResult<WriteOutcome> {
        let call = match message.out {
            Some(_) => "update_closed_message",
            None => "replace_message",
        };
        self.around(call, self.inner.update_closed_message(message, used))
            .await
    }

    async fn list_open_messages(&self, thread: &ThreadId) -> PortResult<Vec<Message>> {
        let effect = async {
            let open = self.inner.list_open_messages(thread).await?;
            // Also what a store wrote and never answered.
            self.injector.note_found(&open);
            Ok(open)
        };
        let mut open = self.around("open", effect).await?;
        self.saw(&open);
        if self.injector.lacks(Mutation::NewestConversationFirst) && self.injector.function == "sender" {
            let newest = open.last().map(|message| message.conversation.clone());
            open.retain(|message| Some(&message.conversation) == newest.as_ref());
        }
        if self.injector.lacks(Mutation::ThreadsUnordered) {
            let outs = open.iter_mut().filter_map(|message| message.out.as_mut());
            outs.for_each(|out| out.beside.clear());
        }
        if self.injector.lacks(Mutation::VoidRemindersLeave) {
            let outs = open.iter_mut().filter_map(|message| message.out.as_mut());
            outs.for_each(|out| out.reminds_of = None);
        }
        self.hide_takeovers(&mut open);
        if self.injector.lacks(Mutation::MissingLetterStays) {
            open.retain(|message| !is_dead(message));
        }
        if self.injector.lacks(Mutation::WindowNotJudged) {
            for out in open.iter_mut().filter_map(|message| message.out.as_mut()) {
                out.last_inbound_at = Some(self.injector.now());
            }
        }
        // For an hour: what goes on for days is no other, and slow to tell.
        let begins = self.injector.common.simulation.elapsed_ms() < 3_600_000;
        if begins && self.injector.lacks(Mutation::UnknownIsNotCounted) {
            for out in open.iter_mut().filter_map(|message| message.out.as_mut()) {
                out.attempts = out.attempts.min(1);
            }
        }
        if self.injector.lacks(Mutation::NoFlush) && self.injector.function == "deferred-reply" {
            open.clear();
        }
        Ok(open)
    }

    async fn save_open_message(
        &self,
        message: &Message,
        finished_send: Option<&InFlightSend>,
    ) -> PortResult<WriteOutcome> {
        let mut message = message.clone();
        self.mutate_state(&mut message, finished_send);
        if is_dead(&message) && self.injector.lacks(Mutation::LetterBeforeDead) {
            let dead_letter = dead_letter_of(&message);
            self.around("put_dead_letter", put_dead_letter(&self.inner, &dead_letter))
                .await?;
        }
        let written = self
            .around(
                "save_open",
                self.injector
                    .note_write(self.inner.save_open_message(&message, finished_send), &message),
            )
            .await?;
        Ok(self.after_conflict(written))
    }

    async fn claim_message(
        &self,
        message: &Message,
        guard: Option<&ClaimGuard>,
        flight: &InFlightSend,
    ) -> PortResult<ClaimOutcome> {
        let of_last_words = self.guard_last_words(message);
        let guard = guard.or(of_last_words.as_ref());
        let guard_used = guard.filter(|_| !self.injector.lacks(Mutation::ClaimWithoutGuard));
        let effect = async {
            self.injector
                .common
                .observations()
                .begin_write(&message.message_id());
            let claimed = self.inner.claim_message(message, guard_used, flight).await?;
            self.injector
                .common
                .observations()
                .end_write(&message.message_id());
            if claimed == ClaimOutcome::Claimed {
                self.injector.note_claim(message);
                self.check_takeover(message).await?;
            }
            Ok(claimed)
        };
        let claimed = self.around("claim", effect).await?;
        if claimed == ClaimOutcome::Stopped {
            self.injector.stopped.store(true, Ordering::Relaxed);
        }
        if self.injector.lacks(Mutation::ClockNotReadAgain) {
            // As it was when the message was claimed.
            self.injector
                .frozen
                .store(flight.claimed_at.as_millisecond(), Ordering::Relaxed);
        }
        if claimed == ClaimOutcome::Conflict && self.injector.lacks(Mutation::ClaimWithoutState) {
            return self.claim_anyway(message, flight).await;
        }
        Ok(claimed)
    }

    async fn settle_message(
        &self,
        message: &Message,
        finished_send: Option<&InFlightSend>,
        link: Option<&DeliveryLink>,
        conversation: Option<&Conversation>,
    ) -> PortResult<WriteOutcome> {
        let conversation = conversation.filter(|_| !self.injector.lacks(Mutation::CancelKeepsAnswered));
        let conversation = match conversation {
            Some(conversation) if self.injector.lacks(Mutation::CancelLeavesConversation) => {
                self.changed(conversation).await?
            }
            conversation => conversation,
        };
        let gone = self.note_that_goes(message).await?;
        let finished_send = finished_send.or(gone.as_ref());
        let effect = self
            .inner
            .settle_message(message, finished_send, link, conversation);
        let effect = self.injector.note_write(effect, message);
        let written = self.around("settle", effect).await?;
        Ok(self.after_conflict(written))
    }

    async fn list_in_flight(&self, instance: &InstanceId) -> PortResult<Vec<InFlightSend>> {
        let flights = self
            .around("in_flight", self.inner.list_in_flight(instance))
            .await?;
        Ok(self.mutate_notes(flights))
    }

    async fn change_in_flight(
        &self,
        instance: &InstanceId,
        flight: &InFlightSend,
        change: NoteChange<'_>,
    ) -> PortResult<bool> {
        let NoteChange::Echo(_, echo) = change else {
            let mut erased = flight.clone();
            if self.injector.lacks(Mutation::ErasedNotesForgotten) {
                erased.text_hash.clear();
            }
            let effect = self.inner.change_in_flight(instance, &erased, change);
            return self.around("replace_in_flight", effect).await;
        };
        let effect = async {
            let recorded = self.inner.change_in_flight(instance, flight, change).await?;
            if recorded && echo == Echo::Sure {
                let at = self.injector.common.simulation.elapsed_ms();
                self.injector
                    .common
                    .observations()
                    .record_echo(&flight.message, at);
            }
            Ok(recorded)
        };
        self.around("record_echo", effect).await
    }

    async fn record_status(
        &self,
        update: &StatusUpdate,
        expires: Timestamp,
        charge: Option<&UsageSum>,
    ) -> PortResult<()> {
        let call = match charge {
            None => "record_status",
            Some(_) => "record_charged_status",
        };
        self.around(call, self.inner.record_status(update, expires, charge))
            .await
    }

    async fn change_deliveries(&self, keys: &[DeliveryKey], change: DeliveryChange) -> PortResult<()> {
        let call = match change {
            DeliveryChange::StopAwaiting => "stop_awaiting",
            DeliveryChange::Erase { .. } => "erase_deliveries",
        };
        self.around(call, self.inner.change_deliveries(keys, change))
            .await
    }

    async fn find_delivery(&self, key: &DeliveryKey) -> PortResult<Option<Delivery>> {
        let found = self
            .around("find_delivery", self.inner.find_delivery(key))
            .await?;
        let forgotten = self.injector.lacks(Mutation::ErasedSendsForgotten);
        Ok(found.filter(|delivery| !(forgotten && delivery.erased)))
    }

    async fn find_deliveries(&self, keys: &[DeliveryKey]) -> PortResult<Vec<Option<Delivery>>> {
        self.around("find_deliveries", self.inner.find_deliveries(keys))
            .await
    }
}

fn is_dead(message: &Message) -> bool {
    let dead = |out: &recado_domain::outbox::Outbox| matches!(out.state, OutboxState::Dead { .. });
    message.out.as_ref().is_some_and(dead)
}

fn dead_letter_of(message: &Message) -> DeadLetter {
    DeadLetter {
        id: message.message_id().to_string(),
        queue: QueueName::Outbound,
        reason: recado_domain::reason::Reason::WhatsappPermanentError,
        at: message.stored_at,
        attempts: 1,
        last_error: None,
        correlation: message.correlation.clone(),
        tenant: Some(message.tenant.clone()),
        instance: Some(message.instance.clone()),
        what: DeadLetterContent::Message {
            message: message.message_id(),
        },
    }
}

impl<S: Store> FaultyPort<S> {
    /// `conversation`, if more than its revision changes.
    async fn changed<'a>(&self, conversation: &'a Conversation) -> PortResult<Option<&'a Conversation>> {
        let stored = self.inner.find_conversation(&conversation.id).await?;
        let next = stored.map(|stored| Conversation {
            rev: stored.rev + 1,
            ..stored
        });
        Ok((next.as_ref() != Some(conversation)).then_some(conversation))
    }

    /// The guard of any other reply for last words, for a mutation.
    fn guard_last_words(&self, message: &Message) -> Option<ClaimGuard> {
        let out = message.out.as_ref().filter(|out| out.last_words)?;
        self.injector
            .lacks(Mutation::LastWordsAreGuarded)
            .then(|| ClaimGuard {
                conversation: message.conversation.clone(),
                epoch: out.epoch,
            })
    }

    /// Claims whatever the message is by now.
    async fn claim_anyway(&self, message: &Message, flight: &InFlightSend) -> PortResult<ClaimOutcome> {
        let Some(stored) = self.inner.find_message(&message.message_id()).await? else {
            return Ok(ClaimOutcome::Conflict);
        };
        let mut message = message.clone();
        if let (Some(out), Some(stored)) = (message.out.as_mut(), stored.out.as_ref()) {
            out.rev = stored.rev + 1;
        }
        if stored.is_open() {
            return self.inner.claim_message(&message, None, flight).await;
        }
        let _ = self.inner.update_closed_message(&message, None).await?;
        Ok(ClaimOutcome::Claimed)
    }

    /// Whether the sender sees nothing of takeovers, for a mutation: until a claim tells it.
    pub(super) fn sees_no_takeover(&self) -> bool {
        let is_sender = self.injector.lacks(Mutation::VoidRepliesWait) && self.injector.function == "sender";
        is_sender && !self.injector.stopped.load(Ordering::Relaxed)
    }

    /// A person's message tells of the epoch that its takeover began.
    fn hide_takeovers(&self, open: &mut [Message]) {
        for out in open.iter_mut().filter_map(|message| message.out.as_mut()) {
            if out.author == Author::Person && self.sees_no_takeover() {
                out.epoch = 0;
            }
        }
    }

    /// The note of the last attempt at a message that others say was sent, for a mutation.
    async fn note_that_goes(&self, message: &Message) -> PortResult<Option<InFlightSend>> {
        let is_sent = message
            .out
            .as_ref()
            .is_some_and(|out| matches!(out.state, OutboxState::Sent { .. }));
        if !is_sent || !self.injector.lacks(Mutation::NoteGoesWithEvidence) {
            return Ok(None);
        }
        let mut flights = self.inner.list_in_flight(&message.instance).await?;
        flights.retain(|flight| flight.message == message.message_id());
        Ok(flights.into_iter().max_by_key(|flight| flight.claimed_at))
    }

    fn mutate_notes(&self, mut flights: Vec<InFlightSend>) -> Vec<InFlightSend> {
        if self.injector.lacks(Mutation::NoInFlightNotes) {
            flights.clear();
        }
        for flight in &mut flights {
            if self.injector.lacks(Mutation::NotesNameNobody)
                && let Some(anybody) = ContactAddress::parse("1@lid")
            {
                flight.to = anybody;
            }
            if self.injector.lacks(Mutation::EchoIsNoEvidence) && self.injector.function == "sender" {
                flight.echo = None;
            }
        }
        flights
    }

    fn after_conflict(&self, written: WriteOutcome) -> WriteOutcome {
        if self.injector.lacks(Mutation::GoOnAfterConflict) {
            return WriteOutcome::Written;
        }
        written
    }

    fn mutate_state(&self, message: &mut Message, finished_send: Option<&InFlightSend>) {
        let Some(out) = &mut message.out else { return };
        match out.state {
            OutboxState::Unknown { .. } if self.injector.lacks(Mutation::UnknownIsQueued) => {
                out.state = OutboxState::Queued;
            }
            OutboxState::Queued
                if finished_send.is_some() && self.injector.lacks(Mutation::DisconnectionCounts) =>
            {
                out.attempts += 1;
            }
            _ => {}
        }
    }

    /// At the very instant of the claim: nothing of the agent's may be claimed once people have the conversation.
    async fn check_takeover(&self, message: &Message) -> PortResult<()> {
        if !message.out.as_ref().is_some_and(Outbox::yields_to_takeover) {
            return Ok(());
        }
        let conversation = self.inner.find_conversation(&message.conversation).await?;
        if conversation.is_some_and(|conversation| conversation.mode == ConversationMode::Manual) {
            let at = self.injector.now();
            self.injector.common.broken(format!(
                "{} of the agent was claimed after a takeover, at {at}",
                message.message_id()
            ));
        }
        Ok(())
    }
}
