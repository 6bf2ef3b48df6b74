import type { Server } from 'node:http'
import { closeOnSignal, createReceiver, explain, type Observer, parsePayload, sign, verify } from 'geohook'
import { createAdmin, signIn } from 'geohook/admin'
import { createChanges, createSnapshots } from 'geohook/changes'
import { checkReceiver } from 'geohook/check'
import { webhook as express } from 'geohook/express'
import { createMemoryDuplicates, createMemoryInbox, createMemoryRows } from 'geohook/inbox'
import { createRequestLog } from 'geohook/inspector'
import { createMockService } from 'geohook/mock'
import { createOtelChangesObserver, createOtelInboxObserver, createOtelObserver } from 'geohook/otel'
import { createPostgresDuplicates, createPostgresInbox, createPostgresRows } from 'geohook/postgres'
import { createRedisDuplicates } from 'geohook/redis'
import { createSqliteDuplicates, createSqliteInbox, createSqliteRows } from 'geohook/sqlite'
import { createPayload, createSigner } from 'geohook/testing'
import { describe, expect, it } from 'vitest'
import { KEY, payloadOf } from './helpers/deliver.ts'

const VARIABLE = 'If it comes from an environment variable, check that the variable is set.'
const body = payloadOf('A')
const postgres = { connectionString: 'postgres://127.0.0.1/parcels' }
const redis = { connection: { eval: async () => {} } }
const inbox = createMemoryInbox()
const origins = ['https://gis.example.com']
const receiver = createReceiver({ signatureKey: KEY })

/** Resolves with the error that a function throws, or with which its promise rejects. */
const errorOf = (call: () => unknown): Promise<unknown> =>
  Promise.resolve()
    .then(call)
    .then(
      () => expect.unreachable('no error was thrown'),
      (error: unknown) => error,
    )

/** Each option object of the package, with a misspelt option. */
const bags: [string, string, (options: never) => unknown, object, object][] = [
  ['createReceiver', 'signatureKey', createReceiver, { signatureKeys: KEY }, { signatureKey: KEY }],
  ['webhook', 'limit', express, { limits: 1 }, { signatureKey: KEY }],
  ['sign', 'encoding', sign, { encodng: 'hex' }, { body, signatureKey: KEY }],
  ['verify', 'encoding', verify, { encodings: 'hex' }, { body, signature: 'x', signatureKey: KEY }],
  [
    'explain',
    'signatureHeader',
    (options) => explain({ body, headers: {} }, options),
    { signatureHeaders: 'x' },
    { signatureKey: KEY },
  ],
  ['parsePayload', 'profile', parsePayload, { profil: 'arcgis' }, { body, contentType: 'application/json' }],
  ['createSigner', 'prefix', createSigner, { prefx: 'x' }, { signatureKey: KEY }],
  ['createMockService', 'webhooks', createMockService, { webhook: [] }, {}],
  ['createOtelObserver', 'destination', createOtelObserver, { destinaton: 'x' }, {}],
  ['createOtelInboxObserver', 'destination', createOtelInboxObserver, { destinaton: 'x' }, {}],
  ['createOtelChangesObserver', 'observer', createOtelChangesObserver, { obsever: {} }, {}],
  [
    'checkReceiver',
    'timeout',
    checkReceiver,
    { timeot: 1 },
    { url: 'http://127.0.0.1:9/', signatureKey: KEY },
  ],
  ['createChanges', 'timeout', createChanges, { timeOut: 1 }, { origins }],
  ['createAdmin', 'product', createAdmin, { prodct: 'online' }, { url: origins[0] }],
  ['signIn', 'username', signIn, { usernam: 'kim' }, { portal: origins[0] }],
  [
    'createRequestLog',
    'maxBytes',
    (options) => createRequestLog({ signatureKey: KEY }, options),
    { maxByte: 1 },
    {},
  ],
  ['createMemoryInbox', 'retention', createMemoryInbox, { retenton: 1 }, {}],
  ['createMemoryDuplicates', 'maxEntries', createMemoryDuplicates, { maxEntres: 1 }, {}],
  ['createMemoryRows', 'maxRows', createMemoryRows, { maxRow: 1 }, {}],
  ['createSnapshots', 'idField', createSnapshots, { idfield: 'a' }, { store: createMemoryRows() }],
  ['createSqliteInbox', 'maxPending', createSqliteInbox, { maxpendin: 1 }, { path: 'unused.db' }],
  ['createSqliteDuplicates', 'lease', createSqliteDuplicates, { leese: 1 }, { path: 'unused.db' }],
  ['createSqliteRows', 'maxRows', createSqliteRows, { maxRow: 1 }, { path: 'unused.db' }],
  ['createPostgresInbox', 'schema', createPostgresInbox, { shema: 'a' }, postgres],
  ['createPostgresDuplicates', 'schema', createPostgresDuplicates, { schemas: 'a' }, postgres],
  ['createPostgresRows', 'schema', createPostgresRows, { schemas: 'a' }, postgres],
  ['createRedisDuplicates', 'prefix', createRedisDuplicates, { prefx: 'a' }, redis],
  ['work', 'concurrency', (options) => inbox.work(receiver, options), { concurency: 1 }, {}],
  [
    'work with coalesce',
    'wait',
    (coalesce: never) => inbox.work(receiver, { coalesce }),
    { waits: 1 },
    { by: 'service' },
  ],
  ['list', 'limit', (options) => inbox.list(options), { limt: 1 }, {}],
  ['purge', 'olderThan', (options) => inbox.purge(options), { olderThen: 1 }, { state: 'done' }],
  [
    'closeOnSignal',
    'timeout',
    (options) => closeOnSignal({} as Server, receiver, options),
    { timeOut: 1 },
    {},
  ],
]

