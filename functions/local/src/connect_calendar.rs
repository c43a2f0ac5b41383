//! `recado connect-calendar`: checks access to a Google calendar and shows its next free slots.

use crate::environment::LocalEnvironment;
use crate::keyring::EnvironmentSecrets;
use anyhow::{Context, Result, bail};
use clap::Args;
use jiff::tz::TimeZone;
use recado_domain::calendar::BookingRules;
use recado_domain::config::CredentialRef;
use recado_embedded::EmbeddedSystem;
use recado_google_calendar::{CalendarAccess, CalendarError, CalendarTarget, GoogleCalendar, NextSlots};
use recado_http_client::build_http_client;
use recado_pipeline::ports::System;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Number of free slots that are shown.
const SHOWN: usize = 10;

/// Checks access to a Google calendar and shows its next free slots. It changes nothing.
#[derive(Debug, Args)]
pub(crate) struct ConnectCalendarArguments {
    /// The calendar's id at Google: an e-mail address.
    calendar: String,
    /// Reference to the credential: `env:NAME`. The variable holds the key file of a service account, or a refresh token with its client.
    #[arg(long, value_name = "REFERENCE")]
    credential: String,
    /// A TOML file with the booking rules: `hours`, `grid_minutes`, buffers, `notice_minutes`, `horizon_days`.
    #[arg(long, value_name = "FILE")]
    rules: PathBuf,
    /// The length of an appointment.
    #[arg(long, default_value_t = 30)]
    minutes: u16,
    /// The tenant's time zone, which counts where the hours name none.
    #[arg(long, default_value = "UTC", value_name = "ZONE")]
    time_zone: String,
    /// Prints the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Asks the calendar and prints what it answers.
pub(crate) async fn connect_calendar(
    command: ConnectCalendarArguments,
    environment: &LocalEnvironment,
) -> Result<()> {
    let rules = read_booking_rules(&command.rules)?;
    let duration = rules.check_duration(command.minutes)?;
    let tenants = TimeZone::get(&command.time_zone)
        .with_context(|| format!("`{}` is not an IANA time zone", command.time_zone))?;
    let zone = rules.resolve_time_zone(tenants);
    let credential = CredentialRef::try_from(command.credential.clone()).context("--credential")?;
    let target = CalendarTarget {
        calendar_id: &command.calendar,
        credential: &credential,
    };
    let client = GoogleCalendar::new(
        build_http_client()?,
        EnvironmentSecrets,
        EmbeddedSystem,
        environment.calendar.clone(),
    );
    let access = client.query_access(&target).await;
    if let CalendarAccess::ReadsOnly(role) = access.map_err(explain_failure)? {
        bail!(
            "the account of the credential may only read this calendar ({role}): share it with \"Make changes to events\""
        );
    }
    let appointment = NextSlots {
        now: EmbeddedSystem.now(),
        duration,
        zone: &zone,
        limit: SHOWN,
    };
    let found = client.find_next_slots(&target, &rules, &appointment).await;
    let found = found.map_err(explain_failure)?;
    let slots: Vec<String> = found
        .slots
        .iter()
        .map(|slot| slot.format_for_model(&zone))
        .collect();
    if command.json {
        println!(
            "{:#}",
            json!({ "calendar": command.calendar, "access": "writes", "slots": slots })
        );
        return Ok(());
    }
    println!("{}: the account may read and change events", command.calendar);
    if slots.is_empty() {
        println!(
            "no slot of {} minutes is free within the horizon",
            command.minutes
        );
    }
    for slot in slots {
        println!("{slot}");
    }
    Ok(())
}

fn read_booking_rules(file: &Path) -> Result<BookingRules> {
    let text = std::fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
    let rules: BookingRules =
        toml::from_str(&text).with_context(|| format!("{} is not valid", file.display()))?;
    rules
        .check_rules()
        .with_context(|| format!("{} is not valid", file.display()))?;
    Ok(rules)
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
