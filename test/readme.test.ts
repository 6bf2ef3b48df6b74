import { existsSync, readFileSync } from 'node:fs'
import { createReceiver, type ErrorCode, type ReceiverOptions, WebhookError } from 'geohook'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Started, startNode } from './helpers/process.ts'
import { blocks, examples, pages, readme, root } from './helpers/readme.ts'

/** The rows of the table under a heading. */
const rows = (heading: string): string[][] =>
  (readme.split(`## ${heading}`)[1] ?? '')
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

describe('the README, and the pages behind it,', () => {
  // The example of backups needs an inbox file: test/cli/inbox/backup.test.ts runs it.
  const ending = examples.filter((code) => !/\.listen\((?!4000)|\.work\(|backupSqliteInbox/.test(code))
  let runs: Started[] = []
  // Begun before the others of these tests: one waits for retries, and nobody need wait for it.
  beforeAll(() => {
    runs = ending.map((code) =>
      startNode(['--input-type=module', '--eval', code.replace('listen(4000)', 'listen()')]),
    )
  })

  it('has examples of testing and explaining that run', async () => {
    const testing = blocks.find((code) => code.includes('createSigner')) ?? ''
    const explaining = blocks.find((code) => code.includes('await explain')) ?? ''
    for (const [code, expected] of [
      [testing, 'handled Parcels\n200\n'],
      [explaining, /^unexplained Body: 14 bytes/],
    ] as const) {
      const run = startNode(['--input-type=module', '--eval', code])
      expect(await run.exited).toBe(0)
      expect(run.output).toMatch(expected)
    }
  })

  it('has docstrings with examples that run, but for those that go on for ever', {
    timeout: 60_000,
  }, async () => {
    expect(ending.length).toBeGreaterThan(9)
    for (const [index, run] of runs.entries())
      expect([ending[index], await run.exited]).toEqual([ending[index], 0])
  })

  it('tells every option', () => {
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
    expect(rows('Options of `createReceiver`').map(([name]) => name)).toEqual(
      Object.keys(options).map((name) => `\`${name}\``),
    )
    createReceiver({ signatureKey: 'k' })
  })

  it('tells every code with its status', () => {
    const told = rows('Outcomes').filter(([, , code]) => code)
    for (const [, status = '', code = ''] of told) {
      const error = new WebhookError(code.replaceAll('`', '') as ErrorCode)
      if (error.code !== 'body_aborted')
        expect(`${error.code} ${error.status}`).toBe(`${error.code} ${Number.parseInt(status, 10)}`)
    }
    const source = readFileSync(`${root}src/errors.ts`, 'utf8')
    const codes = [...source.matchAll(/^ {2}\| '(\w+)'$/gm)].map(([, code]) => `\`${code}\``)
    expect(told.map(([, , code]) => code).sort()).toEqual(
      codes.filter((code) => code !== '`config_invalid`').sort(),
    )
  })

  it('gives a reason for every dependency', () => {
    const { dependencies } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
    const section = readFileSync(`${root}docs/decisions.md`, 'utf8').split('## Dependencies')[1] ?? ''
    const told = [...section.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name)
    expect(told.sort()).toEqual(Object.keys(dependencies).sort())
  })

  it('links only to what is there', () => {
    const linksOf = (text: string): string[] =>
      [...text.matchAll(/\]\((?!http)([^)#]+)\)/g)].map(([, path]) => path as string)
    const links = [...linksOf(readme), ...pages.flatMap(linksOf).map((path) => `docs/${path}`)]
    expect(links.length).toBeGreaterThan(8)
    for (const path of links) expect(existsSync(root + path) ? '' : path).toBe('')
  })
})
