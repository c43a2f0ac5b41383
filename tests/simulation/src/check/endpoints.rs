//! Systems behind endpoints: each is told what was published while it was there, of its own tenant, under its own secret, and in order.

use crate::fake_world::{ReceivedPost, StandIn};
use crate::queue::WorkQueues;
use crate::simulator::{LINGERS_MS, Simulator};
use futures::executor::block_on;
use recado_domain::access::Caller;
use recado_domain::published_event::{EventCursor, PublishedEvent};
use recado_domain::webhook_endpoint::FailedEvent;
use recado_pipeline::ports::{LogPlace, PageRequest, Store};
use recado_pipeline::records::endpoints::list_endpoint_states;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

/// How long a post that was under way may take where nothing is disturbed, in milliseconds.
const UNDER_WAY_MS: i64 = 15_000;

/// How often an event is refused before those behind it go on.
const SET_ASIDE_AFTER: usize = 3;

/// How many events are read at a time.
const PAGE: usize = 1_000;

/// What `GET /v1/events` lists, by the ids of the events.
type Log = BTreeMap<String, (EventCursor, PublishedEvent)>;

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let stand_ins = sim.fake_world.stand_ins();
    if stand_ins.is_empty() {
        return;
    }
    let log = read_log(sim);
    for stand_in in &stand_ins {
        signed(sim, stand_in, &stand_ins);
        not_after_its_end(sim, stand_in);
        not_while_paused(sim, stand_in);
        if is_tenant_removed(sim, stand_in) {
            nothing_left(sim, stand_in);
            continue;
        }
        told_of_its_own_time(sim, stand_in, &log);
        in_order(sim, stand_in, &log);
        if stand_in.is_alive() && !stand_in.is_unsure && !stand_in.is_paused {
            told_all(sim, stand_in, &log);
        }
    }
}

fn read_log<S, Q>(sim: &Simulator<S, Q>) -> Log
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (mut log, mut after) = (Log::new(), EventCursor::START);
    loop {
        let page = block_on(
            sim.store
                .list_published_events(None, LogPlace::After(after), PAGE),
        )
        .expect("events are listed");
        after = page.next;
        let is_last = page.events.len() < PAGE;
        let events = page.events.into_iter();
        log.extend(events.map(|logged| (logged.event.id.clone(), (logged.cursor, logged.event))));
        if is_last {
            return log;
        }
    }
}

fn is_tenant_removed<S, Q>(sim: &Simulator<S, Q>, stand_in: &StandIn) -> bool {
    let ledger = sim.ledger();
    ledger
        .removals
        .iter()
        .any(|removal| removal.tenant == stand_in.tenant)
}

/// How long after its end an endpoint may still be posted to.
fn grace<S, Q>(sim: &Simulator<S, Q>) -> i64 {
    if sim.common.counters().faults() == 0 {
        UNDER_WAY_MS
    } else {
        LINGERS_MS
    }
}

/// Each post is signed with a secret of the endpoint's own, of those that were shown and are not over.
fn signed<S, Q>(sim: &Simulator<S, Q>, stand_in: &StandIn, all: &[StandIn]) {
    // A late request may bring its URL back for the endpoint that has its name by now.
    let may_return = |other: &StandIn| {
        stand_in.is_unsure && other.tenant == stand_in.tenant && other.name == stand_in.name
    };
    let others = all
        .iter()
        .filter(|other| other.url != stand_in.url && !may_return(other));
    let of_others: BTreeSet<&String> = others
        .flat_map(|other| other.secrets.iter().map(|shown| &shown.secret))
        .collect();
    for ReceivedPost { at_ms, secrets, .. } in &stand_in.posts {
        if secrets.iter().any(|secret| of_others.contains(secret)) {
            sim.common.broken(format!(
                "{} got a post that is signed with the secret of another endpoint",
                stand_in.url
            ));
        }
        let mut rotations = stand_in.rotations.iter();
        // A post under way may be signed as before: also with a secret that nobody was shown.
        let is_rotated =
            rotations.any(|(from, until)| *from <= *at_ms && *at_ms <= until.saturating_add(grace(sim)));
        let shown = stand_in.secrets.iter().filter(|shown| shown.from_ms <= *at_ms);
        let known: Vec<_> = shown.collect();
        if known.is_empty() || is_rotated || stand_in.is_unsure {
            continue;
        }
        let valid = known.iter().filter(|shown| secrets.contains(&shown.secret));
        let mut valid = valid.filter(|shown| shown.until_ms.is_none_or(|until| *at_ms <= until + grace(sim)));
        if valid.next().is_none() {
            sim.common.broken(format!(
                "{} got a post at {at_ms} that is signed with none of its secrets",
                stand_in.url
            ));
        }
    }
}

/// Nothing is posted any more once the endpoint, or its tenant, is removed.
fn not_after_its_end<S, Q>(sim: &Simulator<S, Q>, stand_in: &StandIn) {
    let removed = {
        let ledger = sim.ledger();
        let mut removals = ledger.removals.iter();
        let removal = removals.find(|removal| removal.tenant == stand_in.tenant);
        removal.and_then(|removal| removal.told_ms)
    };
    let left = stand_in
        .left
        .filter(|_| !stand_in.is_unsure)
        .map(|left| left.at_ms);
    let Some(end) = left.into_iter().chain(removed).min() else {
        return;
    };
    for post in stand_in.posts.iter().filter(|post| post.at_ms > end + grace(sim)) {
        sim.common.broken(format!(
            "{} got {} at {}, and was removed at {end}",
            stand_in.url, post.event.id, post.at_ms
        ));
    }
}

