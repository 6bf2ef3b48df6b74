import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import type { MockServiceOptions } from 'geohook/mock'
import { describe, expect, it, onTestFinished } from 'vitest'
import { warningsOf } from '../../helpers/warnings.ts'
import { create, seed } from '../support.ts'
import { answering, CREATED, createAt, named, PLAIN, payloadOf, receive, statusesOf } from './support.ts'

/**
 * Starts a receiver that counts requests in flight.
 *
 * @param together number of concurrent requests for which the receiver waits before it responds
 */
async function measure(together: number) {
  let open = (): void => {}
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  const seen = { whens: [] as number[], atOnce: 0, most: 0, sockets: 0, url: '' }
  const server = createServer(async (req, res) => {
    seen.atOnce += 1
    seen.most = Math.max(seen.most, seen.atOnce)
    if (seen.atOnce === together) open()
    const parts: Buffer[] = []
    for await (const part of req) parts.push(part as Buffer)
    seen.whens.push(payloadOf({ body: Buffer.concat(parts) }).events[0]?.when ?? Number.NaN)
    await gate
    await setImmediate()
    seen.atOnce -= 1
    res.end()
  })
  server.on('connection', () => {
    seen.sockets += 1
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  })
  seen.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  return seen
}

const count = (length: number): number[] => Array.from({ length }, (_, index) => index)

async function load(deliveries: number, together: number, options: MockServiceOptions = {}) {
  const seen = await measure(together)
  const service = create([seed(PLAIN, { hookUrl: seen.url })], options)
  const triggered = count(deliveries).map((when) => service.trigger({ ...CREATED, when }))
  return { seen, service, triggered }
}

describe('a thousand concurrent deliveries', () => {
  it.each([1, 7, 50])(
    'with concurrency %i, none is lost or duplicated, and the limit is kept',
    async (concurrency) => {
      const deliveries = concurrency === 50 ? 1000 : 100
      const { seen, service, triggered } = await load(deliveries, concurrency, { concurrency })
      const attempts = (await Promise.all(triggered)).flat()
      expect([...seen.whens].sort((a, b) => a - b)).toEqual(count(deliveries))
      expect(attempts.every(({ answer, number }) => answer?.status === 200 && number === 1)).toBe(true)
      expect(new Set(attempts.map(({ id }) => id)).size).toBe(deliveries)
      expect(new Set(service.deliveries)).toEqual(new Set(attempts))
      expect(seen.most).toBe(concurrency)
      // The next delivery may begin before the connection of the previous one is free.
      expect(seen.sockets, 'over connections that are kept').toBeLessThanOrEqual(2 * concurrency)
    },
  )

  it('concurrency is 50 by default', async () => {
    const { seen, triggered } = await load(200, 50)
    await Promise.all(triggered)
    expect(seen.most).toBe(50)
  })

  it.each([0, 1001, 1.5])('refuses concurrency %d', (concurrency) => {
    expect(() => create([], { concurrency })).toThrow(expect.objectContaining({ code: 'config_invalid' }))
  })

  it('sequential deliveries reuse connections', async () => {
    const seen = await measure(1)
    const service = create([seed(PLAIN, { hookUrl: seen.url })])
    for (const when of count(20)) await service.trigger({ ...CREATED, when })
    expect(seen.whens).toEqual(count(20))
    expect(seen.sockets).toBeLessThanOrEqual(2)
  })

  it("many pending retries do not cause Node's warning about a listener leak", async () => {
    const { url, requests } = await receive(answering(...Array(40).fill(500), 200))
    const { service, clock } = createAt(named(url, Object.fromEntries(count(40).map((n) => [`w${n}`, {}]))))
    const warnings = await warningsOf(async () => {
      const triggered = service.trigger(CREATED)
      await clock.advance(5_000)
      expect((await triggered).length).toBe(80)
    })
    expect([warnings, requests.length]).toEqual([[], 80])
  })

  it('a slow receiver does not delay others below the concurrency limit', async () => {
    const answers: (() => void)[] = []
    const [slow, quick] = await Promise.all([
      receive((_n, _req, res) => void answers.push(() => res.end())),
      receive(),
    ])
    const service = create([...named(slow.url, { slow: {} }), ...named(quick.url, { quick: {} })])
    const all = service.trigger(CREATED)
    await Promise.all([slow.arrived(1), quick.arrived(1)])
    answers[0]?.()
    expect(statusesOf(await all)).toEqual([200, 200])
  })
})

describe('close()', () => {
  it('under load waits for all deliveries, and sends nothing afterwards', async () => {
    const { seen, service, triggered } = await load(300, 20, { concurrency: 20 })
    await service.close()
    const arrived = seen.whens.length
    expect([arrived, seen.atOnce]).toEqual([300, 0])
    const attempts = (await Promise.all(triggered)).flat()
    expect(attempts.every(({ answer }) => answer?.status === 200)).toBe(true)
    const [late] = await service.trigger(CREATED)
    expect(late).toMatchObject({ error: 'the mock service is closed' })
    const again = await service.redeliver(attempts[0]?.id ?? '')
    expect(again).toMatchObject({ error: 'the mock service is closed' })
    expect(seen.whens.length).toBe(arrived)
  })

  it('waits for the attempt in flight, and does not retry it', async () => {
    const answers: (() => void)[] = []
    const receiver = await receive((_n, _req, res) => void answers.push(() => res.writeHead(500).end()))
    const { service } = createAt([seed(PLAIN, { hookUrl: receiver.url })])
    const triggered = service.trigger(CREATED)
    await receiver.arrived(1)
    let isClosed = false
    const closing = Promise.all([service.close(), service.close()]).then(() => {
      isClosed = true
    })
    const during = service.trigger(CREATED) // closing has not finished, so the service still sends
    await receiver.arrived(2)
    expect(isClosed).toBe(false)
    for (const answer of answers) answer()
    await closing
    expect([(await triggered).length, (await during).length, receiver.requests.length]).toEqual([1, 1, 2])
  })

  it('can be called repeatedly, and without listening', async () => {
    const service = create([PLAIN])
    await Promise.all([service.close(), service.close()])
    await service.close()
    const other = create([PLAIN])
    await other.listen()
    await Promise.all([other.close(), other.close()])
    expect(other.url).toBe('')
  })
})
