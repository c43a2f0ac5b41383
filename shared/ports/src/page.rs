//! Pages of lists.

/// A request for one page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    /// Maximum number of items on the page.
    pub limit: usize,
    /// `next_cursor` of the page before; `None` for the first page.
    pub cursor: Option<String>,
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// Items of this page.
    pub items: Vec<T>,
    /// Cursor of the next page; `None` on the last page.
    pub next_cursor: Option<String>,
}
