//! Stories of a contact with two names: a number, and an identity without one.

use super::story::Story;
use super::teller::Teller;
use crate::fake_world::{Said, SendBehaviour};
use crate::person::{Shows, identity};
use crate::plan::{address, identity_key};
use crate::queue::WorkQueues;
use crate::simulator::OperatorRequest;
use futures::executor::block_on;
use recado_domain::ids::{ConversationId, Ordinal};
use recado_domain::inbound::WebhookItem;
use recado_domain::millis::add_millis;
use recado_pipeline::ports::Store;
use std::fmt::Debug;

impl<S, Q> Teller<S, Q>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    pub(super) fn persons(&self, story: Story) {
        let answer = |words: &str, seen| OperatorRequest::Answer(words.to_owned(), Ordinal(seen));
        let unexplained = || self.on_line(|line| line.script.push_back(SendBehaviour::Unexplained));
        match story {
            Story::TwoNames => {
                self.appears(&[
                    (Shows::Identity, 0),
                    (Shows::Both, 20_000),
                    (Shows::Number, 40_000),
                ]);
                self.requests_under(vec![
                    (Shows::Identity, 2_000, OperatorRequest::TakeOver),
                    (Shows::Identity, 78_000, OperatorRequest::GiveBack),
                ]);
            }
            Story::TwoConversations => {
                unexplained();
                self.appears(&[
                    (Shows::Identity, 0),
                    (Shows::Number, 20_000),
                    (Shows::Both, 40_000),
                ]);
                self.requests_under(vec![
                    (Shows::Number, 50_000, OperatorRequest::TakeOver),
                    (Shows::Number, 80_000, OperatorRequest::GiveBack),
                ]);
            }
            Story::OrderOfTwo => {
                unexplained();
                self.appears(&[(Shows::Identity, 0), (Shows::Number, 500), (Shows::Both, 15_000)]);
                self.requests_under(vec![
                    (Shows::Identity, 2_000, answer("person-1", 1)),
                    (Shows::Number, 28_000, answer("person-2", 2)),
                    (Shows::Number, 70_000, OperatorRequest::GiveBack),
                ]);
            }
            _ => {
                self.appears(&[(Shows::Number, 0), (Shows::Identity, 5_000), (Shows::Both, 7_000)]);
                self.requests_under(vec![
                    (Shows::Number, 12_000, OperatorRequest::TakeOver),
                    (Shows::Number, 48_000, OperatorRequest::GiveBack),
                ]);
            }
        }
    }

    /// The contact writes at these times, under these names.
    fn appears(&self, messages: &[(Shows, i64)]) {
        let instance = &self.bound().instance;
        let Some(external) = instance.resolve_external_id() else {
            return;
        };
        for (number, (shows, at)) in messages.iter().enumerate() {
            let (id, text) = (format!("in-m{}", number + 1), format!("m{}", number + 1));
            let said = Said {
                id: &id,
                text: &text,
                from_me: false,
                sent_at: Some(add_millis(self.sim.simulation().now(), *at)),
            };
            let event = said.event_in(instance.provider, &external, &address(0, 0), *shows);
            self.sim.post(WebhookItem::Event(event), *at);
        }
    }

    /// Requests about the conversation that there is under a name, each after so many milliseconds from the one before.
    fn requests_under(&self, requests: Vec<(Shows, i64, OperatorRequest)>) {
        let tell = self.clone();
        self.happens(async move {
            for (shows, after, request) in requests {
                tell.sim.simulation().sleep(after).await;
                if let Some(id) = tell.conversation_under(shows) {
                    tell.sim.request(&id, request);
                }
            }
        });
    }

    fn conversation_under(&self, shows: Shows) -> Option<ConversationId> {
        let name = match shows {
            Shows::Identity => identity(&address(0, 0)),
            Shows::Number | Shows::Both => address(0, 0),
        };
        let thread = identity_key().derive_thread_id(&self.bound().instance.id, name.as_str());
        let newest = block_on(self.sim.store.find_latest_conversation(&thread))
            .ok()
            .flatten();
        newest.map(|conversation| conversation.id)
    }
}