/// Nothing is posted while the endpoint is paused, but for posts under way.
fn not_while_paused<S, Q>(sim: &Simulator<S, Q>, stand_in: &StandIn) {
    if stand_in.is_unsure {
        return;
    }
    for (from, until) in &stand_in.pauses {
        let is_within = |post: &&ReceivedPost| post.at_ms > from + grace(sim) && post.at_ms < *until;
        if let Some(post) = stand_in.posts.iter().find(is_within) {
            let (url, at_ms) = (&stand_in.url, post.at_ms);
            sim.common
                .broken(format!("{url} got a post at {at_ms}, and was paused at {from}"));
        }
    }
}

/// Of an endpoint whose tenant was removed nothing is left.
fn nothing_left<S, Q>(sim: &Simulator<S, Q>, stand_in: &StandIn)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let states = block_on(list_endpoint_states(&sim.store, Some(&stand_in.tenant), 1));
    if !states.expect("the states are listed").is_empty() {
        sim.common.broken(format!(
            "the state of an endpoint of {} is left of a removed tenant",
            stand_in.tenant
        ));
    }
}

/// It is told only what was published, of its own tenant, since it was asked for.
fn told_of_its_own_time<S, Q>(sim: &Simulator<S, Q>, stand_in: &StandIn, log: &Log) {
    for post in &stand_in.posts {
        let (url, id) = (&stand_in.url, &post.event.id);
        if post.event.tenant.as_ref() != Some(&stand_in.tenant) {
            sim.common
                .broken(format!("{url} was told {id} of {:?}", post.event.tenant));
        }
        match log.get(id) {
            Some((cursor, _)) if *cursor > stand_in.asked.cursor => {}
            Some(_) => sim
                .common
                .broken(format!("{url} was told {id}, which is older than the endpoint")),
            None => sim
                .common
                .broken(format!("{url} was told {id}, which was never published")),
        }
    }
}

/// Events of one conversation are accepted in their order, but for those that were set aside. None comes twice without a reason.
fn in_order<S, Q>(sim: &Simulator<S, Q>, stand_in: &StandIn, log: &Log) {
    let (mut accepted, mut newest) = (BTreeSet::new(), BTreeMap::new());
    let has_reason = sim.common.counters().faults() > 0 || stand_in.may_repeat;
    for post in stand_in.posts.iter().filter(|post| post.accepted) {
        let (url, id) = (&stand_in.url, &post.event.id);
        let of_it = |other: &&ReceivedPost| other.event.id == *id;
        if !accepted.insert(id.clone()) {
            let was_unheard = stand_in
                .posts
                .iter()
                .filter(of_it)
                .any(|other| other.accepted && !other.answered);
            if !has_reason && !was_unheard {
                sim.common.broken(format!("{url} was told {id} twice"));
            }
            continue;
        }
        let Some((cursor, _)) = log.get(id) else { continue };
        let newest = newest.entry(post.event.order_key()).or_insert(*cursor);
        let refused = stand_in
            .posts
            .iter()
            .filter(of_it)
            .filter(|other| !other.answered);
        if *newest > *cursor && refused.count() < SET_ASIDE_AFTER {
            sim.common.broken(format!(
                "{url} was told {id} after a later event of {}",
                post.event.order_key()
            ));
        }
        *newest = (*newest).max(*cursor);
    }
}

/// It accepted all that was published since it was confirmed, or the event is among those that people see as failed. So is each message
/// that was made and arrived at a phone since.
fn told_all<S, Q>(sim: &Simulator<S, Q>, stand_in: &StandIn, log: &Log)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let Some(made) = stand_in.made else { return };
    let failed = list_failed(sim, stand_in);
    let accepted = stand_in.posts.iter().filter(|post| post.accepted);
    let accepted: Vec<&PublishedEvent> = accepted.map(|post| &post.event).collect();
    let known: Vec<&PublishedEvent> = accepted
        .into_iter()
        .chain(failed.iter().map(|failed| &failed.event))
        .collect();
    let ids: BTreeSet<&String> = known.iter().map(|event| &event.id).collect();
    for (id, (cursor, event)) in log {
        let is_due = event.tenant.as_ref() == Some(&stand_in.tenant) && *cursor > made.cursor;
        if is_due && !ids.contains(id) {
            let (url, kind) = (&stand_in.url, event.kind.as_str());
            sim.common.broken(format!("{url} was never told {id} of {kind}"));
        }
    }
    let committed = sim.common.observations().committed.clone();
    for ((instance, _), arrived) in &sim.fake_world.phones() {
        let mut bounds = sim.bounds.iter();
        let is_own =
            bounds.any(|bound| bound.instance.id == *instance && bound.instance.tenant == stand_in.tenant);
        for message in arrived.iter().map(|one| &one.message).filter(|_| is_own) {
            let is_due = committed.get(message).is_some_and(|at_ms| *at_ms > made.at_ms);
            let is_told = known.iter().any(|event| event.message.as_ref() == Some(message));
            if is_due && !is_told {
                sim.common.broken(format!(
                    "{} was never told of {message}, which arrived",
                    stand_in.url
                ));
            }
        }
    }
}

fn list_failed<S, Q>(sim: &Simulator<S, Q>, stand_in: &StandIn) -> Vec<FailedEvent>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let page = PageRequest::first(PAGE);
    let (deps, caller) = (sim.calm_deps(), Caller::installation());
    let of = (Some(&stand_in.tenant), stand_in.name.as_str());
    let listed = block_on(recado_endpoints::list_failed_events(&deps, &caller, of, &page));
    match listed {
        Ok(page) => page.items,
        Err(error) => {
            sim.common.broken(format!(
                "the failed events of {} are not listed: {error}",
                stand_in.url
            ));
            Vec::new()
        }
    }
}
