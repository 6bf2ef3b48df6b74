// @module-tag sqlite
import { spawnSync } from 'node:child_process'
import { createReceiver } from 'geohook'
import { createSqliteDuplicates, createSqliteInbox, createSqliteRows } from 'geohook/sqlite'
import { beforeEach, describe, expect, it } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { KEY, payloadOf } from '../../helpers/deliver.ts'
import { openDatabase } from '../../helpers/sqlite.ts'
import { root } from '../../package/entries.ts'
import { deliveryOf } from '../deliveries.ts'
import { beforeStatements } from './faulty-calls.ts'
import { send, useFolder } from './fixture.ts'

const fixture = useFolder()

/** The SQL that created the tables of version 1. Never edit this text. */
const VERSION_1 = `
  CREATE TABLE delivery (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    owner TEXT,
    error TEXT,
    received_at INTEGER NOT NULL,
    size INTEGER NOT NULL,
    change_types TEXT NOT NULL
  );
  CREATE INDEX delivery_listed ON delivery (state);
  CREATE INDEX delivery_due ON delivery (at) WHERE state IN ('waiting', 'active');
  CREATE INDEX delivery_ended ON delivery (state, at) WHERE state IN ('done', 'dead');

  CREATE TABLE content (seq INTEGER PRIMARY KEY, head TEXT NOT NULL, body BLOB NOT NULL);

  CREATE TABLE total (state TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
  INSERT INTO total VALUES ('waiting', 0), ('active', 0), ('done', 0), ('dead', 0);
  CREATE TRIGGER delivery_added AFTER INSERT ON delivery BEGIN
    UPDATE total SET number = number + 1 WHERE state = new.state;
  END;
  CREATE TRIGGER delivery_moved AFTER UPDATE OF state ON delivery WHEN new.state <> old.state BEGIN
    UPDATE total SET number = number - 1 WHERE state = old.state;
    UPDATE total SET number = number + 1 WHERE state = new.state;
  END;
  CREATE TRIGGER delivery_removed AFTER DELETE ON delivery BEGIN
    UPDATE total SET number = number - 1 WHERE state = old.state;
    DELETE FROM content WHERE seq = old.seq;
  END;

  CREATE TABLE claim (id TEXT PRIMARY KEY, owner TEXT, until INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX claim_until ON claim (until);

  PRAGMA application_id = 1734699115;
  PRAGMA user_version = 1;
`

/** The SQL that upgraded the tables of version 1 to version 4. Never edit this text. */
const VERSIONS_2_TO_4 = `
  CREATE TABLE clock (latest INTEGER NOT NULL);
  INSERT INTO clock SELECT coalesce(max(received_at), 0) FROM (
    SELECT received_at FROM delivery ORDER BY seq DESC LIMIT 1);

  ALTER TABLE total ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
  UPDATE total SET bytes = (SELECT coalesce(sum(size), 0) FROM delivery WHERE delivery.state = total.state);
  DROP TRIGGER delivery_added;
  DROP TRIGGER delivery_moved;
  DROP TRIGGER delivery_removed;
  CREATE TRIGGER delivery_added AFTER INSERT ON delivery BEGIN
    UPDATE total SET number = number + 1, bytes = bytes + new.size WHERE state = new.state;
  END;
  CREATE TRIGGER delivery_moved AFTER UPDATE OF state ON delivery WHEN new.state <> old.state BEGIN
    UPDATE total SET number = number - 1, bytes = bytes - old.size WHERE state = old.state;
    UPDATE total SET number = number + 1, bytes = bytes + new.size WHERE state = new.state;
  END;
  CREATE TRIGGER delivery_removed AFTER DELETE ON delivery BEGIN
    UPDATE total SET number = number - 1, bytes = bytes - old.size WHERE state = old.state;
    DELETE FROM content WHERE seq = old.seq;
  END;

  CREATE TABLE generation (
    service TEXT NOT NULL,
    layer INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    PRIMARY KEY (service, layer)
  ) WITHOUT ROWID;

  CREATE TABLE known_layer (number INTEGER PRIMARY KEY, service TEXT NOT NULL, id INTEGER NOT NULL, UNIQUE (service, id));
  CREATE TABLE known_row (
    written INTEGER PRIMARY KEY,
    layer INTEGER NOT NULL,
    key TEXT NOT NULL,
    object_id TEXT,
    generation INTEGER NOT NULL,
    value TEXT,
    UNIQUE (layer, key)
  );
  CREATE INDEX known_row_object ON known_row (layer, object_id) WHERE object_id IS NOT NULL;
  CREATE TABLE known_total (number INTEGER NOT NULL);
  INSERT INTO known_total VALUES (0);
  PRAGMA user_version = 4;
`

