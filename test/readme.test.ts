import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createReceiver, type ErrorCode, type ReceiverOptions, WebhookError } from 'geohook'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Started, startNode } from './helpers/process.ts'

const root = new URL('../', import.meta.url).pathname
const readme = readFileSync(`${root}README.md`, 'utf8')
const pages = ['mock', 'testing', 'observability', 'frameworks', 'inbox', 'scaling', 'performance'].map(
  (page) => readFileSync(`${root}docs/${page}.md`, 'utf8'),
)
/** The examples in the docstrings of the source, without the asterisks. */
const examples = readdirSync(`${root}src`, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .flatMap((path) => [
    ...readFileSync(`${root}src/${path}`, 'utf8').matchAll(/@example\n *\* ```ts\n(.*?) \* ```/gs),
  ])
  .map(([, code = '']) => code.replace(/^ *\* ?/gm, ''))
const blocks = [...[readme, ...pages].join('\n').matchAll(/```ts\n(.*?)```/gs)].map(
  ([, code]) => code as string,
)

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
  const all = [...blocks, ...examples]
  const files = all.map((_, index) => `${root}test/readme-block-${index}.ts`)
  const ending = examples.filter((code) => !/\.listen\((?!4000)|\.work\(/.test(code))
  let runs: Started[] = []
  // Begun before the others of these tests: one waits for retries, and nobody need wait for it.
  beforeAll(() => {
    runs = ending.map((code) =>
      startNode(['--input-type=module', '--eval', code.replace('listen(4000)', 'listen()')]),
    )
  })
  afterAll(() => {
    for (const file of files) rmSync(file, { force: true })
  })

  it('has code that compiles', { timeout: 60_000 }, () => {
    expect(blocks.length).toBeGreaterThan(4)
    expect(examples.length).toBeGreaterThan(10)
    for (const [index, file] of files.entries()) writeFileSync(file, `${all[index]}\nexport {}\n`)
    const { config } = ts.readConfigFile(`${root}tsconfig.test.json`, ts.sys.readFile)
    const { options } = ts.parseJsonConfigFileContent({ ...config, files, include: [] }, ts.sys, root)
    const program = ts.createProgram(files, { ...options, noUnusedLocals: false })
    // Only of them: `npm run types` has the sources that they import.
    const diagnostics = files.flatMap((file) =>
      ts.getPreEmitDiagnostics(program, program.getSourceFile(file)),
    )
    expect(diagnostics.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual(
      [],
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
