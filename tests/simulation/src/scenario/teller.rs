//! What stories are told with: messages, people, outages, redrives.

use super::story::Story;
use crate::executor::Life;
use crate::fake_world::{
    Changed, FileBehaviour, Line, Said, SendBehaviour, SendBehaviours, connection_event,
};
use crate::plan::{address, identity_key};
use crate::queue::WorkQueues;
use crate::simulator::{OperatorRequest, Simulator};
use futures::executor::block_on;
use recado_domain::config::InstanceConfig;
use recado_domain::contact::ContactAddress;
use recado_domain::ids::{ConversationId, Ordinal};
use recado_domain::inbound::WebhookItem;
use recado_domain::millis::add_millis;
use recado_pipeline::ports::Store;
use std::fmt::Debug;
use std::sync::Arc;

/// Tells a story on a simulator.
pub(super) struct Teller<S, Q> {
    pub(super) sim: Arc<Simulator<S, Q>>,
}

impl<S, Q> Clone for Teller<S, Q> {
    fn clone(&self) -> Self {
        let sim = Arc::clone(&self.sim);
        Self { sim }
    }
}

impl<S, Q> Teller<S, Q>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    pub(super) fn bound(&self) -> &InstanceConfig {
        &self.sim.bounds[0]
    }

    pub(super) fn connect(&self) {
        for bound in &self.sim.bounds {
            let instance = &bound.instance;
            self.sim
                .fake_world
                .connect(&instance.id, instance.provider, SendBehaviours::calm());
        }
    }

    pub(super) fn happens<F: Future<Output = ()> + Send + 'static>(&self, happening: F) {
        self.sim.ledger().pending += 1;
        let after = Arc::clone(&self.sim);
        self.sim.simulation().spawn(Life::default(), async move {
            happening.await;
            after.ledger().pending -= 1;
        });
    }

    /// A contact's words, written and posted at these times.
    pub(super) fn says_to(
        &self,
        contact: &ContactAddress,
        words: &str,
        from_me: bool,
        written: i64,
        posted: i64,
    ) {
        self.says_by(0, (contact, words), from_me, (written, posted));
    }

    /// Words of a contact of another number, written and posted at these times.
    pub(super) fn says_on(&self, line: usize, contact: &ContactAddress, words: &str, at: (i64, i64)) {
        self.says_by(line, (contact, words), false, at);
    }

    fn says_by(
        &self,
        line: usize,
        (contact, words): (&ContactAddress, &str),
        from_me: bool,
        (written, posted): (i64, i64),
    ) {
        let instance = &self.sim.bounds[line].instance;
        let Some(external) = instance.resolve_external_id() else {
            return;
        };
        let id = format!("in-{words}");
        let said = Said {
            id: &id,
            text: words,
            from_me,
            sent_at: Some(add_millis(self.sim.simulation().now(), written)),
        };
        let event = said.event(instance.provider, &external, contact);
        self.sim.post(WebhookItem::Event(event), posted);
    }

    pub(super) fn says(&self, words: &str, written: i64, posted: i64) {
        self.says_to(&address(0, 0), words, false, written, posted);
    }

    pub(super) fn messages(&self, at: &[i64]) {
        for (number, at) in at.iter().enumerate() {
            self.says(&format!("m{}", number + 1), *at, *at);
        }
    }

    pub(super) fn media(&self) {
        self.on_line(|line| line.files.extend([FileBehaviour::Fails, FileBehaviour::Late]));
        self.sim.fake_world.let_transcriptions_fail(1);
        self.says("m1", 0, 0);
        self.says("m2-photo", 300, 300);
        self.says("m3-voice", 600, 600);
        self.says("m4", 90_000, 90_000);
        self.says("m5-photo", 150_000, 150_000);
        self.says("m6-inline-photo", 200_000, 200_000);
    }

    pub(super) fn blocked_downloads(&self) {
        self.on_line(|line| line.files.extend([FileBehaviour::Fails; 30]));
        for number in 1..=30 {
            self.says(&format!("m{number}-photo"), number * 10, number * 10);
        }
    }

    pub(super) fn reworded(&self) {
        self.messages(&[0]);
        self.changes("in-m1", "m2", 40_000);
        self.changes("in-m1", "", 40_500);
        self.says("m3", 80_000, 80_000);
        self.changes("in-m3", "m4", 81_000);
    }

    /// The contact says something else in the place of a message, or nothing any more.
    fn changes(&self, target: &str, words: &str, at: i64) {
        let instance = &self.bound().instance;
        let Some(external) = instance.resolve_external_id() else {
            return;
        };
        let id = format!("in-{target}-{words}");
        let changed = Changed {
            said: Said {
                id: &id,
                text: words,
                from_me: false,
                sent_at: Some(add_millis(self.sim.simulation().now(), at)),
            },
            target,
            deletes: words.is_empty(),
            crossed: true,
        };
        let event = changed.event(instance.provider, &external, &address(0, 0));
        self.sim.post(WebhookItem::Event(event), at);
    }

    pub(super) fn crowd(&self, contacts: usize) {
        for contact in 0..contacts {
            self.says_to(&address(0, contact), &format!("m{contact}"), false, 0, 0);
        }
    }

    pub(super) fn on_line(&self, change: impl FnOnce(&mut Line)) {
        self.sim.fake_world.line(&self.bound().instance.id, change);
    }

    pub(super) fn sends(&self, behaviours: &[SendBehaviour]) {
        self.on_line(|line| line.script.extend(behaviours));
        self.messages(&[0, 60_000]);
    }

    pub(super) fn conversation(&self, contact: usize) -> Option<ConversationId> {
        let thread = identity_key().derive_thread_id(&self.bound().instance.id, address(0, contact).as_str());
        block_on(self.sim.store.find_latest_conversation(&thread))
            .ok()
            .flatten()
            .map(|conversation| conversation.id)
    }

    pub(super) fn requests(&self, requests: Vec<(i64, OperatorRequest)>) {
        self.requests_of(0, requests);
    }

    /// Requests about a contact, each after so many milliseconds from the one before.
    pub(super) fn requests_of(&self, contact: usize, requests: Vec<(i64, OperatorRequest)>) {
        let tell = self.clone();
        self.happens(async move {
            for (after, request) in requests {
                tell.sim.simulation().sleep(after).await;
                if let Some(id) = tell.conversation(contact) {
                    tell.sim.request(&id, request);
                }
            }
        });
    }

    pub(super) fn people(&self, story: Story) {
        let answer = |words: &str| OperatorRequest::Answer(words.to_owned(), Ordinal(1));
        match story {
            Story::TakeOver => {
                self.messages(&[0, 30_000]);
                let requests = vec![
                    (4_500, OperatorRequest::TakeOver),
                    (3_000, answer("person-1")),
                    (12_000, OperatorRequest::GiveBack),
                ];
                self.requests(requests);
            }
            Story::GiveBack => {
                // The burst is used up, so the reply waits for its slot.
                self.crowd(12);
                for contact in 0..12 {
                    self.requests_of(
                        contact,
                        vec![
                            (6_000, OperatorRequest::TakeOver),
                            (40_000, OperatorRequest::GiveBack),
                        ],
                    );
                }
            }
            Story::Answer => {
                self.messages(&[0]);
                self.requests(vec![(2_000, answer("person-1"))]);
            }
            _ => {
                self.messages(&[0, 20_000]);
                self.types(10_000, "typed-1");
            }
        }
    }

    /// Until so many requests have left, or two minutes are over.
    pub(super) async fn wait_for_requests(&self, count: usize) {
        let instance = self.bound().instance.id.clone();
        for _ in 0..600 {
            self.sim.simulation().sleep(200).await;
            let left = self.sim.fake_world.line(&instance, |line| line.requests.len());
            if left >= Some(count) {
                break;
            }
        }
    }

    /// Four replies are to wait; then people do what makes them void.
    pub(super) fn void_replies(&self) {
        self.on_line(|line| line.script.extend([SendBehaviour::Throttled; 4]));
        self.crowd(4);
        let answer = |words: &str| OperatorRequest::Answer(words.to_owned(), Ordinal(1));
        let requests = [
            vec![(0, answer("person-1"))],
            vec![(0, OperatorRequest::TakeOver), (4_000, OperatorRequest::GiveBack)],
            vec![(0, OperatorRequest::Resolve(Ordinal(1)))],
            vec![(8_000, answer("person-2"))],
        ];
        let tell = self.clone();
        self.happens(async move {
            tell.wait_for_requests(4).await;
            tell.sim.simulation().sleep(3_000).await;
            for (contact, requests) in requests.into_iter().enumerate() {
                tell.requests_of(contact, requests);
            }
            tell.says_to(&address(0, 2), "m4", false, 2_000, 2_000);
            tell.types_to(3, 1_000, "typed-1");
        });
    }

    /// The agent's last words are to wait; then people take both conversations over, and the contacts write on.
    pub(super) fn last_words(&self) {
        self.on_line(|line| line.script.extend([SendBehaviour::Throttled; 2]));
        self.sim.fake_world.decide_always();
        self.crowd(2);
        let tell = self.clone();
        self.happens(async move {
            tell.wait_for_requests(2).await;
            for contact in 0..2 {
                let requests = vec![
                    (500, OperatorRequest::TakeOver),
                    (90_000, OperatorRequest::GiveBack),
                ];
                tell.requests_of(contact, requests);
                let words = format!("m{}", contact + 2);
                tell.says_to(&address(0, contact), &words, false, 30_000, 30_000);
            }
        });
    }

    /// As soon as a request has left, which ends as `behaviour`: taken over, and given back `after` milliseconds later.
    pub(super) fn gives_back_during(&self, behaviour: SendBehaviour, after: i64) {
        self.on_line(|line| line.script.push_back(behaviour));
        self.messages(&[0]);
        let tell = self.clone();
        self.happens(async move {
            tell.wait_for_requests(1).await;
            if let Some(id) = tell.conversation(0) {
                tell.sim.request(&id, OperatorRequest::TakeOver);
                tell.sim.simulation().sleep(after).await;
                tell.sim.request(&id, OperatorRequest::GiveBack);
            }
        });
    }

    /// A person answers, which nobody knows to have arrived, and resolves; the contact writes on.
    pub(super) fn resolves_with_open(&self) {
        self.on_line(|line| line.script.push_back(SendBehaviour::Unexplained));
        self.messages(&[0, 40_000]);
        let answer = OperatorRequest::Answer("person-1".to_owned(), Ordinal(1));
        self.requests(vec![
            (2_000, answer),
            (10_000, OperatorRequest::Resolve(Ordinal(1))),
        ]);
    }

    /// As soon as something is dead, it is redriven.
    pub(super) fn redrives_at_once(&self) {
        let tell = self.clone();
        self.happens(async move {
            for _ in 0..400 {
                tell.sim.simulation().sleep(200).await;
                for dead in tell.sim.queues.dead() {
                    if let Some(copy) = &dead.copy_of {
                        tell.sim.redrive(copy.dead_letter.clone());
                        return;
                    }
                }
            }
        });
    }

    /// Two contacts write, and after words on the phone the refused one writes once more.
    pub(super) fn refusal(&self) {
        self.says_to(&address(0, 0), "m1", false, 0, 0);
        self.says_to(&address(0, 1), "m2", false, 100, 100);
        self.types_to(0, 20_000, "typed-1");
        self.says_to(&address(0, 0), "m3", false, 40_000, 40_000);
    }

    pub(super) fn night(&self) {
        for contact in 0..3 {
            for (nth, at) in [0, 20_000].into_iter().enumerate() {
                let text = format!("m{}", contact * 2 + nth);
                self.says_to(&address(0, contact), &text, false, at, at);
            }
        }
    }

    pub(super) fn failed_beside_unknown(&self) {
        self.on_line(|line| {
            line.script
                .extend([SendBehaviour::Unexplained, SendBehaviour::FailedLater]);
        });
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

    pub(super) fn types(&self, after: i64, words: &'static str) {
        self.types_to(0, after, words);
    }

    pub(super) fn types_to(&self, contact: usize, after: i64, words: &'static str) {
        let tell = self.clone();
        self.happens(async move {
            tell.sim.simulation().sleep(after).await;
            let (instance, contact) = (tell.bound().instance.clone(), address(0, contact));
            tell.sim
                .fake_world
                .type_on_phone(&instance.id, (contact.clone(), None), words);
            tell.sim.ledger().typed.insert(words.to_owned());
            tell.says_to(&contact, words, true, 0, 500);
        });
    }

    pub(super) fn outages(&self, story: Story) {
        let lengths: &[(i64, i64)] = match story {
            Story::TwoOutages => &[(2_000, 15_000), (3_000, 40_000)],
            Story::EventsCrossed => &[(2_000, 1_500)],
            Story::LongOutage => &[(2_000, 2_500_000)],
            Story::ShortOutage => &[(2_000, 20_000)],
            _ => &[(2_000, 120_000)],
        };
        self.messages(&[0, 30_000]);
        let (tell, lengths) = (self.clone(), lengths.to_vec());
        let crossed = story == Story::EventsCrossed;
        self.happens(async move {
            for (number, (before, length)) in lengths.into_iter().enumerate() {
                tell.sim.simulation().sleep(before).await;
                tell.is_disconnected(number as u64, length, if crossed { 6_000 } else { 100 })
                    .await;
            }
        });
    }

    /// WhatsApp is gone for so long, for the time of this number. The event that says so comes `late`.
    pub(super) async fn is_disconnected(&self, number: u64, length: i64, late: i64) {
        let instance = &self.bound().instance;
        let Some(external) = instance.resolve_external_id() else {
            return;
        };
        for (open, after) in [(false, late), (true, 100)] {
            self.on_line(|line| line.connected = open);
            let event = connection_event(instance.provider, &external, number, open);
            self.sim.post(WebhookItem::Event(event), after);
            if !open {
                self.sim.simulation().sleep(length).await;
            }
        }
    }

    /// From the start, and for ten minutes, its provider cannot be reached.
    pub(super) fn unreachable(&self) {
        self.messages(&[0, 30_000, 400_000]);
        self.on_line(|line| line.reachable = false);
        let tell = self.clone();
        self.happens(async move {
            tell.sim.simulation().sleep(600_000).await;
            tell.on_line(|line| line.reachable = true);
        });
    }

    /// What is dead is moved back after ten minutes, and what is dead then after ten more.
    pub(super) fn redrives(&self) {
        let tell = self.clone();
        self.happens(async move {
            for _ in 0..2 {
                tell.sim.simulation().sleep(600_000).await;
                for dead in tell
                    .sim
                    .queues
                    .dead()
                    .into_iter()
                    .filter(|dead| dead.copy_of.is_some())
                {
                    // By the API and in the console, both.
                    if let Some(copy) = &dead.copy_of {
                        tell.sim.redrive(copy.dead_letter.clone());
                    }
                    tell.sim.move_back(&dead);
                }
            }
        });
    }
}
