//! Reads the text of a PDF document in this process, which does nothing else: the hidden command `read-pdf` of the program `recado` and of
//! the function `api`, which each runs as a process of its own.
//!
//! At a damaged document the library may panic, run out of its stack or never end, and all of that must end the reading of that
//! document only. So the process limits its memory and its time before it reads. Before it looks at the document it gives up all further
//! files and connections, so that a fault of the library reaches neither the data folder nor the network.

#[cfg_attr(not(feature = "pdf"), path = "pdf/pages_left_out.rs")]
mod pages;

use pages::extract_pdf_pages;
use rustix::process::{Resource, Rlimit, setrlimit};
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write, stdin, stdout};
use std::panic::set_hook;
use std::thread;

/// Size of the stack on which a document is read, in bytes: documents nest their pages and their values.
const STACK_BYTES: usize = 64 * 1024 * 1024;

/// The name of the command that reads a document.
const COMMAND: &str = "read-pdf";

/// The limits within which a process reads a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PdfLimits {
    /// Memory of the process at most, in MiB.
    pub memory_mib: u64,
    /// Time at most, in seconds.
    pub seconds: u64,
}

/// The limits on one machine, for a reader for which a request waits.
impl Default for PdfLimits {
    fn default() -> Self {
        Self {
            memory_mib: 1024,
            seconds: 10,
        }
    }
}

impl PdfLimits {
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

/// The text of a document, or the reason why it has none that can be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PdfText {
    /// The texts of the pages, in their order; `None` for a page that cannot be read.
    Pages(Vec<Option<String>>),
    /// A password is needed to read it.
    Encrypted,
    /// The document is damaged, or is no PDF document.
    Damaged,
    /// The program was built without the reader of PDF documents.
    LeftOut,
}

/// Reads a document within limits from standard input, and prints its text as JSON, a text for each page.
pub fn print_pdf_text(limits: PdfLimits) -> io::Result<()> {
    limit_this_process(limits)?;
    // A panic is one page's failure, and says nothing that a person could use.
    set_hook(Box::new(|_| {}));
    let mut bytes = Vec::new();
    stdin().lock().read_to_end(&mut bytes)?;
    forbid_opening()?;
    let reading = thread::Builder::new().stack_size(STACK_BYTES);
    let read = reading.spawn(move || extract_pdf_pages(&bytes))?.join();
    let text = serde_json::to_vec(&read.unwrap_or(PdfText::Damaged))?;
    stdout().lock().write_all(&text)?;
    Ok(())
}

fn limit_this_process(limits: PdfLimits) -> io::Result<()> {
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
        let test = "pdf::tests::nothing_is_opened_in_this_process_any_more";
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", test])
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success() && told.contains("1 passed"), "{told}");
    }

    #[test]
    fn a_command_is_known_by_its_arguments_and_no_other_is() {
        let limits = PdfLimits {
            memory_mib: 256,
            seconds: 10,
        };
        assert_eq!(PdfLimits::from_arguments(limits.to_arguments()), Some(limits));
        for others in [
            &["read-pdf"][..],
            &["read-pdf", "--seconds", "9", "--memory-mib", "9"],
            &[],
        ] {
            let others = others.iter().map(|&text| text.to_owned());
            assert_eq!(PdfLimits::from_arguments(others), None);
        }
    }
}
