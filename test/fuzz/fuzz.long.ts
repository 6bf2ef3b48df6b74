import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { parse } from './planted/flaw.ts'

const root = new URL('../..', import.meta.url).pathname
/** The title shows the seed. To repeat a failure: `SEED=… npm run test:long -- test/fuzz`. */
const SEED = process.env.SEED ?? '2026'
const { seeded } = await import(new URL('../../scripts/random.mjs', import.meta.url).href)

async function fuzz(...args: string[]): Promise<{ code: number; output: string }> {
  try {
    const { stdout } = await promisify(execFile)(process.execPath, ['fuzz/main.mjs', ...args], { cwd: root })
    return { code: 0, output: stdout }
  } catch (error) {
    const { code, stdout } = error as { code: number; stdout: string }
    return { code, output: stdout }
  }
}

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'geohook-fuzz-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

test(`finds a flaw behind nested branches that as many random inputs do not reach, SEED=${SEED}`, async () => {
  const findings = createFolder()
  const module = 'test/fuzz/planted/target.mjs'
  const limits = ['--executions', '3000000', '--seconds', '120', '--seed', SEED]
  const { code, output } = await fuzz('--module', module, '--findings', findings, ...limits)
  expect(output).toContain('planted flaw')
  expect(code).toBe(1)

  const [name = ''] = readdirSync(join(findings, 'module'))
  const file = join(findings, 'module', name)
  expect(() => parse(readFileSync(file))).toThrow('planted flaw')
  // Shrinking has removed the bytes that the flaw does not need.
  expect(readFileSync(file).length).toBeLessThan(14)

  const replayed = await fuzz('--module', module, '--findings', findings, '--replay', file)
  expect(replayed.output).toContain('planted flaw')
  expect(replayed.code).toBe(1)

  // 7 needs five right bytes, a probability of 2^-40: about one seed in 400,000 reaches it.
  let deepest = 0
  const random = seeded(Number(SEED))
  const input = new Uint8Array(12)
  for (let count = 0; count < 3_000_000; count++) {
    for (let index = 0; index < input.length; index++) input[index] = random() * 256
    deepest = Math.max(deepest, parse(input))
  }
  expect(deepest).toBeLessThan(7)
})

test('reports an input that hangs', async () => {
  const findings = createFolder()
  const module = 'test/fuzz/planted/hang.mjs'
  const { code, output } = await fuzz('--module', module, '--findings', findings, '--seconds', '60')
  expect(output).toMatch(/module: hang: \d+ bytes ran/)
  expect(code).toBe(1)
  const [name = ''] = readdirSync(join(findings, 'module'))
  expect(readFileSync(join(findings, 'module', name))[0]).toBe(7)
})

test('reports an input whose promise never settles, also after another finding', async () => {
  const findings = createFolder()
  const module = 'test/fuzz/planted/never.mjs'
  const { code, output } = await fuzz('--module', module, '--findings', findings, '--seconds', '60')
  expect(output).toContain('module: Error: planted error')
  expect(output).toContain('module: this input never settles')
  expect(code).toBe(1)
  const folder = join(findings, 'module')
  const files = readdirSync(folder).map((name) => join(folder, name))
  expect(files.map((file) => readFileSync(file)[0]).sort()).toEqual([0x65, 0x6e])

  const file = files.find((path) => readFileSync(path)[0] === 0x6e) as string
  const replayed = await fuzz('--module', module, '--findings', findings, '--replay', file)
  expect(replayed.output).toContain('never settles')
  expect(replayed.code).toBe(1)
})

test('reports the input that causes an unhandled rejection, and not a later one', async () => {
  const findings = createFolder()
  const args = ['--module', 'test/fuzz/planted/rejection.mjs', '--findings', findings]
  const { code, output } = await fuzz(...args, '--executions', '10')
  expect(output).toContain('module: Error: planted rejection')
  expect(code).toBe(1)
  const folder = join(findings, 'module')
  const files = readdirSync(folder).map((name) => join(folder, name))
  expect(files.map((file) => readFileSync(file, 'utf8'))).toEqual(['r'])

  const replayed = await fuzz(...args, '--replay', files[0] as string)
  expect(replayed.output).toContain('planted rejection')
  expect(replayed.code).toBe(1)
})

const WRONG_OPTIONS = [
  ['--target', 'other'],
  ['--unknown'],
  ['--seconds', '-1'],
  ['--seconds', ''],
  ['--executions', '-5'],
  ['--seed', 'abc'],
  ['--replay', 'package.json'],
  ['--target', 'verify', '--replay', 'package.json', '--save'],
  ['--module', 'test/fuzz/planted/never.mjs', '--save'],
]
test.each(WRONG_OPTIONS.map((args) => ({ args })))('refuses the options $args', async ({ args }) => {
  expect(await fuzz(...args)).toEqual({ code: 2, output: '' })
})
