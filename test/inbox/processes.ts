import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { uniquePayload, until } from '../contract/inbox/fixture.ts'
import { JSON_TYPE, KEY, signatureOf } from '../helpers/deliver.ts'
import { type Answer, send } from '../helpers/http.ts'
import { type Started, startNode } from '../helpers/process.ts'

/** A store that several processes share. */
export interface SharedStore {
  /** Creates a store for one test. Returns its name in the format that `apps/stores.mjs` expects. */
  name(): string | Promise<string>
  /** URL of the server. */
  url: string
  /** The number that the engine gives to the next attempt after the process of attempt 1 was killed. */
  attemptAfterKill: number
}

const APP = fileURLToPath(new URL('./apps/receiver.mjs', import.meta.url))
const PROCESSES = 4
const DELIVERIES = 100

/** Tests several processes that share one store. */
export function describeProcesses({ name, url, attemptAfterKill }: SharedStore): void {
  let folder = ''
  let processes: Started[] = []
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'geohook-many-'))
    processes = []
  })
  afterEach(async () => {
    await Promise.all(processes.map((process) => process.stop('SIGKILL')))
    rmSync(folder, { recursive: true, force: true })
  })

  /** Starts receiver processes. Returns them, their URLs, and a function that reads the log of handler calls. */
  async function startReceivers(count: number, mode: 'inbox' | 'duplicates') {
    const [store, file] = [await name(), join(folder, 'handled')]
    writeFileSync(file, '')
    const env = { STORE_URL: url, SIGNATURE_KEY: KEY }
    const started = Array.from({ length: count }, () => startNode([APP, store, mode, file], env))
    processes.push(...started)
    const ports = await Promise.all(started.map(async (process) => (await process.printed(/port (\d+)/))[1]))
    const read = () =>
      readFileSync(file, 'utf8')
        .split('\n')
        .slice(0, -1)
        .map((line) => {
          const [id = '', attempt, pid] = line.split(' ')
          return { id, attempt: Number(attempt), pid: Number(pid) }
        })
    return { urls: ports.map((port) => `http://127.0.0.1:${port}/`), read, started }
  }

  const sendTo = (target: string | undefined, body: string): Promise<Answer> =>
    send(target ?? '', { headers: { 'content-type': JSON_TYPE, 'x-service': signatureOf(body) }, body })

  /** Sends each delivery to two receivers concurrently, and retries until both accept it. Returns all statuses. */
  async function sendDoubled(urls: readonly string[]): Promise<Set<number>> {
    const statuses = new Set<number>()
    const sendUntilAccepted = async (target: string | undefined, body: string): Promise<void> => {
      for (;;) {
        const { status } = await sendTo(target, body)
        statuses.add(status)
        if (status === 200 || status === 202) return
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
    const bodies = Array.from({ length: DELIVERIES }, () => uniquePayload())
    const sender = async (): Promise<void> => {
      for (let body = bodies.pop(); body !== undefined; body = bodies.pop()) {
        const first = bodies.length % urls.length
        const second = (first + 1 + (bodies.length % (urls.length - 1))) % urls.length
        await Promise.all([sendUntilAccepted(urls[first], body), sendUntilAccepted(urls[second], body)])
      }
    }
    await Promise.all(Array.from({ length: 8 }, sender))
    return statuses
  }

  it.each(['inbox', 'duplicates'] as const)(
    `${PROCESSES} processes handle a delivery once if two of them receive it concurrently, with %s`,
    async (mode) => {
      const { urls, read } = await startReceivers(PROCESSES, mode)
      const statuses = await sendDoubled(urls)
      await until(() => read().length >= DELIVERIES)
      // Send more deliveries. If an earlier delivery was stored twice, workers take its second job before these.
      for (const url of urls) await sendTo(url, uniquePayload())
      const countIds = () => new Set(read().map(({ id }) => id)).size
      await until(() => countIds() === DELIVERIES + PROCESSES)
      const handled = read()
      expect(handled.length).toBe(DELIVERIES + PROCESSES)
      expect(handled.every(({ attempt }) => attempt === 1)).toBe(true)
      expect(new Set(handled.map(({ pid }) => pid)).size).toBe(PROCESSES)
      const expected = mode === 'inbox' ? [202, 200] : [200, 409]
      expect([...statuses].filter((status) => !expected.includes(status))).toEqual([])
    },
  )

  it('another process handles the delivery of a killed process', async () => {
    const { urls, read, started } = await startReceivers(2, 'inbox')
    expect((await sendTo(urls[0], uniquePayload('Stay'))).status).toBe(202)
    await until(() => read().length === 1)
    const [first] = read()
    await started.find(({ child }) => child.pid === first?.pid)?.stop('SIGKILL')
    await until(() => read().length === 2, 120_000)
    const second = read()[1]
    expect(second).toMatchObject({ id: first?.id, attempt: attemptAfterKill })
    expect(second?.pid).not.toBe(first?.pid)
  })
}
