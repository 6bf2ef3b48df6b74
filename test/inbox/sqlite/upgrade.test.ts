// @module-tag sqlite
import { createSqliteDuplicates, createSqliteInbox } from 'geohook/sqlite'
import { expect, it } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { openDatabase } from '../../helpers/sqlite.ts'
import { deliveryOf } from '../deliveries.ts'
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

function createVersion1(): void {
  const db = openDatabase(fixture.path)
  db.exec('PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL')
  db.exec(VERSION_1)
  db.exec(CONTENT)
  db.close()
}

/** Reads the version of a file, and all its tables, indexes and triggers. */
function tablesOf(path: string): unknown[] {
  const db = openDatabase(path)
  const tables = db
    .prepare('SELECT group_concat(sql) FROM (SELECT sql FROM sqlite_schema ORDER BY name)')
    .get()
  const version = db.prepare('PRAGMA user_version').get()
  db.close()
  return [tables, version]
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
})

it('lets several inboxes open a version 1 file concurrently', async () => {
  createVersion1()
  const inboxes = Array.from({ length: 5 }, () => fixture.open())
  for (const { waiting } of await Promise.all(inboxes.map((inbox) => inbox.stats()))) expect(waiting).toBe(1)
})
