//! Whether one customer's trouble is another's: how long replies of a quiet instance take while nothing else happens, and
//! while another instance's provider hangs, a third is flooded, and a message that cannot be read lies in a queue.

use super::load::WebhookClient;
use super::process::Process;
use super::{ERROR_MESSAGE, MASTER, TOKEN, eventually};
use crate::servers::{Behaviour, StandIn};
use crate::webhooks::evolution_text;
use recado_domain::Timestamp;
use rusqlite::Connection;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const QUIET: &str = "quieta-01";
const HUNG: &str = "pendurada-01";
const FLOODED: &str = "inundada-01";

/// How long the hung provider holds each request.
const HANGS_FOR: Duration = Duration::from_secs(60);

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// How many webhooks of the flood are under way at once.
const AT_ONCE: usize = 16;

/// What is measured, and beside what.
#[derive(Debug, Clone)]
pub struct Plan {
    /// How many messages of the quiet instance are timed.
    pub timed: usize,
    /// How long after one the next is written.
    pub every: Duration,
    /// How many messages flood another tenant's instance, at once, of a tenth as many contacts.
    pub flood: usize,
    /// How many contacts write to the instance whose provider hangs.
    pub hung: usize,
    /// How many messages a second the troubled instances may send.
    pub rate: f64,
}

/// How long the quiet instance's replies took: from the webhook's acknowledgement to the provider, without the debounce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Times(Vec<Duration>);

impl Times {
    /// The time below which this share (0 to 100) of them lies.
    pub fn percentile(&self, share: usize) -> Duration {
        let rank = (self.0.len() * share).div_ceil(100).max(1) - 1;
        self.0.get(rank).copied().unwrap_or_default()
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |share| self.percentile(share).as_secs_f64() * 1000.0;
        write!(
            f,
            "p50 {:.1} ms, p90 {:.1} ms, most {:.1} ms",
            ms(50),
            ms(90),
            ms(100)
        )
    }
}

/// Both runs.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// Nothing else happened.
    pub quiet: Times,
    /// Everything did.
    pub troubled: Times,
    /// How many of the flood's webhooks were acknowledged before the last timed reply.
    pub flooded: usize,
    /// How many requests the hung provider held.
    pub held: usize,
}

impl Comparison {
    /// By how much longer half of the replies took at least.
    pub fn more(&self) -> Duration {
        self.troubled
            .percentile(50)
            .saturating_sub(self.quiet.percentile(50))
    }

    /// The troubled run's median in relation to the quiet one's.
    pub fn ratio(&self) -> f64 {
        self.troubled.percentile(50).as_secs_f64() / self.quiet.percentile(50).as_secs_f64().max(1e-6)
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "quiet {}; beside {} flooding messages and {} hung sends {}; median x {:.2} (+{:.1} ms)",
            self.quiet,
            self.flooded,
            self.held,
            self.troubled,
            self.ratio(),
            self.more().as_secs_f64() * 1000.0
        )
    }
}

/// Runs the quiet and then the troubled run, each on a fresh machine.
///
/// # Panics
/// When the binary does not start, or a timed message is not answered in time.
pub async fn compare(binary: &Path, plan: &Plan) -> Comparison {
    let (quiet, ..) = run(binary, plan, false).await;
    let (troubled, flooded, held) = run(binary, plan, true).await;
    Comparison {
        quiet,
        troubled,
        flooded,
        held,
    }
}

async fn run(binary: &Path, plan: &Plan, troubled: bool) -> (Times, usize, usize) {
    let [mine, hung, flooded] = [(); 3].map(|()| StandIn::evolution());
    hung.usually(Behaviour::Swallow(HANGS_FOR));
    let model = StandIn::anthropic();
    let configuration = configuration(plan, &mine, &hung, &flooded);
    let own_keys = [QUIET, HUNG, FLOODED].map(credential);
    let mut variables = vec![
        ("ANTHROPIC_BASE_URL", model.url()),
        ("RECADO_DEBOUNCE_SECONDS", "0".to_owned()),
        ("RUST_LOG", "warn".to_owned()),
    ];
    variables.extend(
        own_keys
            .iter()
            .map(|name| (name.as_str(), "customers-key".to_owned())),
    );
    let variables: Vec<(&str, &str)> = variables
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let mut process = Process::new(binary, &configuration, &variables);
    let base = process.start().await;
    let client = WebhookClient::new(
        recado_http_client::build_http_client().unwrap(),
        &base,
        (MASTER, TOKEN),
    );
    // A connection and the prompts are warm, and the hung provider hangs, before the clock runs.
    time(&client, &mine, plan.timed, "aquece").await;
    let acknowledged = AtomicUsize::new(0);
    let measuring = async {
        if troubled {
            poison(&process);
            make_hang(plan, &client, &hung).await;
        }
        // Written at even distances, whatever the replies do: who waits for a slow reply before writing the next one
        // measures the trouble only once.
        let asked = (0..plan.timed).map(|number| {
            let (client, mine, words) = (&client, &mine, format!("pergunta {number}"));
            async move {
                tokio::time::sleep(plan.every * u32::try_from(number).unwrap_or(u32::MAX)).await;
                time(client, mine, number, &words).await
            }
        });
        let mut times: Vec<Duration> = futures::future::join_all(asked).await;
        times.sort();
        Times(times)
    };
    let flood = async {
        if troubled {
            flood(plan, &client, &acknowledged).await;
        }
        std::future::pending::<()>().await;
    };
    let times = tokio::select! {
        times = measuring => times,
        () = flood => unreachable!("the flood waits for the measurement"),
    };
    (times, acknowledged.load(Ordering::Relaxed), hung.requests().len())
}

