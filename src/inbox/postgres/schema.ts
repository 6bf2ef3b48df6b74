import { configInvalid } from '../../errors.ts'
import type { Query } from './database.ts'

/**
 * Maximum milliseconds to add to or subtract from a time: about a thousand years. PostgreSQL rejects larger intervals.
 */
export const MAX_INTERVAL = 3e13

/** The version of the inbox's tables. */
export const VERSION = 3

/**
 * Statements that create the tables of inboxes. `delivery` is what arrived, written once. Its tasks are its fates, one
 * for each name of a handler. `task.state` is the index in `STATES`. `task.due` depends on it: due time, expiry of the
 * lease, or end time. `compatible` is the oldest version of the tables whose processes may use them.
 *
 * `routed` is true if further tasks of the delivery were created, or none is needed. `service` is the key of an order, and
 * a held task waits for an earlier one with the same key, unless that one has `passed`. Their indexes hash the key, because
 * PostgreSQL limits the size of index entries. `failing_since` is when the first attempt failed, `error_kind` is the last
 * error without ids and long numbers.
 */
export const createInboxSql = (schema: string): string => `
create table if not exists ${schema}.inbox_queue (
  name text collate "C" primary key, paused boolean not null default false, concurrency int
);
create table if not exists ${schema}.inbox_delivery (
  seq bigint generated always as identity primary key,
  queue text collate "C" not null,
  id text collate "C" not null,
  received timestamptz not null,
  tenant text,
  service text,
  types text not null,
  head text not null,
  size int not null,
  body bytea not null,
  unique (queue, id)
);
create table if not exists ${schema}.inbox_task (
  seq bigint not null references ${schema}.inbox_delivery on delete cascade,
  handler text collate "C" not null default '',
  queue text collate "C" not null,
  service text collate "C",
  state smallint not null,
  due timestamptz not null,
  attempts int not null default 0,
  token bigint not null default 0,
  alone boolean not null default false,
  owner uuid,
  started timestamptz,
  errors text,
  routed boolean not null default false,
  passed boolean not null default false,
  primary key (seq, handler)
);
alter table ${schema}.inbox_task add column if not exists failing_since timestamptz,
  add column if not exists error_kind text, add column if not exists rerun boolean not null default false;
create index if not exists inbox_task_ready on ${schema}.inbox_task (queue, handler, routed, due, seq) where state = 0;
drop index if exists ${schema}.inbox_task_due;
create index if not exists inbox_task_active on ${schema}.inbox_task (queue, due) where state = 1;
create index if not exists inbox_task_ended on ${schema}.inbox_task (queue, state, due) where state >= 2;
create index if not exists inbox_task_listed on ${schema}.inbox_task (queue, state, seq);
create index if not exists inbox_task_service on ${schema}.inbox_task (queue, handler, routed, hashtextextended(service, 0), seq)
  where state = 0 and service is not null and not passed;
create index if not exists inbox_task_held on ${schema}.inbox_task (queue, handler, routed, hashtextextended(service, 0), seq)
  where state = 5;
create index if not exists inbox_task_failing on ${schema}.inbox_task (queue, failing_since)
  where state = 0 and failing_since is not null and not passed;
create table if not exists ${schema}.inbox_worker (
  id uuid primary key, queue text collate "C" not null, names text, types text, seen timestamptz not null
);
create table if not exists ${schema}.inbox_generation (
  queue text collate "C", handler text collate "C", service text collate "C", generations jsonb not null,
  primary key (queue, handler, service)
);
create table if not exists ${schema}.inbox_meta (version int not null, compatible int not null);
insert into ${schema}.inbox_meta select ${VERSION}, ${VERSION} where not exists (select from ${schema}.inbox_meta);
update ${schema}.inbox_meta set version = ${VERSION}, compatible = ${VERSION} where version < ${VERSION};
`

/** Statements that create the table of claims. A claim without an owner is a done delivery. */
export const createDuplicatesSql = (table: string): string =>
  `create table if not exists ${table} (id text primary key, owner text, until timestamptz not null);
  create index if not exists duplicates_until on ${table} (until)`

/**
 * Statements that create the table of the last known rows of features. `written` is in the order in which rows were
 * written. A row without a value is a deleted feature.
 */
export const createRowsSql = (table: string): string =>
  `create table if not exists ${table} (
    service bytea, layer bigint, key text collate "C", object_id text collate "C", generation bigint not null,
    value text, written bigserial unique, primary key (service, layer, key)
  );
  create index if not exists known_rows_object on ${table} (service, layer, object_id) where object_id is not null`

/** @throws {WebhookError} `config_invalid` if a newer version of geohook has made the tables unusable for this one */
export async function requireCompatible(query: Query, schema: string): Promise<void> {
  const [meta] = await query<{ version: number; compatible: number }>(
    `select version, compatible from ${schema}.inbox_meta`,
  )
  if (!meta || meta.compatible <= VERSION) return
  throw configInvalid(
    `the tables of the inbox in the schema ${schema} have version ${meta.version}, and this version of geohook supports at most ${VERSION}`,
    'Use the version of geohook that the other processes use, or give the inbox another schema.',
  )
}

/** @throws {WebhookError} `config_invalid` if the role may not use the tables */
export async function requireRights(query: Query, schema: string): Promise<void> {
  const [missing] = await query<{ name: string; role: string }>(
    `select name, current_user as role
    from unnest($1::text[]) as tables (name), unnest(array['select', 'insert', 'update', 'delete']) as rights (one)
    where not has_table_privilege($2 || '.' || name, one) limit 1`,
    [
      ['inbox_queue', 'inbox_delivery', 'inbox_task', 'inbox_worker', 'inbox_generation', 'inbox_meta'],
      schema,
    ],
  )
  if (!missing) return
  throw configInvalid(
    `the role ${missing.role} may not use the table ${missing.name} in the schema ${schema}`,
    'Grant it select, insert, update and delete on all tables of the schema: geohook inbox init --print-sql.',
  )
}
