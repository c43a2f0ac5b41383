//! Folders and files that nobody else may read or change.

use rustix::process::geteuid;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// Whether an existing file or folder was closed to others, or had to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privacy {
    /// It was.
    Was,
    /// It is now; until now others could read or change it.
    Became,
}

/// Takes away what the mode of an existing file or folder lets others do. One that belongs to another user is refused:
/// that user could open it again. Its folder's owner is no other user.
pub fn keep_private(path: &Path) -> io::Result<Privacy> {
    let found = fs::metadata(path)?;
    let (user, owner) = (geteuid().as_raw(), found.uid());
    let may =
        owner == user || owner == 0 || (user == 0 && (found.is_dir() || Some(owner) == folders_owner(path)));
    if !may {
        let why = "it belongs to another user: change its owner, or use a folder of your own";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    let mode = found.permissions().mode();
    let closed = mode & 0o700;
    if closed == mode & 0o777 {
        return Ok(Privacy::Was);
    }
    fs::set_permissions(path, Permissions::from_mode(closed))?;
    Ok(Privacy::Became)
}

fn folders_owner(path: &Path) -> Option<u32> {
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
            (&scratch.0, 0o777, Privacy::Became, 0o700),
            (&scratch.0, 0o700, Privacy::Was, 0o700),
            (&file, 0o666, Privacy::Became, 0o600),
            (&file, 0o640, Privacy::Became, 0o600),
            (&file, 0o400, Privacy::Was, 0o400),
        ] {
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
            assert_eq!(keep_private(path).unwrap(), privacy, "{mode:o}");
            let found = fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(found, after, "{mode:o}");
        }
        assert!(keep_private(&scratch.0.join("none")).is_err());
    }
}
