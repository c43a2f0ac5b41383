use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// The folders of a data folder whose files are copied, beside its own files.
const FOLDERS: [&str; 2] = ["files", "payloads"];

/// The databases of a data folder.
const DATABASES: [&str; 2] = ["recado.db", "intake.db"];

/// The bytes that a backup, a check or a restore has worked on, for those who show it meanwhile. A byte counts each time that it is
/// copied or read.
#[derive(Debug, Default)]
pub struct BackupProgress {
    all: AtomicU64,
    done: AtomicU64,
}

impl BackupProgress {
    /// Returns how much of the work is done, in per cent. The number of bytes of a folder in use is a guess.
    pub fn percent_done(&self) -> u64 {
        let (all, done) = (self.all.load(Ordering::Relaxed), self.count_bytes());
        let percent = u128::from(done) * 100 / u128::from(all.max(1));
        u64::try_from(percent.min(100)).unwrap_or(100)
    }

    /// Returns the number of bytes that were worked on.
    pub fn count_bytes(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Says how many bytes are to be worked on.
    pub(super) fn expect_bytes(&self, all: u64) {
        self.all.store(all, Ordering::Relaxed);
    }

    pub(super) fn add_bytes(&self, more: u64) {
        self.done.fetch_add(more, Ordering::Relaxed);
    }
}

/// Returns the size of a data folder. What cannot be read does not count.
pub(super) fn measure_folder(data: &Path) -> u64 {
    let entries = FOLDERS.map(|folder| fs::read_dir(data.join(folder)));
    let files = entries.into_iter().flatten().flatten().flatten();
    let sizes = files.filter_map(|file| Some(file.metadata().ok()?.len()));
    let databases = DATABASES.map(|name| fs::metadata(data.join(name)));
    let databases = databases.iter().flatten().map(fs::Metadata::len);
    sizes.chain(databases).sum()
}
