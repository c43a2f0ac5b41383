//! Printing that a closed pipe does not end, and errors for people.
//!
//! The macros of the standard library panic when nobody reads any more: `recado dlq list | head -1` would end in a
//! panic, and `recado serve | head -1` would take the server with it. Those of the same names here say nothing then.

/// Prints a line to standard output. A failure is ignored.
#[macro_export]
macro_rules! println {
    () => { $crate::output::write_line(&mut $crate::output::open_output(), format_args!("")) };
    ($($words:tt)*) => { $crate::output::write_line(&mut $crate::output::open_output(), format_args!($($words)*)) };
}

/// Prints to standard output, without a line end. A failure is ignored.
#[macro_export]
macro_rules! print {
    ($($words:tt)*) => { $crate::output::write_text(&mut $crate::output::open_output(), format_args!($($words)*)) };
}

/// Prints a line to standard error. A failure is ignored.
#[macro_export]
macro_rules! eprintln {
    ($($words:tt)*) => { $crate::output::write_line(&mut $crate::output::open_errors(), format_args!($($words)*)) };
}

/// Prints to standard error, without a line end. A failure is ignored.
#[macro_export]
macro_rules! eprint {
    ($($words:tt)*) => { $crate::output::write_text(&mut $crate::output::open_errors(), format_args!($($words)*)) };
}

use anyhow::Result;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::Value;
use std::fmt::Arguments;
use std::io::{IsTerminal, Write, stdout};
use std::time::Duration;

/// Time between two looks whether anybody still reads standard output.
const READER_INTERVAL: Duration = Duration::from_millis(250);

/// Returns standard output, which takes colours out again where it is no terminal.
pub fn open_output() -> impl Write {
    anstream::stdout()
}

/// Returns standard error, which takes colours out again where it is no terminal.
pub fn open_errors() -> impl Write {
    anstream::stderr()
}

/// Writes a line. A failure is ignored.
pub fn write_line(out: &mut impl Write, words: Arguments<'_>) {
    let _ = out.write_fmt(format_args!("{words}\n"));
}

/// Writes text and passes it on at once. A failure is ignored.
pub fn write_text(out: &mut impl Write, words: Arguments<'_>) {
    let _ = out.write_fmt(words).and_then(|()| out.flush());
}

/// Writes bytes to standard output as they are, also those of colours. A failure is ignored.
pub fn write_raw_bytes(bytes: &[u8]) {
    let mut out = stdout();
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}

/// Returns `true` if standard output is a terminal, and not a file or another program.
pub fn is_terminal_output() -> bool {
    stdout().is_terminal()
}

/// Returns `true` if standard output is a pipe that nobody reads any more. A command that goes on for ever ends then.
pub fn is_reader_gone() -> bool {
    let out = stdout();
    let mut polled = [PollFd::new(&out, PollFlags::empty())];
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let looked = poll(&mut polled, Some(&at_once));
    looked.is_ok() && polled[0].revents().intersects(PollFlags::ERR)
}

/// Waits until standard output is a pipe that nobody reads any more.
pub async fn wait_until_nobody_reads() {
    while !is_reader_gone() {
        tokio::time::sleep(READER_INTERVAL).await;
    }
}

/// Prints an answer as JSON, or else as the text that `format` makes of it.
pub fn print_answer(answer: &Value, json: bool, format: impl FnOnce(&Value) -> String) -> Result<()> {
    if json {
        println!("{}", serde_json::to_string_pretty(answer)?);
    } else {
        print!("{}", format(answer));
    }
    Ok(())
}

/// Formats an error with its causes, each thing once. A cause that was said already is left out. One that repeats the
/// text before it in more detail takes its place.
pub fn format_error(error: &anyhow::Error) -> String {
    let mut said: Vec<String> = Vec::new();
    for cause in error.chain().map(ToString::to_string) {
        if said.iter().any(|earlier| earlier.contains(&cause)) {
            continue;
        }
        match said.last_mut() {
            Some(last) if cause.contains(last.as_str()) => *last = cause,
            _ => said.push(cause),
        }
    }
    said.join(": ")
}

/// Returns what is said as a sentence: with a full stop, unless it ends one already.
pub fn end_sentence(said: &str) -> String {
    let end = if said.ends_with(['.', '?', '!']) { "" } else { "." };
    format!("{said}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;
    use std::io;

    #[test]
    fn a_sentence_that_ended_gets_no_full_stop() {
        for (said, sentence) in [
            ("it is gone", "it is gone."),
            ("gone.", "gone."),
            ("is it there?", "is it there?"),
        ] {
            assert_eq!(end_sentence(said), sentence);
        }
    }

    /// A pipe that nobody reads.
    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }

    #[test]
    fn nobody_who_reads_is_no_reason_to_panic() {
        write_line(&mut Closed, format_args!("{}", 1));
        write_text(&mut Closed, format_args!("{}", 1));
    }

    #[test]
    fn an_error_says_each_thing_once() {
        let malformed = anyhow!("Error code 11: the image is malformed")
            .context("the image is malformed")
            .context("cannot open /data: the image is malformed");
        assert_eq!(
            format_error(&malformed),
            "cannot open /data: the image is malformed: Error code 11: the image is malformed"
        );
        let refused = anyhow!("permission denied").context("cannot read a: permission denied");
        assert_eq!(format_error(&refused), "cannot read a: permission denied");
        let apart = anyhow!("refused").context("not connected");
        assert_eq!(format_error(&apart), "not connected: refused");
        let deeper = anyhow!("Error code 11: malformed")
            .context("malformed")
            .context("cannot open");
        assert_eq!(format_error(&deeper), "cannot open: Error code 11: malformed");
    }
}
