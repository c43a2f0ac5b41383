//! The other side of a tool that acts: events under the ids of their effects, of which each has one wish.

use super::FakeWorld;
use crate::executor::Life;
use crate::fault_injector::FaultInjector;
use crate::mutation::Mutation;
use recado_domain::effects::{EffectEntry, EffectId};
use recado_domain::ids::TenantId;
use recado_domain::tools::Tool;
use recado_pipeline::ports::{AskAnswer, CallAnswer, EffectTool, FenceAnswer, SettlingAbility};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::pending;

/// After how many milliseconds a request that hangs is carried out.
const LATE_MS: i64 = 60_000;

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolFate {
    /// It is carried out and answered.
    Answered,
    /// It is carried out, and the answer is lost.
    Mute,
    /// It is carried out a minute later, and never answered.
    Late,
}

/// What the other side knows.
#[derive(Debug, Default)]
pub(super) struct Booked {
    fates: VecDeque<ToolFate>,
    /// The wish of each event.
    events: BTreeMap<EffectId, String>,
    fences: BTreeSet<EffectId>,
}

/// The tool in the configuration.
pub fn booking_tool(tenant: &TenantId) -> Tool {
    serde_json::from_value(
        json!({"id": format!("{tenant}-book"), "tenant": tenant, "name": "book",
        "description": "Books.", "effect": "acts", "timeout_seconds": 5,
        "arguments": {"type": "object", "properties": {"wish": {"type": "string"}}},
        "http": {"method": "POST", "url": "https://calendar.example/"}}),
    )
    .expect("a tool")
}

impl FakeWorld {
    /// The next calls of the tool end like this; the others are answered.
    pub fn let_tool_end(&self, fates: &[ToolFate]) {
        self.state().tool.fates.extend(fates);
    }

    /// The wishes of all events.
    pub fn booked_wishes(&self) -> Vec<String> {
        self.state().tool.events.values().cloned().collect()
    }

    /// The ids of all events.
    pub fn booked_ids(&self) -> BTreeSet<EffectId> {
        self.state().tool.events.keys().cloned().collect()
    }

    /// Carries a request out, unless a fence stands under its id.
    fn book_event(&self, entry: &EffectEntry, through_fences: bool) {
        let booked = &mut self.state().tool;
        if through_fences || !booked.fences.contains(&entry.id) {
            let wish = entry.arguments["wish"].as_str().unwrap_or_default();
            booked.events.insert(entry.id.clone(), wish.to_owned());
        }
    }
}

/// The tool, as the function under `injector` has it.
#[derive(Debug)]
pub(super) struct BookingTool<'a> {
    pub(super) fake_world: &'a FakeWorld,
    pub(super) injector: &'a FaultInjector,
}

impl EffectTool for BookingTool<'_> {
    fn settling_ability(&self) -> SettlingAbility {
        SettlingAbility::Fenced
    }

    async fn call_effect(&self, entry: &EffectEntry) -> CallAnswer {
        self.injector.step("tool").await;
        let through = self.injector.lacks(Mutation::FenceLetsThrough);
        let fate = self.fake_world.state().tool.fates.pop_front();
        let fate = fate.unwrap_or(ToolFate::Answered);
        if fate == ToolFate::Late {
            let (world, entry) = (self.fake_world.clone(), entry.clone());
            let simulation = self.injector.common.simulation.clone();
            self.injector
                .common
                .simulation
                .spawn(Life::default(), async move {
                    simulation.sleep(LATE_MS).await;
                    world.book_event(&entry, through);
                });
        } else {
            self.fake_world.book_event(entry, through);
        }
        self.injector.step("tool").await;
        match fate {
            ToolFate::Answered => CallAnswer::Done(None),
            ToolFate::Mute | ToolFate::Late => pending().await,
        }
    }

    async fn ask_effect(&self, entry: &EffectEntry) -> AskAnswer {
        self.injector.step("tool").await;
        let state = self.fake_world.state();
        if state.tool.events.contains_key(&entry.id) {
            AskAnswer::Happened(None)
        } else if state.tool.fences.contains(&entry.id) {
            AskAnswer::CannotHappen
        } else {
            AskAnswer::NotYet
        }
    }

    async fn put_fence(&self, entry: &EffectEntry) -> FenceAnswer {
        self.injector.step("tool").await;
        self.fake_world.state().tool.fences.insert(entry.id.clone());
        self.injector.step("tool").await;
        FenceAnswer::Done
    }

    async fn remove_fence(&self, _: &EffectEntry) -> FenceAnswer {
        FenceAnswer::Done
    }
}
