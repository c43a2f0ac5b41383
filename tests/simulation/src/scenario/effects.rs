//! The stories of an agent whose tools act, and of one that the user runs.

use super::story::Story;
use super::teller::Teller;
use crate::fake_world::{FakeWorld, ToolBehaviour, blind_tool, calendar_tool, reading_tool, reminding_tool};
use crate::plan::address;
use crate::queue::WorkQueues;
use crate::simulator::OperatorRequest;
use recado_domain::access::Caller;
use recado_domain::config::InstanceConfig;
use recado_domain::effects::EffectState;
use recado_domain::ids::CorrelationId;
use recado_operators::{EffectDecision, decide_effect, list_effects};
use recado_pipeline::ports::Store;
use serde_json::json;
use std::fmt::Debug;

impl Story {
    /// Returns `true` if its agent has a tool that acts.
    pub(super) fn acts(self) -> bool {
        matches!(
            self,
            Self::Acts
                | Self::ActsMute
                | Self::ActsLate
                | Self::ActsRefused
                | Self::ActsUnasked
                | Self::ActsBlind
                | Self::ActsTakenOver
                | Self::ActsTakenBack
                | Self::ActsOneSlot
                | Self::ActsCrowd
                | Self::ActsHeedless
                | Self::ActsChanged
                | Self::ActsClash
                | Self::ActsDenied
                | Self::ActsReminds
                | Self::ActsRemindsOne
        )
    }

    /// Gives the agent its tools, or an endpoint.
    pub(super) fn equip_agent(self, bound: &mut InstanceConfig) {
        if self == Self::Silence {
            let http =
                json!({"url": "https://agent.example/", "secret": "env:RECADO_CREDENTIAL_TENANT_0_AGENT"});
            bound.agent.http = Some(serde_json::from_value(http).expect("an agent"));
        }
        if self.acts() || self == Self::LooksUp {
            let tool = match self {
                Self::ActsBlind => blind_tool,
                Self::ActsReminds | Self::ActsRemindsOne => reminding_tool,
                Self::LooksUp => reading_tool,
                _ => calendar_tool,
            };
            bound.tools = vec![tool(&bound.instance.tenant)];
            bound.agent.tools = bound.tools.iter().map(|tool| tool.id.clone()).collect();
        }
    }
}

