import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { packDelivery } from 'geohook/inbox'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { until } from '../contract/inbox/fixture.ts'
import { KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { deliveryWithId, idOf } from '../inbox/deliveries.ts'
import { createLink, type Link } from './link.ts'

/** The number of attempts that the tests configure in each recipe, with delays of about a second. */
export const ATTEMPTS = 3

/** A queue with a running recipe. */
export interface Subject {
  /** The payload URL of the recipe. */
  url: string
  /** Writes a message to the queue, as a foreign program can. */
  push(text: string): Promise<void>
  /** Resolves with the messages in the dead letters. */
  dead(): Promise<string[]>
  /** Resolves with the number of messages that are neither handled nor dead, if the queue can count them. */
  pending?(): Promise<number>
  /** Kills the process of the recipe, and starts it again. */
  kill?(): Promise<void>
  /** Stops the recipe, and removes the queue. */
  stop(): Promise<void>
}

/** What differs between queues. */
export interface Traits {
  name: string
  /** The largest body that the recipe accepts, in bytes. */
  limit: number
  /** The status of a second attempt with the same delivery. Undefined if the queue does not recognize it. */
  duplicate?: 200 | 202
  /** The number of the attempt after one whose process was killed. Undefined if the test would take too long. */
  afterKill?: 1 | 2
  /** True if the queue's server can deliver a message twice after a kill, and count wrong. */
  miscounts?: true
  /** The URL of the queue's server, for a test that cuts the connection to it. */
  server?: string
  /**
   * Starts the recipe.
   *
   * @param env the variables that receiver.js reads
   * @param server the URL with which the recipe reaches the server
   */
  start(env: Record<string, string>, server: string): Promise<Subject>
}

/** One call of the handler, as the system behind it sees it. */
interface Call {
  id: string
  attempt: number
}

/** The system that the handler of the recipes calls. */
interface Sync {
  url: string
  calls: Call[]
  /** What it does with a call. */
  mode: 'succeed' | 'fail' | 'hang'
  close(): void
}

async function startSync(): Promise<Sync> {
  const calls: Call[] = []
  const server = createServer(async (request, response) => {
    calls.push(JSON.parse(await readText(request)))
    if (sync.mode !== 'hang') response.writeHead(sync.mode === 'succeed' ? 200 : 500).end()
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  const sync: Sync = {
    url: `http://127.0.0.1:${port}/`,
    calls,
    mode: 'succeed',
    close: () => void server.close(),
  }
  return sync
}

let number = 0

/** A payload that differs from all others, of this run and of earlier ones. */
const unique = (changeType: string): string =>
  JSON.stringify({ ...JSON.parse(payloadOf(changeType)), run: `${Date.now()} ${process.pid} ${number++}` })

/** Sends a signed body, and returns the status of the response. */
export async function send(url: string, body = unique('FeaturesEdited')): Promise<number> {
  const headers = {
    'content-type': 'application/json',
    'x-service': signatureOf(body),
    authorization: 'Basic c2VjcmV0',
  }
  return (await fetch(url, { method: 'POST', headers, body })).status
}

/** The ids of dead letters; undefined for those that cannot be read. */
const bodiesOf = (texts: readonly string[]): (string | undefined)[] =>
  texts.map((text) => {
    try {
      return Buffer.from(JSON.parse(text).body, 'base64').toString()
    } catch {
      return undefined
    }
  })

/** The tests of a recipe. They are not in a `describe`, because `contract/matrix.ts` prints each as a column. */
export function testRecipe({ name, limit, duplicate, afterKill, miscounts, server, start }: Traits): void {
  let sync: Sync
  let link: Link | undefined
  let subject: Subject
  const test = (title: string, run: () => Promise<void>) => it(`${name}: ${title}`, { timeout: 120_000 }, run)
  beforeAll(async () => {
    sync = await startSync()
    link = server === undefined ? undefined : await createLink(server)
    subject = await start({ SIGNATURE_KEY: KEY, SYNC_URL: sync.url }, link?.url ?? '')
  }, 60_000)
  afterAll(async () => {
    await subject?.stop()
    await link?.close()
    sync?.close()
  }, 60_000)

  /** Waits until no message is pending, if the queue can count them. Otherwise `stop` checks that none is left. */
  const drained = () => until(async () => !(await subject.pending?.()))
  /** Waits until a message is in the dead letters. */
  const died = (body: string) => until(async () => bodiesOf(await subject.dead()).includes(body))
  /** Requires these attempts of one delivery. */
  function expectAttempts(attempts: number[]): void {
    expect(new Set(sync.calls.map(({ id }) => id)).size).toBe(1)
    const begun = sync.calls.map(({ attempt }) => attempt)
    if (miscounts) expect([1, 2, 3]).toEqual(expect.arrayContaining(begun))
    else expect(begun).toEqual(attempts)
  }
  const reset = (mode: Sync['mode'] = 'succeed'): void => {
    sync.calls.length = 0
    sync.mode = mode
  }

  test('a delivery gets 202, and is handled once', async () => {
    reset()
    const body = unique('FeaturesEdited')
    expect(await send(subject.url, body)).toBe(202)
    await until(() => sync.calls.length > 0)
    if (duplicate) expect(await send(subject.url, body)).toBe(duplicate)
    await drained()
    expect(sync.calls).toEqual([{ id: expect.stringMatching(/^[0-9a-f]{32}$/), attempt: 1 }])
  })

  test('a delivery whose handler fails once is handled by the second attempt', async () => {
    reset('fail')
    expect(await send(subject.url)).toBe(202)
    await until(() => sync.calls.length === 1)
    sync.mode = 'succeed'
    await until(() => sync.calls.length === 2)
    await drained()
    expect(sync.calls.map(({ attempt }) => attempt)).toEqual([1, 2])
  })

  test('a delivery whose handler always fails becomes a dead letter', async () => {
    reset('fail')
    const body = unique('FeaturesEdited')
    expect(await send(subject.url, body)).toBe(202)
    await died(body)
    expect(sync.calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3])
    expect((await subject.dead()).join()).not.toContain('c2VjcmV0')
  })

  test('a delivery without a handler becomes a dead letter', async () => {
    reset()
    const body = unique('LayerSchemaChanged')
    expect(await send(subject.url, body)).toBe(202)
    await died(body)
    expect(sync.calls).toEqual([])
  })

  test('an unreadable message becomes a dead letter at once, and an unknown version is retried', async () => {
    reset()
    const old = await subject.dead()
    const newOnes = async () => (await subject.dead()).filter((text) => !old.includes(text))
    const delivery = deliveryWithId(idOf(number++ % 10))
    const unknown = packDelivery(delivery).replace('"v":1', '"v":2')
    const unreadable = packDelivery(delivery).replace('"size":2', '"size":3')
    await subject.push(unknown)
    await subject.push(unreadable)
    await until(async () => (await newOnes()).length > 0)
    expect(await newOnes()).toEqual([unreadable])
    // Recipes store a dead letter before they acknowledge its message.
    if (subject.pending) await until(async () => (await subject.pending?.()) === 1)
    await until(async () => (await newOnes()).length === 2)
    expect(await newOnes()).toContain(unknown)
    expect(sync.calls).toEqual([])
  })

  test('a body above the limit gets 413, and the largest body gets 202', async () => {
    reset()
    const padded = (size: number): string => {
      const empty = JSON.stringify({ ...JSON.parse(unique('FeaturesEdited')), more: '' })
      return empty.replace(/""}$/, `"${'x'.repeat(size - empty.length)}"}`)
    }
    expect(await send(subject.url, padded(limit + 1))).toBe(413)
    const body = padded(limit)
    expect(await send(subject.url, body)).toBe(202)
    await until(() => sync.calls.length > 0)
    await drained()
    expect(sync.calls.map(({ attempt }) => attempt)).toEqual([1])
  })

  if (afterKill !== undefined)
    test('a delivery whose process is killed is handled again', async () => {
      reset('hang')
      expect(await send(subject.url)).toBe(202)
      await until(() => sync.calls.length === 1)
      sync.mode = 'succeed'
      await subject.kill?.()
      await until(() => sync.calls.length >= 2)
      await drained()
      expectAttempts([1, afterKill])
    })

  if (afterKill !== undefined)
    test('a delivery that ends the process in each attempt becomes a dead letter', async () => {
      reset('hang')
      const body = unique('FeaturesEdited')
      expect(await send(subject.url, body)).toBe(202)
      let killed = 0
      await until(async () => {
        if (sync.calls.length === killed) return bodiesOf(await subject.dead()).includes(body)
        killed = sync.calls.length
        await subject.kill?.()
        return false
      })
      expectAttempts(afterKill === 1 ? [1, 1, 1] : [1, 2, 3])
    })

  if (server === undefined) return
  test('without its server, deliveries get 503, and then 202 again', async () => {
    reset()
    // The process was just started, and ends if the first connection fails.
    await until(async () => (await send(subject.url)) === 202)
    await until(() => sync.calls.length > 0)
    await drained()
    reset()
    link?.cut()
    expect(await send(subject.url)).toBe(503)
    link?.restore()
    const body = unique('FeaturesEdited')
    await until(async () => (await send(subject.url, body)) === 202)
    await until(() => sync.calls.length > 0)
    await drained()
    expect(sync.calls.map(({ attempt }) => attempt)).toContain(1)
  })
}
