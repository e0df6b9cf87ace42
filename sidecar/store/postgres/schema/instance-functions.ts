import { LEASE_MS } from '../../../messages/leases.ts'

const GAP_MS = 7_200_000

/**
 * The functions of instances and leases, in SQL. A time that lies further ahead than any was set is from before a
 * backward step of the clock.
 */
export const INSTANCE_FUNCTIONS: readonly string[] = [
  // A gap in which some phone may have tried in vain, or a leap of the clock: either way, silence counts for nothing
  // before now.
  `
  CREATE OR REPLACE FUNCTION note_presence() RETURNS void LANGUAGE sql AS $$
    UPDATE clock SET present_since = now_ms()
    WHERE present_since > now_ms()
      OR NOT EXISTS (SELECT FROM instance WHERE abs(now_ms() - seen_at) < ${GAP_MS})
  $$`,

  // Whether the name is the caller's now: it was so already, or nobody's who was seen of late.
  `
  CREATE OR REPLACE FUNCTION take_name(its_name text, its_owner text, its_note text) RETURNS boolean LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM note_presence();
    INSERT INTO instance AS held (name, owner, started_at, seen_at, note) VALUES (its_name, its_owner, now_ms(), now_ms(), its_note)
    ON CONFLICT (name) DO UPDATE
      SET owner = excluded.owner, seen_at = excluded.seen_at, note = excluded.note,
        started_at = CASE WHEN held.owner = excluded.owner THEN held.started_at ELSE excluded.started_at END
      WHERE held.owner IN ('', excluded.owner) OR abs(now_ms() - held.seen_at) >= ${LEASE_MS};
    RETURN FOUND;
  END $$`,

  // Leases go at once, so that others take over without waiting. What was seen of it stays: presence is counted by
  // that.
  `
  CREATE OR REPLACE FUNCTION leave(its_name text, its_owner text) RETURNS void LANGUAGE sql AS $$
    DELETE FROM lease WHERE owner = its_owner;
    UPDATE instance SET owner = '', seen_at = now_ms() WHERE name = its_name AND owner = its_owner;
  $$`,

  // What lapsed is given to others only where take_over says so, and to the next life of an instance at once: it has
  // the name, so the one before is gone. In the order of names, so that two that want the same ones never wait for each
  // other.
  `
  CREATE OR REPLACE FUNCTION hold_leases(wanted text[], its_name text, its_owner text, its_note text, take_over boolean) RETURNS SETOF text LANGUAGE sql AS $$
    INSERT INTO lease AS held (name, instance, owner, lease_until, note)
      SELECT one, its_name, its_owner, now_ms() + ${LEASE_MS}, its_note FROM (SELECT DISTINCT unnest(wanted) AS one ORDER BY one) AS names
    ON CONFLICT (name) DO UPDATE
      SET instance = excluded.instance, owner = excluded.owner, lease_until = now_ms() + ${LEASE_MS}, note = excluded.note
      WHERE held.owner = excluded.owner
        OR (take_over OR held.instance = excluded.instance) AND held.lease_until NOT BETWEEN now_ms() AND now_ms() + ${LEASE_MS}
    RETURNING held.name
  $$`,
]
