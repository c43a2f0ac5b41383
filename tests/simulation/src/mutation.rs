//! The protocol's safeguards, each of which can be taken out by a wrapper around the ports: a condition is dropped, a
//! call left out or moved. Product code knows nothing of it.

/// A safeguard that is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mutation {
    /// The claim does not look at the conversation's mode and epoch.
    ClaimWithoutGuard,
    /// The claim does not look at the message's state.
    ClaimWithoutState,
    /// Neither that, nor the clock again after the claim: each alone is backed by the other.
    ClaimWithoutStateOrClock,
    /// An attempt of unknown outcome is simply queued again.
    UnknownIsQueued,
    /// The provider is not asked for evidence.
    NoEvidence,
    /// A message that is older by its writer's clock than one already stored is owed no answer.
    LateMessagesAreOld,
    /// A message that was too old when it came is stored without that reason.
    StaleReasonDropped,
    /// A give-back does not set `answered` back.
    GiveBackKeepsAnswered,
    /// A cancelled reply's messages are not owed again.
    CancelKeepsAnswered,
    /// A cancelled reply's conversation is written only where something of it changes.
    CancelLeavesConversation,
    /// The sender looks at the open messages of a contact's newest conversation first.
    NewestConversationFirst,
    /// The commit does not look whether the conversation is as it was read.
    CommitUnconditional,
    /// No rate.
    NoRate,
    /// The clock is not looked at again between claim and request.
    ClockNotReadAgain,
    /// The dead letter is made before the record says dead.
    LetterBeforeDead,
    /// A dead message's missing dead letter is not made later.
    MissingLetterStays,
    /// The turn job of an applied event that comes again is not sent again (and nothing else looks).
    TurnNotSentAgain,
    /// A message that wants no answer makes older timers stand down (and nothing else looks).
    EveryMessageWantsAnAnswer,
    /// Send jobs are known again by conversation and ordinal (and nothing else looks).
    SendJobsShareOneId,
    /// After a commit nothing is flushed (and nothing else looks).
    NoFlush,
    /// Who parked does not look at the connection again (and nothing else looks).
    NoLookAfterParking,
    /// A parked entry is removed whatever its version (and nothing else looks).
    UnparkAnyVersion,
    /// A connection event is believed (and nothing else looks).
    ConnectionEventIsBelieved,
    /// The repeat of a pending event is not enqueued (and nothing else looks).
    PendingIsNotEnqueuedAgain,
    /// Whoever finds a record changed goes on all the same.
    GoOnAfterConflict,
    /// The lease of a turn is not looked at.
    NoTurnLease,
    /// An event's message is stored again when the event comes again.
    StoreTwice,
    /// A client's key is not looked at.
    KeyForgotten,
    /// In-flight notes are not looked at.
    NoInFlightNotes,
    /// A redrive revives whatever the state.
    ReviveAlways,
    /// Nothing looks after what was left open.
    NoReconcile,
    /// A disconnected send counts as an attempt.
    DisconnectionCounts,
    /// A send that did not reach the provider counts as an attempt.
    UnreachedCounts,
    /// A webhook is acknowledged before its event is recorded and enqueued (and nothing else looks).
    AcknowledgeBeforeEnqueue,
    /// The sender does not look whether the contact's 24 hours at Meta are over.
    WindowNotJudged,
    /// Attempts of unknown outcome do not count.
    UnknownIsNotCounted,
    /// A gateway's error is taken for a refusal.
    GatewayErrorIsNotSent,
    /// The note of an attempt goes when others than its answer tell that it was sent.
    NoteGoesWithEvidence,
    /// The sender does not look for echoes of attempts of unknown outcome.
    EchoIsNoEvidence,
    /// Notes of running sends do not say to whom they go.
    NotesNameNobody,
    /// A reply answers all that is owed, whatever of it was read.
    UnreadIsCovered,
    /// A thread that leads to another one of the same person is taken for a resolved conversation.
    LeadsNowhere,
    /// A takeover leaves the person's conversation alone that was left for another.
    LeftIsNotTakenOver,
    /// The sender does not look for what was made before in the person's other threads.
    ThreadsUnordered,
    /// An identity that was shown beside a number may begin a conversation of its own.
    BeginsUnderIdentity,
    /// A turn that left something unread asks for no other (and nothing else looks).
    NotReadOn,
    /// The sender does not look whether a reply that waits, or that it meets on its way, is void: its claim finds out.
    VoidRepliesWait,
    /// The access list is not looked at.
    AccessNotJudged,
    /// The conversation does not say that its contact was told of the closure.
    ClosureForgotten,
    /// Turns that wait for an opening do not know of each other.
    OpeningIsHerd,
    /// The agent's last words are claimed only while the agent has the conversation.
    LastWordsAreGuarded,
    /// No timer brings the agent back to a conversation that people took over (and nothing else looks).
    ReturnNotTimed,
    /// Nobody counts the drafts that were dropped because the contact wrote.
    DroppedDraftsUncounted,
    /// Nobody counts the agent's replies to a contact.
    RepliesUncounted,
    /// The places of a tenant's turns are not written.
    PlacesUnwritten,
    /// The place of a turn whose worker crashed does not end by itself.
    PlacesOutlastCrashes,
    /// What is still to be done with files is not found in the index of overdue work.
    FilesForgotten,
    /// Who fetches files does not look whether the provider refuses downloads.
    DownloadBlockIgnored,
    /// The record of a message does not say that its webhook held its file.
    WebhookFilesForgotten,
    /// What a reply used is not added to the sums with its commit.
    UsageUncounted,
    /// The use by a discarded draft is not added to the sums.
    UnsentUseUncounted,
    /// Nobody looks at the tokens that a tenant's agents used today.
    SpentTokensIgnored,
    /// A search in the agent's documents may take for ever.
    SearchUnbounded,
    /// Nobody notes that an instance was removed with its tenant.
    RemovedForgotten,
    /// The configuration of a tenant goes before its records, to which it leads.
    ConfigurationGoesFirst,
    /// An erasure leaves the events alone that are not applied yet.
    PendingEventsSpared,
    /// The note of an erased message does not say that Recado sent it.
    ErasedSendsForgotten,
    /// The note of an attempt of unknown outcome does not outlast the erasure of its contact.
    ErasedNotesForgotten,
    /// A draft is not told what was done for the contact before it.
    EffectsForgotten,
    /// A fence keeps no late request off.
    FenceLetsThrough,
    /// An effect that was begun and has no end is called again, under another id.
    BegunIsForgotten,
    /// A move and a cancellation are carried out whatever version of the event they name.
    VersionIgnored,
    /// The request does not carry the effect's id.
    CallWithoutId,
    /// A conflict is taken for a refusal.
    ConflictIsRefusal,
    /// A fence is not told apart from an event.
    FenceUnmarked,
    /// A fence is deleted before the failure is stored.
    FenceGoesFirst,
    /// The settling of an effect that did not happen yet calls again.
    SettlingCalls,
    /// The cells of an event are not given back with the end of an effect.
    CellsKept,
    /// No cells are taken when an effect begins.
    CellsNotTaken,
    /// An effect begins whoever has the conversation by now.
    BeginAfterTakeover,
    /// An effect begins whatever the contact wrote by now.
    BeginBesideNewer,
    /// A tool may act several times for the same messages.
    OftenPerTurn,
    /// The clock is not read again between the begin of an effect and its call.
    CallClockNotRead,
    /// Nobody looks for effects whose end nobody stored.
    EffectsNotOverdue,
    /// Nobody follows what people do with events in the calendar itself.
    ChangedEventsIgnored,
    /// People are left no note of what was done before they took a conversation over.
    DoneEffectsUnnoted,
    /// A reply is committed whatever effects began or ended since its draft read the journal.
    CommitBesideEffects,
    /// Whoever claimed an effect once stores its end, though another claimed it since.
    EndOfOthers,
    /// The conversation does not say which messages the agent left without an answer.
    SilencesForgotten,
    /// Following a move fails where another event holds a cell of the new time.
    ClashIsContended,
    /// A booking does not know which cells of its time other events hold.
    ClashForgotten,
    /// Nobody takes the cells that a booking lacks when their event gives them up.
    GivenUpCellsLeft,
    /// Each reminder that is handed over has a new id.
    RemindersNamedAnew,
    /// The reminders of an appointment that is moved are not planned again.
    RemindersOfOldTime,
    /// The calendar is not asked before a reminder is sent.
    RemindedUnasked,
    /// A reminder leaves whatever became of its appointment since it fell due.
    VoidRemindersLeave,
    /// A reminder does not say of which appointment it reminds.
    ReminderUnnamed,
    /// The journal does not say that the calendar is still to show a confirmation.
    ConfirmationUnshown,
    /// The call of a tool that reads may take for ever.
    ReadingUnbounded,
    /// Nobody counts the calls of a turn.
    CallsUncounted,
    /// The sender does not look whether a message's batch is stopped.
    BatchStateIgnored,
    /// Whoever pauses or cancels a batch is told before the senders' looks at it are over.
    BatchStopNotAwaited,
    /// An invitation of a batch claims neither its guest nor its template.
    InvitationClaimsForgotten,
    /// What a cancelled batch left unsent keeps its claims.
    CancelledKeepsClaims,
    /// Nobody looks after batches from which nothing was heard, or whose end is not stored.
    BatchesForgotten,
    /// A batch goes on although its portfolio wrote to as many people as it may.
    PeopleUncounted,
    /// The numbers of a portfolio do not know that they share a limit of people.
    NumbersCountApart,
    /// A single invitation claims neither its guest and template nor its request's key.
    SingleClaimsForgotten,
    /// The sender asks for no opt-outs.
    OptOutsUnasked,
    /// The state of an endpoint is stored whatever endpoint has the name by now.
    StateOfOthers,
    /// A failed event is stored whatever endpoint has the name by now.
    FailedOfOthers,
    /// The place of an endpoint is not stored.
    PlaceForgotten,
    /// An endpoint is told of the events of all tenants.
    EventsOfAllTenants,
    /// The knowledge of an agent is stored whatever agent has the name by now.
    KnowledgeOfOthers,
    /// A row that cannot be read ends the whole list of overdue work. (It is none of [`Self::ALL`]: only days with a damaged row show it.)
    UnreadableFailsAll,
    /// The sender knows of no quiet hours and of no cap.
    DeliveryRulesUnasked,
    /// A later request for an invitation does not see that the earlier one may have been sent.
    PossiblySentForgotten,
    /// The record of an invitation does not say which message it is to become.
    PlanNotStored,
    /// The attempt at an e-mail is not stored before the carrier is asked.
    MailGoesFirst,
    /// The clock is not read again between the write of an attempt at an e-mail and the request to the carrier.
    MailClockNotRead,
}

