use super::batches::portfolio_bounds;
use super::endpoints::EndpointStory;
use super::entries::EntryStory;
use super::teller::Teller;
use crate::executor::START_MS;
use crate::fake_world::{SendBehaviour, TOKENS_PER_REPLY};
use crate::plan::{address, bound, hours};
use crate::queue::WorkQueues;
use crate::simulator::{OperatorRequest, Simulator};
use recado_domain::config::{AgentReturn, InstanceConfig};
use recado_domain::decision::DecisionKind;
use recado_domain::ids::Ordinal;
use recado_domain::millis::to_millis;
use recado_domain::provider::Provider;
use recado_domain::service_window::WINDOW;
use recado_pipeline::ports::Store;
use serde_json::json;
use std::fmt::Debug;
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;

/// The stories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Story {
    /// Three messages in two seconds, and another when they are answered.
    Burst,
    /// A message and a reaction to something.
    Reaction,
    /// A message whose webhook comes half a minute after its successor's.
    LateWebhook,
    /// A message that is two hours old when its webhook comes.
    OldMessage,
    /// Eight messages at once where a turn reads two, and another when three turns have read six.
    LongBurst,
    /// Two messages, six seconds apart.
    Overlap,
    /// Three messages in seven seconds, which begin while the model thinks about another.
    BurstBehind,
    /// What was answered is edited and then taken back, before anybody reads that; another is edited before it is answered.
    Reworded,
    /// A person takes over while the model thinks, answers, and gives back.
    TakeOver,
    /// A person takes over what waits for its slot, and gives it back later without a word.
    GiveBack,
    /// A person takes over and gives back during a send that finds WhatsApp gone.
    GiveBackInFlight,
    /// A person takes over and gives back during a send that the provider refuses for now.
    GiveBackInFailure,
    /// A person's answer is of unknown outcome when its conversation is resolved; the contact writes again.
    ResolvedWithOpen,
    /// A person answers.
    Answer,
    /// A person types on the phone while replies go out.
    Phone,
    /// The provider cannot be reached for ten minutes.
    Unreachable,
    /// WhatsApp is gone for two minutes.
    Outage,
    /// WhatsApp is gone for longer than messages wait for it.
    LongOutage,
    /// WhatsApp is gone for twenty seconds.
    ShortOutage,
    /// WhatsApp is gone twice in two minutes.
    TwoOutages,
    /// The event that says `close` comes after the one that says `open`.
    EventsCrossed,
    /// WhatsApp is gone at each of six attempts, then the provider fails once.
    Disconnections,
    /// The answer to an accepted send is lost.
    Unheard,
    /// The same at Meta, where a status is the evidence.
    UnheardAtMeta,
    /// A send is lost, and nobody says so.
    Lost,
    /// A send is refused for good, and redriven.
    Refused,
    /// A send is refused for good.
    RefusedOnce,
    /// An accepted message fails after all, and is redriven.
    FailedLater,
    /// Twelve contacts write at once.
    Crowd,
    /// At Meta, a person answers a contact that wrote a day ago.
    DayLate,
    /// Every attempt at a message ends in an error that says nothing, and nothing is sent.
    NeverExplained,
    /// An accepted send is answered with a gateway's error, at a provider that remembers nothing.
    AcceptedThenFailed,
    /// An accepted message fails, is redriven at once, and hangs: both copies arrive.
    SecondCopy,
    /// The answer to an accepted send is lost, at a provider that remembers nothing; its echo comes.
    EchoAlone,
    /// A contact whose conversation under an identity was taken over shows its number, and writes on under that.
    TwoNames,
    /// A reply under an identity is of unknown outcome when the contact, who wrote under its number, too, shows both; then it
    /// is taken over under the number.
    TwoConversations,
    /// A person's answer under an identity is of unknown outcome when the contact shows both names and is answered under the
    /// number.
    OrderOfTwo,
    /// A message under an identity is read, shortly after one under the number, before both are shown, and stored after a
    /// takeover.
    LateWorker,
    /// A contact's send hangs; another's accepted message fails, and somebody types to that one on the phone.
    FailedBesideUnknown,
    /// Four replies are to wait, as the provider says; then people answer one contact, take another over and give it back,
    /// end a third's conversation, who writes again, and type to the fourth before they answer.
    VoidReplies,
    /// The access list refuses one of two contacts, until somebody types to that one on the phone.
    Refusal,
    /// Three contacts write twice while the instance is closed, for three minutes.
    Night,
    /// The agent hands over to one contact and says goodbye to another; people take both over before its words have left, and
    /// the contacts write on.
    LastWords,
    /// A person takes over and is silent: the agent comes back a minute later, to what was written meanwhile.
    AgentReturns,
    /// A contact writes every fifteen seconds for three minutes, and each draft takes longer and is dropped for the next.
    WritesOn,
    /// A contact that is a program writes again after each reply, where the agent may write three in an hour.
    TwoBots,
    /// Five contacts write at once to a tenant that has one turn at a time.
    OneAtATime,
    /// A contact that has written, been answered and is written to is erased by the API, and writes again; another is not.
    Erasure,
    /// A tenant is removed by the API while answers are owed, and its contacts write on.
    Removal,
    /// At Meta, a client writes at once and later to a contact that has just written, and to one that wrote a day ago.
    ClientsAtMeta,
    /// A reply hangs, and its contact is erased before it goes out; the contact writes again.
    ErasedInFlight,
    /// A picture and a voice note come with words. The provider fails at the first and gives the second late; the transcription
    /// fails once. A webhook holds a picture that the provider gives to nobody. All are answered, and the files are there in the
    /// end.
    Media,
    /// Thirty pictures come at once, and the downloads of all fail, until the provider refuses downloads for half an hour.
    BlockedDownloads,
    /// An agent that the user runs leaves messages of a contact without an answer, who also corrects the spelling of one.
    Silence,
    /// The agent books, moves and cancels an appointment for a contact.
    Acts,
    /// The same, and the answers of the calendar are lost.
    ActsMute,
    /// A booking and a move hang, and come a minute after they were given up; the contact moves the appointment again.
    ActsLate,
    /// The calendar refuses, fails before and after it booked, and says that the event is there already.
    ActsRefused,
    /// The calendar takes a booking and answers no question for minutes.
    ActsUnasked,
    /// The answer of a tool that nobody can be asked about is lost, twice; a person finds out and says how it ended.
    ActsBlind,
    /// People take one contact over before the agent books, and give it back; another between the booking and the reply.
    ActsTakenOver,
    /// A contact takes its wish back while the model thinks.
    ActsTakenBack,
    /// Three contacts wish the same slot at once.
    ActsOneSlot,
    /// Two contacts have appointments. People delete one in the calendar itself, and move the other.
    ActsChanged,
    /// Three contacts have appointments one after the other. People move the first to where the second is, and the second is cancelled.
    ActsClash,
    /// Four contacts have appointments with reminders: one moves and confirms it, two cancel it, and people delete one.
    ActsReminds,
    /// A contact has an appointment with reminders.
    ActsRemindsOne,
    /// The agent has a tool that reads: it answers, fails, hangs, and is called wrongly or again and again.
    LooksUp,
    /// The calendar refuses the credential, asks for patience, and says that the event is gone, before and after it booked.
    ActsDenied,
    /// Fifty contacts wish the same slot at once. (It is none of [`Self::ALL`]: too long to be told again and again.)
    ActsCrowd,
    /// The model books whatever it was told, and its worker may die before it replies.
    ActsHeedless,
    /// The agent has a document with vectors. The model that makes them fails at one question and hangs at the next; then searches
    /// hang, and the snapshot's file is lost. All are answered.
    Knowledge,
    /// A contact writes every minute, and its tenant's tokens of the day are used up by the third reply.
    SpentTokens,
    /// A batch of invitations is paused in the middle, and resumed.
    BatchPaused,
    /// A batch of invitations is cancelled in the middle, and its guests are sent the same template again.
    BatchCancelled,
    /// Two numbers of a portfolio have a batch each, for more people than its limit leaves to batches, until it rises.
    OnePortfolio,
    /// A client invites a guest twice, and two clients invite another one at once.
    InvitedAlone,
    /// Nobody knows what became of the first attempt at an invitation, and the guest wants no more of them before the second.
    InvitedStops,
    /// Endpoints are told of events.
    Endpoint(EndpointStory),
    /// Entries of the configuration are replaced.
    Entry(EntryStory),
    /// Guests are invited by e-mail: the carrier puts off, refuses, hangs, and knows a repeat again.
    Mailed,
    /// The answers of a mail server are lost, and the client invites again.
    MailedOnce,
    /// Guests who are invited by e-mail want no more before the second attempt.
    MailedStops,
    /// Each attempt at an invitation arrives, and no answer says so; the client invites again when it was given up.
    InvitedAgain,
    /// Clients invite a guest at once, with other facts, and one of them gives up.
    InvitedRaced,
    /// Quiet hours begin between two attempts.
    InvitedQuiet,
    /// A tenant sends a guest one invitation in an hour, and a client wants two.
    InvitedCapped,
}

