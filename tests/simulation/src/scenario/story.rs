use crate::executor::Life;
use crate::outside::{Fate, Fates, Line, Said, connection_event};
use crate::plan::{address, bound, identity_key};
use crate::queue::WorkQueues;
use crate::stage::{Stage, Wish};
use futures::executor::block_on;
use recado_domain::config::Bound;
use recado_domain::contact::ContactAddress;
use recado_domain::ids::{ConversationId, Ordinal};
use recado_domain::inbound::WebhookItem;
use recado_domain::millis::shift;
use recado_domain::provider::Provider;
use recado_domain::window::WINDOW_MS;
use recado_pipeline::ports::Store;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

/// The stories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Story {
    /// Three messages in two seconds, and another when they are answered.
    Burst,
    /// A message and a reaction to something.
    Reaction,
    /// A message whose webhook comes half a minute after its successor's.
    LateWebhook,
    /// Eight messages at once where a turn reads two, and another when three turns have read six.
    LongBurst,
    /// Two messages, six seconds apart.
    Overlap,
    /// A person takes over while the model thinks, answers, and gives back.
    TakeOver,
    /// A person takes over what waits for its slot, and gives it back later without a word.
    GiveBack,
    /// A person takes over and gives back during a send that finds WhatsApp gone.
    GiveBackInFlight,
    /// A person answers.
    Answer,
    /// A person types on the phone while replies go out.
    Phone,
    /// The provider cannot be reached for ten minutes.
    Unreachable,
    /// WhatsApp is gone for two minutes.
    Outage,
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
    /// A contact's send hangs; another's accepted message fails, and somebody types to that one on the phone.
    FailedBesideUnknown,
}

impl Story {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::Burst,
        Self::Reaction,
        Self::LateWebhook,
        Self::LongBurst,
        Self::Overlap,
        Self::TakeOver,
        Self::GiveBack,
        Self::GiveBackInFlight,
        Self::Answer,
        Self::Phone,
        Self::Unreachable,
        Self::Outage,
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
    ];

    /// When all has happened that happens by itself, in milliseconds since the start.
    pub fn calm_ms(self) -> i64 {
        match self {
            Self::Refused | Self::FailedLater => 1_250_000,
            Self::Disconnections
            | Self::Unreachable
            | Self::NeverExplained
            | Self::AcceptedThenFailed
            | Self::SecondCopy
            | Self::EchoAlone
            | Self::FailedBesideUnknown => 600_000,
            _ => 120_000,
        }
    }

    /// How long an outcome is waited for, where that is not the default: stories of many attempts are long.
    pub fn unknown_wait(self) -> Option<Duration> {
        matches!(
            self,
            Self::NeverExplained | Self::AcceptedThenFailed | Self::EchoAlone
        )
        .then_some(Duration::from_secs(60))
    }

    /// How many messages a turn reads.
    pub fn turn_messages(self) -> usize {
        if self == Self::LongBurst { 2 } else { 20 }
    }

    /// Who is configured.
    pub fn bounds(self) -> Vec<Bound> {
        let provider = match self {
            Self::UnheardAtMeta | Self::FailedLater | Self::DayLate => Provider::named("meta"),
            _ => Provider::named("evolution"),
        };
        vec![bound(0, 0, provider, None)]
    }

    /// Sets it on the stage.
    pub fn set<S, Q>(self, stage: &Arc<Stage<S, Q>>)
    where
        S: Store + Clone + Debug + 'static,
        Q: WorkQueues,
    {
        let tell = Teller {
            stage: Arc::clone(stage),
        };
        tell.connect();
        match self {
            Self::Burst => tell.messages(&[0, 800, 1_900, 40_000]),
            Self::LongBurst => tell.messages(&[0, 50, 100, 150, 200, 250, 300, 350, 80_000]),
            Self::Overlap => tell.messages(&[0, 6_000]),
            Self::Reaction => {
                tell.messages(&[0]);
                tell.says("reaction r1", 1_000, 1_000);
            }
            Self::LateWebhook => {
                tell.says("m1", 0, 30_000);
                tell.says("m2", 1_000, 1_000);
            }
            Self::Crowd => tell.crowd(12),
            Self::DayLate => {
                tell.says("m1", 10_000 - WINDOW_MS, 0);
                tell.wishes(vec![(25_000, Wish::Answer("person-1".to_owned(), Ordinal(1)))]);
            }
            Self::TakeOver | Self::GiveBack | Self::GiveBackInFlight | Self::Answer | Self::Phone => {
                tell.people(self);
            }
            Self::Outage | Self::ShortOutage | Self::TwoOutages | Self::EventsCrossed => tell.outages(self),
            Self::Unreachable => tell.unreachable(),
            Self::Disconnections => tell.sends(&[
                Fate::Closed,
                Fate::Closed,
                Fate::Closed,
                Fate::Closed,
                Fate::Closed,
                Fate::Closed,
                Fate::Failed,
            ]),
            Self::Unheard | Self::UnheardAtMeta => tell.sends(&[Fate::AcceptedUnheard]),
            Self::NeverExplained => {
                tell.on_line(|line| line.script_is_steady = true);
                tell.sends(&[Fate::Unexplained]);
            }
            Self::AcceptedThenFailed => {
                tell.on_line(|line| line.remembers = false);
                tell.sends(&[Fate::AcceptedThenFailed]);
            }
            Self::SecondCopy => {
                tell.sends(&[Fate::FailedLater, Fate::Late]);
                tell.redrives_at_once();
            }
            Self::EchoAlone => {
                tell.on_line(|line| line.remembers = false);
                tell.sends(&[Fate::AcceptedUnheard]);
            }
            Self::FailedBesideUnknown => tell.failed_beside_unknown(),
            Self::Lost => tell.sends(&[Fate::LostUnheard]),
            Self::RefusedOnce => tell.sends(&[Fate::Refused]),
            Self::Refused => {
                tell.sends(&[Fate::Refused]);
                tell.redrives();
            }
            Self::FailedLater => {
                tell.sends(&[Fate::FailedLater]);
                tell.redrives();
            }
        }
    }
}

