//! What happens in a random history: who writes what when, what goes wrong, what people do.

mod access;
pub(crate) mod deliveries;
pub(crate) mod hours;
mod script;

use crate::executor::Simulation;
use crate::fake_world::{CLOUD, SendBehaviours, reading_tool};
use crate::fault_injector::{Faults, Slow};
use crate::person::Habit;
use crate::queue::WorkQueues;
use crate::simulator::{Simulator, Style};
use recado_domain::access_list::AccessList;
use recado_domain::config::{
    Agent, AgentLimits, AgentReturn, AgentStep, Instance, InstanceConfig, ReplyFormat, Tenant,
};
use recado_domain::contact::ContactAddress;
use recado_domain::content::MessageTemplate;
use recado_domain::dead_letter::QueueName;
use recado_domain::decision::DecisionKind;
use recado_domain::identity::IdentityKey;
use recado_domain::ids::{AgentId, ExternalId, InstanceId, StepId, TenantId};
use recado_domain::millis::to_millis;
use recado_domain::provider::Provider;
use recado_domain::rate::Rate;
use recado_domain::retention::RetentionPolicy;
use recado_domain::secret::SecretVersion;
use recado_domain::service_window::WINDOW;
use recado_pipeline::ports::Store;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::num::NonZeroU32;
use std::sync::Arc;

/// One number with its contacts.
#[derive(Debug, Clone)]
pub struct LinePlan {
    /// Who is configured.
    pub bound: InstanceConfig,
    /// How far its provider's clock is ahead, in milliseconds.
    pub clock_ms: i64,
    /// How its sends end.
    pub behaviours: SendBehaviours,
    /// Whether it can be asked what became of a send.
    pub remembers: bool,
    /// Who writes to it, and under which names.
    pub contacts: Vec<(ContactAddress, Habit)>,
}

/// See the module.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What goes wrong with functions.
    pub faults: Faults,
    /// How functions run.
    pub style: Style,
    /// How likely an acknowledged webhook is posted again.
    pub posted_twice: f64,
    /// How likely no webhook comes of a message that its provider remembers; then somebody fetches what was missed.
    pub lost: f64,
    /// The numbers.
    pub lines: Vec<LinePlan>,
    /// Whether one tenant writes a flood.
    pub floods: bool,
    /// A queue that stands still until some contact's 24 hours at Meta are nearly or just over.
    pub slow: Option<Slow>,
    /// How often, and for how long, in milliseconds, each number is disconnected.
    pub outages: Vec<(usize, i64, i64)>,
    /// `true` if clients of the API send, contacts are seen typing, and some bodies are too large for a queue.
    pub has_clients: bool,
    /// `true` if the agents have a tool that reads, whose calls end as chance says.
    pub has_lookups: bool,
    /// `true` if operators replace agents and their documents.
    pub has_entries: bool,
    /// `true` if operators make endpoints, to which events are posted.
    pub has_endpoints: bool,
    /// `true` if clients invite guests, also by e-mail.
    pub has_guests: bool,
    /// `true` if a client sends a batch of invitations, pauses it and lets it go on.
    pub has_batches: bool,
    /// How many messages a turn reads.
    pub turn_messages: usize,
    /// The same for the providers that cannot be reached.
    pub unreachable: Vec<(usize, i64, i64)>,
}

/// Makes a tenant of the simulation.
fn make_tenant(id: TenantId) -> Tenant {
    Tenant {
        id,
        name: None,
        time_zone: "America/Sao_Paulo".to_owned(),
        retention: RetentionPolicy::default(),
        tokens_per_day: None,
        turns_at_once: None,
        budget: None,
        deliveries: recado_domain::delivery_rules::DeliveryRules::default(),
        email_senders: Vec::new(),
        webhooks: None,
        disabled: false,
        removing_since: None,
    }
}

