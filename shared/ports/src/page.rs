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

/// Reads a list to its end, `limit` items at once.
pub(crate) async fn join_pages<T, F>(limit: usize, read_page: impl Fn(PageRequest) -> F) -> PortResult<Vec<T>>
where
    F: Future<Output = PortResult<Page<T>>>,
{
    let (mut items, mut page) = (Vec::new(), PageRequest::first(limit));
    loop {
        let found = read_page(page.clone()).await?;
        items.extend(found.items);
        match found.next_cursor {
            Some(cursor) => page.cursor = Some(cursor),
            None => return Ok(items),
        }
    }
}
