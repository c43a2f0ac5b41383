use super::{EndpointStory, EntryStory, Story, Telling, Trouble};
use crate::history::Outcome;
use crate::mutation::Mutation;
use crate::simulator::Style;

/// What is seen when a safeguard is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Costs {
    /// A promise is broken.
    Promise,
    /// More model calls.
    ModelCalls,
    /// A message arrives twice, though it says so.
    Repeats,
}

/// A safeguard and the story that misses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Safeguard {
    /// What is taken out.
    pub mutation: Mutation,
    /// What it costs.
    pub costs: Costs,
    /// The story that shows it.
    pub telling: Telling,
    /// What goes wrong in the story.
    pub troubles: Troubles,
}

/// What is tried at every step of a story.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Troubles {
    /// Nothing goes wrong.
    None,
    /// A crash at each step that does not equal an earlier one.
    Crash,
    /// A stall of so many milliseconds at each step.
    Stall(i64),
    /// Everything stands still for eight seconds, from many instants on.
    Freeze,
}

impl Troubles {
    /// How many seeds are tried: another order of the same steps may need a safeguard where this one does not.
    pub fn seeds(self) -> u64 {
        match self {
            Self::None => 40,
            Self::Crash | Self::Stall(_) | Self::Freeze => 3,
        }
    }

    /// Every trouble to try in a story that ended so without trouble.
    pub fn all(self, undisturbed: &Outcome) -> Vec<Trouble> {
        let steps = 0..undisturbed.steps;
        match self {
            Self::None => vec![Trouble::None],
            Self::Crash => {
                let distinct = undisturbed.distinct_steps.iter();
                distinct.map(|step| Trouble::Crash(step.number)).collect()
            }
            Self::Stall(milliseconds) => steps.map(|at| Trouble::Stall(at, milliseconds)).collect(),
            Self::Freeze => (40..140).map(|at| Trouble::Freeze(at * 100, 8_000)).collect(),
        }
    }
}

const fn promise(mutation: Mutation, story: Story, troubles: Troubles) -> Safeguard {
    Safeguard {
        mutation,
        costs: Costs::Promise,
        telling: Telling {
            story,
            style: Style::Lambda,
            reconciles: true,
            clients_repeat: true,
            seed: 1,
            trouble: Trouble::None,
            mutation: None,
        },
        troubles,
    }
}

impl Safeguard {
    /// Where nothing looks after what was left open.
    const fn alone(mut self) -> Self {
        self.telling.reconciles = false;
        self
    }

    const fn on_one_machine(mut self) -> Self {
        self.telling.style = Style::Machine;
        self
    }

    const fn costing(mut self, costs: Costs) -> Self {
        self.costs = costs;
        self
    }

    const fn with_clients_that_give_up(mut self) -> Self {
        self.telling.clients_repeat = false;
        self
    }
}

