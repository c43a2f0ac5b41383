-- Messages for which the provider charges, in the sums of use.
ALTER TABLE usage ADD COLUMN charged_messages INTEGER NOT NULL DEFAULT 0;
