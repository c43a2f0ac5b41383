//! Finds the documents that the command line names.

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// The ends of the names of files that a folder is searched for.
const EXTENSIONS: [&str; 12] = [
    "md", "markdown", "txt", "text", "html", "htm", "csv", "tsv", "docx", "xlsx", "pptx", "pdf",
];

/// A document on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundDocument {
    /// The file.
    pub(super) path: PathBuf,
    /// The name of the file, with the folders below the one that was named.
    pub(super) title: String,
}

/// Finds the documents: files as they are named, and of folders those whose names end as documents do.
pub(super) fn find_documents(paths: &[PathBuf]) -> Result<Vec<FoundDocument>> {
    let mut found = Vec::new();
    for path in paths {
        let known = fs::metadata(path).with_context(|| format!("{} cannot be read", path.display()))?;
        if known.is_dir() {
            add_folder(path, path, &mut found)?;
        } else {
            let parent = path.parent().unwrap_or(path);
            found.push(describe_document(parent, path.clone()));
        }
    }
    if found.is_empty() {
        bail!("there are no documents ({})", EXTENSIONS.join(", "));
    }
    Ok(found)
}

fn add_folder(top: &Path, folder: &Path, found: &mut Vec<FoundDocument>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    paths.sort();
    for path in paths {
        let is_hidden = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('.'));
        // Links are not followed: one may lead out of the folder, or around in it.
        let kind = fs::symlink_metadata(&path)?.file_type();
        if kind.is_dir() && !is_hidden {
            add_folder(top, &path, found)?;
        } else if kind.is_file() && !is_hidden && is_document(&path) {
            found.push(describe_document(top, path));
        }
    }
    Ok(())
}

fn is_document(path: &Path) -> bool {
    let extension = path.extension().map(|end| end.to_string_lossy().to_lowercase());
    extension.is_some_and(|end| EXTENSIONS.contains(&end.as_str()))
}

fn describe_document(top: &Path, path: PathBuf) -> FoundDocument {
    let title = path.strip_prefix(top).unwrap_or(&path);
    let parts: Vec<_> = title.iter().map(|part| part.to_string_lossy()).collect();
    FoundDocument {
        title: parts.join("/"),
        path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_searched_for_documents_and_a_file_is_taken_as_it_is() {
        let top = std::env::temp_dir().join(format!("recado-documents-{}", std::process::id()));
        fs::create_dir_all(top.join("prices")).unwrap();
        for name in ["b.md", "prices/a.CSV", "photo.jpg", ".hidden.md"] {
            fs::write(top.join(name), "x").unwrap();
        }
        let titles = |paths: &[PathBuf]| -> Vec<String> {
            find_documents(paths)
                .unwrap()
                .into_iter()
                .map(|found| found.title)
                .collect()
        };
        assert_eq!(titles(std::slice::from_ref(&top)), ["b.md", "prices/a.CSV"]);
        assert_eq!(titles(&[top.join("photo.jpg")]), ["photo.jpg"]);
        assert!(find_documents(&[top.join("absent.md")]).is_err());
        fs::remove_dir_all(&top).unwrap();
    }
}