impl Story {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::Burst,
        Self::Reaction,
        Self::LateWebhook,
        Self::OldMessage,
        Self::LongBurst,
        Self::Overlap,
        Self::BurstBehind,
        Self::Reworded,
        Self::TakeOver,
        Self::GiveBack,
        Self::GiveBackInFlight,
        Self::GiveBackInFailure,
        Self::ResolvedWithOpen,
        Self::Answer,
        Self::Phone,
        Self::Unreachable,
        Self::Outage,
        Self::LongOutage,
        Self::ShortOutage,
        Self::TwoOutages,
        Self::EventsCrossed,
        Self::Disconnections,
        Self::Unheard,
        Self::UnheardAtMeta,
        Self::Lost,
        Self::Refused,
        Self::RefusedOnce,
        Self::FailedLater,
        Self::Crowd,
        Self::DayLate,
        Self::NeverExplained,
        Self::AcceptedThenFailed,
        Self::SecondCopy,
        Self::EchoAlone,
        Self::FailedBesideUnknown,
        Self::TwoNames,
        Self::TwoConversations,
        Self::OrderOfTwo,
        Self::LateWorker,
        Self::VoidReplies,
        Self::Refusal,
        Self::Night,
        Self::LastWords,
        Self::AgentReturns,
        Self::WritesOn,
        Self::TwoBots,
        Self::OneAtATime,
        Self::Erasure,
        Self::Removal,
        Self::ClientsAtMeta,
        Self::ErasedInFlight,
        Self::Media,
        Self::BlockedDownloads,
        Self::Silence,
        Self::Acts,
        Self::ActsMute,
        Self::ActsLate,
        Self::ActsRefused,
        Self::ActsUnasked,
        Self::ActsBlind,
        Self::ActsTakenOver,
        Self::ActsTakenBack,
        Self::ActsOneSlot,
        Self::ActsHeedless,
        Self::ActsChanged,
        Self::ActsDenied,
        Self::ActsClash,
        Self::ActsReminds,
        Self::ActsRemindsOne,
        Self::LooksUp,
        Self::Knowledge,
        Self::SpentTokens,
        Self::BatchPaused,
        Self::BatchCancelled,
        Self::OnePortfolio,
        Self::InvitedAlone,
        Self::InvitedStops,
        Self::Endpoint(EndpointStory::Told),
        Self::Endpoint(EndpointStory::Replaced),
        Self::Endpoint(EndpointStory::ReplacedByDocuments),
        Self::Endpoint(EndpointStory::RefusedReplaced),
        Self::Endpoint(EndpointStory::Rotated),
        Self::Endpoint(EndpointStory::Fails),
        Self::Endpoint(EndpointStory::SideBySide),
        Self::Endpoint(EndpointStory::TenantRemoved),
        Self::Entry(EntryStory::AgentMadeAgain),
        Self::Entry(EntryStory::ToolTakenAway),
        Self::Entry(EntryStory::CalendarReplaced),
        Self::Entry(EntryStory::DocumentReplaced),
        Self::Entry(EntryStory::DocumentOfBefore),
        Self::Entry(EntryStory::NumberTakenAway),
        Self::Mailed,
        Self::MailedOnce,
        Self::MailedStops,
        Self::InvitedAgain,
        Self::InvitedRaced,
        Self::InvitedQuiet,
        Self::InvitedCapped,
    ];

    /// When all has happened that happens by itself, in milliseconds since the start.
    pub fn calm_ms(self) -> i64 {
        match self {
            Self::Endpoint(story) => story.calm_ms(),
            Self::Entry(story) => story.calm_ms(),
            Self::LongOutage | Self::BlockedDownloads => 2_600_000,
            Self::ActsChanged => 4_200_000,
            Self::ActsClash => 8_000_000,
            Self::ActsReminds => 13_200_000,
            Self::ActsRemindsOne => 10_200_000,
            Self::Night | Self::WritesOn | Self::Removal => 400_000,
            Self::TwoBots | Self::SpentTokens => 500_000,
            Self::OneAtATime => 300_000,
            Self::Refused | Self::FailedLater => 1_250_000,
            Self::Disconnections
            | Self::Unreachable
            | Self::NeverExplained
            | Self::AcceptedThenFailed
            | Self::SecondCopy
            | Self::EchoAlone
            | Self::TwoConversations
            | Self::FailedBesideUnknown
            | Self::VoidReplies
            | Self::LastWords
            | Self::Acts
            | Self::ActsMute
            | Self::ActsLate
            | Self::ActsRefused
            | Self::ActsDenied
            | Self::ActsUnasked
            | Self::ActsBlind
            | Self::ActsTakenOver
            | Self::Media
            | Self::LooksUp
            | Self::BatchPaused
            | Self::BatchCancelled
            | Self::OnePortfolio
            | Self::InvitedStops
            | Self::MailedOnce
            | Self::Knowledge => 600_000,
            Self::InvitedAgain => 1_200_000,
            _ => 120_000,
        }
    }

    /// Who is configured.
    pub fn bounds(self) -> Vec<InstanceConfig> {
        match self {
            Self::OnePortfolio => return portfolio_bounds(),
            Self::Endpoint(story) => return story.bounds(),
            Self::Entry(story) => return story.bounds(),
            _ => {}
        }
        let provider = match self {
            Self::UnheardAtMeta
            | Self::FailedLater
            | Self::DayLate
            | Self::ClientsAtMeta
            | Self::BlockedDownloads => Provider::Meta,
            _ => Provider::Evolution,
        };
        let mut bound = bound(0, 0, provider, None);
        if self == Self::Refusal {
            let written = json!({"block": [address(0, 0).as_str()]});
            bound.instance.access = serde_json::from_value(written).expect("an access list");
        }
        if self == Self::Night {
            let opens = hours::minute_of(START_MS) + 3;
            let spans = json!([hours::span(opens, 24 * 60)]);
            bound.instance.opening_hours = Some(hours::hours(&spans, Some("we are closed"), Some(6)));
        }
        match self {
            Self::LastWords => bound.agent.decisions = [DecisionKind::HandOver, DecisionKind::Resolve].into(),
            Self::AgentReturns => bound.instance.agent_returns = AgentReturn::AfterMinutes(1),
            Self::TwoBots => bound.agent.limits.turns_per_hour = 3,
            Self::SpentTokens => bound.tenant.tokens_per_day = NonZeroU64::new(3 * TOKENS_PER_REPLY),
            Self::OneAtATime => bound.tenant.turns_at_once = Some(NonZeroU32::MIN),
            _ => {}
        }
        self.equip_agent(&mut bound);
        self.equip_tenant(&mut bound);
        vec![bound]
    }

    /// Sets it on the simulator.
    pub fn set<S, Q>(self, sim: &Arc<Simulator<S, Q>>)
    where
        S: Store + Clone + Debug + 'static,
        Q: WorkQueues,
    {
        let tell = Teller { sim: Arc::clone(sim) };
        tell.connect();
        match self {
            Self::Burst => tell.messages(&[0, 800, 1_900, 40_000]),
            Self::LongBurst => tell.messages(&[0, 50, 100, 150, 200, 250, 300, 350, 80_000]),
            Self::Overlap => tell.messages(&[0, 6_000]),
            Self::BurstBehind => tell.messages(&[0, 33_000, 36_200, 39_400]),
            Self::Reworded => tell.reworded(),
            Self::Reaction => {
                tell.messages(&[0]);
                tell.says("reaction r1", 1_000, 1_000);
            }
            Self::LateWebhook => {
                tell.says("m1", 0, 30_000);
                tell.says("m2", 1_000, 1_000);
            }
            Self::OldMessage => tell.says("m1", -7_200_000, 0),
            Self::Crowd => tell.crowd(12),
            Self::DayLate => {
                tell.says("m1", 10_000 - to_millis(WINDOW), 0);
                tell.requests(vec![(
                    25_000,
                    OperatorRequest::Answer("person-1".to_owned(), Ordinal(1)),
                )]);
            }
            Self::TakeOver | Self::GiveBack | Self::Answer | Self::Phone => tell.people(self),
            Self::GiveBackInFlight => tell.gives_back_during(SendBehaviour::Closed, 2_000),
            Self::GiveBackInFailure => tell.gives_back_during(SendBehaviour::Failed, 700),
            Self::ResolvedWithOpen => tell.resolves_with_open(),
            Self::TwoNames | Self::TwoConversations | Self::OrderOfTwo | Self::LateWorker => {
                tell.persons(self);
            }
            Self::Outage | Self::LongOutage | Self::ShortOutage | Self::TwoOutages | Self::EventsCrossed => {
                tell.outages(self);
            }
            Self::Unreachable => tell.unreachable(),
            Self::FailedBesideUnknown => tell.failed_beside_unknown(),
            Self::VoidReplies => tell.void_replies(),
            Self::Refusal => tell.refusal(),
            Self::Night => tell.night(),
            Self::WritesOn => {
                tell.sim.fake_world.let_model_think(17_000);
                tell.messages(&(0..14).map(|number| number * 15_000).collect::<Vec<_>>());
            }
            Self::TwoBots | Self::SpentTokens => {
                tell.messages(&[0, 60_000, 120_000, 180_000, 240_000, 300_000]);
            }
            Self::Silence => tell.is_hushed(),
            Self::OneAtATime => tell.crowd(5),
            Self::Erasure => tell.erasure(),
            Self::Removal => tell.removal(),
            Self::ClientsAtMeta => tell.clients_at_meta(),
            Self::ErasedInFlight => tell.erasure_in_flight(),
            Self::Media => tell.media(),
            Self::BlockedDownloads => tell.blocked_downloads(),
            Self::Knowledge => tell.knowledge(),
            Self::LooksUp => tell.looks_up(),
            Self::BatchPaused | Self::BatchCancelled => tell.batch(self),
            Self::OnePortfolio => tell.one_portfolio(),
            Self::InvitedAlone => tell.invited_alone(),
            Self::InvitedStops => tell.invited_stops(),
            _ if self.acts() => tell.acts(self),
            _ if self.invites() => tell.invites(self),
            Self::LastWords => tell.last_words(),
            Self::AgentReturns => {
                tell.messages(&[0, 30_000]);
                tell.requests(vec![(2_000, OperatorRequest::TakeOver)]);
            }
            _ => self.send_all(&tell),
        }
    }
}
