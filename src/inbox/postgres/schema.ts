import type { JobInsert, JobWithMetadata } from 'pg-boss'
import type { InboxState } from '../durable-inbox.ts'
import type { InboxConfig } from '../inbox-options.ts'
import type { Envelope } from '../serialize.ts'

/**
 * The pg-boss states for each inbox state. pg-boss does not retry a job that an operator has cancelled, so such a job
 * is a dead letter.
 */
export const JOB_STATES: Readonly<Record<InboxState, readonly JobWithMetadata['state'][]>> = {
  waiting: ['created', 'retry'],
  active: ['active'],
  done: ['completed'],
  dead: ['failed', 'cancelled'],
}

/** Returns the pg-boss states for some inbox states, for use in `state::text = any(…)`. */
export const jobStatesOf = (...states: InboxState[]): string[] => states.flatMap((state) => JOB_STATES[state])

/** True if a job can have this id. Job ids are UUIDs, and PostgreSQL accepts any 32 hexadecimal digits as a UUID. */
export const isId = (id: string): boolean => /^[0-9a-f]{32}$/.test(id)

/** Converts the id of a job, which PostgreSQL returns with hyphens, to the id of its delivery. */
export const toId = (uuid: string): string => uuid.replaceAll('-', '')

/**
 * Seconds after which pg-boss expires active jobs and removes waiting jobs. The value is the maximum, sixty-eight
 * years, because the inbox itself limits attempts and removes deliveries.
 */
const NEVER = 2 ** 31 - 1

/**
 * Maximum milliseconds to add to or subtract from a time: about a thousand years. PostgreSQL rejects larger intervals.
 */
export const MAX_INTERVAL = 3e13

const toSeconds = (milliseconds: number): number => Math.ceil(milliseconds / 1_000)

/** Converts a delivery to a job with the same id. */
export function toJob(
  envelope: Envelope,
  { attempts, retryDelay, maxRetryDelay, lease }: InboxConfig,
): JobInsert {
  return {
    id: envelope.id,
    data: envelope,
    retryLimit: attempts - 1,
    // pg-boss uses these delays if a process exits during an attempt. After a failed attempt, the inbox sets the
    // delay.
    retryBackoff: true,
    retryDelay: toSeconds(retryDelay),
    retryDelayMax: toSeconds(maxRetryDelay),
    heartbeatSeconds: toSeconds(lease),
    expireInSeconds: NEVER,
    retentionSeconds: NEVER,
    deleteAfterSeconds: 0,
  }
}

/** Statements that create the table of claims. A claim without an owner is a done delivery. */
export const createDuplicatesSql = (schema: string, table: string): string =>
  `create schema if not exists ${schema};
  create table if not exists ${table} (id text primary key, owner text, until timestamptz not null);
  create index if not exists duplicates_until on ${table} (until)`

/** Statement that creates the table of generations: for each service, an object of generations by layer. */
export const createGenerationsSql = (table: string): string =>
  `create table if not exists ${table} (
    queue text, service text collate "C", generations jsonb not null, primary key (queue, service)
  )`

/**
 * Statements that create the table of the last known rows of features. `written` is in the order in which rows were
 * written. A row without a value is a deleted feature.
 */
export const createRowsSql = (schema: string, table: string): string =>
  `create schema if not exists ${schema};
  create table if not exists ${table} (
    service bytea, layer bigint, key text collate "C", object_id text collate "C", generation bigint not null,
    value text, written bigserial unique, primary key (service, layer, key)
  );
  create index if not exists known_rows_object on ${table} (service, layer, object_id) where object_id is not null`
