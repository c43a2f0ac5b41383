//! Pages of lists.

use crate::port_error::PortResult;

/// A request for one page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    /// Maximum number of items on the page.
    pub limit: usize,
    /// `next_cursor` of the page before; `None` for the first page.
    pub cursor: Option<String>,
}

impl PageRequest {
    /// Asks for the first page of a list, with at most `limit` items.
    pub const fn first(limit: usize) -> Self {
        Self { limit, cursor: None }
    }

    /// Asks for the page that `next_cursor` names. Returns `None` after the last page.
    #[must_use]
    pub fn follow(self, next_cursor: Option<String>) -> Option<Self> {
        next_cursor.map(|cursor| Self {
            cursor: Some(cursor),
            ..self
        })
    }
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// Items of this page.
    pub items: Vec<T>,
    /// Cursor of the next page; `None` on the last page.
    pub next_cursor: Option<String>,
}

impl<T> Page<T> {
    /// Makes a page without items, after which none follows.
    pub fn empty() -> Self {
        Self {
            items: Vec::new(),
            next_cursor: None,
        }
    }

    /// Returns the page with each item changed by `change`.
    pub fn map<R>(self, change: impl FnMut(T) -> R) -> Page<R> {
        Page {
            items: self.items.into_iter().map(change).collect(),
            next_cursor: self.next_cursor,
        }
    }
}

/// Reads a list to its end, `limit` items at once.
pub async fn join_pages<T, F>(limit: usize, read_page: impl Fn(PageRequest) -> F) -> PortResult<Vec<T>>
where
    F: Future<Output = PortResult<Page<T>>>,
{
    let (mut items, mut next) = (Vec::new(), Some(PageRequest::first(limit)));
    while let Some(page) = next {
        let found = read_page(page.clone()).await?;
        items.extend(found.items);
        next = page.follow(found.next_cursor);
    }
    Ok(items)
}