/** The SQL that upgraded the tables of version 4 to version 5. Never edit this text. */
const VERSION_5 = `
  DROP TRIGGER delivery_added;
  DROP TRIGGER delivery_moved;
  DROP TRIGGER delivery_removed;
  ALTER TABLE delivery RENAME TO delivery_4;

  CREATE TABLE delivery (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    received INTEGER NOT NULL,
    tenant TEXT,
    service TEXT,
    types TEXT NOT NULL,
    size INTEGER NOT NULL
  );
  INSERT INTO delivery (seq, id, received, types, size)
    SELECT seq, id, received_at, change_types, size FROM delivery_4 ORDER BY seq;

  CREATE TABLE task (
    seq INTEGER NOT NULL,
    handler TEXT NOT NULL DEFAULT '',
    service TEXT,
    state INTEGER NOT NULL,
    due INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    token INTEGER NOT NULL DEFAULT 0,
    alone INTEGER NOT NULL DEFAULT 0,
    owner TEXT,
    started INTEGER,
    errors TEXT,
    routed INTEGER NOT NULL DEFAULT 0,
    passed INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (seq, handler)
  ) WITHOUT ROWID;
  INSERT INTO task (seq, state, due, attempts, owner, errors)
    SELECT seq, CASE state WHEN 'waiting' THEN 0 WHEN 'active' THEN 1 WHEN 'done' THEN 2 ELSE 3 END, at, attempts, owner,
      CASE WHEN error IS NOT NULL THEN json_array(json_object('error', CAST(error AS TEXT))) END
    FROM delivery_4 ORDER BY seq;
  DROP TABLE delivery_4;
  CREATE INDEX task_due ON task (handler, due, seq) WHERE state = 0;
  CREATE INDEX task_active ON task (due) WHERE state = 1;
  CREATE INDEX task_ended ON task (state, due) WHERE state >= 2;
  CREATE INDEX task_listed ON task (state, seq);

  DROP TABLE total;
  CREATE TABLE total (state INTEGER PRIMARY KEY, number INTEGER NOT NULL, bytes INTEGER NOT NULL);
  INSERT INTO total VALUES (0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0), (4, 0, 0), (5, 0, 0);
  UPDATE total SET
    number = (SELECT count(*) FROM task WHERE task.state = total.state),
    bytes = (SELECT coalesce(sum(size), 0) FROM task JOIN delivery USING (seq) WHERE task.state = total.state);
  CREATE TRIGGER task_added AFTER INSERT ON task BEGIN
    UPDATE total SET number = number + 1, bytes = bytes + (SELECT size FROM delivery WHERE seq = new.seq)
    WHERE state = new.state;
  END;
  CREATE TRIGGER task_moved AFTER UPDATE OF state ON task WHEN new.state <> old.state BEGIN
    UPDATE total SET number = number - 1, bytes = bytes - (SELECT size FROM delivery WHERE seq = old.seq)
    WHERE state = old.state;
    UPDATE total SET number = number + 1, bytes = bytes + (SELECT size FROM delivery WHERE seq = new.seq)
    WHERE state = new.state;
  END;
  CREATE TRIGGER task_removed AFTER DELETE ON task BEGIN
    UPDATE total SET number = number - 1, bytes = bytes - (SELECT size FROM delivery WHERE seq = old.seq)
    WHERE state = old.state;
    DELETE FROM content WHERE seq = old.seq AND NOT EXISTS (SELECT 1 FROM task WHERE seq = old.seq);
    DELETE FROM delivery WHERE seq = old.seq AND NOT EXISTS (SELECT 1 FROM task WHERE seq = old.seq);
  END;

  CREATE TABLE worker (id TEXT PRIMARY KEY, names TEXT, types TEXT, seen INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE queue (paused INTEGER NOT NULL DEFAULT 0, concurrency INTEGER);
  INSERT INTO queue DEFAULT VALUES;

  ALTER TABLE generation RENAME TO generation_4;
  CREATE TABLE generation (
    handler TEXT NOT NULL,
    service TEXT NOT NULL,
    layer INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    PRIMARY KEY (handler, service, layer)
  ) WITHOUT ROWID;
  INSERT INTO generation SELECT '', service, layer, generation FROM generation_4;
  DROP TABLE generation_4;

  CREATE TABLE meta (compatible INTEGER NOT NULL);
  INSERT INTO meta VALUES (5);
  PRAGMA user_version = 5;
`