/// A tenant's number of `provider`, with a name of its own.
pub fn bound(number: usize, tenant: usize, provider: Provider, rate: Option<Rate>) -> InstanceConfig {
    let (tenant, agent) = (format!("tenant-{tenant}"), format!("agent-{tenant}"));
    let tenant = TenantId::parse(&tenant).expect("a name");
    let agent = AgentId::parse(&agent).expect("a name");
    let line = format!("line-{number}");
    InstanceConfig {
        knowledge: None,
        tools: Vec::new(),
        instance: Instance {
            id: InstanceId::parse(&line).expect("a name"),
            tenant: tenant.clone(),
            provider,
            external_id: Some(ExternalId::parse(&line).expect("a name")),
            agent: agent.clone(),
            disabled: false,
            starts_with_ai: true,
            phone_takes_over: true,
            takes_threads: false,
            phone_greets: None,
            access: AccessList::default(),
            agent_returns: AgentReturn::AtResolve,
            opening_hours: None,
            debounce_seconds: None,
            debounce_short_seconds: None,
            debounce_long_seconds: None,
            restart_drafts: None,
            rate,
            pair_rate: None,
            reply_delay_seconds: None,
            people_signature: None,
            base_url: None,
            account_id: None,
            portfolio: None,
            reengagement_template: None,
            mark_read: false,
            native_menus: false,
            typing: false,
            api_version: 2,
            app_secret: None,
            credential: None,
            secret_version: SecretVersion::FIRST,
            previous_secret_until: None,
            secret_salt: None,
            tenant_since: None,
            named_by_tenant: false,
        },
        tenant: make_tenant(tenant.clone()),
        agent: Agent {
            id: agent,
            tenant,
            model: "model-1".to_owned(),
            http: None,
            fallback_model: None,
            model_key: None,
            system_prompt: "You answer.".to_owned(),
            optimized_system_prompt: None,
            reply_format: ReplyFormat::default(),
            error_message: "Um momento, por favor.".to_owned(),
            max_tokens: 1024,
            unsupported_message: None,
            signature: None,
            decisions: BTreeSet::new(),
            hand_over_message: "Uma pessoa continua aqui.".to_owned(),
            limits: AgentLimits::default(),
            steps: Vec::new(),
            tools: BTreeSet::new(),
            reads_contact_name: false,
            disabled: false,
        },
    }
}

/// A template for contacts whose window is over.
pub fn template() -> MessageTemplate {
    MessageTemplate {
        name: "ola_de_novo".to_owned(),
        language: "pt_BR".to_owned(),
        components: Vec::new(),
    }
}

/// The installation's identity key in every history.
pub fn identity_key() -> IdentityKey {
    IdentityKey::from_bytes([7; 32])
}

/// Contact `contact` of number `line`.
pub fn address(line: usize, contact: usize) -> ContactAddress {
    ContactAddress::parse(&format!("5500{line:03}{contact:06}@s.whatsapp.net")).expect("an address")
}

impl Plan {
    /// A plan made of `simulation`'s random numbers.
    pub fn random(simulation: &Simulation) -> Self {
        let skew_ms = simulation.pick(&[0, 0, 500, 2_000]);
        let style = if simulation.chance(0.5) {
            Style::Lambda
        } else {
            Style::Machine
        };
        // Now and then no function is disturbed: then bounds can be put on what waits.
        let disturbed = !simulation.chance(0.15);
        let often = |chances: &[f64]| if disturbed { simulation.pick(chances) } else { 0.0 };
        let mut plan = Self {
            faults: Faults {
                crash: often(&[0.0, 0.001, 0.005, 0.01, 0.04]),
                stall: often(&[0.0, 0.0, 0.002, 0.01]),
                stall_ms: vec![2_000, 40_000, 130_000],
                unavailable: often(&[0.0, 0.0, 0.01, 0.05]),
                skew_ms,
                calm_from_ms: 0,
                ..Faults::default()
            },
            style,
            posted_twice: simulation.pick(&[0.0, 0.1, 0.5]),
            lost: simulation.pick(&[0.0, 0.0, 0.0, 0.1, 0.4]),
            lines: Vec::new(),
            floods: simulation.chance(0.1),
            slow: None,
            outages: Vec::new(),
            has_clients: false,
            has_lookups: false,
            has_endpoints: false,
            has_entries: false,
            has_guests: false,
            has_batches: false,
            turn_messages: 20,
            unreachable: Vec::new(),
        };
        let lines = simulation.pick(&[1, 1, 2, 3]);
        for number in 0..lines {
            plan.lines.push(line(simulation, number));
        }
        for number in 2..plan.lines.len() {
            // Two lines of one tenant share their agent.
            plan.lines[number].bound.agent = plan.lines[number - 2].bound.agent.clone();
        }
        plan.turn_messages = simulation.pick(&[20, 20, 3, 1]);
        plan.outages = outages(simulation, lines);
        plan.unreachable = unreachable(simulation, lines);
        let over = plan
            .outages
            .iter()
            .chain(&plan.unreachable)
            .map(|(_, at, length)| at + length)
            .max()
            .unwrap_or(0);
        if plan.faults.disturb() {
            plan.slow = slow(simulation, &plan.lines);
            plan.faults.slow = plan.slow;
            plan.faults.throttled = throttled(simulation, style);
        }
        let slow = plan.slow.iter().chain(&plan.faults.throttled);
        let over = slow.map(|slow| slow.until_ms).fold(over, i64::max);
        plan.faults.calm_from_ms = over.max(simulation.pick(&[300_000, 900_000, 2_400_000])) + 60_000;
        plan
    }

