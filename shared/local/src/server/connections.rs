//! The open connections: the phase of each, and the choice of the connection that is closed when a new one needs room.

use super::ServerLimits;
use super::addresses::customer_network;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep_until};

/// The phase of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionPhase {
    /// The headers of a request are arriving, or the first bytes are awaited.
    Opening,
    /// A request was answered, and no other has begun.
    Idle,
    /// The body of a request is arriving.
    Receiving,
    /// A request is being processed.
    Answering,
    /// The body took too long: the connection closes after the next answer.
    Ending,
}

impl ConnectionPhase {
    /// Returns the longest time that a connection may stay in this phase. `None` while a request is being processed:
    /// the use cases have limits of their own.
    fn time_limit(self, limits: &ServerLimits) -> Option<Duration> {
        match self {
            Self::Opening => Some(limits.header_time),
            Self::Idle => Some(ServerLimits::IDLE),
            // The body's own time limit ends first, so that an error can still be answered.
            Self::Receiving => Some(limits.body_time + ServerLimits::ENDING),
            Self::Answering => None,
            Self::Ending => Some(ServerLimits::ENDING),
        }
    }

    /// Returns the order in which connections are closed to make room: the lowest first. Also returns the time for
    /// which a connection in this phase is spared: headers come with the connection, bodies a little later. `None`: the
    /// connection is never closed for another.
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

/// All connections of a server. Clones share one state.
#[derive(Debug, Clone)]
pub(super) struct ConnectionPool {
    capacity: usize,
    open: Arc<Mutex<OpenConnections>>,
    /// Notified when there may be room for another connection.
    changed: Arc<Notify>,
}

#[derive(Debug, Default)]
struct OpenConnections {
    next: u64,
    all: HashMap<u64, OpenConnection>,
}

#[derive(Debug)]
struct OpenConnection {
    address: IpAddr,
    state: Arc<Mutex<ConnectionState>>,
    give_up: oneshot::Sender<()>,
}

/// The phase of a connection, and since when it is in that phase. Each connection has a lock of its own, which hardly ever waits:
/// the state changes several times with each request.
#[derive(Debug, Clone, Copy)]
struct ConnectionState {
    phase: ConnectionPhase,
    since: Instant,
}

/// A connection that was admitted.
#[derive(Debug)]
pub(super) struct AdmittedConnection {
    pub(super) connection: ServerConnection,
    /// Resolves when the connection must close to make room.
    pub(super) given_up: oneshot::Receiver<()>,
}

/// One connection. It is removed from the pool with its last clone.
#[derive(Debug, Clone)]
pub(super) struct ServerConnection(Arc<ConnectionHandle>);

#[derive(Debug)]
struct ConnectionHandle {
    number: u64,
    state: Arc<Mutex<ConnectionState>>,
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
        lock_unpoisoned(&self.open)
    }

    /// Admits a connection. If the pool is full, a connection is closed to make room, preferably of the address that
    /// has the most. Waits while none can be closed.
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
            // A connection that is spared for a moment may be closed after it.
            let _ = tokio::time::timeout(wait, changed).await;
        }
    }

    fn add_connection(&self, open: &mut OpenConnections, address: IpAddr) -> AdmittedConnection {
        let (teller, given_up) = oneshot::channel();
        open.next += 1;
        let state = Arc::new(Mutex::new(ConnectionState {
            phase: ConnectionPhase::Opening,
            since: Instant::now(),
        }));
        let connection = OpenConnection {
            address: customer_network(address),
            state: Arc::clone(&state),
            give_up: teller,
        };
        open.all.insert(open.next, connection);
        let handle = ConnectionHandle {
            number: open.next,
            state,
            connections: self.clone(),
        };
        AdmittedConnection {
            connection: ServerConnection(Arc::new(handle)),
            given_up,
        }
    }
}

impl OpenConnections {
    /// Makes room for one more connection. If no connection may be closed now, the error is the longest time to wait
    /// before another try.
    fn make_room(&mut self, most: usize, now: Instant) -> Result<(), Duration> {
        if self.all.len() < most {
            return Ok(());
        }
        let mut of_address: HashMap<IpAddr, usize> = HashMap::new();
        for open in self.all.values() {
            *of_address.entry(open.address).or_insert(0) += 1;
        }
        let mut wait = Duration::from_secs(1);
        let ripe = self.all.iter().filter_map(|(number, open)| {
            let state = *lock_unpoisoned(&open.state);
            let (order, grace) = state.phase.eviction_order()?;
            let left = (state.since + grace).saturating_duration_since(now);
            if left > Duration::ZERO {
                wait = wait.min(left);
                return None;
            }
            let many = of_address.get(&open.address).copied().unwrap_or(0);
            Some(((order, usize::MAX - many, state.since), *number))
        });
        let Some((_, number)) = ripe.min() else {
            return Err(wait);
        };
        if let Some(open) = self.all.remove(&number) {
            // The connection may have ended by itself meanwhile.
            let _ = open.give_up.send(());
        }
        Ok(())
    }
}

/// Locks `mutex`, also after a panic: a panic cannot leave the states half changed.
fn lock_unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ServerConnection {
    fn change_state(&self, change: impl FnOnce(&mut ConnectionState)) {
        change(&mut lock_unpoisoned(&self.0.state));
    }

    /// Records that the connection enters a phase.
    pub(super) fn enter_phase(&self, phase: ConnectionPhase) {
        self.change_state(|state| {
            state.phase = phase;
            state.since = Instant::now();
        });
        if phase.eviction_order().is_some() {
            self.0.connections.changed.notify_one();
        }
    }

    /// Returns `true` while a request is awaited that may be under way.
    pub(super) fn is_opening(&self) -> bool {
        lock_unpoisoned(&self.0.state).phase == ConnectionPhase::Opening
    }

    /// Records that bytes arrived: after a pause, another request has begun.
    pub(super) fn note_bytes_received(&self) {
        self.change_state(|state| {
            if state.phase == ConnectionPhase::Idle {
                state.phase = ConnectionPhase::Opening;
                state.since = Instant::now();
            }
        });
    }

    /// Records that bytes were sent: an answer is still being written.
    pub(super) fn note_bytes_sent(&self) {
        self.change_state(|state| {
            if state.phase == ConnectionPhase::Idle {
                state.since = Instant::now();
            }
        });
    }

    /// Records that a request was answered. Returns whether the connection must close after this answer.
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

    /// Waits until the connection has been in one phase for too long.
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

/// The longest time between two looks at the phase, since a new phase may have an earlier limit.
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