const now = Date.now()
const HEAD = '{"contentType":"application/json","headers":{},"profile":"service"}'

/** SQL that inserts a delivery in each state, and two claims. */
const CONTENT = `
  INSERT INTO delivery VALUES
    (1, 'one', 'waiting', ${now}, 0, NULL, NULL, ${now}, 3, '["A"]'),
    (2, 'two', 'active', ${now - 1_000}, 1, 'another process', NULL, ${now}, 3, '["A"]'),
    (3, 'three', 'done', ${now}, 1, NULL, NULL, ${now}, 3, '["A"]'),
    (4, 'four', 'dead', ${now}, 20, NULL, 'no', ${now}, 3, '["A"]');
  INSERT INTO content SELECT seq, '${HEAD}', x'010203' FROM delivery;
  INSERT INTO claim VALUES ('done', NULL, ${now + 60_000}), ('busy', 'another process', ${now + 60_000});
`

function createFile(...statements: string[]): void {
  const db = openDatabase(fixture.path)
  for (const sql of ['PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL', ...statements])
    db.exec(sql)
  db.close()
}

const createVersion1 = (): void => createFile(VERSION_1, CONTENT)

const SERVICE = 'https://gis.example.com/rest/services/Parcels/FeatureServer'

/** SQL that inserts deliveries in every state, whose seq are not consecutive, generations and a row. */
const CONTENT_4 = `
  INSERT INTO delivery VALUES
    (2, 'first', 'waiting', ${now - 50}, 0, NULL, NULL, ${now - 100}, 1, '["A"]'),
    (3, 'retried', 'waiting', ${now - 50}, 2, NULL, 'café "is" \\ down', ${now - 99}, 2, '["B","C"]'),
    (5, 'active', 'active', ${now - 1_000}, 1, 'another process', NULL, ${now - 98}, 3, '["A"]'),
    (6, 'last', 'active', ${now - 1_000}, 20, 'another process', 'no', ${now - 97}, 4, '["A"]'),
    (8, 'done', 'done', ${now - 7}, 1, NULL, NULL, ${now - 96}, 5, '["A"]'),
    (9, 'emptied', 'done', ${now - 6}, 2, NULL, 'no', ${now - 95}, 6, '["A"]'),
    (10, 'dead', 'dead', ${now - 5}, 20, NULL, 'no', ${now - 94}, 7, '[]');
  INSERT INTO content SELECT seq, '${HEAD}', zeroblob(size) FROM delivery WHERE id <> 'emptied';
  INSERT INTO claim VALUES ('done', NULL, ${now + 60_000});
  INSERT INTO generation VALUES ('${SERVICE}', 0, 7), ('${SERVICE}', 3, 9), ('${SERVICE}2', 0, 1);
  INSERT INTO known_layer VALUES (1, '${SERVICE}', 0);
  INSERT INTO known_row VALUES (1, 1, 'k', NULL, 5, 'v');
  UPDATE known_total SET number = 1;
`