    /// One turn of each tenant may run at once, or two.
    pub fn limit_turns(&mut self, two: bool) {
        let at_once = NonZeroU32::MIN.saturating_add(u32::from(two));
        for line in &mut self.lines {
            line.bound.tenant.turns_at_once = Some(at_once);
        }
    }

    /// Who is configured.
    pub fn bounds(&self) -> Vec<InstanceConfig> {
        let mut bounds: Vec<InstanceConfig> = self.lines.iter().map(|line| line.bound.clone()).collect();
        for bound in bounds.iter_mut().filter(|_| self.has_lookups) {
            let tool = reading_tool(&bound.tenant.id);
            bound.agent.tools.insert(tool.id.clone());
            bound.tools.push(tool);
        }
        bounds
    }

    /// Sets the script on the simulator.
    pub fn set<S, Q>(&self, sim: &Arc<Simulator<S, Q>>)
    where
        S: Store + Clone + Debug + 'static,
        Q: WorkQueues,
    {
        script::set(self, sim);
    }
}

/// Now and then a queue hands nothing out for a day, where a contact's window may close in between.
fn slow(simulation: &Simulation, lines: &[LinePlan]) -> Option<Slow> {
    let cloud = lines.iter().any(|line| line.bound.instance.provider == CLOUD);
    (cloud && simulation.chance(0.05)).then(|| Slow {
        queue: simulation.pick(&QueueName::ALL),
        from_ms: simulation.between(0, 60_000),
        until_ms: to_millis(WINDOW) + simulation.between(-300_000, 900_000),
    })
}

/// Now and then an account has no concurrency left for some function.
fn throttled(simulation: &Simulation, style: Style) -> Vec<Slow> {
    let count = simulation.pick(&[0, 0, 0, 1, 3]);
    let throttled = (0..count).map(|_| {
        let from_ms = simulation.between(0, 200_000);
        Slow {
            queue: simulation.pick(&QueueName::ALL),
            from_ms,
            until_ms: from_ms + simulation.pick(&[1_000, 20_000, 130_000, 900_000]),
        }
    });
    if style == Style::Lambda {
        throttled.collect()
    } else {
        Vec::new()
    }
}

