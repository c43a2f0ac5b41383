use jiff::Timestamp;
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

/// What a store can do for a simulator beyond the port.
#[derive(Debug, Clone, Default)]
pub struct StoreExtras {
    /// What a process does at its start, where a crash takes everything down.
    pub recover: Option<Recover>,
    /// A quick look at the open records, where asking the port takes long.
    pub due: Option<Due>,
    /// Whether a change is published with its write, so that endpoints can be told of it.
    pub publishes: bool,
    /// Indexes the words of messages, where a store does that behind them.
    pub index: Option<Index>,
}

/// See [`StoreExtras::recover`].
#[derive(Clone)]
pub struct Recover(pub Arc<dyn Fn() + Send + Sync>);

/// See [`StoreExtras::due`]. When the first open record falls due; `None` if none is open.
#[derive(Clone)]
pub struct Due(pub Arc<dyn Fn() -> Option<Timestamp> + Send + Sync>);

/// Something that happens to the whole machine at a marked step.
#[derive(Clone)]
pub struct AtMark(pub Arc<dyn Fn(u64) + Send + Sync>);

/// See [`StoreExtras::index`].
#[derive(Clone)]
pub struct Index(pub Arc<dyn Fn() + Send + Sync>);

impl From<Option<Recover>> for StoreExtras {
    fn from(recover: Option<Recover>) -> Self {
        Self {
            recover,
            publishes: true,
            ..Self::default()
        }
    }
}

impl Debug for Index {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Index")
    }
}

impl Debug for Recover {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Recover")
    }
}

impl Debug for Due {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Due")
    }
}

impl Debug for AtMark {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("AtMark")
    }
}
