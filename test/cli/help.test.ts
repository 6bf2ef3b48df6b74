import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { geohook, newProgram } from '../helpers/cli.ts'

const docs = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8')
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

const commands = newProgram().commands
const names = commands.map((command) => command.name())

/** Names of all commands, including subcommands like `inbox list`. */
const paths = commands.flatMap((command) => [
  command.name(),
  ...command.commands.map((subcommand) => `${command.name()} ${subcommand.name()}`),
])

/** Returns the text between a heading and the next heading of the same or a higher level. */
function section(heading: string): string {
  const [, rest = ''] = docs.split(`\n${heading}\n`)
  return rest.split(new RegExp(`\n#{2,${heading.split(' ')[0]?.length}} `))[0] ?? ''
}

/** Returns the section of a command, excluding the sections of its subcommands. */
const sectionOf = (path: string): string =>
  section(`${path.includes(' ') ? '###' : '##'} ${path}`).split('\n### ')[0] ?? ''

const shared = section('## What all commands share')

/** Returns the options that a help text lists, with their arguments. */
const flagsIn = (help: string): string[] =>
  [...help.matchAll(/^ {2}(-\S.*?)(?: {2,}|$)/gm)].map(([, flags]) => flags as string)

const examplesIn = (help: string): string[] =>
  [...help.matchAll(/^ {2}\$ geohook (.*)$/gm)].map(([, line]) => line as string)

/** Splits a command line into arguments, as a shell does. Supports single quotes. */
const words = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => (quoted ?? bare) as string)

/** Parses a command line without running the command, and returns the name of the command. */
async function parse(line: string): Promise<string> {
  const program = newProgram()
  let called = ''
  const replace = (command: Command, path: string): void => {
    for (const subcommand of command.commands) replace(subcommand, `${path} ${subcommand.name()}`)
    if (command.commands.length > 0) return
    command.action(() => {
      called = path
    })
  }
  for (const command of program.commands) replace(command, command.name())
  await program.parseAsync(['node', 'geohook', ...words(line)])
  return called
}

describe.concurrent('help', () => {
  it('lists every command, the exit codes and the sources of keys', async () => {
    for (const args of [[], ['--help'], ['help']]) {
      const { code, stdout, stderr } = await geohook(args)
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      for (const name of names) expect(stdout).toMatch(new RegExp(`^ {2}${name} `, 'm'))
      expect(stdout).toMatch(/Exit codes:\n {2}0 .*\n {2}1 .*\n {2}2 .*\n {2}3 .*\n {2}4 .*\n {2}5 /)
      expect(stdout).toContain('SIGNATURE_KEY')
    }
    for (const args of [['--version'], ['sign', '-V'], ['inbox', 'list', '-V']])
      expect(await geohook(args)).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  })

  it.each(paths)('of %s has valid examples, and docs/cli.md describes its options', async (path) => {
    const { code, stdout, stderr } = await geohook([...path.split(' '), '--help'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const examples = examplesIn(stdout)
    expect(examples.length).toBeGreaterThan(0)
    for (const example of examples) expect(paths).toContain(await parse(example))
    expect(`${await parse(examples[0] ?? '')} `.startsWith(`${path} `)).toBe(true)

    const text = sectionOf(path)
    expect(docs).toContain(`| [\`${path}\`](#${path.replace(' ', '-')}) |`)
    for (const flags of flagsIn(stdout)) expect(`${text}${shared}`).toContain(`| \`${flags}\` |`)
    for (const [, flags] of text.matchAll(/^\| `(--.*?)` \|/gm)) expect(flagsIn(stdout)).toContain(flags)
  })

  it('has valid examples in docs/cli.md', async () => {
    const lines = [...docs.matchAll(/^(?:eval "\$\()?geohook (.*?)(?:\)"| \| source)?(?: {2,}#.*)?$/gm)].map(
      ([, line]) => line as string,
    )
    expect(lines.length).toBeGreaterThan(paths.length)
    for (const line of lines) expect(paths).toContain(await parse(line))
  })

  it('of the program itself has valid examples', async () => {
    for (const example of examplesIn((await geohook(['--help'])).stdout))
      expect(paths).toContain(await parse(example))
  })
})

describe.concurrent('wrong usage', () => {
  it('reports an unknown argument of help with exit code 2', async () => {
    expect((await geohook(['help', 'bogus'])).code).toBe(2)
  })

  it.each([
    ['an unknown command', ['sing'], 'unknown command\nDid you mean sign?'],
    ['an unknown subcommand', ['inbox', 'lst'], 'unknown command\nDid you mean list?'],
    ['a missing subcommand', ['inbox'], 'a command is missing\nAdd --help'],
    ['an unknown option', ['--verion'], 'unknown option --verion\nDid you mean --version?'],
    ['a missing value', ['key', '--bytes'], "option '--bytes <n>' argument missing"],
    [
      'an invalid choice',
      ['mock', '--service-version', 'x'],
      '--service-version <version>: Allowed choices are',
    ],
    ['an invalid URL in the environment', ['list'], 'GEOHOOK_URL is not a URL that begins with http'],
  ])('reports %s in an error and a hint, with exit code 2', async (_, args, message) => {
    const { code, stdout, stderr } = await geohook(args, { env: { GEOHOOK_URL: 'nonsense' } })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(`error: ${message}`)
    expect(stderr).toMatch(/^error: .+\n.+\n$/)
  })

  it('is reported as JSON with --json', async () => {
    const { code, stderr } = await geohook(['key', '--bytes', 'x', '--json'])
    expect(code).toBe(2)
    expect(JSON.parse(stderr)).toEqual({
      error: {
        code: 'usage',
        message: '--bytes <n>: must be a whole number from 16 to 512',
        hint: expect.any(String),
      },
    })
  })
})
