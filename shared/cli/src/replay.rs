//! `recado replay`: posts recorded webhooks again, with new proofs, at a chosen rate.

mod signing_secrets;
mod statistics;

use crate::command_environment::CommandEnvironment;
use crate::installation::InstallationArguments;
use crate::progress::ProgressBar;
use anyhow::{Result, bail};
use clap::Args;
use futures::stream::{self, StreamExt};
use recado_machine::output::print_answer;
use recado_machine::record::{RecordedWebhook, list_recordings, read_recording};
use recado_onboarding::{AuthenticatedWebhook, authenticate};
use reqwest::Client;
use statistics::ReplayStatistics;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Posts recorded webhooks again, with the proofs of their providers, at a chosen rate. Exit status 1 if one is not
/// accepted.
#[derive(Debug, Args)]
pub struct ReplayArguments {
    /// A file, or a folder of files: JSON bodies as providers post them, or what `recado serve` recorded.
    from: PathBuf,
    /// Webhooks per second.
    #[arg(long, default_value_t = 10.0)]
    rate: f64,
    /// The number of webhooks that may wait for their answer at a time.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..))]
    at_once: u16,
    /// The number of times that the whole recording is posted. A repeated webhook is recognized, and changes nothing.
    #[arg(long, default_value_t = 1)]
    times: u32,
    /// Evolution: posts the webhooks as if they came from this instance (its id), whatever the bodies say.
    #[arg(long = "as")]
    instance: Option<String>,
    #[command(flatten)]
    there: InstallationArguments,
    /// Prints the figures as JSON.
    #[arg(long)]
    json: bool,
}

/// The longest time that an answer may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Posts all webhooks and prints the figures. Fails if one was not accepted.
pub(crate) async fn run_replay(command: ReplayArguments, environment: &CommandEnvironment) -> Result<()> {
    if !(command.rate > 0.0 && command.rate <= 100_000.0) {
        bail!("--rate must be above 0, and at most 100000");
    }
    let mut lines: Vec<RecordedWebhook> = Vec::new();
    for file in list_recordings(&command.from)? {
        lines.extend(read_recording(&file)?);
    }
    let there = command.there.build_client(environment)?;
    let proofs =
        signing_secrets::collect_signing_secrets(&there, &lines, command.instance.as_deref()).await?;
    let mut signed = Vec::with_capacity(lines.len());
    for line in lines {
        signed.push(authenticate(line.provider, line.body, &proofs)?);
    }
    let figures = post_all_webhooks(&command, &there.http, &there.url, &signed).await;
    print_answer(&figures.to_json(), command.json, |_| figures.format_lines())?;
    match (figures.refused_count(), figures.posted_count()) {
        (0, _) => Ok(()),
        (refused, posted) => bail!("{refused} of {posted} were not taken"),
    }
}

async fn post_all_webhooks(
    command: &ReplayArguments,
    http: &Client,
    url: &str,
    signed: &[AuthenticatedWebhook],
) -> ReplayStatistics {
    let begun = Instant::now();
    let times = usize::try_from(command.times).unwrap_or(usize::MAX);
    let count = signed.len().saturating_mul(times);
    let all = signed.iter().cycle().take(count).enumerate();
    let posts = all.map(|(number, webhook)| {
        // Each webhook is posted at its own time, however long the ones before it take.
        #[expect(clippy::cast_precision_loss, reason = "no recording has that many webhooks")]
        let due = begun + Duration::from_secs_f64(number as f64 / command.rate);
        async move {
            tokio::time::sleep_until(due.into()).await;
            post_webhook(http, url, webhook).await
        }
    });
    let at_once = usize::from(command.at_once);
    let mut figures = ReplayStatistics::default();
    let mut answers = stream::iter(posts).buffer_unordered(at_once);
    let mut bar = ProgressBar::start(count);
    while let Some((outcome, took)) = answers.next().await {
        figures.add_answer(&outcome, took);
        bar.show_amount(
            u64::try_from(figures.posted_count()).unwrap_or(u64::MAX),
            "posting",
        );
    }
    drop(bar);
    figures.elapsed = begun.elapsed();
    figures
}

/// Posts one webhook. Returns its result (a status code, `time-out` or `no answer`) and the time that it took.
async fn post_webhook(http: &Client, url: &str, webhook: &AuthenticatedWebhook) -> (String, Duration) {
    let begun = Instant::now();
    let request = webhook.build_request(http, url).timeout(TIMEOUT);
    let outcome = match request.send().await {
        Ok(answer) => {
            let status = answer.status().as_u16();
            // The connection is used again only if the answer was read.
            let _ = answer.bytes().await;
            status.to_string()
        }
        Err(error) if error.is_timeout() => "time-out".to_owned(),
        Err(_) => "no answer".to_owned(),
    };
    (outcome, begun.elapsed())
}