fn line(simulation: &Simulation, number: usize) -> LinePlan {
    let provider = simulation.pick(&[Provider::Evolution, Provider::Evolution, Provider::Meta]);
    let rate = simulation.pick(&[
        None,
        None,
        Some(Rate {
            per_second: 3.0,
            burst: 6,
        }),
    ]);
    let people = simulation.pick(&[1, 1, 2, 3]);
    let mut bound = bound(number, number % 2, provider, rate);
    bound.instance.mark_read = simulation.chance(0.2);
    bound.instance.typing = simulation.chance(0.2);
    bound.instance.agent_returns = simulation.pick(&[
        AgentReturn::AtResolve,
        AgentReturn::AtResolve,
        AgentReturn::Never,
        AgentReturn::AfterMinutes(1),
        AgentReturn::AfterMinutes(20),
    ]);
    decide(simulation, &mut bound.agent);
    let mut clock_ms = 0;
    if provider == CLOUD {
        clock_ms = simulation.pick(&[-60_000, -7_000, 0, 7_000, 60_000]);
        bound.instance.reengagement_template = simulation.chance(0.5).then(template);
    }
    let contacts = (0..people).map(|contact| (address(number, contact), Habit::of_chance(simulation)));
    let contacts: Vec<_> = contacts.collect();
    bound.instance.access = access::access_list(simulation, &contacts);
    bound.instance.opening_hours = hours::opening_hours(simulation);
    LinePlan {
        bound,
        clock_ms,
        behaviours: behaviours(simulation, provider),
        remembers: simulation.chance(0.8),
        contacts,
    }
}

/// Some agents may decide, and some have a script.
fn decide(simulation: &Simulation, agent: &mut Agent) {
    if simulation.chance(0.3) {
        agent.decisions = simulation.pick(&[
            [DecisionKind::HandOver].into(),
            [DecisionKind::Resolve].into(),
            [DecisionKind::HandOver, DecisionKind::Resolve].into(),
        ]);
    }
    if simulation.chance(0.3) {
        agent.steps = script_steps();
    }
}

/// Three steps, each of which can be reached.
fn script_steps() -> Vec<AgentStep> {
    let step = |id: &str, next: &[&str]| AgentStep {
        id: StepId::parse(id).expect("a name"),
        prompt: format!("You are at {id}."),
        next: next.iter().filter_map(|id| StepId::parse(id).ok()).collect(),
    };
    vec![
        step("ask", &["offer"]),
        step("offer", &["ask", "close"]),
        step("close", &[]),
    ]
}

/// Some numbers are calm, some have their own troubles.
fn behaviours(simulation: &Simulation, provider: Provider) -> SendBehaviours {
    let some = |weight: u32| if simulation.chance(0.35) { weight } else { 0 };
    SendBehaviours {
        accepted: 20,
        accepted_unheard: some(4),
        lost_unheard: some(4),
        // A request that hangs goes out late only where nothing bounds it: at Evolution.
        late: if provider == Provider::Evolution {
            some(3)
        } else {
            0
        },
        throttled: some(10),
        failed: some(10),
        refused: some(2),
        failed_later: some(2),
        unexplained: some(3),
        accepted_then_failed: some(3),
        steady: some(30),
    }
}

/// Now and then a provider cannot be reached for some minutes.
fn unreachable(simulation: &Simulation, lines: usize) -> Vec<(usize, i64, i64)> {
    let count = simulation.pick(&[0, 0, 0, 0, 1, 2]);
    (0..count)
        .map(|_| {
            let line = usize::try_from(simulation.below(lines as u64)).unwrap_or(0);
            let length = simulation.pick(&[1_500, 20_000, 120_000, 600_000, 1_800_000]);
            (line, simulation.between(0, 120_000), length)
        })
        .collect()
}

fn outages(simulation: &Simulation, lines: usize) -> Vec<(usize, i64, i64)> {
    let count = simulation.pick(&[0, 0, 1, 2, 5]);
    let mut outages: Vec<(usize, i64, i64)> = Vec::new();
    for _ in 0..count {
        let line = usize::try_from(simulation.below(lines as u64)).unwrap_or(0);
        let length = if simulation.chance(0.004) {
            simulation.pick(&[259_000_000, 270_000_000])
        } else if simulation.chance(0.02) {
            simulation.pick(&[28_800_000, 108_000_000])
        } else {
            simulation.pick(&[1_000, 1_000, 10_000, 120_000, 600_000, 3_600_000])
        };
        outages.push((line, simulation.between(0, 120_000), length));
    }
    if simulation.chance(0.05) {
        // Flapping many times a minute.
        outages.extend((0..30).map(|n| (0, n * 1_500, simulation.between(50, 1_000))));
    }
    outages
}
