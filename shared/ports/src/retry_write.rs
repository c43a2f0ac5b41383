//! Writes a record that other writers change, too: reads it again where another writer was faster.

use crate::write_outcome::WriteOutcome;

/// Number of tries to read, change and write a record that others write too. The losses are to other writers' changes, so
/// a further try usually wins.
pub const WRITE_TRIES: usize = 8;

/// The end of one attempt to read, change and write a record.
#[derive(Debug)]
pub enum WriteAttempt<T, S = ()> {
    /// The record is written, or nothing was to be written.
    Done(T),
    /// Another writer was faster. The next attempt begins with this.
    Lost(S),
}

impl<T> WriteAttempt<T> {
    /// Returns the end of an attempt whose write had this outcome: `done` if it won.
    pub fn after_write(outcome: impl Into<WriteOutcome>, done: T) -> Self {
        match outcome.into() {
            WriteOutcome::Written => Self::Done(done),
            WriteOutcome::Conflict => Self::Lost(()),
        }
    }
}

/// Runs `attempt` until it is done, at most [`WRITE_TRIES`] times. The first attempt begins with `start`, each other one with what
/// the attempt before it handed on. The error that follows the last attempt is `contended`.
pub async fn retry_lost_write<T, S, E, F>(
    contended: impl Into<E>,
    start: S,
    attempt: impl Fn(S) -> F,
) -> Result<T, E>
where
    F: Future<Output = Result<WriteAttempt<T, S>, E>>,
{
    let done = repeat_lost_write(start, attempt).await?;
    done.ok_or_else(|| contended.into())
}

/// Runs attempts as [`retry_lost_write`] does. `None`: another writer was faster each time, and the caller goes on without the write.
pub async fn repeat_lost_write<T, S, E, F>(start: S, attempt: impl Fn(S) -> F) -> Result<Option<T>, E>
where
    F: Future<Output = Result<WriteAttempt<T, S>, E>>,
{
    let mut from = start;
    for _ in 0..WRITE_TRIES {
        // Boxed: an attempt holds the records, and whoever waits for it stays small.
        match Box::pin(attempt(from)).await? {
            WriteAttempt::Done(done) => return Ok(Some(done)),
            WriteAttempt::Lost(next) => from = next,
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::{PortError, PortResult};
    use futures::executor::block_on;
    use std::cell::Cell;

    /// Runs attempts of which the first `lost` lose, and returns the result with the number of attempts.
    fn run_attempts(lost: usize) -> (Result<&'static str, PortError>, usize) {
        let made = Cell::new(0);
        let attempt = |before: usize| async move {
            Ok(if before < lost {
                WriteAttempt::Lost(before + 1)
            } else {
                WriteAttempt::Done("written")
            })
        };
        let counted = |before| {
            made.set(made.get() + 1);
            attempt(before)
        };
        let result = block_on(retry_lost_write(PortError::contended("record"), 0, counted));
        (result, made.get())
    }

    #[test]
    fn an_attempt_that_lost_is_made_again_and_no_other() {
        assert!(matches!(run_attempts(0), (Ok("written"), 1)));
        assert!(matches!(run_attempts(3), (Ok("written"), 4)));
        let last = run_attempts(WRITE_TRIES - 1);
        assert!(matches!(last, (Ok("written"), WRITE_TRIES)));
    }

    #[test]
    fn after_the_last_attempt_the_record_is_named() {
        let (refused, made) = run_attempts(WRITE_TRIES);
        assert_eq!(made, WRITE_TRIES);
        assert!(refused.unwrap_err().to_string().contains("record"));
    }

    #[test]
    fn a_caller_that_can_do_without_the_write_goes_on_after_the_last_attempt() {
        let made = Cell::new(0);
        let attempt = |()| async {
            made.set(made.get() + 1);
            PortResult::Ok(WriteAttempt::after_write(WriteOutcome::Conflict, ()))
        };
        assert!(matches!(block_on(repeat_lost_write((), attempt)), Ok(None)));
        assert_eq!(made.get(), WRITE_TRIES);
    }

    #[test]
    fn an_error_ends_the_attempts() {
        let made = Cell::new(0);
        let attempt = |()| async {
            made.set(made.get() + 1);
            Err::<WriteAttempt<()>, _>(PortError::invalid("record", "cannot be read"))
        };
        let result = block_on(retry_lost_write(PortError::contended("record"), (), attempt));
        assert!(result.is_err());
        assert_eq!(made.get(), 1);
    }
}