/// Tells a story on a stage.
struct Teller<S, Q> {
    stage: Arc<Stage<S, Q>>,
}

impl<S, Q> Clone for Teller<S, Q> {
    fn clone(&self) -> Self {
        let stage = Arc::clone(&self.stage);
        Self { stage }
    }
}

impl<S, Q> Teller<S, Q>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    fn bound(&self) -> &Bound {
        &self.stage.bounds[0]
    }

    fn connect(&self) {
        let instance = &self.bound().instance;
        self.stage
            .outside
            .connect(&instance.id, instance.provider, Fates::calm());
    }

    fn happens<F: Future<Output = ()> + Send + 'static>(&self, happening: F) {
        self.stage.ledger().pending += 1;
        let after = Arc::clone(&self.stage);
        self.stage.simulation().spawn(Life::default(), async move {
            happening.await;
            after.ledger().pending -= 1;
        });
    }

    /// A contact's words, written and posted at these times.
    fn says_to(&self, contact: &ContactAddress, words: &str, from_me: bool, written: i64, posted: i64) {
        let instance = &self.bound().instance;
        let Some(external) = instance.external() else {
            return;
        };
        let id = format!("in-{words}");
        let said = Said {
            id: &id,
            text: words,
            from_me,
            sent_at: Some(shift(self.stage.simulation().now(), written)),
        };
        let event = said.event(instance.provider, &external, contact);
        self.stage.post(WebhookItem::Event(event), posted);
    }

    fn says(&self, words: &str, written: i64, posted: i64) {
        self.says_to(&address(0, 0), words, false, written, posted);
    }

    fn messages(&self, at: &[i64]) {
        for (number, at) in at.iter().enumerate() {
            self.says(&format!("m{}", number + 1), *at, *at);
        }
    }

    fn crowd(&self, contacts: usize) {
        for contact in 0..contacts {
            self.says_to(&address(0, contact), &format!("m{contact}"), false, 0, 0);
        }
    }

    fn on_line(&self, change: impl FnOnce(&mut Line)) {
        self.stage.outside.line(&self.bound().instance.id, change);
    }

    fn sends(&self, fates: &[Fate]) {
        self.on_line(|line| line.script.extend(fates));
        self.messages(&[0, 60_000]);
    }

    fn conversation(&self, contact: usize) -> Option<ConversationId> {
        let thread = identity_key().thread(&self.bound().instance.id, address(0, contact).as_str());
        block_on(self.stage.store.latest(&thread))
            .ok()
            .flatten()
            .map(|conversation| conversation.id)
    }

    fn wishes(&self, wishes: Vec<(i64, Wish)>) {
        self.wishes_of(0, wishes);
    }

    /// Wishes about a contact, each after so many milliseconds from the one before.
    fn wishes_of(&self, contact: usize, wishes: Vec<(i64, Wish)>) {
        let tell = self.clone();
        self.happens(async move {
            for (after, wish) in wishes {
                tell.stage.simulation().sleep(after).await;
                if let Some(id) = tell.conversation(contact) {
                    tell.stage.wish(&id, wish);
                }
            }
        });
    }

    fn people(&self, story: Story) {
        let answer = |words: &str| Wish::Answer(words.to_owned(), Ordinal(1));
        match story {
            Story::TakeOver => {
                self.messages(&[0, 30_000]);
                let wishes = vec![
                    (4_500, Wish::TakeOver),
                    (3_000, answer("person-1")),
                    (12_000, Wish::GiveBack),
                ];
                self.wishes(wishes);
            }
            Story::GiveBack => {
                // The burst is used up, so the reply waits for its slot.
                self.crowd(12);
                for contact in 0..12 {
                    self.wishes_of(contact, vec![(6_000, Wish::TakeOver), (40_000, Wish::GiveBack)]);
                }
            }
            Story::GiveBackInFlight => {
                let instance = &self.bound().instance.id;
                self.stage
                    .outside
                    .line(instance, |line| line.script.push_back(Fate::Closed));
                self.messages(&[0]);
                self.take_back_in_flight();
            }
            Story::Answer => {
                self.messages(&[0]);
                self.wishes(vec![(2_000, answer("person-1"))]);
            }
            _ => {
                self.messages(&[0, 20_000]);
                self.types(10_000, "typed-1");
            }
        }
    }

    /// As soon as a request has left: taken over, and given back.
    fn take_back_in_flight(&self) {
        let tell = self.clone();
        self.happens(async move {
            let instance = tell.bound().instance.id.clone();
            for _ in 0..600 {
                tell.stage.simulation().sleep(200).await;
                let left = tell.stage.outside.line(&instance, |line| line.requests.len());
                if left > Some(0) {
                    break;
                }
            }
            if let Some(id) = tell.conversation(0) {
                tell.stage.wish(&id, Wish::TakeOver);
                tell.stage.simulation().sleep(2_000).await;
                tell.stage.wish(&id, Wish::GiveBack);
            }
        });
    }

    /// As soon as something is dead, it is redriven.
    fn redrives_at_once(&self) {
        let tell = self.clone();
        self.happens(async move {
            for _ in 0..400 {
                tell.stage.simulation().sleep(200).await;
                for dead in tell.stage.queues.dead() {
                    if let Some(copy) = &dead.copy_of {
                        tell.stage.redrive(copy.letter.clone());
                        return;
                    }
                }
            }
        });
    }

    fn failed_beside_unknown(&self) {
        self.on_line(|line| line.script.extend([Fate::Unexplained, Fate::FailedLater]));
        for contact in 0..2 {
            let written = i64::try_from(contact).unwrap_or(0) * 12_000;
            self.says_to(
                &address(0, contact),
                &format!("m{contact}"),
                false,
                written,
                written,
            );
        }
        self.types_to(1, 60_000, "typed-1");
    }

    fn types(&self, after: i64, words: &'static str) {
        self.types_to(0, after, words);
    }

    fn types_to(&self, contact: usize, after: i64, words: &'static str) {
        let tell = self.clone();
        self.happens(async move {
            tell.stage.simulation().sleep(after).await;
            let (instance, contact) = (tell.bound().instance.clone(), address(0, contact));
            tell.stage.outside.type_on_phone(&instance.id, &contact, words);
            tell.stage.ledger().typed.insert(words.to_owned());
            tell.says_to(&contact, words, true, 0, 500);
        });
    }

    fn outages(&self, story: Story) {
        let lengths: &[(i64, i64)] = match story {
            Story::TwoOutages => &[(2_000, 15_000), (3_000, 40_000)],
            Story::EventsCrossed => &[(2_000, 1_500)],
            Story::ShortOutage => &[(2_000, 20_000)],
            _ => &[(2_000, 120_000)],
        };
        self.messages(&[0, 30_000]);
        let (tell, lengths) = (self.clone(), lengths.to_vec());
        let crossed = story == Story::EventsCrossed;
        self.happens(async move {
            let instance = tell.bound().instance.clone();
            let Some(external) = instance.external() else {
                return;
            };
            for (number, (before, length)) in lengths.into_iter().enumerate() {
                tell.stage.simulation().sleep(before).await;
                for open in [false, true] {
                    tell.stage
                        .outside
                        .line(&instance.id, |line| line.connected = open);
                    let event = connection_event(instance.provider, &external, number as u64, open);
                    let late = if crossed && !open { 6_000 } else { 100 };
                    tell.stage.post(WebhookItem::Event(event), late);
                    if !open {
                        tell.stage.simulation().sleep(length).await;
                    }
                }
            }
        });
    }

    /// From the start, and for ten minutes, its provider cannot be reached.
    fn unreachable(&self) {
        self.messages(&[0, 30_000, 400_000]);
        self.on_line(|line| line.reachable = false);
        let tell = self.clone();
        self.happens(async move {
            tell.stage.simulation().sleep(600_000).await;
            tell.on_line(|line| line.reachable = true);
        });
    }

    /// What is dead is moved back after ten minutes, and what is dead then after ten more.
    fn redrives(&self) {
        let tell = self.clone();
        self.happens(async move {
            for _ in 0..2 {
                tell.stage.simulation().sleep(600_000).await;
                for dead in tell
                    .stage
                    .queues
                    .dead()
                    .into_iter()
                    .filter(|dead| dead.copy_of.is_some())
                {
                    // By the API and in the console, both.
                    if let Some(copy) = &dead.copy_of {
                        tell.stage.redrive(copy.letter.clone());
                    }
                    tell.stage.move_back(&dead);
                }
            }
        });
    }
}
