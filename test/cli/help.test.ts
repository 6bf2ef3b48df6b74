import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import { geohook } from '../helpers/cli.ts'

const docs = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8')
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

const names = createProgram().commands.map((command) => command.name())

/** The text under a heading, to the next one of its level. */
function section(heading: string): string {
  const [, rest = ''] = docs.split(`\n${heading}\n`)
  return rest.split(new RegExp(`\n${heading.split(' ')[0]} `))[0] ?? ''
}

const shared = section('## What all commands share')

/** The options and their arguments, as the help writes them. */
const flagsIn = (help: string): string[] =>
  [...help.matchAll(/^ {2}(-\S.*?)(?: {2,}|$)/gm)].map(([, flags]) => flags as string)

const examplesIn = (help: string): string[] =>
  [...help.matchAll(/^ {2}\$ geohook (.*)$/gm)].map(([, line]) => line as string)

/** As a shell splits it: quotes keep white space together. */
const words = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => (quoted ?? bare) as string)

/** Everything is parsed, nothing is done. */
async function parse(line: string): Promise<string> {
  const program = createProgram()
  let called = ''
  const replace = (command: Command): void => {
    command.action(() => {
      called = command.name()
    })
  }
  for (const command of program.commands) replace(command)
  await program.parseAsync(['node', 'geohook', ...words(line)])
  return called
}

describe.concurrent('help', () => {
  it('lists every command, the exit codes and where keys come from', async () => {
    for (const args of [[], ['--help'], ['help']]) {
      const { code, stdout, stderr } = await geohook(args)
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      for (const name of names) expect(stdout).toMatch(new RegExp(`^ {2}${name} `, 'm'))
      expect(stdout).toMatch(/Exit codes:\n {2}0 .*\n {2}1 .*\n {2}2 .*\n {2}3 /)
      expect(stdout).toContain('SIGNATURE_KEY')
    }
    expect((await geohook(['--version'])).stdout).toBe(`${version}\n`)
  })

  it.each(names)('of %s teaches with examples that can be parsed, and is in docs/cli.md', async (name) => {
    const { code, stdout, stderr } = await geohook([name, '--help'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const examples = examplesIn(stdout)
    expect(examples.length).toBeGreaterThan(0)
    for (const example of examples) expect(names).toContain(await parse(example))
    expect(await parse(examples[0] ?? '')).toBe(name)

    const text = section(`## ${name}`)
    expect(docs).toContain(`| [\`${name}\`](#${name}) |`)
    for (const flags of flagsIn(stdout)) expect(`${text}${shared}`).toContain(`| \`${flags}\` |`)
    // Nothing is described that is not there.
    for (const [, flags] of text.matchAll(/^\| `(--.*?)` \|/gm)) expect(flagsIn(stdout)).toContain(flags)
  })

  it('has examples in docs/cli.md that can be parsed', async () => {
    const lines = [...docs.matchAll(/^geohook (.*?)(?: {2,}#.*)?$/gm)].map(([, line]) => line as string)
    expect(lines.length).toBeGreaterThan(names.length)
    for (const line of lines) expect(names).toContain(await parse(line))
  })

  it('of the program has examples that can be parsed', async () => {
    for (const example of examplesIn((await geohook(['--help'])).stdout))
      expect(names).toContain(await parse(example))
  })
})

describe.concurrent('mistakes at the command line', () => {
  it.each([
    ['an unknown command', ['sing'], 'unknown command\nDid you mean sign?'],
    ['an unknown option', ['--verion'], 'unknown option --verion\nDid you mean --version?'],
    ['a missing value', ['key', '--bytes'], "option '--bytes <n>' argument missing"],
    ['a value that is not allowed', ['mock', '--dialect', 'x'], '--dialect <name>: Allowed choices are'],
    ['a bad address in the environment', ['list'], '--url <url>: give a URL that begins with http'],
  ])('%s is told in two lines, with the exit code 2', async (_, args, message) => {
    const { code, stdout, stderr } = await geohook(args, { env: { GEOHOOK_URL: 'nonsense' } })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(`error: ${message}`)
    expect(stderr.split('\n').length).toBe(3)
  })

  it('are JSON with --json', async () => {
    const { code, stderr } = await geohook(['key', '--bytes', 'x', '--json'])
    expect(code).toBe(2)
    expect(JSON.parse(stderr)).toEqual({
      error: {
        code: 'usage',
        message: '--bytes <n>: give a whole number from 16 to 512',
        hint: expect.any(String),
      },
    })
  })
})
