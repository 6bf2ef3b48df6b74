import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { uniquePayload, until } from '../contract/inbox/fixture.ts'
import { JSON_TYPE, KEY, signatureOf } from '../helpers/deliver.ts'
import { type Answer, send } from '../helpers/http.ts'
import { type Started, startNode } from '../helpers/process.ts'

/** Where many processes keep what they share. */
export interface SharedStore {
  /** As apps/stores.mjs takes it, another for each test. */
  name(): string
  /** The URL of its server. */
  url: string
  /** The number of the attempt after the first one ended with its process. */
  attemptAfterKill: number
}

const APP = fileURLToPath(new URL('./apps/receiver.mjs', import.meta.url))
const PROCESSES = 4
const DELIVERIES = 100

/** Processes that share one store: each delivery is handled once, whoever has it. */
export function describeMany({ name, url, attemptAfterKill }: SharedStore): void {
  let folder = ''
  let processes: Started[] = []
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'geohook-many-'))
    processes = []
  })
  afterEach(async () => {
    await Promise.all(processes.map((one) => one.stop('SIGKILL')))
    rmSync(folder, { recursive: true, force: true })
  })

  /** Starts receivers; gives their URLs, and what their handlers have written. */
  async function startReceivers(count: number, mode: 'inbox' | 'duplicates') {
    const [store, file] = [name(), join(folder, 'handled')]
    writeFileSync(file, '')
    const env = { STORE_URL: url, SIGNATURE_KEY: KEY }
    const started = Array.from({ length: count }, () => startNode([APP, store, mode, file], env))
    processes.push(...started)
    const ports = await Promise.all(started.map(async (one) => (await one.printed(/port (\d+)/))[1]))
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

  /** Sends each delivery to two receivers at once; one that is answered with anything but 200 or 202 again, as a sender does. */
  async function sendDoubled(urls: readonly string[]): Promise<Set<number>> {
    const statuses = new Set<number>()
    const sendUntilTaken = async (target: string | undefined, body: string): Promise<void> => {
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
        await Promise.all([sendUntilTaken(urls[first], body), sendUntilTaken(urls[second], body)])
      }
    }
    await Promise.all(Array.from({ length: 8 }, sender))
    return statuses
  }

  it.each(['inbox', 'duplicates'] as const)(
    `${PROCESSES} processes, each delivery to two at once: handled once, with %s`,
    { timeout: 60_000 },
    async (mode) => {
      const { urls, read } = await startReceivers(PROCESSES, mode)
      const statuses = await sendDoubled(urls)
      await until(() => read().length >= DELIVERIES)
      // Whoever would handle one a second time had it before, or takes it within a second.
      await new Promise((resolve) => setTimeout(resolve, 1_500))
      const handled = read()
      expect(new Set(handled.map(({ id }) => id)).size).toBe(DELIVERIES)
      expect(handled.length).toBe(DELIVERIES)
      expect(handled.every(({ attempt }) => attempt === 1)).toBe(true)
      expect(new Set(handled.map(({ pid }) => pid)).size).toBe(PROCESSES)
      const expected = mode === 'inbox' ? [202, 200] : [200, 409]
      expect([...statuses].filter((status) => !expected.includes(status))).toEqual([])
    },
  )

  it('a process that is killed at work: another tries it again', { timeout: 60_000 }, async () => {
    const { urls, read, started } = await startReceivers(2, 'inbox')
    expect((await sendTo(urls[0], uniquePayload('Stay'))).status).toBe(202)
    await until(() => read().length === 1)
    const [first] = read()
    await started.find(({ child }) => child.pid === first?.pid)?.stop('SIGKILL')
    await until(() => read().length === 2, 40_000)
    const second = read()[1]
    expect(second).toMatchObject({ id: first?.id, attempt: attemptAfterKill })
    expect(second?.pid).not.toBe(first?.pid)
  })
}