it.each(bags)('%s refuses a misspelt option, and names %s', async (_, meant, call, misspelt, valid) => {
  const [name] = Object.keys(misspelt)
  expect(await errorOf(() => call({ ...valid, ...misspelt } as never))).toMatchObject({
    code: 'config_invalid',
    message: `unknown option ${name}: did you mean ${meant}?`,
  })
})

it('createPayload refuses a misspelt detail', () => {
  expect(() => createPayload('add', { servicename: 'Parcels' } as object)).toThrow(
    'unknown detail servicename: did you mean serviceName?',
  )
})

it('an option that resembles none is answered with the list', () => {
  expect(() => createOtelObserver({ colour: 'red' } as object)).toThrow(
    'unknown option colour: the options are destination, tracerProvider, meterProvider, observer',
  )
})

it.each([[null], [[]], ['parcels2026'], [7]])('%j is no object of options', (options) => {
  expect(() => createMemoryInbox(options as never)).toThrow('the options must be an object')
})

describe('an environment variable that is not set', () => {
  it.each<[string, string, (value: never) => unknown]>([
    ['createReceiver', 'signatureKey', (signatureKey) => createReceiver({ signatureKey })],
    ['createReceiver, in a list', 'signatureKey', (key) => createReceiver({ signatureKey: [KEY, key] })],
    ['createChanges', 'token', (token) => createChanges({ token, origins })],
    ['createAdmin', 'token', (token) => createAdmin({ token, url: 'https://gis.example.com' })],
    ['createSigner', 'signatureKey', (signatureKey) => createSigner({ signatureKey })],
    ['createSqliteInbox', 'path', (path) => createSqliteInbox({ path })],
    ['createPostgresInbox', 'connectionString', (value) => createPostgresInbox({ connectionString: value })],
  ])('is named by %s', (_, option, call) => {
    expect(() => call(undefined as never)).toThrow(
      `${option} is missing: the value is undefined. ${VARIABLE}`,
    )
    expect(() => call('' as never)).toThrow(`${option} is empty. ${VARIABLE}`)
  })

  it.each([
    ['createReceiver', () => createReceiver({ signatureKey: process.env.GEOHOOK_TEST_UNSET })],
    ['webhook', () => express({ signatureKey: process.env.GEOHOOK_TEST_UNSET })],
  ])('gives %s an error that shows the line of the program, and no empty hint', async (_, call) => {
    const error = (await errorOf(call)) as Error
    const [message, frame] = String(error.stack).split('\n')
    expect(message).toBe(`WebhookError: signatureKey is missing: the value is undefined. ${VARIABLE}`)
    expect(frame).toContain('known-options.test.ts')
    expect(Object.keys(error).sort()).toEqual(['code', 'name', 'status'])
    expect(error).toMatchObject({ hint: '' })
  })
})

describe('an observer', () => {
  class Counter {
    count = 0
    #secret = 1
    refused(): void {
      this.count += this.#secret
    }
    report(): number {
      return this.count
    }
  }
  class Derived extends Counter {}
  class Logger {
    info(): void {}
  }
  const uses: [string, (observer: never) => unknown][] = [
    ['createReceiver', (observer) => createReceiver({ signatureKey: KEY, observer })],
    ['createOtelObserver', (observer) => createOtelObserver({ observer })],
    ['createMemoryInbox', (observer) => createMemoryInbox({ observer })],
  ]

  describe.each(uses)('of %s', (_, create) => {
    const refuses = (observer: unknown, message: string) =>
      expect(() => create(observer as never)).toThrow(
        expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining(message) }),
      )

    it('must be an object', () => {
      for (const observer of ['log', 7, null, [], () => {}])
        refuses(observer, 'observer must be an object of functions')
    })

    it('must have functions', () => {
      refuses({ failed: 'log' }, 'observer.failed must be a function')
      refuses(Object.assign(new Counter(), { handled: {} }), 'observer.handled must be a function')
    })

    it('must not have a misspelt function', () => {
      refuses({ handeled() {} }, 'unknown observer function handeled: did you mean handled?')
      refuses({ onError() {} }, 'unknown observer function onError: the observer functions are ')
    })

    it('may be empty, or have functions that are undefined', () => {
      for (const observer of [{}, Object.create(null), { failed: undefined }])
        expect(() => create(observer as never)).not.toThrow()
    })
  })

  it('may be an instance of a class with members of its own, also private ones', () => {
    const observers: Observer[] = [new Counter(), new Derived()]
    for (const observer of observers)
      expect(() => createReceiver({ signatureKey: KEY, observer })).not.toThrow()
  })

  it('must have one of the functions if it is an instance of a class', () => {
    const observer = new Logger() as object
    expect(() => createReceiver({ signatureKey: KEY, observer })).toThrow(
      /^observer has none of the functions around, accepted, refused, /,
    )
  })

  it('may have a getter that throws, which is ignored like a function that throws', () => {
    const observer: Observer = {
      get handled(): never {
        throw new Error('mine')
      },
    }
    expect(() => createReceiver({ signatureKey: KEY, observer })).not.toThrow()
  })
})
