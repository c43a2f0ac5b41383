//! `recado connect-calendar`: checks access to a calendar and shows its next free slots. `recado doctor` checks all of them.

use anyhow::{Context, Result, bail};
use clap::Args;
use recado_cli::CommandEnvironment;
use recado_cli::installation::{InstallationArguments, InstalledConfiguration};
use recado_domain::config::{Calendar, GoogleCalendarAccess};
use recado_embedded::EmbeddedSystem;
use recado_google_calendar::{CalendarAccess, CalendarError, CalendarTarget, GoogleCalendar, NextSlots};
use recado_http_client::build_http_client;
use recado_local::environment::LocalEnvironment;
use recado_local::keyring::EnvironmentSecrets;
use recado_onboarding::CheckResult;
use recado_pipeline::ports::System;
use serde_json::json;

/// Number of free slots that are shown.
const SHOWN: usize = 10;

/// Number of free slots that `recado doctor` shows.
const SHOWN_BY_DOCTOR: usize = 3;

/// Checks access to a configured calendar and shows its next free slots, with the credential of this environment. It changes
/// nothing.
#[derive(Debug, Args)]
pub(crate) struct ConnectCalendarArguments {
    /// The id of a calendar of the configuration.
    calendar: String,
    /// The length of the appointment. Default: the first of the calendar.
    #[arg(long)]
    minutes: Option<u16>,
    #[command(flatten)]
    there: InstallationArguments,
    /// Prints the result as JSON.
    #[arg(long)]
    json: bool,
}

type LocalCalendars = GoogleCalendar<EnvironmentSecrets, EmbeddedSystem>;

/// Asks the calendar and prints what it answers.
pub(crate) async fn connect_calendar(
    command: ConnectCalendarArguments,
    environment: &LocalEnvironment,
    commands: &CommandEnvironment,
) -> Result<()> {
    let there = command.there.build_client(commands)?;
    let configured = there.get_configuration().await?;
    let mut calendars = configured.document.calendars.iter();
    let found = calendars.find(|calendar| calendar.id.as_str() == command.calendar);
    let calendar = found.with_context(|| {
        format!(
            "calendar `{}` is not configured: add [[calendars]] to recado.toml, and apply it",
            command.calendar
        )
    })?;
    let minutes = command.minutes.or(calendar.minutes.first().copied());
    let client = build_calendar_client(environment)?;
    let slots = list_next_free_slots(&client, &configured, calendar, minutes, SHOWN).await?;
    if command.json {
        println!(
            "{:#}",
            json!({ "calendar": command.calendar, "access": "writes", "slots": slots })
        );
        return Ok(());
    }
    println!("{}: the account may read and change events", command.calendar);
    if slots.is_empty() {
        println!("no slot is free within the horizon");
    }
    for slot in slots {
        println!("{slot}");
    }
    Ok(())
}

/// Checks each calendar of the configuration for `recado doctor`.
pub(crate) async fn check_calendars(
    environment: &LocalEnvironment,
    configured: &InstalledConfiguration,
) -> Result<Vec<CheckResult>> {
    let client = build_calendar_client(environment)?;
    let mut findings = Vec::new();
    for calendar in &configured.document.calendars {
        let name = calendar.id.as_str();
        let is_here = calendar
            .credential()
            .is_some_and(EnvironmentSecrets::has_credential);
        if !is_here {
            let found = "not asked: its credential is not in this environment";
            findings.push(
                CheckResult::check_noted(name, "calendar", found).with_fix("run this where the key is"),
            );
            continue;
        }
        let minutes = calendar.minutes.first().copied();
        let asked = list_next_free_slots(&client, configured, calendar, minutes, SHOWN_BY_DOCTOR).await;
        findings.push(match asked {
            Ok(slots) if slots.is_empty() => {
                CheckResult::check_noted(name, "calendar", "no slot is free within the horizon")
                    .with_fix("look at its hours and its events")
            }
            Ok(slots) => {
                let found = format!("events may be changed; free: {}", slots.join("; "));
                CheckResult::check_passed(name, "calendar", found)
            }
            Err(error) => CheckResult::check_failed(name, "calendar", format!("{error:#}"))
                .with_fix(format!("recado connect-calendar {name}, where the key is")),
        });
    }
    Ok(findings)
}

fn build_calendar_client(environment: &LocalEnvironment) -> Result<LocalCalendars> {
    Ok(GoogleCalendar::new(
        build_http_client()?,
        EnvironmentSecrets,
        EmbeddedSystem,
        environment.model.calendar.clone(),
    ))
}

/// Checks that the account may change events, and lists the next free slots as text.
async fn list_next_free_slots(
    client: &LocalCalendars,
    configured: &InstalledConfiguration,
    calendar: &Calendar,
    minutes: Option<u16>,
    limit: usize,
) -> Result<Vec<String>> {
    let Some(GoogleCalendarAccess {
        calendar_id,
        credential,
    }) = &calendar.google
    else {
        bail!("it is of a kind that this program does not know");
    };
    let target = CalendarTarget {
        calendar_id,
        credential,
    };
    let access = client.query_access(&target).await;
    if let CalendarAccess::ReadsOnly(role) = access.map_err(explain_failure)? {
        bail!(
            "the account of the credential may only read this calendar ({role}): share it with \"Make changes to events\""
        );
    }
    let mut tenants = configured.document.tenants.iter();
    let tenant = tenants.find(|tenant| tenant.id == calendar.tenant);
    let zone = calendar.resolve_time_zone(tenant.context("its tenant is not configured")?);
    let appointment = NextSlots {
        now: EmbeddedSystem.now(),
        duration: calendar.rules.check_duration(minutes.unwrap_or_default())?,
        zone: &zone,
        limit,
    };
    let found = client
        .find_next_slots(&target, &calendar.rules, &appointment)
        .await;
    let found = found.map_err(explain_failure)?;
    let shown = found.slots.iter().map(|slot| slot.format_for_model(&zone));
    Ok(shown.collect())
}

/// Adds advice to a failure.
fn explain_failure(error: CalendarError) -> anyhow::Error {
    let advice = match &error {
        CalendarError::NotFound => {
            "there is no such calendar, or it is not shared with the account of the credential (for a service account: its client_email)"
        }
        CalendarError::Credentials(_) => "see docs/calendar.md for the two kinds of credentials",
        CalendarError::Forbidden(_) => "is the Google Calendar API enabled in the project of the credential?",
        _ => "try again later",
    };
    anyhow::Error::new(error).context(advice)
}