/// Every safeguard, with the story that misses it.
pub const SAFEGUARDS: &[Safeguard] = &[
    promise(Mutation::PendingEventsSpared, Story::Erasure, Troubles::Crash),
    promise(Mutation::ClaimWithoutGuard, Story::GiveBack, Troubles::Crash),
    promise(
        Mutation::ClaimWithoutStateOrClock,
        Story::Burst,
        Troubles::Stall(130_000),
    )
    .on_one_machine(),
    promise(Mutation::UnknownIsQueued, Story::Unheard, Troubles::None),
    promise(Mutation::NoEvidence, Story::Unheard, Troubles::None).costing(Costs::Repeats),
    promise(Mutation::StaleReasonDropped, Story::OldMessage, Troubles::None),
    promise(Mutation::LateMessagesAreOld, Story::LateWebhook, Troubles::None),
    promise(
        Mutation::CancelKeepsAnswered,
        Story::GiveBackInFlight,
        Troubles::None,
    ),
    promise(
        Mutation::NewestConversationFirst,
        Story::ResolvedWithOpen,
        Troubles::None,
    ),
    promise(
        Mutation::CommitUnconditional,
        Story::Burst,
        Troubles::Stall(130_000),
    )
    .on_one_machine(),
    promise(Mutation::NoRate, Story::Crowd, Troubles::None),
    promise(Mutation::ClockNotReadAgain, Story::Crowd, Troubles::Freeze),
    promise(Mutation::LetterBeforeDead, Story::RefusedOnce, Troubles::Crash),
    promise(Mutation::MissingLetterStays, Story::RefusedOnce, Troubles::Crash),
    promise(Mutation::TurnNotSentAgain, Story::Burst, Troubles::Crash).alone(),
    promise(
        Mutation::EveryMessageWantsAnAnswer,
        Story::Reaction,
        Troubles::None,
    )
    .alone(),
    promise(Mutation::SendJobsShareOneId, Story::TwoOutages, Troubles::None).alone(),
    promise(Mutation::NoFlush, Story::Burst, Troubles::Crash).alone(),
    promise(
        Mutation::ConnectionEventIsBelieved,
        Story::EventsCrossed,
        Troubles::None,
    )
    .alone(),
    promise(Mutation::PendingIsNotEnqueuedAgain, Story::Burst, Troubles::Crash).alone(),
    promise(Mutation::NoTurnLease, Story::Overlap, Troubles::None).costing(Costs::ModelCalls),
    promise(Mutation::StoreTwice, Story::Reaction, Troubles::Crash),
    promise(Mutation::KeyForgotten, Story::Answer, Troubles::Crash),
    promise(Mutation::NoInFlightNotes, Story::Burst, Troubles::None),
    promise(Mutation::NoReconcile, Story::Answer, Troubles::Crash).with_clients_that_give_up(),
    promise(
        Mutation::DisconnectionCounts,
        Story::Disconnections,
        Troubles::None,
    ),
    promise(Mutation::UnreachedCounts, Story::Unreachable, Troubles::None),
    promise(Mutation::AcknowledgeBeforeEnqueue, Story::Burst, Troubles::Crash).alone(),
    promise(Mutation::WindowNotJudged, Story::DayLate, Troubles::None),
    promise(
        Mutation::UnknownIsNotCounted,
        Story::NeverExplained,
        Troubles::None,
    ),
    promise(Mutation::EchoIsNoEvidence, Story::EchoAlone, Troubles::None),
    promise(
        Mutation::NotesNameNobody,
        Story::FailedBesideUnknown,
        Troubles::None,
    ),
    promise(
        Mutation::GatewayErrorIsNotSent,
        Story::AcceptedThenFailed,
        Troubles::None,
    ),
    promise(Mutation::AccessNotJudged, Story::Refusal, Troubles::None),
    promise(Mutation::ClosureForgotten, Story::Night, Troubles::None),
    promise(Mutation::OpeningIsHerd, Story::Night, Troubles::None),
    promise(Mutation::LastWordsAreGuarded, Story::LastWords, Troubles::None),
    promise(Mutation::ReturnNotTimed, Story::AgentReturns, Troubles::None).alone(),
    promise(Mutation::DroppedDraftsUncounted, Story::WritesOn, Troubles::None),
    promise(Mutation::RepliesUncounted, Story::TwoBots, Troubles::None),
    promise(Mutation::PlacesUnwritten, Story::OneAtATime, Troubles::None),
    promise(Mutation::PlacesOutlastCrashes, Story::OneAtATime, Troubles::Crash),
    promise(Mutation::KeyForgotten, Story::ClientsAtMeta, Troubles::Crash),
    promise(Mutation::WindowNotJudged, Story::ClientsAtMeta, Troubles::None),
    promise(Mutation::RemovedForgotten, Story::Removal, Troubles::None),
    promise(Mutation::ConfigurationGoesFirst, Story::Removal, Troubles::Crash),
    promise(Mutation::ErasedSendsForgotten, Story::Erasure, Troubles::None),
    promise(
        Mutation::ErasedNotesForgotten,
        Story::ErasedInFlight,
        Troubles::None,
    ),
    promise(Mutation::UnreadIsCovered, Story::LongBurst, Troubles::None),
    promise(Mutation::NotReadOn, Story::LongBurst, Troubles::None).alone(),
    promise(Mutation::LeadsNowhere, Story::TwoNames, Troubles::None),
    promise(
        Mutation::LeftIsNotTakenOver,
        Story::TwoConversations,
        Troubles::None,
    ),
    promise(Mutation::ThreadsUnordered, Story::OrderOfTwo, Troubles::None),
    promise(
        Mutation::BeginsUnderIdentity,
        Story::LateWorker,
        Troubles::Stall(20_000),
    )
    .on_one_machine(),
    promise(Mutation::VoidRepliesWait, Story::VoidReplies, Troubles::None),
    promise(Mutation::FilesForgotten, Story::Media, Troubles::None),
    promise(
        Mutation::DownloadBlockIgnored,
        Story::BlockedDownloads,
        Troubles::None,
    ),
    promise(Mutation::WebhookFilesForgotten, Story::Media, Troubles::None),
    promise(Mutation::SearchUnbounded, Story::Knowledge, Troubles::None),
    promise(Mutation::UsageUncounted, Story::Burst, Troubles::None),
    promise(Mutation::UnsentUseUncounted, Story::WritesOn, Troubles::None),
    promise(Mutation::SpentTokensIgnored, Story::SpentTokens, Troubles::None),
    promise(Mutation::EffectsForgotten, Story::Acts, Troubles::Crash),
    promise(
        Mutation::BegunIsForgotten,
        Story::ActsMute,
        Troubles::Stall(130_000),
    ),
    promise(Mutation::EffectsNotOverdue, Story::Acts, Troubles::Crash),
    promise(Mutation::SettlingCalls, Story::Acts, Troubles::Crash),
    promise(Mutation::CallWithoutId, Story::ActsMute, Troubles::None),
    promise(Mutation::FenceLetsThrough, Story::ActsLate, Troubles::None),
    promise(Mutation::FenceUnmarked, Story::ActsLate, Troubles::None),
    promise(Mutation::FenceGoesFirst, Story::ActsLate, Troubles::None),
    promise(Mutation::VersionIgnored, Story::ActsLate, Troubles::None),
    promise(Mutation::ConflictIsRefusal, Story::ActsRefused, Troubles::None),
    promise(Mutation::ChangedEventsIgnored, Story::ActsChanged, Troubles::None),
    promise(Mutation::DoneEffectsUnnoted, Story::ActsTakenOver, Troubles::None),
    promise(Mutation::SilencesForgotten, Story::Silence, Troubles::None),
    promise(Mutation::CellsKept, Story::ActsRefused, Troubles::None),
    promise(Mutation::CellsNotTaken, Story::ActsOneSlot, Troubles::None),
    promise(Mutation::BeginAfterTakeover, Story::ActsTakenOver, Troubles::None),
    promise(Mutation::BeginBesideNewer, Story::ActsTakenBack, Troubles::None),
    promise(Mutation::OftenPerTurn, Story::ActsHeedless, Troubles::Crash),
    promise(
        Mutation::CallClockNotRead,
        Story::ActsHeedless,
        Troubles::Stall(130_000),
    )
    .on_one_machine(),
    promise(Mutation::ClashIsContended, Story::ActsClash, Troubles::None),
    promise(Mutation::ClashForgotten, Story::ActsClash, Troubles::None),
    promise(Mutation::GivenUpCellsLeft, Story::ActsClash, Troubles::None),
    promise(
        Mutation::RemindersNamedAnew,
        Story::ActsRemindsOne,
        Troubles::Crash,
    ),
    promise(Mutation::RemindersOfOldTime, Story::ActsReminds, Troubles::None),
    promise(Mutation::RemindedUnasked, Story::ActsReminds, Troubles::None),
    promise(Mutation::VoidRemindersLeave, Story::ActsReminds, Troubles::None),
    promise(Mutation::ReminderUnnamed, Story::ActsReminds, Troubles::None),
    promise(Mutation::ConfirmationUnshown, Story::ActsReminds, Troubles::None),
    promise(Mutation::ReadingUnbounded, Story::LooksUp, Troubles::None),
    promise(Mutation::CallsUncounted, Story::LooksUp, Troubles::None),
    promise(Mutation::BatchStateIgnored, Story::BatchPaused, Troubles::None),
    promise(
        Mutation::BatchStateIgnored,
        Story::BatchCancelled,
        Troubles::Crash,
    ),
    promise(
        Mutation::BatchStopNotAwaited,
        Story::BatchCancelled,
        Troubles::Stall(900),
    ),
    promise(
        Mutation::InvitationClaimsForgotten,
        Story::BatchCancelled,
        Troubles::None,
    ),
    promise(
        Mutation::CancelledKeepsClaims,
        Story::BatchCancelled,
        Troubles::None,
    ),
    promise(Mutation::BatchesForgotten, Story::BatchPaused, Troubles::None),
    promise(Mutation::PeopleUncounted, Story::OnePortfolio, Troubles::None),
    promise(Mutation::NumbersCountApart, Story::OnePortfolio, Troubles::None),
    promise(
        Mutation::SingleClaimsForgotten,
        Story::InvitedAlone,
        Troubles::None,
    ),
    promise(Mutation::KeyForgotten, Story::InvitedAlone, Troubles::Crash),
    promise(Mutation::OptOutsUnasked, Story::InvitedStops, Troubles::None),
    promise(
        Mutation::StateOfOthers,
        Story::Endpoint(EndpointStory::Replaced),
        Troubles::None,
    ),
    promise(
        Mutation::FailedOfOthers,
        Story::Endpoint(EndpointStory::RefusedReplaced),
        Troubles::None,
    ),
    promise(
        Mutation::PlaceForgotten,
        Story::Endpoint(EndpointStory::Told),
        Troubles::None,
    ),
    promise(
        Mutation::EventsOfAllTenants,
        Story::Endpoint(EndpointStory::Told),
        Troubles::None,
    ),
    promise(
        Mutation::KnowledgeOfOthers,
        Story::Entry(EntryStory::DocumentOfBefore),
        Troubles::None,
    ),
    promise(Mutation::OptOutsUnasked, Story::MailedStops, Troubles::None),
    promise(
        Mutation::PossiblySentForgotten,
        Story::InvitedAgain,
        Troubles::None,
    ),
    promise(Mutation::PossiblySentForgotten, Story::MailedOnce, Troubles::None),
    promise(
        Mutation::DeliveryRulesUnasked,
        Story::InvitedQuiet,
        Troubles::None,
    ),
    promise(Mutation::PlanNotStored, Story::InvitedRaced, Troubles::Crash),
    promise(Mutation::MailGoesFirst, Story::MailedOnce, Troubles::Crash),
    promise(
        Mutation::MailClockNotRead,
        Story::Mailed,
        Troubles::Stall(130_000),
    )
    .on_one_machine(),
];

/// Safeguards that no story misses while the others are there, and what is there in their place: whoever loses a parked
/// conversation is healed by the question that is asked a minute after an opening; whoever goes on after a lost condition
/// runs into the next one; what is revived although it was sent is refused by its next transition; the copy of an earlier
/// attempt that failed is no evidence any more, so it takes no note away; a draft beside which an effect began lost its lease, so the
/// conversation has another revision; whoever stores an effect's end has asked for it, so of two that end it both say the same; the
/// cancellation of a void reply makes owed again what a give-back would, and changes the conversation with that.
pub const BACKED: &[Mutation] = &[
    Mutation::ReviveAlways,
    Mutation::NoLookAfterParking,
    Mutation::UnparkAnyVersion,
    Mutation::GoOnAfterConflict,
    Mutation::NoteGoesWithEvidence,
    Mutation::ClaimWithoutState,
    Mutation::CommitBesideEffects,
    Mutation::EndOfOthers,
    Mutation::GiveBackKeepsAnswered,
    Mutation::CancelLeavesConversation,
];
