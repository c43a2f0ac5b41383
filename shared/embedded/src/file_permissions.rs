//! Makes folders and files private: no other user may read or change them.

use rustix::process::geteuid;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// The permissions that an existing file or folder had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderPrivacy {
    /// Other users had no access already.
    AlreadyPrivate,
    /// Other users could read or change it until now. Their access was removed.
    MadePrivate,
}

/// Removes the permissions of other users from an existing file or folder. A file or folder that belongs to another
/// user is refused, since that user could restore the access. Root counts as no other user; if root runs Recado,
/// folders may belong to anybody, and a file to the owner of its folder.
pub fn restrict_to_owner(path: &Path) -> io::Result<FolderPrivacy> {
    let found = fs::metadata(path)?;
    let (user, owner) = (geteuid().as_raw(), found.uid());
    let may = owner == user
        || owner == 0
        || (user == 0 && (found.is_dir() || Some(owner) == parent_owner_id(path)));
    if !may {
        let why = "it belongs to another user: change its owner, or use a folder of your own";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    let mode = found.permissions().mode();
    let closed = mode & 0o700;
    if closed == mode & 0o777 {
        return Ok(FolderPrivacy::AlreadyPrivate);
    }
    fs::set_permissions(path, Permissions::from_mode(closed))?;
    Ok(FolderPrivacy::MadePrivate)
}

fn parent_owner_id(path: &Path) -> Option<u32> {
    Some(fs::metadata(path.parent()?).ok()?.uid())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::tests::Scratch;

    #[test]
    fn what_is_open_to_others_is_closed_and_what_is_closed_stays_as_it_is() {
        let scratch = Scratch::new();
        fs::create_dir_all(&scratch.0).unwrap();
        let file = scratch.0.join("token");
        fs::write(&file, "x").unwrap();
        for (path, mode, privacy, after) in [
            (&scratch.0, 0o777, FolderPrivacy::MadePrivate, 0o700),
            (&scratch.0, 0o700, FolderPrivacy::AlreadyPrivate, 0o700),
            (&file, 0o666, FolderPrivacy::MadePrivate, 0o600),
            (&file, 0o640, FolderPrivacy::MadePrivate, 0o600),
            (&file, 0o400, FolderPrivacy::AlreadyPrivate, 0o400),
        ] {
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
            assert_eq!(restrict_to_owner(path).unwrap(), privacy, "{mode:o}");
            let found = fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(found, after, "{mode:o}");
        }
        assert!(restrict_to_owner(&scratch.0.join("none")).is_err());
    }
}
