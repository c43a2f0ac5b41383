use recado_domain::ids::TenantId;
use std::fmt;

/// A part of the table: the items of one kind that one tenant owns, or that the installation owns.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Partition {
    /// The name of the kind, or that of what leads to items of a kind.
    pub name: &'static str,
    /// The tenant; `None` for the installation.
    pub owner: Option<TenantId>,
}

impl Partition {
    /// Makes the partition of a tenant, or of the installation.
    pub fn new(name: &'static str, owner: Option<&TenantId>) -> Self {
        Self {
            name,
            owner: owner.cloned(),
        }
    }
}

/// Writes the partition as stores keep it: name, `#`, and the id of the tenant or nothing.
impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let owner = self.owner.as_ref().map_or("", TenantId::as_str);
        write!(f, "{}#{owner}", self.name)
    }
}

/// The key of an item. Items of a partition are sorted by the bytes of `sort`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The partition.
    pub partition: Partition,
    /// The place in the partition, from 1 to 900 bytes.
    pub sort: String,
}

impl Key {
    /// Makes the key of an item of a tenant, or of the installation.
    pub fn new(name: &'static str, owner: Option<&TenantId>, sort: impl Into<String>) -> Self {
        Self {
            partition: Partition::new(name, owner),
            sort: sort.into(),
        }
    }
}
