//! No attempt at an invitation begins after its guest opted out, none in quiet hours, and no more than the tenant's cap allows. What was
//! under way may end. Requests to providers and carriers tell what was attempted.

use super::meanings::{INVITES, find_meaning};
use crate::executor::START_MS;
use crate::queue::WorkQueues;
use crate::scenario::{START_WORD, STOP_WORD};
use crate::simulator::{FakeGuest, Simulator};
use jiff::tz::TimeZone;
use recado_domain::config::InstanceConfig;
use recado_domain::contact::ContactAddress;
use recado_domain::invitations::BATCH_PERMIT;
use recado_domain::millis::{from_unix_millis, to_millis};
use recado_pipeline::ports::Store;
use std::collections::BTreeMap;
use std::fmt::Debug;

/// Time by which an attempt may be under way beyond its permission, in milliseconds.
const UNDER_WAY_MS: i64 = 500;

/// Longest time between an order and the first request that counts for the cap, in milliseconds.
const PROMPT_MS: i64 = 60_000;

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let guests = sim.ledger().guests.guests.clone();
    for (place, guest) in guests.iter().enumerate() {
        let mut bounds = sim.bounds.iter();
        let Some(bound) = bounds.find(|bound| bound.instance.id == guest.instance) else {
            continue;
        };
        let requests = list_requests(sim, guest);
        let stopped = list_stopped_spans(sim, &guest.to, Some(place));
        for (at, what) in &requests {
            if is_stopped_at(sim, &stopped, *at) {
                let name = &guest.name;
                sim.common.broken(format!(
                    "{what:?} left at {at} ms, and {name} wants none: {stopped:?}"
                ));
            }
            if is_quiet(bound, *at, find_grace(sim)) {
                sim.common
                    .broken(format!("{what:?} left at {at} ms, in quiet hours"));
            }
        }
        keep_cap(sim, bound, (place, guest), &requests);
    }
}

/// Returns the time for which a permitted attempt may be under way, by whatever clock, in milliseconds.
fn find_grace<S, Q>(sim: &Simulator<S, Q>) -> i64 {
    to_millis(BATCH_PERMIT) + sim.common.faults.skew_ms + UNDER_WAY_MS
}

/// Returns `true` if an attempt at this time began after its guest had opted out.
pub(super) fn is_stopped_at<S, Q>(sim: &Simulator<S, Q>, stopped: &[(i64, i64)], at_ms: i64) -> bool {
    let grace = find_grace(sim);
    let mut stopped = stopped.iter();
    stopped.any(|(from, until)| from + grace < at_ms && at_ms < *until)
}

/// Every request for an invitation of a guest, to its provider or a carrier: when it left, and what it says.
fn list_requests<S, Q>(sim: &Simulator<S, Q>, guest: &FakeGuest) -> Vec<(i64, String)> {
    let observations = sim.common.observations();
    let by_phone = observations.attempts.iter();
    let by_phone = by_phone.filter_map(|one| Some((one.requested_ms?, one.text.clone())));
    let by_mail = observations.mails.iter();
    let by_mail = by_mail.filter_map(|one| Some((one.requested_ms?, one.text.clone())));
    let is_of_guest =
        |text: &str| text.starts_with(INVITES) && text.split_whitespace().nth(2) == Some(guest.name.as_str());
    let mut requests: Vec<(i64, String)> = by_phone
        .chain(by_mail)
        .filter(|(_, text)| is_of_guest(text))
        .collect();
    requests.sort();
    requests
}

/// Lists the times in which a person certainly wanted no invitations, from when on that was known, in milliseconds since the start. They
/// wrote so, or followed a link as the guest at `place`.
pub(super) fn list_stopped_spans<S, Q>(
    sim: &Simulator<S, Q>,
    to: &ContactAddress,
    place: Option<usize>,
) -> Vec<(i64, i64)> {
    let (ledger, observations) = (sim.ledger(), sim.common.observations());
    let said_by_guest = |word: &'static str| {
        let said = ledger.said.iter();
        said.filter(move |(_, said)| said.text == word && said.address == to.as_str())
    };
    // (Written, known.)
    let by_word = said_by_guest(STOP_WORD)
        .filter_map(|(event, said)| Some((said.sent_at? - START_MS, *observations.stored.get(event)?)));
    let links = ledger
        .guests
        .links
        .iter()
        .filter(|link| Some(link.guest) == place);
    let by_link = links.filter_map(|link| Some((link.begun_ms, link.told_ms?)));
    let returns: Vec<(i64, i64)> = said_by_guest(START_WORD)
        .filter_map(|(event, said)| Some((said.sent_at? - START_MS, observations.received.get(event)?.0)))
        .collect();
    let skew = sim.common.faults.skew_ms;
    let spans = by_word.chain(by_link).map(|(written, known)| {
        let later = returns.iter().filter(|(returned, _)| returned + skew > written);
        let until = later.map(|(_, received)| *received).min();
        (known, until.unwrap_or(i64::MAX))
    });
    spans.filter(|(from, until)| from < until).collect()
}

/// Returns `true` if it had been quiet for a while, and was for a moment more.
fn is_quiet(bound: &InstanceConfig, at_ms: i64, grace: i64) -> bool {
    let zone = TimeZone::get(&bound.tenant.time_zone).expect("a zone");
    let quiet = bound.tenant.deliveries.quiet_hours;
    let is_quiet_at = |at_ms: i64| {
        let at = from_unix_millis(START_MS + at_ms);
        quiet.is_some_and(|quiet| quiet.is_quiet_at(at, &zone))
    };
    is_quiet_at(at_ms - grace) && is_quiet_at(at_ms) && is_quiet_at(at_ms + grace)
}

/// In no time of the cap's length were more invitations of a guest begun than the cap allows. One that waited for its
/// provider is not counted.
fn keep_cap<S, Q>(
    sim: &Simulator<S, Q>,
    bound: &InstanceConfig,
    (place, guest): (usize, &FakeGuest),
    requests: &[(i64, String)],
) {
    let Some(cap) = bound.tenant.deliveries.frequency_cap else {
        return;
    };
    let mut first: BTreeMap<String, i64> = BTreeMap::new();
    for (at, text) in requests {
        let meaning = find_meaning(text).unwrap_or_default();
        first.entry(meaning).or_insert(*at);
    }
    let window = to_millis(cap.counting_window());
    let ledger = sim.ledger();
    let was_prompt = |meaning: &str, at: i64| {
        let mut orders = ledger.guests.orders.iter();
        orders.any(|one| {
            let is_of_it = one.order.guest == place && guest.meaning(one.order.template) == meaning;
            is_of_it && (one.begun_ms..one.begun_ms + PROMPT_MS).contains(&at)
        })
    };
    let mut begun: Vec<i64> = first
        .iter()
        .filter(|(meaning, at)| was_prompt(meaning, **at))
        .map(|(_, at)| *at)
        .collect();
    begun.sort_unstable();
    let most = usize::try_from(cap.messages).unwrap_or(usize::MAX);
    let slack = sim.common.faults.skew_ms + UNDER_WAY_MS;
    let too_many = begun
        .windows(most + 1)
        .any(|some| some[most] - some[0] < window - slack);
    drop(ledger);
    if too_many {
        let name = &guest.name;
        sim.common.broken(format!(
            "{name} was sent {first:?}, and the cap is {most} in {window} ms"
        ));
    }
}
