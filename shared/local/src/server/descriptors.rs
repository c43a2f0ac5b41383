//! Limits the number of connections to the file descriptors that the system provides.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The number of descriptors that everything else needs: the store's files, and a connection for each worker that calls
/// a provider or the model.
const RESERVED: u64 = 200;

/// The number of connections that are allowed at least: with fewer, nothing could be served.
const LEAST: u64 = 8;

/// The number of descriptors that are requested at most.
const ENOUGH: u64 = 65_536;

/// Raises the process's own limit as far as allowed. Returns the number of connections that fit, at most `wanted`.
pub(super) fn limit_connections(wanted: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(ENOUGH).min(ENOUGH);
    if limit.current.is_some_and(|current| current < most) {
        let raised = Rlimit {
            current: Some(most),
            maximum: limit.maximum,
        };
        if let Err(error) = setrlimit(Resource::Nofile, raised) {
            tracing::debug!(%error, "the limit of descriptors could not be raised");
        }
    }
    let room = connections_possible(getrlimit(Resource::Nofile).current, wanted);
    if room < wanted {
        tracing::warn!(
            connections = room,
            "fewer connections than configured: raise the limit of descriptors (ulimit -n)"
        );
    }
    room
}

fn connections_possible(descriptors: Option<u64>, wanted: usize) -> usize {
    let left = descriptors
        .unwrap_or(u64::MAX)
        .saturating_sub(RESERVED)
        .max(LEAST);
    wanted.min(usize::try_from(left).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_left_for_everything_else() {
        for (descriptors, wanted, room) in [
            (Some(1024), 1024, 824),
            (Some(65_536), 1024, 1024),
            (Some(256), 1024, 56),
            (Some(64), 1024, 8),
            (None, 1024, 1024),
        ] {
            assert_eq!(connections_possible(descriptors, wanted), room, "{descriptors:?}");
        }
    }
}
