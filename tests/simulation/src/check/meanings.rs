//! Nothing of one meaning arrives twice, by whatever channel and as whatever message, unless a person asked for it or the record of the
//! second attempt said that it may have been sent before. Phones and mailboxes tell what arrived.

use crate::fake_world::REMINDER_WORDS;
use crate::observations::{Attempt, MailAttempt};
use crate::queue::WorkQueues;
use crate::simulator::Simulator;
use recado_pipeline::ports::Store;
use std::collections::BTreeMap;
use std::fmt::Debug;

/// The words by which all invitations begin.
pub(super) const INVITES: &str = "invite ";

/// Something that arrived.
struct Arrival {
    /// Begin of its attempt, in milliseconds since the start.
    begun_ms: i64,
    /// Id of its message or e-mail.
    what: String,
    /// Time at which a client asked for it, in milliseconds since the start.
    ordered_ms: Option<i64>,
    /// `true` if the record said before the attempt that it may have been sent.
    is_marked: bool,
    /// `true` if a person asked for it again.
    is_redriven: bool,
}

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let mut arrivals: BTreeMap<(String, String), Vec<Arrival>> = BTreeMap::new();
    let attempts = sim.common.observations().attempts.clone();
    for ((instance, phone), arrived) in sim.fake_world.phones() {
        for one in arrived {
            let Some(meaning) = find_meaning(&one.text) else {
                continue;
            };
            let attempt = one.attempt.and_then(|place| attempts.get(place));
            let arrival = Arrival {
                begun_ms: attempt.map_or(one.at_ms, |attempt| attempt.claimed_ms),
                what: one.message.to_string(),
                ordered_ms: find_order(sim, &one.text),
                is_marked: attempt.is_some_and(|attempt| attempt.marked),
                is_redriven: attempt.is_some_and(|attempt| is_redriven(sim, attempt)),
            };
            // A guest's name is nobody else's, whatever the channel.
            let to = if is_of_guest(&meaning) {
                String::new()
            } else {
                format!("{instance} {}", phone.as_str())
            };
            arrivals.entry((to, meaning)).or_default().push(arrival);
        }
    }
    let mails = sim.common.observations().mails.clone();
    for one in sim.fake_world.mails() {
        let attempt = one.attempt.and_then(|place| mails.get(place));
        let arrival = Arrival {
            begun_ms: attempt.map_or(one.at_ms, |attempt| attempt.claimed_ms),
            what: one.id.clone(),
            ordered_ms: find_order(sim, &one.text),
            is_marked: attempt.is_some_and(|attempt| attempt.marked),
            is_redriven: attempt.is_some_and(|attempt| is_mail_redriven(sim, attempt)),
        };
        let meaning = find_meaning(&one.text).unwrap_or(one.text);
        arrivals
            .entry((String::new(), meaning))
            .or_default()
            .push(arrival);
    }
    for ((to, meaning), mut arrived) in arrivals {
        arrived.sort_by_key(|one| one.begun_ms);
        for (place, one) in arrived.iter().enumerate().skip(1) {
            if !one.is_marked && !one.is_redriven && !is_crossed(one, &arrived[..place]) {
                let what = &one.what;
                sim.common.broken(format!(
                    "{meaning:?} arrived again as {what} {to}, and its record said nothing before"
                ));
            }
        }
    }
}

/// Returns `true` if an attempt may bring again what may have arrived: its record said so before it, or a person asked for it.
pub(super) fn is_allowed<S, Q>(sim: &Simulator<S, Q>, attempt: &Attempt) -> bool {
    attempt.marked || is_redriven(sim, attempt)
}

fn is_redriven<S, Q>(sim: &Simulator<S, Q>, attempt: &Attempt) -> bool {
    let id = attempt.message.as_str();
    sim.ledger().redriven(id, 0, attempt.claimed_ms)
}

fn is_mail_redriven<S, Q>(sim: &Simulator<S, Q>, attempt: &MailAttempt) -> bool {
    sim.ledger().redriven(&attempt.invitation, 0, attempt.claimed_ms)
}

/// Returns the time at which a client asked first for these words, in milliseconds since the start.
fn find_order<S, Q>(sim: &Simulator<S, Q>, words: &str) -> Option<i64> {
    let ledger = sim.ledger();
    let orders = ledger.guests.orders.iter().filter(|order| order.words == words);
    orders.map(|order| order.begun_ms).min()
}

/// Returns `true` if a client asked for it while all that arrived before had failed, which a person let go again since.
fn is_crossed(one: &Arrival, before: &[Arrival]) -> bool {
    let is_later = |begun_ms: i64| one.ordered_ms.is_some_and(|ordered_ms| ordered_ms < begun_ms);
    before
        .iter()
        .all(|other| other.is_redriven && is_later(other.begun_ms))
}

/// Returns the meaning of a text that may arrive once. An invitation means its template and guest, whatever else it says.
pub(super) fn find_meaning(text: &str) -> Option<String> {
    if text.starts_with(INVITES) {
        let words: Vec<&str> = text.split_whitespace().take(3).collect();
        return Some(words.join(" "));
    }
    let begins = [REMINDER_WORDS, "client-", "person-"];
    let is_said_once = begins.iter().any(|begin| text.starts_with(begin));
    is_said_once.then(|| text.to_owned())
}

/// Returns `true` for the meaning of an invitation that may also go by e-mail.
fn is_of_guest(meaning: &str) -> bool {
    meaning.starts_with(INVITES) && meaning.split_whitespace().count() == 3
}
