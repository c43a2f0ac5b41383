//! Load while the process is killed every so often, and its provider fails; then peace, and the audit.

use super::console::Console;
use super::counted::Counted;
use super::load::{Load, WebhookClient};
use super::process::Process;
use super::{ERROR_MESSAGE, MASTER, TOKEN, eventually, provider_faults};
use crate::audit::{Audit, Balance};
use crate::chance::SeededRng;
use crate::servers::StandIns;
use reqwest::Client;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// The first contact's number.
const FIRST: u64 = 5_511_900_000_000;

/// What is done to it.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The seed of all random numbers.
    pub seed: u64,
    /// How many Evolution instances.
    pub instances: usize,
    /// How many contacts, in turn at the instances.
    pub contacts: usize,
    /// How many messages in all.
    pub messages: usize,
    /// How long writing them takes.
    pub over: Duration,
    /// How often the process is killed in that time.
    pub kills: u32,
    /// Whether the provider fails, too: see [`provider_faults`].
    pub storm: bool,
    /// How long it may take afterwards until nothing is open.
    pub patience: Duration,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// What the audit found.
    pub balance: Balance,
    /// What the metrics counted, read before each kill and at the end.
    pub counted: Counted,
    /// The same by the records.
    pub recorded: Counted,
    /// How often the process was killed.
    pub kills: u32,
    /// How long writing took.
    pub wrote: Duration,
    /// How long it took from then until nothing was open.
    pub settled: Duration,
    /// Requests that the provider would have refused as wrong, as text.
    pub wrong: Vec<String>,
}

/// How long the client waits for a provider in a run.
const PROVIDER: Duration = Duration::from_secs(2);

/// Instances at 50 messages a second.
fn configuration(instances: &[&str]) -> String {
    let mut document = format!(
        "[[tenants]]\nid = \"t\"\n[[agents]]\nid = \"a\"\ntenant = \"t\"\nmodel = \"claude-sonnet-4-5\"\n\
         system_prompt = \"p\"\nerror_message = \"{ERROR_MESSAGE}\"\n\
         limits = {{ turns_per_hour = 0, end_loops = false }}\n"
    );
    for instance in instances {
        writeln!(
            document,
            "[[instances]]\nid = \"{instance}\"\ntenant = \"t\"\nagent = \"a\"\nprovider = \"evolution\"\n\
             rate = {{ per_second = 50.0, burst = 50 }}"
        )
        .unwrap();
    }
    document
}

/// The binary beside its stand-ins, with waits that are as short as they may be. Not started yet.
fn prepared(binary: &Path, instances: &[&str], stand_ins: &StandIns) -> Process {
    let variables = [
        ("EVOLUTION_API_URL", stand_ins.evolution.url()),
        ("ANTHROPIC_BASE_URL", stand_ins.anthropic.url()),
        ("RECADO_DEBOUNCE_SECONDS", "0.3".to_owned()),
        ("RECADO_DEBOUNCE_MAX_SECONDS", "3".to_owned()),
        ("RECADO_UNKNOWN_WAIT_SECONDS", "4".to_owned()),
        (
            "RECADO_PROVIDER_TIMEOUT_SECONDS",
            PROVIDER.as_secs_f64().to_string(),
        ),
        ("RUST_LOG", "info".to_owned()),
    ];
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
    Process::new(binary, &configuration(instances), &variables)
}

/// Runs a plan on a binary.
///
/// # Panics
/// When the binary does not start, or work is still open when the patience is over.
pub async fn run(binary: &Path, plan: &Plan) -> Outcome {
    let names: Vec<String> = (1..=plan.instances)
        .map(|number| format!("loja-{number:02}"))
        .collect();
    let instances: Vec<&str> = names.iter().map(String::as_str).collect();
    let stand_ins = StandIns::start();
    if plan.storm {
        stand_ins
            .evolution
            .at_random(Some(provider_faults::random_faults(plan.seed, PROVIDER)));
    }
    let mut process = prepared(binary, &instances, &stand_ins);
    let http = recado_http_client::build_http_client().unwrap();
    let client = WebhookClient::new(http.clone(), &process.start().await, (MASTER, TOKEN));
    let load = Load::new(
        plan.seed,
        &instances,
        FIRST,
        plan.contacts,
        plan.messages,
        plan.over,
    );
    let began = Instant::now();
    let mut counted = Counted::default();
    let disturbed = async {
        let kills = kill_now_and_then(plan, &mut process, &client, &http, &mut counted);
        tokio::join!(load.run(&client), kills);
    };
    tokio::select! {
        () = disturbed => {}
        () = provider_faults::drop_connections(plan.seed, &instances, &stand_ins.evolution, &client), if plan.storm => {}
    }
    let wrote = began.elapsed();
    if plan.kills > 0 {
        // One more start, on what the last kill left.
        kill_and_start(&mut process, &client, &http, &mut counted).await;
    }
    provider_faults::clear_faults(&instances, &stand_ins.evolution, &client).await;
    let console = Console::new(http, &client.base(), TOKEN);
    settle(plan, &console, &client).await;
    counted += Counted::read(&console).await;
    let settled = began.elapsed().saturating_sub(wrote);
    let audit = Audit {
        asked: load.asked(),
        records: console.records(|_| true).await,
        dead_letters: console.dead_letters().await,
        delivered: stand_ins.evolution.phone(),
        error_message: ERROR_MESSAGE.to_owned(),
    };
    let balance = audit.balance();
    if !balance.holds() {
        println!("the logs are in {}", process.keep().display());
    }
    Outcome {
        balance,
        counted,
        recorded: Counted::from_records(&audit.records, audit.dead_letters.len()),
        kills: if plan.kills > 0 { plan.kills + 1 } else { 0 },
        wrote,
        settled,
        wrong: stand_ins
            .violations()
            .iter()
            .map(|wrong| format!("{wrong:?}"))
            .collect(),
    }
}

/// Kills and starts again at even distances, give or take.
async fn kill_now_and_then(
    plan: &Plan,
    process: &mut Process,
    client: &WebhookClient,
    http: &Client,
    counted: &mut Counted,
) {
    let mut rng = SeededRng::new(plan.seed, "kills");
    let every = u64::try_from(plan.over.as_millis()).unwrap_or(u64::MAX) / u64::from(plan.kills + 1);
    for _ in 0..plan.kills {
        let wait = every * 3 / 4 + rng.below(every / 2);
        tokio::time::sleep(Duration::from_millis(wait)).await;
        kill_and_start(process, client, http, counted).await;
    }
}

/// Adds what the process has counted, kills it and starts it again.
async fn kill_and_start(process: &mut Process, client: &WebhookClient, http: &Client, counted: &mut Counted) {
    *counted += Counted::read(&Console::new(http.clone(), &client.base(), TOKEN)).await;
    process.kill();
    client.moved(&process.start().await);
}

/// Waits until no queue holds anything and no message is open. An instance that was closed because its provider hung is not
/// waited for: the provider says that it is there.
async fn settle(plan: &Plan, console: &Console, client: &WebhookClient) {
    eventually(plan.patience, "all open work to be done", || async {
        let health = console.look("/health/whatsapp").await?;
        for instance in health["instances"].as_array()? {
            if instance["connection"] != "open" {
                provider_faults::say_open(instance["id"].as_str()?, client).await;
                return None;
            }
        }
        (health["queue_depth"] == 0 && console.open().await == 0).then_some(())
    })
    .await;
}
