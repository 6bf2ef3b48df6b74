import { execFileSync, spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { createProgram } from '../../../src/cli/program.ts'
import { createFolder } from '../../helpers/cli.ts'
import { useGeohook } from '../../helpers/cli-host.ts'

const { geohook } = useGeohook()
const folder = createFolder()
folder.file('body.json', '{}')

const commands = createProgram().commands.map((command) => command.name())
const FAULTS = ['slow_drip']

/** Command lines up to the cursor, and the words that complete them. `undefined` means file names. */
const CASES: readonly (readonly [words: string[], completions: readonly string[] | undefined])[] = [
  [[''], [...commands, 'help']],
  [['l'], ['listen', 'list']],
  [['help', 'k'], ['key']],
  [
    ['inbox', ''],
    ['stats', 'list', 'show', 'retry', 'discard', 'purge', 'export', 'backup', 'ui', 'help'],
  ],
  [
    ['completion', ''],
    ['bash', 'zsh', 'fish'],
  ],
  [
    ['listen', '--forward-t'],
    ['--forward-to', '--forward-timeout'],
  ],
  [
    ['listen', '--port', '0', '--once', '--profile', ''],
    ['service', 'arcgis', 'portal'],
  ],
  [
    ['inbox', 'list', '--state', 'd'],
    ['done', 'dead'],
  ],
  [['trigger', 'Parcels.FeatureServer', '--fault', 's'], FAULTS],
  [
    ['send', 'listen', '--c'],
    ['--content-type', '--change-type', '--ca'],
  ], // `listen` is a file here
  [['sign', 'bod'], undefined],
  [['sign', '--key-file', 'bod'], undefined],
]

const isInstalled = (shell: string): boolean => spawnSync(shell, ['-c', ':']).status === 0

async function scriptFor(shell: string): Promise<string> {
  const { code, stdout, stderr } = await geohook(['completion', shell])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return folder.file(`completion.${shell}`, stdout)
}

const linesOf = (program: string, args: string[]): string[] =>
  execFileSync(program, args, { cwd: folder.path, encoding: 'utf8' }).split('\n').filter(Boolean)

describe.concurrent('geohook completion', () => {
  it.runIf(isInstalled('bash'))('completes commands, options and values in bash', async () => {
    const script = await scriptFor('bash')
    const complete = (words: readonly string[]): string[] =>
      linesOf('bash', [
        '-c',
        `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _geohook; printf '%s\\n' "\${COMPREPLY[@]}"`,
        'bash',
        script,
        'geohook',
        ...words,
      ])
    // Without words from the script, bash completes file names.
    for (const [words, expected = []] of CASES) expect([words, complete(words)]).toEqual([words, expected])
    expect(complete(['listen', '--profile', '=', 'a'])).toEqual(['arcgis'])
    expect(complete(['listen', '--profile', '='])).toEqual(['service', 'arcgis', 'portal'])
  })

  it.runIf(isInstalled('fish'))('completes commands, options and values in fish', async () => {
    const script = await scriptFor('fish')
    const complete = (words: readonly string[]): string[] =>
      linesOf('fish', [
        '--no-config',
        '-c',
        'source $argv[1]; complete -C $argv[2]',
        script,
        ['geohook', ...words].join(' '),
      ]).map((line) => line.split('\t')[0] ?? '')
    for (const [words, expected = ['body.json']] of CASES)
      expect([words, complete(words).sort()]).toEqual([words, [...expected].sort()])
    expect(complete(['listen', '--profile=a'])).toEqual(['--profile=arcgis'])
  })

  it.runIf(isInstalled('zsh'))('completes commands, options and values in zsh', async () => {
    const script = await scriptFor('zsh')
    // Replaces the functions of zsh's completion system, which exist only on a terminal.
    const stubs = `
      compdef() {}; compset() {}; _files() { print FILES }
      compadd() { print -l -- "\${@[2,-1]}" }
      _describe() { print -l -- "\${(@)\${(@P)@[-1]}%%:*}" }`
    const complete = (words: readonly string[]): string[] | undefined => {
      const run = 'source $1; shift; words=("$@"); CURRENT=$#; _geohook'
      const lines = linesOf('zsh', ['-f', '-c', `${stubs}\n${run}`, 'zsh', script, 'geohook', ...words])
      if (lines[0] === 'FILES') return undefined
      // The completion system selects the words that begin with the current one.
      const current = words.at(-1)?.replace(/^--.*=/, '') ?? ''
      return lines.filter((line) => line.startsWith(current))
    }
    for (const [words, expected] of CASES) expect([words, complete(words)]).toEqual([words, expected])
    expect(complete(['listen', '--profile=a'])).toEqual(['arcgis'])
  })

  it('refuses another shell with exit code 2', async () => {
    const { code, stdout, stderr } = await geohook(['completion', 'tcsh'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^error: shell: Allowed choices are bash, zsh, fish\.\n/)
  })
})