/** SQL that inserts deliveries in every state, as version 5 stored them. */
const CONTENT_5 = `
  INSERT INTO delivery (seq, id, received, service, types, size) VALUES
    (2, 'first', ${now - 100}, '${SERVICE}', '["A"]', 1),
    (3, 'retried', ${now - 99}, NULL, '["A"]', 2),
    (5, 'active', ${now - 98}, NULL, '["A"]', 3),
    (6, 'done', ${now - 97}, NULL, '["A"]', 4),
    (8, 'dead', ${now - 96}, NULL, '["A"]', 5),
    (9, 'unhandled', ${now - 95}, NULL, '["A"]', 6);
  INSERT INTO content SELECT seq, '${HEAD}', CAST('${payloadOf('A')}' AS BLOB) FROM delivery;
  INSERT INTO task (seq, service, state, due, attempts, token, owner, started, errors) VALUES
    (2, '["${SERVICE}"]', 0, ${now - 100}, 0, 0, NULL, NULL, NULL),
    (3, NULL, 0, ${now - 50}, 2, 2, NULL, ${now - 90}, '[{"error":"no","attempt":2,"at":${now - 80}}]'),
    (5, NULL, 1, ${now - 1_000}, 1, 1, 'another process', ${now - 2_000}, NULL),
    (6, NULL, 2, ${now - 7}, 1, 1, NULL, ${now - 8}, NULL),
    (8, NULL, 3, ${now - 6}, 20, 20, NULL, ${now - 8}, '[{"error":"no","attempt":20,"at":${now - 6}}]'),
    (9, NULL, 4, ${now - 5}, 0, 1, NULL, ${now - 8}, NULL);
  INSERT INTO worker VALUES ('ended', NULL, '["A"]', ${now - 60_000});
  INSERT INTO generation VALUES ('', '${SERVICE}', 0, 7);
  UPDATE queue SET concurrency = 3;
`

/** Reads the versions of a file, and all its tables, indexes and triggers. */
function tablesOf(path: string): unknown[] {
  const db = openDatabase(path)
  const tables = db
    .prepare('SELECT group_concat(sql) FROM (SELECT sql FROM sqlite_schema ORDER BY name)')
    .get()
  const versions = ['PRAGMA user_version', 'SELECT compatible FROM meta'].map((sql) => db.prepare(sql).get())
  db.close()
  return [tables, ...versions.flatMap((row) => Object.values(row as object))]
}

it('keeps and handles the deliveries of a version 1 file', async () => {
  createVersion1()
  const inbox = fixture.open()
  expect(await inbox.stats()).toMatchObject({ waiting: 1, active: 1, done: 1, dead: 1 })
  expect(await inbox.get('four')).toMatchObject({ state: 'dead', attempts: 20, error: 'no' })
  expect(await send(inbox)).toBe(202)
  const handled: string[] = []
  inbox.work({ handle: async ({ id, rawBody }) => void handled.push(`${id} ${[...rawBody]}`) })
  await until(async () => (await inbox.stats()).done === 4)
  expect(handled).toEqual(expect.arrayContaining(['one 1,2,3', 'two 1,2,3']))
  expect(handled).toHaveLength(3)
  expect(await inbox.put({ ...deliveryOf(), id: 'three' })).toBe('duplicate')
})

it('keeps the claims of a version 1 file', async () => {
  createVersion1()
  const duplicates = fixture.keep(createSqliteDuplicates({ path: fixture.path }))
  expect(await Promise.all(['done', 'busy', 'new'].map((id) => duplicates.claim(id)))).toEqual([
    'done',
    'busy',
    'claimed',
  ])
})

it('gives an upgraded file the same tables as a new one', async () => {
  createVersion1()
  await fixture.open().stats()
  const path = fixture.folder.fileIn('new.db')
  await fixture.keep(createSqliteInbox({ path })).stats()
  expect(tablesOf(fixture.path)).toEqual(tablesOf(path))
  expect(tablesOf(path).slice(1)).toEqual([7, 7])
})

