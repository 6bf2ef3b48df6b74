import { once } from 'node:events'
import { createServer } from 'node:net'
import { inspect } from 'node:util'
import { createPostgresDuplicates, createPostgresInbox } from 'geohook/postgres'
import pg from 'pg'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { describeWith, POSTGRES } from '../../helpers/services.ts'
import { deliveryWithId } from '../deliveries.ts'

const PASSWORD = 'hunter-2-secret'
const NOWHERE = `postgres://user:${PASSWORD}@127.0.0.1:1/x`
const ID = 'ab'.repeat(16)
const SCHEMA = 'schema must be letters, digits and _, at most 50, with no digit in front'

describe('an unreachable PostgreSQL', () => {
  it.each([
    ['no connection string', {}, 'connectionString'],
    ['a number as connection string', { connectionString: 5 }, 'connectionString must be a postgres:// URL'],
    [
      'a URL of another scheme',
      { connectionString: `https://user:${PASSWORD}@db.example/parcels` },
      'connectionString must be a postgres:// URL',
    ],
    [
      'an invalid URL',
      { connectionString: `postgres://user:${PASSWORD}@[db.example/parcels` },
      'connectionString must be a postgres:// URL',
    ],
    [
      'a URL within another text',
      { connectionString: ` postgres://user:${PASSWORD}@db.example/` },
      'connectionString must be a postgres:// URL',
    ],
    ['a schema that is not a string', { connectionString: NOWHERE, schema: 5 }, SCHEMA],
    ['a schema with a space in front', { connectionString: NOWHERE, schema: ' a' }, SCHEMA],
    ['a schema with a quote', { connectionString: NOWHERE, schema: 'geo"hook' }, SCHEMA],
    ['a schema that begins with a digit', { connectionString: NOWHERE, schema: '1geohook' }, SCHEMA],
    ['a schema of 51 letters', { connectionString: NOWHERE, schema: 'a'.repeat(51) }, SCHEMA],
    [
      'a schema that PostgreSQL reserves',
      { connectionString: NOWHERE, schema: 'PG_geohook' },
      'schema must not be pg_geohook: PostgreSQL reserves such names',
    ],
    [
      'the schema information_schema',
      { connectionString: NOWHERE, schema: 'information_schema' },
      'schema must not be information_schema',
    ],
    ['a schema with SQL', { connectionString: NOWHERE, schema: 'x; drop table job' }, SCHEMA],
  ])('rejects %s, without the password in the error', (_, options, message) => {
    for (const create of [createPostgresInbox, createPostgresDuplicates]) {
      let thrown: unknown
      try {
        create(options as never)
      } catch (error) {
        thrown = error
      }
      expect(thrown).toMatchObject({
        code: 'config_invalid',
        message: expect.stringContaining(message),
      })
      expect(inspect(thrown, { depth: 9, showHidden: true })).not.toContain(PASSWORD)
    }
  })

  it.each(['', 'in box', "in'box", 'a'.repeat(101), 5])('rejects the queue %j', (queue) => {
    expect(() => createPostgresInbox({ connectionString: NOWHERE, queue: queue as string })).toThrow(
      expect.objectContaining({
        code: 'config_invalid',
        message: 'queue must be letters, digits, _, - and ., at most 100',
      }),
    )
  })

  it.each([
    ['a pool and a connection string', { connectionString: NOWHERE, pool: new pg.Pool() }, 'not both'],
    ['a client as pool', { pool: {} }, 'pool must be a Pool of the package pg'],
    [
      'a pool that asks for binary values',
      { pool: new pg.Pool({ binary: true } as never) },
      'pool must not have the option binary',
    ],
    ['null as pool', { pool: null }, 'pool must be a Pool of the package pg'],
    [
      'a listen that is not a boolean',
      { connectionString: NOWHERE, listen: 1 },
      'listen must be true or false',
    ],
  ])('rejects %s', (_, options, message) => {
    expect(() => createPostgresInbox(options as never)).toThrow(
      expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining(message) }),
    )
  })

  it('opens no connection before first use, nor when it is closed', async () => {
    let connections = 0
    const server = createServer(() => {
      connections++
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const connectionString = `postgres://127.0.0.1:${(server.address() as { port: number }).port}/x`
    for (const one of [
      createPostgresInbox({ connectionString }),
      createPostgresDuplicates({ connectionString }),
    ]) {
      await one.close()
      await one.close()
    }
    server.close()
    await once(server, 'close')
    expect(connections).toBe(0)
  })

  it('rejects calls with errors that do not contain the password', async () => {
    const troubles: unknown[] = []
    const inbox = createPostgresInbox({
      connectionString: NOWHERE,
      observer: { trouble: ({ error }) => troubles.push(error) },
    })
    const duplicates = createPostgresDuplicates({ connectionString: NOWHERE })
    const errors = await Promise.all(
      [inbox.put(deliveryWithId(ID)), inbox.stats(), duplicates.claim(ID)].map((call) =>
        (call as Promise<unknown>).catch((error: unknown) => error),
      ),
    )
    for (const error of errors) expect(error).toBeInstanceOf(Error)
    expect(inspect([errors, troubles], { depth: 9, showHidden: true })).not.toContain(PASSWORD)
    await Promise.all([inbox.close(), duplicates.close()])
  })
})

await describeWith(POSTGRES, (connectionString) => {
  describe('several stores in one schema', () => {
    const schema = `geohook_several_${process.pid}_${Date.now()}`
    const closing: { close(): Promise<void> }[] = []
    afterAll(async () => {
      await Promise.all(closing.map((store) => store.close()))
      const client = new pg.Client({ connectionString })
      await client.connect()
      await client.query(`drop schema if exists ${schema} cascade`)
      await client.end()
    })

    it('work independently, one inbox for each queue, and can all start concurrently', async () => {
      const inboxes = ['a', 'b', 'b'].map((queue) => createPostgresInbox({ connectionString, schema, queue }))
      const stores = [1, 2, 3].map(() => createPostgresDuplicates({ connectionString, schema }))
      closing.push(...inboxes, ...stores)
      // Calls may fail while another store creates the schema, so retry them.
      const retry = <T>(call: () => Promise<T>) => vi.waitFor(call, { timeout: 60_000 })
      const claims = Promise.all(stores.map((store) => retry(() => store.claim(ID))))
      const puts = inboxes.map((inbox) => retry(() => inbox.put(deliveryWithId(ID))))
      expect((await Promise.all(puts)).sort()).toEqual(['duplicate', 'stored', 'stored'])
      expect((await claims).sort()).toEqual(['busy', 'busy', 'claimed'])
      const handled: string[] = []
      inboxes[0]?.work({ handle: async ({ id }) => void handled.push(id) })
      await expect.poll(() => handled, { timeout: 60_000 }).toEqual([ID])
      expect((await inboxes[1]?.stats())?.waiting).toBe(1)
    })
  })
})