impl Mutation {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::ClaimWithoutGuard,
        Self::ClaimWithoutState,
        Self::ClaimWithoutStateOrClock,
        Self::UnknownIsQueued,
        Self::NoEvidence,
        Self::LateMessagesAreOld,
        Self::StaleReasonDropped,
        Self::GiveBackKeepsAnswered,
        Self::CancelKeepsAnswered,
        Self::CancelLeavesConversation,
        Self::NewestConversationFirst,
        Self::CommitUnconditional,
        Self::NoRate,
        Self::ClockNotReadAgain,
        Self::LetterBeforeDead,
        Self::MissingLetterStays,
        Self::TurnNotSentAgain,
        Self::EveryMessageWantsAnAnswer,
        Self::SendJobsShareOneId,
        Self::NoFlush,
        Self::NoLookAfterParking,
        Self::UnparkAnyVersion,
        Self::ConnectionEventIsBelieved,
        Self::PendingIsNotEnqueuedAgain,
        Self::GoOnAfterConflict,
        Self::NoTurnLease,
        Self::StoreTwice,
        Self::KeyForgotten,
        Self::NoInFlightNotes,
        Self::ReviveAlways,
        Self::NoReconcile,
        Self::DisconnectionCounts,
        Self::UnreachedCounts,
        Self::AcknowledgeBeforeEnqueue,
        Self::WindowNotJudged,
        Self::UnknownIsNotCounted,
        Self::GatewayErrorIsNotSent,
        Self::NoteGoesWithEvidence,
        Self::EchoIsNoEvidence,
        Self::NotesNameNobody,
        Self::UnreadIsCovered,
        Self::NotReadOn,
        Self::LeadsNowhere,
        Self::LeftIsNotTakenOver,
        Self::ThreadsUnordered,
        Self::BeginsUnderIdentity,
        Self::VoidRepliesWait,
        Self::AccessNotJudged,
        Self::ClosureForgotten,
        Self::OpeningIsHerd,
        Self::LastWordsAreGuarded,
        Self::ReturnNotTimed,
        Self::DroppedDraftsUncounted,
        Self::RepliesUncounted,
        Self::PlacesUnwritten,
        Self::PlacesOutlastCrashes,
        Self::FilesForgotten,
        Self::DownloadBlockIgnored,
        Self::WebhookFilesForgotten,
        Self::SearchUnbounded,
        Self::UsageUncounted,
        Self::UnsentUseUncounted,
        Self::SpentTokensIgnored,
        Self::RemovedForgotten,
        Self::ConfigurationGoesFirst,
        Self::PendingEventsSpared,
        Self::ErasedSendsForgotten,
        Self::ErasedNotesForgotten,
        Self::EffectsForgotten,
        Self::FenceLetsThrough,
        Self::BegunIsForgotten,
        Self::VersionIgnored,
        Self::CallWithoutId,
        Self::ConflictIsRefusal,
        Self::FenceUnmarked,
        Self::FenceGoesFirst,
        Self::SettlingCalls,
        Self::CellsKept,
        Self::CellsNotTaken,
        Self::BeginAfterTakeover,
        Self::BeginBesideNewer,
        Self::OftenPerTurn,
        Self::CallClockNotRead,
        Self::EffectsNotOverdue,
        Self::ChangedEventsIgnored,
        Self::DoneEffectsUnnoted,
        Self::CommitBesideEffects,
        Self::EndOfOthers,
        Self::SilencesForgotten,
        Self::ClashIsContended,
        Self::ClashForgotten,
        Self::GivenUpCellsLeft,
        Self::RemindersNamedAnew,
        Self::RemindersOfOldTime,
        Self::RemindedUnasked,
        Self::VoidRemindersLeave,
        Self::ReminderUnnamed,
        Self::ConfirmationUnshown,
        Self::ReadingUnbounded,
        Self::CallsUncounted,
        Self::BatchStateIgnored,
        Self::BatchStopNotAwaited,
        Self::InvitationClaimsForgotten,
        Self::CancelledKeepsClaims,
        Self::BatchesForgotten,
        Self::PeopleUncounted,
        Self::NumbersCountApart,
        Self::SingleClaimsForgotten,
        Self::OptOutsUnasked,
        Self::StateOfOthers,
        Self::FailedOfOthers,
        Self::PlaceForgotten,
        Self::EventsOfAllTenants,
        Self::KnowledgeOfOthers,
        Self::DeliveryRulesUnasked,
        Self::PossiblySentForgotten,
        Self::PlanNotStored,
        Self::MailGoesFirst,
        Self::MailClockNotRead,
    ];

    /// Whether it leaves `other` out.
    pub fn takes_out(self, other: Self) -> bool {
        let both = matches!(other, Self::ClaimWithoutState | Self::ClockNotReadAgain);
        self == other || (self == Self::ClaimWithoutStateOrClock && both)
    }
}
