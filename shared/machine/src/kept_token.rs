//! The operators' token in the data folder, for the command line on the machine that serves.

use anyhow::{Context, Result, bail};
use recado_domain::secret::Secret;
use rustix::process::getuid;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Reads the operators' token that `recado serve` generated in `data`, for the command line on the same machine.
pub fn read_kept_token(data: &Path) -> Result<Secret> {
    let file = data.join("operator-token");
    let shown = file.display();
    match fs::read_to_string(&file) {
        Ok(text) => {
            Secret::new(&text).with_context(|| format!("{shown} is empty: give RECADO_TOKEN or --token"))
        }
        Err(error) => bail!(describe_token_error(&error, &file, data)),
    }
}

/// Tells why the token's file cannot be read, and what to do.
fn describe_token_error(error: &io::Error, file: &Path, data: &Path) -> String {
    let shown = file.display();
    match error.kind() {
        ErrorKind::PermissionDenied => {
            let (owner, me) = (describe_owner(file, data), user_name(getuid().as_raw()));
            format!(
                "{shown} belongs to {owner} and cannot be read by {me}: run this as {owner} (sudo -u {owner} recado …), or \
                 give RECADO_TOKEN or --token"
            )
        }
        ErrorKind::NotFound => format!(
            "no operators' token: {shown} does not exist. Run this in the folder where Recado runs (or set RECADO_DATA), \
             or give RECADO_TOKEN or --token"
        ),
        _ => format!("{shown} cannot be read: {error}"),
    }
}

/// Returns the name of the owner of `file`, or of the folder around it if only that can be seen.
fn describe_owner(file: &Path, folder: &Path) -> String {
    let seen = fs::metadata(file).or_else(|_| fs::metadata(folder));
    seen.map_or_else(|_| "another user".to_owned(), |seen| user_name(seen.uid()))
}

/// Returns the name of a user of this machine, else the number.
fn user_name(uid: u32) -> String {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let fields = |line: &str| {
        let mut fields = line.split(':');
        (fields.next().map(str::to_owned), fields.nth(1).map(str::to_owned))
    };
    users
        .lines()
        .map(fields)
        .find_map(|(name, id)| name.filter(|_| id.as_deref() == Some(uid.to_string().as_str())))
        .unwrap_or_else(|| format!("#{uid}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_of_another_user_is_told_with_its_owner() {
        let file = Path::new("/etc/hostname");
        let told = describe_token_error(&ErrorKind::PermissionDenied.into(), file, Path::new("/etc"));
        assert!(
            told.contains("belongs to root") && told.contains("sudo -u root recado"),
            "{told}"
        );
        let told = describe_token_error(&ErrorKind::NotFound.into(), file, Path::new("/etc"));
        assert!(
            told.contains("does not exist") && told.contains("RECADO_DATA"),
            "{told}"
        );
        assert_eq!(user_name(4_000_000_001), "#4000000001");
    }
}
