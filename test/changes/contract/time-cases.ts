import type { ServerResponse } from 'node:http'
import { expect } from 'vitest'
import { extract } from './answer-cases.ts'
import type { Case } from './case.ts'
import { DOCUMENT, type Reply, raw, redirect, startHostile } from './hostile-server.ts'
import type { Start } from './subject.ts'

const endless = (res: ServerResponse): void => {
  res.writeHead(200, { 'content-type': 'application/json' })
  const timer = setInterval(() => res.write(' '), 5)
  res.once('close', () => clearInterval(timer))
}

/** Long enough that few requests are made until the time limit. */
const SLOW = { min: 100, max: 100 }

/** Answers that only the time limit ends. */
const ENDLESS: [name: string, replies: Record<string, Reply>, state?: string][] = [
  ['a body that does not end', { extractChanges: endless }],
  ['a file that does not end', { file: endless }, 'Completed'],
  ['no response', { extractChanges: () => {} }],
  ['an unknown state', { status: { status: 'Reconciling' } }, 'Reconciling'],
  [
    'the state Failed ImportChanges of a running job',
    { status: { status: 'Failed ImportChanges' } },
    'Failed ImportChanges',
  ],
  ['a job without a state', { status: {} }],
  ['a state that is an object', { status: { status: {} } }],
  ['the state Completed with an empty URL', { status: { status: 'Completed', resultUrl: '' } }, 'Completed'],
  ['the state Completed without a URL', { status: { status: 'Completed' } }, 'Completed'],
]

export const TIME_CASES: readonly Case[] = [
  ...ENDLESS.map(([name, replies, state]) => ({
    name: `${name}: changes_timeout`,
    async run(use: Start) {
      const server = await startHostile(replies)
      // Before the client knows a state, it has to make some requests.
      const timeout = state === undefined ? 1000 : 2000
      const { error } = await extract(use, server, { timeout, pollInterval: SLOW })
      expect(error).toMatchObject({
        code: 'changes_timeout',
        message: expect.stringContaining(`${timeout} ms`),
      })
      expect(error?.state).toBe(state)
    },
  })),
  ...ENDLESS.slice(0, 4).map(([name, replies]) => ({
    name: `${name}: the signal ends the extraction with its reason`,
    async run(use: Start) {
      const server = await startHostile(replies)
      const started = performance.now()
      const used = await use({
        options: { origins: [server.origin], pollInterval: SLOW },
        events: [server.event],
        abortAfter: 200,
      })
      expect(used.error).toMatchObject({ message: 'stop' })
      expect(performance.now() - started).toBeLessThan(60_000) // the default timeout is 300 s
    },
  })),
  {
    name: 'the signal ends a wait between two polls',
    async run(use) {
      const server = await startHostile()
      const used = await use({
        options: { origins: [server.origin], pollInterval: { min: 60_000, max: 60_000 } },
        events: [server.event],
        abortAfter: 200,
      })
      expect(used.error).toMatchObject({ message: 'stop' })
    },
  },
  ...[
    ['completed with errors', 'Completed With Errors'],
    ['cancelled', 'Cancelled'],
    ['failed, in another spelling', 'FAILED'],
    ['failed, as a geoprocessing job', 'esriJobFailed'],
  ].map(([name, status]) => ({
    name: `a job that is ${name}: changes_failed with the state`,
    async run(use: Start) {
      const server = await startHostile({
        status: { status: status as string, error: { code: 9, description: 'why' } },
      })
      expect((await extract(use, server)).error).toMatchObject({
        code: 'changes_failed',
        state: status,
        serviceCode: 9,
        message: expect.stringContaining('why'),
      })
      // The last one asks whether the service still has the changes.
      expect(server.got.map(({ path }) => path.split('/').at(-1))).toEqual([
        'extractChanges',
        'status',
        'FeatureServer',
      ])
    },
  })),
  {
    name: 'after 429, waits as long as Retry-After says',
    async run(use) {
      let asked = 0
      const times: number[] = []
      const server = await startHostile({
        extractChanges(res) {
          times.push(performance.now())
          if (asked++ === 0) res.writeHead(429, { 'retry-after': '1' }).end()
          else res.end(JSON.stringify(DOCUMENT))
        },
      })
      expect((await extract(use, server)).changes?.layers).toHaveLength(1)
      expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(990)
    },
  },
  {
    name: 'fails at once if Retry-After is later than the time limit',
    async run(use) {
      const server = await startHostile({ extractChanges: raw(429, '', { 'retry-after': '3600' }) })
      const { error } = await extract(use, server)
      expect(error).toMatchObject({ code: 'changes_unavailable', serviceCode: 429 })
      expect(server.got).toHaveLength(1)
    },
  },
  {
    name: 'reads gzipped answers, and bounds them after decompression',
    async run(use) {
      const { gzipSync } = await import('node:zlib')
      const gzip = (text: string): Reply => raw(200, gzipSync(text), { 'content-encoding': 'gzip' })
      const small = await startHostile({ file: gzip(JSON.stringify(DOCUMENT)) })
      expect((await extract(use, small)).changes?.layers).toHaveLength(1)
      const bomb = await startHostile({ file: gzip(' '.repeat(2_000_000)) })
      expect((await extract(use, bomb)).error).toMatchObject({ code: 'changes_too_large' })
    },
  },
  {
    name: 'a byte order mark is not part of the document',
    async run(use) {
      const server = await startHostile({ file: raw(200, `\uFEFF${JSON.stringify(DOCUMENT)}`) })
      expect((await extract(use, server)).changes?.layers).toHaveLength(1)
    },
  },
  {
    name: 'a relative redirect of the file is followed',
    async run(use) {
      const server = await startHostile({ file: redirect('/elsewhere/moved'), moved: DOCUMENT })
      expect((await extract(use, server)).changes?.layers).toHaveLength(1)
    },
  },
]
