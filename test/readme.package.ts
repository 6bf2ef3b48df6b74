import { readFileSync } from 'node:fs'
import { transformSync } from 'esbuild'
import { createReceiver, type ErrorCode, type ReceiverOptions, WebhookError } from 'geohook'
import { beforeAll, describe, expect, it } from 'vitest'
import { whyNoSqlite } from './helpers/drivers.ts'
import { type Started, startNode } from './helpers/process.ts'
import { blocks, examples, isEndless, nodeArguments, root } from './helpers/readme.ts'

const reference = readFileSync(`${root}docs/reference.md`, 'utf8')

const toScript = (code: string): string => transformSync(code, { loader: 'ts', format: 'esm' }).code

/** Returns the rows of the table under a heading of docs/reference.md. */
const rows = (heading: string): string[][] =>
  (reference.split(`## ${heading}`)[1] ?? '')
    .split('\n## ')[0]!
    .split('\n')
    .filter((line) => line.startsWith('|') && !line.startsWith('|---'))
    .slice(1)
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )

describe('the README and the docs', () => {
  // Excludes the backup example, which needs an inbox file. `test/cli/inbox/backup.test.ts` runs it.
  const finiteExamples = examples.filter(
    (code) =>
      !isEndless(code) &&
      !code.includes('backupSqliteInbox') &&
      !(whyNoSqlite && code.includes('geohook/sqlite')),
  )
  let runs: Started[] = []
  // Starts all examples before the first test, so that they run concurrently. One of them waits for retries.
  beforeAll(() => {
    runs = finiteExamples.map((code) =>
      startNode(nodeArguments(toScript(code).replace('listen(4000)', 'listen()'))),
    )
  })

  it('have a working example of explain', async () => {
    const explaining = blocks.find((code) => code.includes('await explain')) ?? ''
    const run = startNode(nodeArguments(explaining))
    expect(await run.exited).toBe(0)
    expect(run.output).toBe("0\n[ 'FeaturesCreated' ]\nbody_trailing_newline\n")
  })

  it('examples in doc comments run, except those that never end', async () => {
    expect(finiteExamples.length).toBeGreaterThan(9)
    for (const [index, run] of runs.entries())
      expect([finiteExamples[index], await run.exited]).toEqual([finiteExamples[index], 0])
  })

  it('document every option', () => {
    const options: Record<keyof ReceiverOptions, true> = {
      signatureKey: true,
      profile: true,
      signatureHeader: true,
      encoding: true,
      limit: true,
      maxInFlightBytes: true,
      bodyTimeout: true,
      unsigned: true,
      maxAge: true,
      untimed: true,
      duplicates: true,
      inbox: true,
      schema: true,
      observer: true,
      clock: true,
    }
    expect(rows('Options of createReceiver').map(([name]) => name)).toEqual(
      Object.keys(options).map((name) => `\`${name}\``),
    )
  })

  it('document every kind of outcome', async () => {
    const { outcomes } = await createReceiver({ signatureKey: 'k' }).stats()
    const documented = new Set(rows('Outcomes').map(([, , , kind = '']) => kind.replaceAll('`', '')))
    expect([...documented].sort()).toEqual(Object.keys(outcomes).sort())
  })

  it('document every error code with its status', () => {
    const documented = rows('Outcomes').filter(([, , code]) => code)
    for (const [, status = '', code = ''] of documented) {
      const error = new WebhookError(code.replaceAll('`', '') as ErrorCode)
      if (error.code !== 'body_aborted')
        expect(`${error.code} ${error.status}`).toBe(`${error.code} ${Number.parseInt(status, 10)}`)
    }
    // Codes of geohook/changes and geohook/admin are never the outcome of a request, and are in docs of their own.
    const [, source = ''] = readFileSync(`${root}src/errors.ts`, 'utf8').split('type ErrorCode =')
    const codes = [...source.matchAll(/^ {2}\| '(\w+)'$/gm)].map(([, code]) => `\`${code}\``)
    expect(documented.map(([, , code]) => code).sort()).toEqual(
      codes.filter((code) => code !== '`config_invalid`').sort(),
    )
  })
})
