//! Finds the documents that the command line names.

use super::pages::{is_page_url, list_page_urls};
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// The ends of the names of files that a folder is searched for.
const EXTENSIONS: [&str; 12] = [
    "md", "markdown", "txt", "text", "html", "htm", "csv", "tsv", "docx", "xlsx", "pptx", "pdf",
];

/// A document that is to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundDocument {
    /// The place where it is.
    pub(super) place: DocumentPlace,
    /// The name of the file, with the folders below the one that was named; the URL of a page.
    pub(super) title: String,
}

/// The place of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DocumentPlace {
    /// A file of this machine.
    File(PathBuf),
    /// A page, by its URL.
    Page(String),
}

impl fmt::Display for DocumentPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Page(url) => f.write_str(url),
        }
    }
}

/// Finds the documents: pages by their URLs, files as they are named, and of folders those whose names end as documents do. `listed`
/// is a file with URLs.
pub(super) fn find_documents(named: &[String], listed: Option<&Path>) -> Result<Vec<FoundDocument>> {
    let mut found = Vec::new();
    let mut urls = Vec::new();
    for name in named {
        if is_page_url(name) {
            urls.push(name.clone());
            continue;
        }
        let path = &PathBuf::from(name);
        let known = fs::metadata(path).with_context(|| format!("{} cannot be read", path.display()))?;
        if known.is_dir() {
            add_folder(path, path, &mut found)?;
        } else {
            let parent = path.parent().unwrap_or(path);
            found.push(describe_document(parent, path.clone()));
        }
    }
    if let Some(list) = listed {
        let text = fs::read_to_string(list).with_context(|| format!("{} cannot be read", list.display()))?;
        urls.extend(list_page_urls(&text));
    }
    let mut known = BTreeSet::new();
    urls.retain(|url| known.insert(url.clone()));
    found.extend(urls.into_iter().map(|url| FoundDocument {
        title: url.clone(),
        place: DocumentPlace::Page(url),
    }));
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
        place: DocumentPlace::File(path),
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
        let titles = |paths: &[PathBuf], listed: Option<&Path>| -> Vec<String> {
            let named: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            find_documents(&named, listed)
                .unwrap()
                .into_iter()
                .map(|found| found.title)
                .collect()
        };
        assert_eq!(titles(std::slice::from_ref(&top), None), ["b.md", "prices/a.CSV"]);
        assert_eq!(titles(&[top.join("photo.jpg")], None), ["photo.jpg"]);
        let absent = top.join("absent.md").display().to_string();
        assert!(find_documents(std::slice::from_ref(&absent), None).is_err());
        let list = top.join("pages");
        fs::write(&list, "https://a.example\nhttps://b.example\nhttps://a.example\n").unwrap();
        assert_eq!(
            titles(&[], Some(&list)),
            ["https://a.example", "https://b.example"]
        );
        assert!(find_documents(&[], Some(&top.join("absent"))).is_err());
        fs::remove_dir_all(&top).unwrap();
    }
}
