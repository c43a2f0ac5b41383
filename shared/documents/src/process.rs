//! Reads the text of a document in this process, which does nothing else: the hidden command `read-document` of the program `recado` and of
//! the function `api`, which each runs as a process of its own.
//!
//! At a damaged document a library may panic, run out of its stack or never end, and all of that must end the reading of that
//! document only. So the process limits its memory and its time before it reads. Before it looks at the document it gives up all further
//! files and connections, so that a fault of the library reaches neither the data folder nor the network.

use crate::{DocumentError, ReadingTask, read_document};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::io::{self, BufRead, Read, Write, stdin, stdout};
use std::panic::set_hook;
use std::thread;
use std::time::Duration;

/// Size of the stack on which a document is read, in bytes: documents nest their pages and their values.
const STACK_BYTES: usize = 64 * 1024 * 1024;

/// Maximum number of bytes of the task.
const TASK_BYTES_MAX: u64 = 10_000;

/// Number of seconds by which the time by the clock is longer than that of the processor.
const CLOCK_MARGIN_SECONDS: u64 = 3;

/// The name of the command that reads a document.
const COMMAND: &str = "read-document";

/// The limits within which a process reads a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadingLimits {
    /// Memory of the process at most, in MiB.
    pub memory_mib: u64,
    /// Time of the processor at most, in seconds.
    pub seconds: u64,
}

/// The limits on one machine, for a reader for which a request waits.
impl Default for ReadingLimits {
    fn default() -> Self {
        Self {
            memory_mib: 1024,
            seconds: 10,
        }
    }
}

impl ReadingLimits {
    /// Returns the time by the clock in which a reading ends: more than that of the processor, which others use, too.
    pub fn clock_time(self) -> Duration {
        Duration::from_secs(self.seconds.saturating_add(CLOCK_MARGIN_SECONDS))
    }

    /// Returns the arguments of the command that reads a document within these limits.
    pub fn to_arguments(self) -> [String; 5] {
        let (memory, seconds) = (self.memory_mib.to_string(), self.seconds.to_string());
        [COMMAND, "--memory-mib", &memory, "--seconds", &seconds].map(str::to_owned)
    }

    /// Returns the limits that such arguments name; `None` for any others.
    pub fn from_arguments(arguments: impl IntoIterator<Item = String>) -> Option<Self> {
        let given: [String; 5] = arguments.into_iter().collect::<Vec<_>>().try_into().ok()?;
        let limits = Self {
            memory_mib: given[2].parse().ok()?,
            seconds: given[4].parse().ok()?,
        };
        (limits.to_arguments() == given).then_some(limits)
    }
}

/// Reads a document within limits from standard input, and prints what was read as JSON. The task stands in the first line of the input,
/// as JSON, and the document after it.
///
/// # Errors
///
/// The process cannot limit itself, or the input or the output fails.
pub fn print_document(limits: ReadingLimits) -> io::Result<()> {
    limit_this_process(limits)?;
    // A panic is the failure of one document or one page, and says nothing that a person could use.
    set_hook(Box::new(|_| {}));
    let mut input = stdin().lock();
    let mut task = Vec::new();
    input.by_ref().take(TASK_BYTES_MAX).read_until(b'\n', &mut task)?;
    let task: ReadingTask = serde_json::from_slice(&task)?;
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    forbid_opening()?;
    let reading = thread::Builder::new().stack_size(STACK_BYTES);
    let read = reading.spawn(move || read_document(&bytes, &task))?.join();
    let read = serde_json::to_vec(&read.unwrap_or(Err(DocumentError::Unreadable)))?;
    stdout().lock().write_all(&read)?;
    Ok(())
}

fn limit_this_process(limits: ReadingLimits) -> io::Result<()> {
    limit_resource(Resource::As, limits.memory_mib.saturating_mul(1024 * 1024))?;
    limit_resource(Resource::Cpu, limits.seconds)?;
    limit_resource(Resource::Core, 0)
}

/// Lets this process open no file and no socket any more. What is open stays so: its input and its output.
fn forbid_opening() -> io::Result<()> {
    limit_resource(Resource::Nofile, 0)
}

fn limit_resource(resource: Resource, most: u64) -> io::Result<()> {
    let limit = Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    Ok(setrlimit(resource, limit)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[ignore = "the next test runs it in a process of its own"]
    fn nothing_is_opened_in_this_process_any_more() {
        forbid_opening().unwrap();
        assert!(std::fs::File::open("/dev/null").is_err());
        assert!(std::net::TcpListener::bind("127.0.0.1:0").is_err());
    }

    #[test]
    fn who_reads_a_document_opens_no_file_and_no_connection() {
        let test = "process::tests::nothing_is_opened_in_this_process_any_more";
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", test])
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success() && told.contains("1 passed"), "{told}");
    }

    #[test]
    fn a_command_is_known_by_its_arguments_and_no_other_is() {
        let limits = ReadingLimits {
            memory_mib: 256,
            seconds: 10,
        };
        assert_eq!(ReadingLimits::from_arguments(limits.to_arguments()), Some(limits));
        for others in [
            &["read-document"][..],
            &["read-document", "--seconds", "9", "--memory-mib", "9"],
            &[],
        ] {
            let others = others.iter().map(|&text| text.to_owned());
            assert_eq!(ReadingLimits::from_arguments(others), None);
        }
    }
}
