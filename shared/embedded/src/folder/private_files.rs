//! Creates files and folders that only their owner can use, and whose names survive a power loss.

use crate::file_permissions::{FolderPrivacy, restrict_to_owner};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

/// Creates a folder if it is missing, with those above it, so that their names survive a power loss.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    create_folder_with(path, sync_folder)
}

/// Creates a folder, and calls `sync` with each folder that got a new name, the outermost first.
fn create_folder_with(path: &Path, mut sync: impl FnMut(&Path) -> io::Result<()>) -> io::Result<()> {
    let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
    let missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)?;
    for above in missing.iter().rev().filter_map(|made| made.parent()) {
        let is_here = above.as_os_str().is_empty();
        match sync(if is_here { Path::new(".") } else { above }) {
            // Who may make names in a folder need not be allowed to open it.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            synced => synced?,
        }
    }
    restrict_access(path)
}

/// Opens a file to read and write, and creates it if it is missing.
pub(crate) fn create_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    restrict_access(path)?;
    Ok(file)
}

/// Removes other users' access to an existing file or folder, and logs a warning if there was any.
fn restrict_access(path: &Path) -> io::Result<()> {
    if restrict_to_owner(path)? == FolderPrivacy::MadePrivate {
        let path = path.display();
        tracing::warn!(%path, "other users could read or change this: it is closed to them now");
    }
    Ok(())
}

/// Makes new names in a folder survive a power loss.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    // Only Unix opens a folder as a file.
    if cfg!(unix) {
        File::open(path)?.sync_all()
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a power cut may take a new data folder away.
    #[test]
    fn each_folder_that_got_a_new_name_is_synced() {
        let top = std::env::temp_dir().join(format!("recado-names-{}", std::process::id()));
        std::fs::create_dir(&top).unwrap();
        let (outer, inner) = (top.join("a"), top.join("a/b"));
        let create = || {
            let mut synced = Vec::new();
            let note = |path: &Path| {
                assert!(inner.exists(), "the names are there before they are synced");
                synced.push(path.to_owned());
                Ok(())
            };
            create_folder_with(&inner, note).unwrap();
            synced
        };
        let (first, second) = (create(), create());
        std::fs::remove_dir_all(&top).unwrap();
        assert_eq!(first, [top, outer]);
        assert!(second.is_empty(), "nothing is new");
    }
}
