//! Pages of lists.

/// A request for one page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    /// Maximum number of items on the page.
    pub limit: usize,
    /// `next_cursor` of the page before; `None` for the first page.
    pub cursor: Option<String>,
}

impl PageRequest {
    /// Asks for the first page.
    pub const fn first(limit: usize) -> Self {
        Self { limit, cursor: None }
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
    /// Returns the page with each item changed by `change`.
    pub fn map<R>(self, change: impl FnMut(T) -> R) -> Page<R> {
        Page {
            items: self.items.into_iter().map(change).collect(),
            next_cursor: self.next_cursor,
        }
    }
}
