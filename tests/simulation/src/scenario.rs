//! Directed scenarios: one short story each, told again and again with a crash or a stall at every single step in turn.

mod batches;
mod clients;
mod effects;
mod endpoints;
mod entries;
mod guests;
mod kinds;
mod knowledge;
mod limits;
mod persons;
mod reminders;
mod safeguard;
mod sends;
mod story;
mod teller;

pub use batches::{START_WORD, STOP_WORD};
pub use endpoints::EndpointStory;
pub use entries::EntryStory;
pub use kinds::PlayedKinds;
pub use safeguard::{BACKED, Costs, SAFEGUARDS, Safeguard, Troubles};
pub use story::Story;

use crate::executor::Simulation;
use crate::fault_injector::{Common, Faults};
use crate::history::{Outcome, finish, sim};
use crate::mutation::Mutation;
use crate::queue::WorkQueues;
use crate::simulator::{Simulator, StoreExtras, Style};
use recado_pipeline::ports::Store;
use std::fmt::Debug;
use std::sync::Arc;

/// What goes wrong in one telling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// Nothing.
    None,
    /// Whoever comes to this step dies.
    Crash(u64),
    /// Whoever comes to this step stalls for so many milliseconds.
    Stall(u64, i64),
    /// At this step the whole machine dies.
    PowerCut(u64),
    /// From this millisecond on everything stands still for so many milliseconds.
    Freeze(i64, i64),
}

/// How a story is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Telling {
    /// Which.
    pub story: Story,
    /// How functions run.
    pub style: Style,
    /// Whether something looks after what was left open.
    pub reconciles: bool,
    /// Whether clients and providers repeat what was not answered.
    pub clients_repeat: bool,
    /// What decides the rest.
    pub seed: u64,
    /// What goes wrong.
    pub trouble: Trouble,
    /// What is taken out.
    pub mutation: Option<Mutation>,
}

impl Telling {
    /// `story` as on AWS, with nothing wrong and nothing missing.
    pub fn of(story: Story) -> Self {
        Self {
            story,
            style: Style::Lambda,
            reconciles: true,
            clients_repeat: true,
            seed: 1,
            trouble: Trouble::None,
            mutation: None,
        }
    }

    /// With `trouble`.
    #[must_use]
    pub fn with(self, trouble: Trouble) -> Self {
        Self { trouble, ..self }
    }

    /// Returns what goes wrong with functions.
    pub fn faults(&self) -> Faults {
        let mut faults = Faults {
            calm_from_ms: self.story.calm_ms(),
            ..Faults::default()
        };
        match self.trouble {
            Trouble::None => {}
            Trouble::Crash(at) => faults.crash_at = Some(at),
            Trouble::PowerCut(at) => faults.power_cut_at = Some(at),
            Trouble::Stall(at, milliseconds) => faults.stall_at = Some((at, milliseconds)),
            Trouble::Freeze(from, length) => faults.freeze = Some((from, length)),
        }
        faults
    }

    /// Tells it, on the store and queues that `make` builds.
    pub fn tell<S, Q, A>(&self, traced: bool, make: impl FnOnce(&Simulation) -> (S, Q, A)) -> Outcome
    where
        S: Store + Clone + Debug + 'static,
        Q: WorkQueues,
        A: Into<StoreExtras>,
    {
        finish(&self.set_up(self.faults(), traced, make))
    }

    /// Sets it up with these faults, on the store and queues that `make` builds.
    pub fn set_up<S, Q, A>(
        &self,
        faults: Faults,
        traced: bool,
        make: impl FnOnce(&Simulation) -> (S, Q, A),
    ) -> Arc<Simulator<S, Q>>
    where
        S: Store + Clone + Debug + 'static,
        Q: WorkQueues,
        A: Into<StoreExtras>,
    {
        let simulation = Simulation::new(self.seed);
        let common = Arc::new(Common::new(simulation.clone(), faults, self.mutation, traced));
        let (store, queues, extras) = make(&simulation);
        let mut sim = sim(&common, store, queues, self.story.bounds());
        sim.settings.unknown_wait = self.story.unknown_wait().unwrap_or(sim.settings.unknown_wait);
        sim.settings.parked_max = self.story.parked_max().unwrap_or(sim.settings.parked_max);
        sim.style = self.style;
        sim.settings.turn_reads.messages = self.story.turn_messages();
        sim.settings.restart_drafts = self.story.restart_drafts();
        if self.mutation == Some(Mutation::CallsUncounted) {
            sim.settings.tool_calls = usize::MAX;
        }
        sim.settings.batch_piece = 2;
        sim.extras = extras.into();
        sim.reconciles = self.reconciles;
        sim.clients_repeat = self.clients_repeat;
        let sim = Arc::new(sim);
        self.story.set(&sim);
        sim
    }
}
