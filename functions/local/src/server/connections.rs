//! The connections that there are, what each is doing, and which one makes room when there is none left.

use super::ServerLimits;
use super::addresses::customer_network;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep_until};

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionPhase {
    /// Its headers are still coming, or are waited for.
    Opening,
    /// A request was answered, and no other has begun.
    Idle,
    /// Its body is still coming.
    Receiving,
    /// Its request is being worked on.
    Answering,
    /// Its body took too long: the next answer is its last.
    Ending,
}

impl ConnectionPhase {
    /// How long it may last; `None`: what is being worked on has limits of its own.
    fn time_limit(self, limits: &ServerLimits) -> Option<Duration> {
        match self {
            Self::Opening => Some(limits.header_time),
            Self::Idle => Some(ServerLimits::IDLE),
            // The body fails first, and is answered.
            Self::Receiving => Some(limits.body_time + ServerLimits::ENDING),
            Self::Answering => None,
            Self::Ending => Some(ServerLimits::ENDING),
        }
    }

    /// The order in which connections make room, and how long a connection is left alone in this phase: headers come with
    /// the connection, bodies a little later. `None`: it is left alone.
    fn eviction_order(self) -> Option<(u8, Duration)> {
        match self {
            Self::Ending => Some((0, Duration::ZERO)),
            Self::Opening => Some((1, Duration::from_millis(25))),
            Self::Idle => Some((2, Duration::ZERO)),
            Self::Receiving => Some((3, Duration::from_secs(1))),
            Self::Answering => None,
        }
    }
}

/// All connections of a server. Clones are the same ones.
#[derive(Debug, Clone)]
pub(super) struct ConnectionPool {
    capacity: usize,
    open: Arc<Mutex<OpenConnections>>,
    /// Told when there may be room.
    changed: Arc<Notify>,
}

#[derive(Debug, Default)]
struct OpenConnections {
    next: u64,
    all: HashMap<u64, OpenConnectionState>,
}

#[derive(Debug)]
struct OpenConnectionState {
    address: IpAddr,
    phase: ConnectionPhase,
    since: Instant,
    give_up: oneshot::Sender<()>,
}

/// A connection that was let in.
#[derive(Debug)]
pub(super) struct AdmittedConnection {
    pub(super) connection: ServerConnection,
    /// Resolves when it has to make room.
    pub(super) given_up: oneshot::Receiver<()>,
}

/// One connection; it is forgotten with its last clone.
#[derive(Debug, Clone)]
pub(super) struct ServerConnection(Arc<ConnectionHandle>);

#[derive(Debug)]
struct ConnectionHandle {
    number: u64,
    connections: ConnectionPool,
}

impl ConnectionPool {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self {
            capacity,
            open: Arc::default(),
            changed: Arc::default(),
        }
    }

    fn lock_open(&self) -> MutexGuard<'_, OpenConnections> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a connection in. When there are as many as there may be, one of them makes room, that of the address with the
    /// most; while none can, this waits.
    pub(super) async fn admit_connection(&self, address: IpAddr) -> AdmittedConnection {
        loop {
            let changed = self.changed.notified();
            let wait = {
                let mut open = self.lock_open();
                match open.make_room(self.capacity, Instant::now()) {
                    Ok(()) => return self.add_connection(&mut open, address),
                    Err(wait) => wait,
                }
            };
            // What is left alone for a moment may give way after it.
            let _ = tokio::time::timeout(wait, changed).await;
        }
    }

    fn add_connection(&self, open: &mut OpenConnections, address: IpAddr) -> AdmittedConnection {
        let (teller, given_up) = oneshot::channel();
        open.next += 1;
        let state = OpenConnectionState {
            address: customer_network(address),
            phase: ConnectionPhase::Opening,
            since: Instant::now(),
            give_up: teller,
        };
        open.all.insert(open.next, state);
        let handle = ConnectionHandle {
            number: open.next,
            connections: self.clone(),
        };
        AdmittedConnection {
            connection: ServerConnection(Arc::new(handle)),
            given_up,
        }
    }
}

impl OpenConnections {
    /// Makes room for one more; else for how long to wait at most before it is worth another try.
    fn make_room(&mut self, most: usize, now: Instant) -> Result<(), Duration> {
        if self.all.len() < most {
            return Ok(());
        }
        let mut of_address: HashMap<IpAddr, usize> = HashMap::new();
        for state in self.all.values() {
            *of_address.entry(state.address).or_insert(0) += 1;
        }
        let mut wait = Duration::from_secs(1);
        let ripe = self.all.iter().filter_map(|(number, state)| {
            let (order, grace) = state.phase.eviction_order()?;
            let left = (state.since + grace).saturating_duration_since(now);
            if left > Duration::ZERO {
                wait = wait.min(left);
                return None;
            }
            let many = of_address.get(&state.address).copied().unwrap_or(0);
            Some(((order, usize::MAX - many, state.since), *number))
        });
        let Some((_, number)) = ripe.min() else {
            return Err(wait);
        };
        if let Some(state) = self.all.remove(&number) {
            // It may have ended by itself meanwhile.
            let _ = state.give_up.send(());
        }
        Ok(())
    }
}

impl ServerConnection {
    fn change_state(&self, change: impl FnOnce(&mut OpenConnectionState)) {
        let ConnectionHandle { number, connections } = &*self.0;
        if let Some(state) = connections.lock_open().all.get_mut(number) {
            change(state);
        }
    }

    /// Notes what it does from now on.
    pub(super) fn enter_phase(&self, phase: ConnectionPhase) {
        self.change_state(|state| {
            state.phase = phase;
            state.since = Instant::now();
        });
        if phase.eviction_order().is_some() {
            self.0.connections.changed.notify_one();
        }
    }

    /// Notes that bytes came: after a pause, another request has begun.
    pub(super) fn note_bytes_received(&self) {
        self.change_state(|state| {
            if state.phase == ConnectionPhase::Idle {
                state.phase = ConnectionPhase::Opening;
                state.since = Instant::now();
            }
        });
    }

    /// Notes that bytes went: an answer is on its way.
    pub(super) fn note_bytes_sent(&self) {
        self.change_state(|state| {
            if state.phase == ConnectionPhase::Idle {
                state.since = Instant::now();
            }
        });
    }

    /// Notes that a request was answered. Returns whether that was the last one.
    pub(super) fn note_answered(&self) -> bool {
        let mut last = false;
        self.change_state(|state| {
            last = state.phase == ConnectionPhase::Ending;
            if !last {
                state.phase = ConnectionPhase::Idle;
            }
            state.since = Instant::now();
        });
        self.0.connections.changed.notify_one();
        last
    }

    /// Waits until it has done one thing for too long.
    pub(super) async fn wait_until_overdue(&self, limits: &ServerLimits) {
        loop {
            let mut until = None;
            self.change_state(|state| {
                until = state.phase.time_limit(limits).map(|limit| state.since + limit);
            });
            match until {
                Some(until) if until <= Instant::now() => return,
                Some(until) => sleep_until(until.min(Instant::now() + CHECK_INTERVAL)).await,
                None => sleep_until(Instant::now() + CHECK_INTERVAL).await,
            }
        }
    }
}

/// A phase that began meanwhile is looked at no later than this.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

impl Drop for ConnectionHandle {
    fn drop(&mut self) {
        let was = self.connections.lock_open().all.remove(&self.number);
        if was.is_some() {
            self.connections.changed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests;
