use super::DynamoStore;
use super::expression::Expression;
use super::item::{self, Item, number, text};
use super::keys::{DEAD, DELETED, Key};
use super::lists::{self, Place, Span};
use super::table::Query;
use super::transaction::Action;
use jiff::Timestamp;
use recado_domain::dead_letter::{DeadLetter, Deletion};
use recado_domain::ids::InstanceId;
use recado_pipeline::ports::{Ambient, DeadLetterFilter, DeadLetters, Page, PageRequest, PortResult};

/// A dead letter's record; it lies in the index of lists by when it died.
fn record(what: &'static str, letter: &DeadLetter) -> PortResult<Item> {
    let mut item = item::write(what, letter)?;
    item.insert("list_key".to_owned(), text(DEAD));
    item.insert("list_at".to_owned(), number(letter.at.as_millisecond()));
    Ok(Key::dead_letter(&letter.id).into_item(item))
}

/// Who deleted a dead letter; it lies in the index of lists by when that was.
fn note(what: &'static str, deletion: &Deletion) -> PortResult<Item> {
    let mut item = item::write(what, deletion)?;
    item.insert("list_key".to_owned(), text(DELETED));
    item.insert("list_at".to_owned(), number(deletion.at.as_millisecond()));
    Ok(Key::deletion(deletion).into_item(item))
}

/// The condition that a letter is of the death at `died`.
fn of(died: Timestamp) -> Expression {
    Expression::new("#at = :died").number(":died", died.as_millisecond())
}

impl<A: Ambient> DeadLetters for DynamoStore<A> {
    async fn put_dead_letter(&self, letter: &DeadLetter) -> PortResult<()> {
        const WHAT: &str = "keeping a dead letter";
        let newest = Expression::new("attribute_not_exists(#pk) OR #at <= :died")
            .number(":died", letter.at.as_millisecond());
        let _refused = self.table.put(WHAT, record(WHAT, letter)?, Some(newest)).await?;
        Ok(())
    }

    async fn dead_letter(&self, id: &str) -> PortResult<Option<DeadLetter>> {
        const WHAT: &str = "reading a dead letter";
        let found = self.table.get(WHAT, Key::dead_letter(id)).await?;
        found.map(|item| item::read(WHAT, &item)).transpose()
    }

    async fn remove_dead_letter(&self, id: &str, died: Timestamp) -> PortResult<bool> {
        let removed = self
            .table
            .delete("removing a dead letter", Key::dead_letter(id), of(died))
            .await?;
        Ok(removed.is_ok())
    }

    async fn delete_dead_letter(&self, deletion: &Deletion) -> PortResult<bool> {
        const WHAT: &str = "deleting a dead letter";
        let actions = vec![
            Action::Delete(Key::dead_letter(&deletion.letter), Some(of(deletion.died))),
            Action::Put(note(WHAT, deletion)?, None),
        ];
        let Err(_refused) = self.table.transact(WHAT, actions).await? else {
            return Ok(true);
        };
        // A transaction that the client library repeated finds its own work done.
        let kept = self.table.get(WHAT, Key::deletion(deletion)).await?;
        let kept: Option<Deletion> = kept.map(|item| item::read(WHAT, &item)).transpose()?;
        Ok(kept.as_ref() == Some(deletion))
    }

    async fn deletions(&self, page: &PageRequest) -> PortResult<Page<Deletion>> {
        const WHAT: &str = "listing deleted dead letters";
        let wanted = |item: &Item| {
            let deletion: Deletion = item::read(WHAT, item)?;
            let id = format!("{}@{}", deletion.letter, deletion.died.as_millisecond());
            Ok(Some((Place::new(deletion.at.as_millisecond(), id), deletion)))
        };
        let found = self.listed(WHAT, DELETED.to_owned(), page, wanted).await?;
        Ok(lists::page(found, page.limit.max(1)))
    }

    async fn dead_letters(
        &self,
        filter: &DeadLetterFilter,
        page: &PageRequest,
    ) -> PortResult<Page<DeadLetter>> {
        const WHAT: &str = "listing dead letters";
        let wanted = |item: &Item| {
            let letter: DeadLetter = item::read(WHAT, item)?;
            let place = Place::new(letter.at.as_millisecond(), letter.id.clone());
            Ok(filter.takes(&letter).then_some((place, letter)))
        };
        let span = Span {
            since: filter.since,
            until: filter.until,
        };
        let found = self
            .listed_between(WHAT, DEAD.to_owned(), span, page, wanted)
            .await?;
        Ok(lists::page(found, page.limit.max(1)))
    }

    async fn count_dead_letters(&self, instance: Option<&InstanceId>) -> PortResult<u64> {
        let keys = Expression::new("#list_key = :key").text(":key", DEAD);
        let filter =
            instance.map(|id| Expression::new("#instance = :instance").text(":instance", id.as_str()));
        let query = Query {
            index: Some("lists"),
            keys,
            reverse: true,
            limit: None,
        };
        self.table.count("counting dead letters", &query, filter).await
    }
}