impl<S, Q> Teller<S, Q>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    pub(super) fn acts(&self, story: Story) {
        let world = &self.sim.fake_world;
        match story {
            Story::ActsMute => world.let_tool_end(&[ToolBehaviour::Mute; 3]),
            Story::ActsLate => {
                world.let_tool_end(&[ToolBehaviour::Late, ToolBehaviour::Answered, ToolBehaviour::Late]);
            }
            Story::ActsRefused => world.let_tool_end(&[
                ToolBehaviour::Fails(403),
                ToolBehaviour::Fails(503),
                ToolBehaviour::DoneBut(503),
                ToolBehaviour::DoneBut(409),
            ]),
            Story::ActsDenied => world.let_tool_end(&[
                ToolBehaviour::Fails(401),
                ToolBehaviour::Fails(429),
                ToolBehaviour::Fails(410),
                ToolBehaviour::DoneBut(410),
            ]),
            Story::ActsUnasked => world.let_tool_end(&[ToolBehaviour::Mute]),
            Story::ActsBlind => world.let_tool_end(&[ToolBehaviour::Mute, ToolBehaviour::Lost]),
            _ => {}
        }
        match story {
            Story::ActsLate => self.wish(&["m1", "m2", "m3-move", "m4-move"]),
            Story::ActsRefused | Story::ActsDenied => self.wish(&["m1", "m2", "m3", "m4"]),
            Story::ActsUnasked => {
                world.let_questions_hang(2);
                self.wish(&["m1", "m2-move"]);
            }
            Story::ActsBlind => {
                self.wish(&["m1"]);
                self.wish_of_other();
                self.finds_out();
            }
            Story::ActsTakenOver => self.taken_over_while_acting(),
            Story::ActsTakenBack => {
                world.let_model_think(6_000);
                self.says("m1", 0, 0);
                self.says("m2-nevermind", 7_000, 7_000);
            }
            Story::ActsOneSlot | Story::ActsCrowd => {
                world.ask_for_one_slot();
                self.crowd(if story == Story::ActsCrowd { 50 } else { 3 });
            }
            Story::ActsChanged => {
                self.crowd(3);
                self.after_bookings(FakeWorld::let_people_change_events);
            }
            Story::ActsClash => {
                self.crowd(3);
                self.after_bookings(FakeWorld::let_people_make_a_clash);
                // Behind the look that follows the move, and before the next one.
                self.says_to(&address(0, 1), "m3-cancel", false, 4_400_000, 4_400_000);
            }
            Story::ActsReminds => self.reminds(),
            Story::ActsRemindsOne => self.reminds_one(),
            Story::ActsHeedless => {
                world.let_model_be_heedless();
                self.says("m1", 0, 0);
            }
            _ => self.wish(&["m1", "m2-move", "m3-cancel"]),
        }
    }

    /// People change events in the calendar five minutes after the start.
    fn after_bookings(&self, change: impl FnOnce(&FakeWorld) + Send + 'static) {
        let tell = self.clone();
        self.happens(async move {
            tell.sim.simulation().sleep(300_000).await;
            change(&tell.sim.fake_world);
        });
    }

    /// The contact says what needs an answer and what needs none: a correction of spelling, and what the agent leaves.
    pub(super) fn is_hushed(&self) {
        let said = [
            (0, "msabdo"),
            (10_000, "*msabado"),
            (40_000, "m2-hush"),
            (41_000, "m3-hush"),
            (80_000, "m4"),
            (82_000, "m5-hush"),
            (140_000, "m6-hush"),
        ];
        for (at, words) in said {
            self.says(words, at, at);
        }
    }

    /// The contact says each of these words, two minutes after the one before.
    fn wish(&self, words: &[&str]) {
        for (at, words) in (0..).step_by(120_000).zip(words) {
            self.says(words, at, at);
        }
    }

    fn wish_of_other(&self) {
        self.says_to(&address(0, 1), "m2", false, 60_000, 60_000);
    }

    /// People take contacts over: one while the model thinks before it books, one as soon as its event is there.
    fn taken_over_while_acting(&self) {
        self.sim.fake_world.let_model_think(3_000);
        self.crowd(2);
        let tell = self.clone();
        self.happens(async move {
            tell.sim.simulation().sleep(5_500).await;
            let both = vec![
                (0, OperatorRequest::TakeOver),
                (60_000, OperatorRequest::GiveBack),
            ];
            tell.requests_of(0, both);
            for _ in 0..600 {
                tell.sim.simulation().sleep(100).await;
                if !tell.sim.fake_world.happened().is_empty() {
                    break;
                }
            }
            // This one they keep: only their note tells that the contact has an appointment.
            tell.requests_of(1, vec![(0, OperatorRequest::TakeOver)]);
        });
    }

    /// A person looks every half a minute for effects that are unknown, finds out how they ended, and says it.
    fn finds_out(&self) {
        let tell = self.clone();
        self.happens(async move {
            let deps = tell.sim.calm_deps();
            for _ in 0..20 {
                tell.sim.simulation().sleep(30_000).await;
                for id in (0..2).filter_map(|contact| tell.conversation(contact)) {
                    let caller = Caller::installation();
                    let listed = list_effects(&deps, &caller, &id).await.unwrap_or_default();
                    let unknown = listed.iter().filter(|entry| entry.state == EffectState::Unknown);
                    for entry in unknown {
                        let happened = tell.sim.fake_world.happened();
                        let decision = if happened.iter().any(|one| one.effect == entry.id) {
                            EffectDecision::Done
                        } else {
                            EffectDecision::Failed
                        };
                        let correlation = CorrelationId::parse("person").expect("an id");
                        let said =
                            decide_effect(&deps, &caller, (&id, entry.number), decision, &correlation).await;
                        tell.sim
                            .common
                            .note(|| format!("a person says {decision:?}: {said:?}"));
                    }
                }
            }
        });
    }
}
