import { request } from 'node:http'
import { expect, it } from 'vitest'
import { JSON_TYPE, signatureOf } from '../helpers/deliver.ts'
import { startNode } from '../helpers/process.ts'

const entry = '{"eventType":"FeaturesCreated","when":1}'
const body = Buffer.from(`{"events":[${Array(130_000).fill(entry).join(',')}]}`)
const headers = {
  'content-type': JSON_TYPE,
  'content-length': body.length,
  'x-service': signatureOf(body),
}

/** Returns a program with a receiver whose handler takes a second for each delivery. */
const program = (options: string): string => `
  import { createServer } from 'node:http'
  import { setTimeout } from 'node:timers/promises'
  import { createReceiver } from 'geohook'
  import { webhook } from 'geohook/node'
  const observer = { refused() {}, failed() {} }
  const receiver = createReceiver({ signatureKey: 'parcels2026', limit: '6mb', bodyTimeout: 120_000, observer, ${options} })
    .on('*', (event, delivery) => event === delivery.events[0] ? setTimeout(1000) : undefined)
  const server = createServer(webhook(receiver))
  server.listen(0, '127.0.0.1', () => console.log('port', server.address().port))`

/** Sends a delivery. Resolves with the response's status, or with Node's error code if the connection fails. */
const post = (port: number): Promise<number | string | undefined> =>
  new Promise((resolve) => {
    const req = request({ port, host: '127.0.0.1', method: 'POST', headers, agent: false })
    req.on('response', (res) => res.resume().on('end', () => resolve(res.statusCode)))
    req.on('error', (error: NodeJS.ErrnoException) => resolve(error.code))
    req.end(body)
  })

/**
 * Sends 200 large deliveries concurrently to a process with a heap of 128 MB. If the process survives, sends one
 * more.
 */
async function attack(options: string) {
  const app = startNode(['--max-old-space-size=128', '--input-type=module', '--eval', program(options)])
  try {
    const port = Number((await app.printed(/port (\d+)/))[1])
    const answers = await Promise.all(Array.from({ length: 200 }, () => post(port)))
    const after = app.child.exitCode ?? app.child.signalCode ?? (await post(port))
    return { answers, after, output: app.output }
  } finally {
    await app.stop('SIGKILL')
  }
}

it('maxInFlightBytes keeps a heap of 128 MB alive under 200 signed bodies of 5 MiB with 130,000 events each', async () => {
  const { answers, after } = await attack("maxInFlightBytes: '6mb'")
  // The receiver disconnects a client that keeps sending, so such a client may miss the response.
  const known = answers.filter((answer) => [200, 503, 'ECONNRESET', 'EPIPE'].includes(answer as never))
  expect([known.length, after]).toEqual([200, 200])
  expect(answers).toContain(200)
  expect(answers).toContain(503)
})

it('the same load kills a process without that limit', async () => {
  expect((await attack("maxInFlightBytes: '2gb'")).output).toContain('heap out of memory')
})

/** Measures the heap of decoded payloads in bytes per byte of their body (docs/decisions.md, "Memory"). */
const DECODE = `
  import { parsePayload } from 'geohook'
  import { createPayload } from 'geohook/testing'
  const heapUsed = () => { gc(); gc(); return process.memoryUsage().heapUsed }
  function ratioOf(text) {
    const body = Buffer.from(text)
    const before = heapUsed()
    const parsed = parsePayload({ body, contentType: 'application/json' })
    const ratio = (heapUsed() - before) / body.length
    return parsed.ok ? ratio : NaN
  }
  const events = Array.from({ length: 8000 }, (_, when) => ({ changeType: 'FeaturesCreated', when: 1730385704000 + when }))
  // Not 'hosted', which merges the events into one: its payload is too small to measure.
  const texts = ['service', 'organization'].map((dialect) => JSON.stringify(createPayload(events, { dialect })))
  if (texts.some(({ length }) => length < 100_000)) throw new Error('a payload is too small to measure')
  const real = texts.map(ratioOf)
  const digits = ratioOf('[' + '1,'.repeat(500_000) + '1]')
  console.log(JSON.stringify({ real: Math.max(...real), digits }))`

it('decoded payloads need at most 20 times the body for real payloads, and 100 times for an array of digits', async () => {
  const run = startNode(['--expose-gc', '--input-type=module', '--eval', DECODE])
  expect(await run.exited, run.output).toBe(0)
  const { real, digits } = JSON.parse(run.stdout)
  expect(real).toBeLessThan(20)
  expect(digits).toBeGreaterThan(20)
  expect(digits).toBeLessThan(100)
})
