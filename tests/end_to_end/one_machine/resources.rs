//! What the process takes of its machine, and may take.

use crate::machine::Machine;
use std::process::Command;

impl Machine {
    /// A line of what the system says of its memory, in KiB.
    pub(crate) fn memory(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Lets the system forget the most memory that it ever had.
    pub(crate) fn forget_peak(&self) {
        std::fs::write(format!("/proc/{}/clear_refs", self.id()), "5").unwrap();
    }

    /// Lets no file that it writes become larger, or lets all.
    pub(crate) fn limit_files(&self, bytes: Option<u64>) {
        let most = bytes.map_or("unlimited".to_owned(), |bytes| bytes.to_string());
        let limited = Command::new("prlimit")
            .args(["--pid", &self.id().to_string()])
            .arg(format!("--fsize={most}:unlimited"))
            .status()
            .unwrap();
        assert!(limited.success());
    }
}
