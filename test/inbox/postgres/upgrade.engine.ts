import { createReceiver } from 'geohook'
import { beforeEach, describe, expect, it } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { KEY, payloadOf } from '../../helpers/deliver.ts'
import { describeWith, POSTGRES } from '../../helpers/services.ts'
import { deliveryOf, idOf } from '../deliveries.ts'
import { useSchema } from './fixture.ts'

/** The SQL that created the tables of version 1. Never edit this text. */
const createVersion1 = (schema: string): string => `
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
create index if not exists inbox_task_due on ${schema}.inbox_task (queue, handler, due, seq) where state = 0;
create index if not exists inbox_task_active on ${schema}.inbox_task (queue, due) where state = 1;
create index if not exists inbox_task_ended on ${schema}.inbox_task (queue, state, due) where state >= 2;
create index if not exists inbox_task_listed on ${schema}.inbox_task (queue, state, seq);
create table if not exists ${schema}.inbox_worker (
  id uuid primary key, queue text collate "C" not null, names text, types text, seen timestamptz not null
);
create table if not exists ${schema}.inbox_generation (
  queue text collate "C", handler text collate "C", service text collate "C", generations jsonb not null,
  primary key (queue, handler, service)
);
create table if not exists ${schema}.inbox_meta (version int not null, compatible int not null);
insert into ${schema}.inbox_meta select 1, 1 where not exists (select from ${schema}.inbox_meta);
`

const HEAD = '{"contentType":"application/json","headers":{},"profile":"service"}'

/** The states of the deliveries that version 1 stored, and their numbers of attempts. */
const STORED = [
  ['waiting', 0, 0],
  ['retried', 0, 2],
  ['interrupted', 1, 1],
  ['done', 2, 1],
  ['dead', 3, 20],
  ['unhandled', 4, 0],
] as const

const [WAITING = '', RETRIED = '', INTERRUPTED = '', DONE = '', DEAD = '', UNHANDLED = ''] = STORED.map(
  (_, index) => idOf(index + 1),
)

await describeWith(POSTGRES, (connectionString) => {
  describe('tables of version 1 in PostgreSQL', () => {
    const { schema, client, queueName, open } = useSchema(connectionString, 'upgrade')

    beforeEach(async () => {
      await client.query(
        `drop schema if exists ${schema} cascade; create schema ${schema}; ${createVersion1(schema)}`,
      )
      await client.query(`insert into ${schema}.inbox_queue (name, concurrency) values ($1, 3)`, [
        queueName(),
      ])
      for (const [index, [, state, attempts]] of STORED.entries())
        await client.query(
          `with added as (
            insert into ${schema}.inbox_delivery (queue, id, received, types, head, size, body)
            values ($1, $2, now() - interval '1 minute', '["A"]', $3, length($4::bytea), $4::bytea) returning seq
          )
          insert into ${schema}.inbox_task (seq, queue, state, due, attempts, token, owner, errors)
          select seq, $1, $5::smallint, now() - interval '1 second', $6::int, $6::bigint,
            case when $5::smallint = 1 then gen_random_uuid() end, case when $6::int > 1 then '[{"error":"no"}]' end
          from added`,
          [queueName(), idOf(index + 1), HEAD, Buffer.from(payloadOf('A')), state, attempts],
        )
    })

    const versions = async () =>
      (await client.query(`select version, compatible from ${schema}.inbox_meta`)).rows

    /** Reads the columns and indexes of all tables in a schema. */
    async function tablesOf(name: string): Promise<unknown> {
      const columns = await client.query(
        `select table_name, column_name, data_type, column_default, is_nullable from information_schema.columns
        where table_schema = $1 order by 1, 2`,
        [name],
      )
      const indexes = await client.query(
        `select replace(indexdef, schemaname || '.', '') as index from pg_indexes where schemaname = $1 order by 1`,
        [name],
      )
      return [columns.rows, indexes.rows]
    }

    it('are upgraded at the start: they keep their deliveries and settings, and workers handle them', async () => {
      expect(await versions()).toEqual([{ version: 1, compatible: 1 }])
      const inbox = open()
      await inbox.ready()
      expect(await versions()).toEqual([{ version: 3, compatible: 3 }])
      const { rows } = await client.query('select indexname from pg_indexes where schemaname = $1', [schema])
      const indexes = rows.map(({ indexname }) => indexname)
      expect(indexes).toContain('inbox_task_ready')
      expect(indexes).not.toContain('inbox_task_due')

      expect(await inbox.stats()).toMatchObject({
        ...{ waiting: 2, active: 1, done: 1, dead: 1, unhandled: 1 },
        ...{ paused: false, concurrency: 3 },
      })
      const { entries } = await inbox.list()
      expect(entries.map(({ id, attempts, error }) => [id, attempts, error])).toEqual([
        [WAITING, 0, undefined],
        [RETRIED, 2, 'no'],
        [INTERRUPTED, 1, undefined],
        [DONE, 1, undefined],
        [DEAD, 20, 'no'],
        [UNHANDLED, 0, undefined],
      ])
      const attempts = new Map<string, number | undefined>()
      inbox.work({ handle: async ({ id }, context) => void attempts.set(id, context?.attempt) })
      await until(async () => (await inbox.stats()).done === 5)
      expect(attempts).toEqual(
        new Map([
          [WAITING, 1],
          [RETRIED, 3],
          [INTERRUPTED, 1],
          [UNHANDLED, 1],
        ]),
      )
      expect(await inbox.retry(DEAD)).toBe(true)
      await until(async () => (await inbox.stats()).done === 6)
      expect(await inbox.put({ ...deliveryOf(), id: DONE })).toBe('duplicate')
    })

    it('are upgraded for handlers with names, which get the deliveries', async () => {
      const inbox = open()
      const handled: string[] = []
      const receiver = createReceiver({ signatureKey: KEY })
      for (const name of ['erp', 'log'])
        receiver.on('A', (_, { id }) => void handled.push(`${id} ${name}`), { name })
      inbox.work(receiver)
      await until(async () => (await inbox.stats()).done === 9)
      const ids = [WAITING, RETRIED, INTERRUPTED, UNHANDLED]
      expect(handled.sort()).toEqual(ids.flatMap((id) => [`${id} erp`, `${id} log`]))
    })

    it('are the same as new ones after the upgrade, also if several processes upgrade them at once', async () => {
      const inboxes = Array.from({ length: 4 }, () => open())
      for (const { waiting } of await Promise.all(inboxes.map((inbox) => inbox.stats())))
        expect(waiting).toBe(2)
      expect(await versions()).toEqual([{ version: 3, compatible: 3 }])
      const name = `${schema}_new`
      await open({ schema: name }).ready()
      try {
        expect(await tablesOf(schema)).toEqual(await tablesOf(name))
      } finally {
        await client.query(`drop schema ${name} cascade`)
      }
    })
  })
})
