//! Stories of the configuration that is replaced while messages are answered.

use super::teller::Teller;
use crate::fake_world::{LookupBehaviour, calendar_of, calendar_tool, reading_tool};
use crate::plan::{address, bound};
use crate::queue::WorkQueues;
use recado_domain::config::{Agent, ConfigDocument, Instance, InstanceConfig};
use recado_domain::ids::AgentId;
use recado_domain::provider::Provider;
use recado_domain::tools::Tool;
use recado_pipeline::ports::Store;
use std::fmt::Debug;

/// The stories of replaced entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryStory {
    /// A number gets another agent while the model is asked. Its first agent is removed, made again, and gets the number back.
    AgentMadeAgain,
    /// The agent's tool is taken away while it is called, and given back.
    ToolTakenAway,
    /// The calendar is replaced while appointments are booked, moved and cancelled.
    CalendarReplaced,
    /// The agent's document is replaced while turns search in it.
    DocumentReplaced,
    /// An agent is removed and made again while a document for it is read.
    DocumentOfBefore,
    /// A number is removed while a message is answered, and given back.
    NumberTakenAway,
}

impl EntryStory {
    /// When all has happened that happens by itself, in milliseconds since the start.
    pub(super) fn calm_ms(self) -> i64 {
        match self {
            Self::CalendarReplaced => 600_000,
            _ => 200_000,
        }
    }

    /// Who is configured.
    pub(super) fn bounds(self) -> Vec<InstanceConfig> {
        let mut bound = bound(0, 0, Provider::Evolution, None);
        let tenant = &bound.instance.tenant;
        bound.tools = match self {
            Self::ToolTakenAway => vec![reading_tool(tenant)],
            Self::CalendarReplaced => vec![calendar_tool(tenant)],
            _ => Vec::new(),
        };
        bound.agent.tools = bound.tools.iter().map(|tool| tool.id.clone()).collect();
        bound.agent.system_prompt = prompt(0);
        vec![bound]
    }
}

/// The prompt of this number, which is part of no other.
fn prompt(number: usize) -> String {
    format!("You answer. (prompt {number})")
}

