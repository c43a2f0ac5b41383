//! Writes a record that other writers change, too: reads it again where another writer was faster.

use crate::ports::{PortError, WRITE_TRIES};

/// Runs `attempt` until it returns a value, at most [`WRITE_TRIES`] times. An attempt reads the record, changes it and writes it;
/// `None`: another writer was faster. `what` names the record in the error that follows the last attempt.
pub(crate) async fn retry_lost_write<T, E, F>(what: &'static str, attempt: impl Fn() -> F) -> Result<T, E>
where
    F: Future<Output = Result<Option<T>, E>>,
    E: From<PortError>,
{
    for _ in 0..WRITE_TRIES {
        if let Some(done) = attempt().await? {
            return Ok(done);
        }
    }
    Err(PortError::contended(what).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::executor::block_on;
    use std::cell::Cell;

    /// Runs attempts of which the first `lost` lose, and returns the result with the number of attempts.
    fn run_attempts(lost: usize) -> (Result<&'static str, PortError>, usize) {
        let made = Cell::new(0);
        let attempt = || async {
            made.set(made.get() + 1);
            Ok((made.get() > lost).then_some("written"))
        };
        let result = block_on(retry_lost_write("record", attempt));
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
    fn an_error_ends_the_attempts() {
        let made = Cell::new(0);
        let attempt = || async {
            made.set(made.get() + 1);
            Err::<Option<()>, _>(PortError::invalid("record", "cannot be read"))
        };
        assert!(block_on(retry_lost_write("record", attempt)).is_err());
        assert_eq!(made.get(), 1);
    }
}
