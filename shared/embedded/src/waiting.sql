-- Who waits for a person, of one tenant and of all.
CREATE INDEX conversations_waiting_of_tenant ON conversations (tenant, person_since, id) WHERE person_since IS NOT NULL;
DROP INDEX conversations_person_since;
CREATE INDEX conversations_waiting ON conversations (person_since, id) WHERE person_since IS NOT NULL;
