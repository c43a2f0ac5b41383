-- Who waits for a person, of one tenant and of all.
-- The conversations of a tenant in which a person owes an answer (`select_waiting_page`).
CREATE INDEX conversations_waiting_of_tenant ON conversations (tenant, person_since, id) WHERE person_since IS NOT NULL;
DROP INDEX conversations_person_since;
-- Those of all tenants (`select_waiting_page`, `list_waiting_for_person`).
CREATE INDEX conversations_waiting ON conversations (person_since, id) WHERE person_since IS NOT NULL;
