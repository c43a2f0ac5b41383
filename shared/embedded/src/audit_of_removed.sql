-- The audit is never changed, but for what the configuration of a removed tenant held.

DROP TRIGGER audit_is_never_changed;
CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit
WHEN NEW.id <> OLD.id OR NEW.at <> OLD.at OR NEW.tenant <> OLD.tenant OR NEW.actor <> OLD.actor OR NEW.action <> OLD.action
    OR NEW.expires <> OLD.expires OR OLD.action <> 'configuration_changed'
    OR NEW.body <> json_set(json_remove(OLD.body, '$.before'), '$.after', '(not kept)')
BEGIN SELECT RAISE(ABORT, 'the audit is never changed'); END;