impl<S, Q> Teller<S, Q>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    pub(super) fn entries(&self, story: EntryStory) {
        match story {
            EntryStory::AgentMadeAgain => self.agent_is_made_again(),
            EntryStory::ToolTakenAway => self.tool_is_taken_away(),
            EntryStory::CalendarReplaced => self.calendar_is_replaced(),
            EntryStory::DocumentReplaced => self.document_is_replaced(),
            EntryStory::DocumentOfBefore => self.document_is_of_before(),
            EntryStory::NumberTakenAway => self.number_is_taken_away(),
        }
    }

    /// The number's agent with another prompt, under its own name or another one.
    fn agent_with(&self, number: usize, other: Option<&str>) -> Agent {
        let mut agent = self.bound().agent.clone();
        agent.system_prompt = prompt(number);
        if let Some(id) = other {
            agent.id = AgentId::parse(id).expect("a name");
        }
        agent
    }

    /// The number gets another agent, the first one is removed, and a new one of its name gets the number.
    async fn replace_agent(&self, prompts: [usize; 2]) {
        let sim = &self.sim;
        let own = self.bound().agent.id.clone();
        sim.put_agent(0, &self.agent_with(prompts[0], Some("agent-other")))
            .await;
        sim.remove_agent(&own).await;
        sim.put_agent(0, &self.agent_with(prompts[1], None)).await;
    }

    fn agent_is_made_again(&self) {
        self.sim.fake_world.let_model_think(5_000);
        for number in 0..8_i64 {
            let contact = usize::try_from(number % 2).unwrap_or(0);
            let at = 7_000 * number;
            self.says_to(&address(0, contact), &format!("m{number}"), false, at, at);
        }
        let tell = self.clone();
        self.happens(async move {
            tell.sim.put_agent(0, &tell.agent_with(0, None)).await;
            for round in 0..2 {
                tell.sim.simulation().sleep(8_000).await;
                tell.replace_agent([2 * round + 1, 2 * round + 2]).await;
            }
        });
    }

    fn tool_is_taken_away(&self) {
        self.sim
            .fake_world
            .let_lookups_end(&[LookupBehaviour::Slow(3_000); 12]);
        self.messages(&[0, 15_000, 30_000, 45_000, 60_000]);
        let tell = self.clone();
        self.happens(async move {
            let sim = &tell.sim;
            for _ in 0..4 {
                sim.simulation().sleep(6_500).await;
                let mut agent = tell.bound().agent.clone();
                let tools = std::mem::take(&mut agent.tools);
                sim.configure(ConfigDocument {
                    agents: vec![agent],
                    ..ConfigDocument::default()
                })
                .await;
                for tool in &tools {
                    sim.remove_configured::<Tool>(tool.as_str()).await;
                }
                sim.simulation().sleep(3_000).await;
                sim.configure(ConfigDocument {
                    tools: tell.bound().tools.clone(),
                    agents: vec![tell.bound().agent.clone()],
                    ..ConfigDocument::default()
                })
                .await;
            }
        });
    }

    fn calendar_is_replaced(&self) {
        for (at, words) in [(0, "m1"), (120_000, "m2-move"), (240_000, "m3-cancel")] {
            self.says(words, at, at);
        }
        let tell = self.clone();
        self.happens(async move {
            for round in 0..30_i64 {
                // Ten times after each message.
                let pause = if round % 10 == 0 && round > 0 {
                    100_000
                } else {
                    1_500
                };
                tell.sim.simulation().sleep(pause).await;
                let mut calendar = tell
                    .bound()
                    .tools
                    .first()
                    .and_then(calendar_of)
                    .expect("a calendar");
                if round % 2 == 0 {
                    calendar.minutes = vec![30, 60];
                }
                tell.sim
                    .configure(ConfigDocument {
                        calendars: vec![calendar],
                        ..ConfigDocument::default()
                    })
                    .await;
            }
        });
    }

    fn document_is_replaced(&self) {
        self.messages(&[5_000, 20_000, 35_000, 50_000, 65_000]);
        let (tell, agent) = (self.clone(), self.bound().agent.id.clone());
        self.happens(async move {
            for round in 0..12 {
                let words = format!("m1 m2 m3 m4 and m5 cost {round} euros.");
                tell.sim.add_document(&agent, "prices.md", &words).await;
                tell.sim.simulation().sleep(5_000).await;
            }
        });
    }

    fn number_is_taken_away(&self) {
        self.messages(&[0, 20_000, 80_000]);
        let tell = self.clone();
        self.happens(async move {
            let (sim, instance) = (&tell.sim, tell.bound().instance.clone());
            sim.simulation().sleep(23_000).await;
            // It has a history, so it is disabled, and what it owes waits.
            sim.remove_configured::<Instance>(instance.id.as_str()).await;
            sim.simulation().sleep(10_000).await;
            sim.configure(ConfigDocument {
                instances: vec![instance],
                ..ConfigDocument::default()
            })
            .await;
        });
    }

    fn document_is_of_before(&self) {
        self.messages(&[40_000]);
        let (tell, agent) = (self.clone(), self.bound().agent.id.clone());
        let (late, of_late) = (self.clone(), agent.clone());
        self.happens(async move {
            // An agent that had documents before has a record already, with which the late document begins.
            late.sim
                .add_document(&of_late, "first.md", "m1 costs 3 euros.")
                .await;
            late.sim.simulation().sleep(1_000).await;
            late.sim.fake_world.let_embedding_take(10_000);
            late.sim
                .add_document(&of_late, "late.md", "m1 costs 1 euro.")
                .await;
        });
        self.happens(async move {
            tell.sim.simulation().sleep(4_000).await;
            tell.replace_agent([1, 2]).await;
            tell.sim.add_document(&agent, "new.md", "m1 costs 2 euros.").await;
        });
    }
}