describe('a version 4 file', () => {
  beforeEach(() => createFile(VERSION_1, VERSIONS_2_TO_4, CONTENT_4))

  const entryOf = (id: string, receivedAt: number, size: number, more: object) => ({
    ...{ id, attempts: 1, changeTypes: ['A'], size, receivedAt: new Date(receivedAt) },
    ...more,
  })
  const failed = (error: string) => ({ error, errors: [{ error }] })
  const INTERRUPTED = { worker: 'another process', leaseEndsAt: new Date(now - 1_000) }
  const ENTRIES = [
    entryOf('first', now - 100, 1, { state: 'waiting', attempts: 0, dueAt: new Date(now - 50) }),
    entryOf('retried', now - 99, 2, {
      ...{ state: 'waiting', attempts: 2, dueAt: new Date(now - 50) },
      ...{ changeTypes: ['B', 'C'], ...failed('café "is" \\ down') },
    }),
    entryOf('active', now - 98, 3, { state: 'active', ...INTERRUPTED }),
    entryOf('last', now - 97, 4, { state: 'active', attempts: 20, ...failed('no'), ...INTERRUPTED }),
    entryOf('done', now - 96, 5, { state: 'done', endedAt: new Date(now - 7) }),
    entryOf('emptied', now - 95, 6, {
      ...{ state: 'done', attempts: 2, endedAt: new Date(now - 6), ...failed('no') },
    }),
    entryOf('dead', now - 94, 7, {
      ...{ state: 'dead', attempts: 20, endedAt: new Date(now - 5), ...failed('no'), changeTypes: [] },
    }),
  ]

  it('keeps its deliveries, bodies, totals, generations, rows and claims', async () => {
    const inbox = fixture.open()
    expect(await inbox.stats()).toMatchObject({
      ...{ waiting: 2, active: 2, done: 2, dead: 1, oldest: new Date(now - 100) },
    })
    expect((await inbox.list()).entries).toEqual(ENTRIES)
    for (const { id, size } of ENTRIES) {
      const { delivery } = (await inbox.get(id)) ?? {}
      expect([id, delivery?.rawBody]).toEqual([id, new Uint8Array(id === 'emptied' ? 0 : size)])
    }
    expect(totals()).toEqual([
      { state: 0, number: 2, bytes: 1 + 2 },
      { state: 1, number: 2, bytes: 3 + 4 },
      { state: 2, number: 2, bytes: 5 + 6 },
      { state: 3, number: 1, bytes: 7 },
    ])
    expect(await inbox.generations.get(SERVICE)).toEqual(
      new Map([
        [0, 7],
        [3, 9],
      ]),
    )
    const rows = fixture.keep(createSqliteRows({ path: fixture.path }))
    expect(await rows.read({ service: SERVICE, id: 0 }, ['k'], [])).toMatchObject([{ key: 'k', value: 'v' }])
    const duplicates = fixture.keep(createSqliteDuplicates({ path: fixture.path }))
    expect(await duplicates.claim('done')).toBe('done')
  })

  it('lets workers handle what is waiting or was interrupted, and keeps its totals up to date', async () => {
    const inbox = fixture.open()
    const attempts = new Map<string, number | undefined>()
    inbox.work({ handle: async ({ id }, context) => void attempts.set(id, context?.attempt) })
    await until(async () => (await inbox.stats()).done === 6)
    expect(Object.fromEntries(attempts)).toEqual({ first: 1, retried: 3, active: 1, last: 20 })
    await inbox.generations.raise(SERVICE, new Map([[0, 8]]))
    expect((await inbox.generations.get(SERVICE)).get(0)).toBe(8)
    expect(await inbox.retry('dead')).toBe(true)
    await until(async () => (await inbox.stats()).done === 7)
    expect(await inbox.put({ ...deliveryOf(), id: 'emptied' })).toBe('duplicate')
    expect(await inbox.purge({ state: 'done' })).toBe(7)
    expect(totals()).toEqual([0, 1, 2, 3].map((state) => ({ state, number: 0, bytes: 0 })))
    expect((await inbox.list()).entries).toEqual([])
  })

  it('has the same tables as a new one after the upgrade', async () => {
    await fixture.open().stats()
    const path = fixture.folder.fileIn('new.db')
    await fixture.keep(createSqliteInbox({ path })).stats()
    expect(tablesOf(fixture.path)).toEqual(tablesOf(path))
  })

  it('is upgraded once if another process upgrades it at the same time', async () => {
    const program = `
      import { createSqliteInbox } from 'geohook/sqlite'
      const inbox = createSqliteInbox({ path: process.argv[1] })
      await inbox.stats()
      await inbox.close()`
    let status: number | null | undefined
    beforeStatements((sql) => {
      // This process has read version 4, and does not have the lock yet.
      if (sql !== 'BEGIN IMMEDIATE' || status !== undefined) return
      const args = ['--input-type=module', '--eval', program, fixture.path]
      status = spawnSync(process.execPath, args, { cwd: root }).status
    })
    const inbox = fixture.open()
    expect((await inbox.list()).entries).toEqual(ENTRIES)
    expect(status).toBe(0)
    expect(await inbox.put(deliveryOf())).toBe('stored')
  })

  function totals(): unknown[] {
    const db = openDatabase(fixture.path)
    const rows = db.prepare('SELECT * FROM total WHERE state <= 3 ORDER BY state').all()
    db.close()
    return rows.map((row) => ({ ...(row as object) }))
  }
})