/// Writes one message of a contact of its own and waits for its reply.
async fn time(client: &WebhookClient, provider: &StandIn, contact: usize, words: &str) -> Duration {
    post(client, QUIET, &format!("55119{contact:08}"), words).await;
    let acknowledged = Timestamp::now();
    let reply = format!("echo: {words}");
    let sent = eventually(PATIENCE, "the quiet instance's reply", || async {
        let mut phone = provider.phone().into_iter();
        phone.find(|message| message.text == reply)
    })
    .await;
    Duration::try_from(sent.at.duration_since(acknowledged)).unwrap_or_default()
}

async fn post(client: &WebhookClient, instance: &str, number: &str, words: &str) {
    let jid = format!("{number}@s.whatsapp.net");
    let id = crate::builders::fresh("T");
    let now = Timestamp::now().as_second();
    let body = evolution_text(instance, &jid, &id, words, now);
    eventually(PATIENCE, "a webhook to be acknowledged", || async {
        client.post_once(&body).await.then_some(())
    })
    .await;
}

/// Contacts write to the instance whose provider hangs, until it holds a request.
async fn make_hang(plan: &Plan, client: &WebhookClient, hung: &StandIn) {
    let posts = (0..plan.hung).map(|contact| async move {
        post(client, HUNG, &format!("55218{contact:08}"), "Oi").await;
    });
    futures::future::join_all(posts).await;
    assert!(
        !hung.wait_for_requests(1, PATIENCE).await.is_empty(),
        "nothing hangs"
    );
}

/// The whole flood, a few at once, each contact's messages one after the other.
async fn flood(plan: &Plan, client: &WebhookClient, acknowledged: &AtomicUsize) {
    let next = AtomicUsize::new(0);
    let posters = (0..AT_ONCE).map(|_| async {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= plan.flood {
                return;
            }
            let contact = number % (plan.flood / 10).max(1);
            post(
                client,
                FLOODED,
                &format!("55319{contact:08}"),
                &format!("enchente {number}"),
            )
            .await;
            acknowledged.fetch_add(1, Ordering::Relaxed);
        }
    });
    futures::future::join_all(posters).await;
}

/// Puts a message that nobody can read into the queue of turns, past everything.
fn poison(process: &Process) {
    let database = Connection::open(process.database()).unwrap();
    database.busy_timeout(PATIENCE).unwrap();
    let sql =
        "INSERT INTO queue_messages (queue, visible_at, sent_at, body) VALUES ('turns', 0, 0, '{ poison')";
    assert_eq!(database.execute(sql, []).unwrap(), 1);
}

/// The variable with the key of a customer's own provider.
fn credential(instance: &str) -> String {
    format!(
        "RECADO_CREDENTIAL_T_{}_KEY",
        instance.to_uppercase().replace('-', "_")
    )
}

fn configuration(plan: &Plan, mine: &StandIn, hung: &StandIn, flooded: &StandIn) -> String {
    let customer = |instance: &str, provider: &StandIn, rate: f64| {
        let (tenant, url) = (format!("t-{instance}"), provider.url());
        format!(
            "[[tenants]]\nid = \"{tenant}\"\n[[agents]]\nid = \"a-{instance}\"\ntenant = \"{tenant}\"\n\
             model = \"claude-sonnet-4-5\"\nsystem_prompt = \"p\"\nerror_message = \"{ERROR_MESSAGE}\"\n\
             limits = {{ turns_per_hour = 0, end_loops = false }}\n\
             [[instances]]\nid = \"{instance}\"\ntenant = \"{tenant}\"\nagent = \"a-{instance}\"\n\
             provider = \"evolution\"\nbase_url = \"{url}\"\ncredential = \"env:{}\"\nrate = {{ per_second = {rate:.1}, burst = 5 }}\n",
            credential(instance)
        )
    };
    [
        customer(QUIET, mine, 50.0),
        customer(HUNG, hung, plan.rate),
        customer(FLOODED, flooded, plan.rate),
    ]
    .concat()
}