describe('a version 5 file', () => {
  beforeEach(() => createFile(VERSION_1, VERSIONS_2_TO_4, VERSION_5, CONTENT_5))

  it('keeps its deliveries and settings, and lets workers handle what is waiting, interrupted or unhandled', async () => {
    const inbox = fixture.open()
    expect(await inbox.stats()).toMatchObject({
      ...{ waiting: 2, active: 1, done: 1, dead: 1, unhandled: 1, oldest: new Date(now - 100) },
      ...{ paused: false, concurrency: 3 },
    })
    const { entries } = await inbox.list()
    expect(entries.map(({ id, state, attempts, error }) => [id, state, attempts, error])).toEqual([
      ['first', 'waiting', 0, undefined],
      ['retried', 'waiting', 2, 'no'],
      ['active', 'active', 1, undefined],
      ['done', 'done', 1, undefined],
      ['dead', 'dead', 20, 'no'],
      ['unhandled', 'unhandled', 0, undefined],
    ])
    expect(await inbox.generations.get(SERVICE)).toEqual(new Map([[0, 7]]))
    const attempts = new Map<string, number | undefined>()
    inbox.work({ handle: async ({ id }, context) => void attempts.set(id, context?.attempt) })
    await until(async () => (await inbox.stats()).done === 5)
    expect(Object.fromEntries(attempts)).toEqual({ first: 1, retried: 3, active: 1, unhandled: 1 })
    expect(await inbox.retry('dead')).toBe(true)
    await until(async () => (await inbox.stats()).done === 6)
    expect(await inbox.put({ ...deliveryOf(), id: 'done' })).toBe('duplicate')
    expect(await inbox.purge({ state: 'done' })).toBe(6)
  })

  it('gives its deliveries to handlers with names', async () => {
    const inbox = fixture.open()
    const handled: string[] = []
    const receiver = createReceiver({ signatureKey: KEY })
    for (const name of ['erp', 'log'])
      receiver.on('A', (_, { id }) => void handled.push(`${id} ${name}`), { name })
    inbox.work(receiver)
    await until(async () => (await inbox.stats()).done === 9)
    const ids = ['active', 'first', 'retried', 'unhandled']
    expect(handled.sort()).toEqual(ids.flatMap((id) => [`${id} erp`, `${id} log`]))
    expect((await inbox.get('first'))?.fates).toMatchObject([
      { handler: 'erp', state: 'done' },
      { handler: 'log', state: 'done' },
    ])
  })

  it('has the same tables as a new one after the upgrade', async () => {
    await fixture.open().stats()
    const path = fixture.folder.fileIn('new.db')
    await fixture.keep(createSqliteInbox({ path })).stats()
    expect(tablesOf(fixture.path)).toEqual(tablesOf(path))
  })
})

it('lets several inboxes open a version 1 file concurrently', async () => {
  createVersion1()
  const inboxes = Array.from({ length: 5 }, () => fixture.open())
  for (const { waiting } of await Promise.all(inboxes.map((inbox) => inbox.stats()))) expect(waiting).toBe(1)
})
