import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startNode } from '../helpers/process.ts'
import { root } from './entries.ts'

/** What a process has loaded and begun, to import one entry. */
export interface Loaded {
  /** The files of geohook, by their names in dist. */
  readonly own: readonly string[]
  readonly packages: readonly string[]
  /** Timers, sockets and handles that were opened, whether or not they keep the process alive. */
  readonly opened: readonly string[]
  /** What keeps the process alive afterwards, and did not before. */
  readonly kept: readonly string[]
}

const IMPORTS = {
  esm: (specifier: string) => `await import('${specifier}')`,
  cjs: (specifier: string) => `require('${specifier}')`,
}

export type Format = keyof typeof IMPORTS

/**
 * A timer or server that is unref'd keeps nothing alive, so what is opened is written down as well, for some turns of
 * the loop: a server begins to listen a little after it was asked to. Closing the files that were read ends later
 * too, so what is kept is asked for until nothing is, or for a second. The standard streams are opened beforehand:
 * `debug`, which Express loads, looks whether they are a terminal.
 */
const program = (statement: string): string => `
const { createHook } = process.getBuiltinModule('node:async_hooks')
void [process.stdout, process.stderr]
const opened = []
const before = process.getActiveResourcesInfo()
const kept = () => process.getActiveResourcesInfo().filter((name) => !before.includes(name))
const turn = () => new Promise(setImmediate)
const isHandle = (type) => /^(Timeout|WORKER)|(WRAP|WATCHER|PORT|PARSER)$/.test(type)
const hook = createHook({ init: (_, type) => void (isHandle(type) && opened.push(type)) }).enable()
;(async () => {
  ${statement}
  for (let i = 0; i < 10; i++) await turn()
  hook.disable()
  for (const end = Date.now() + 1000; kept().length > 0 && Date.now() < end; ) await turn()
  process.stdout.write(JSON.stringify({ opened, kept: kept() }))
})()`

/** Imports an entry of the built package in a process of its own. V8 itself says which files it ran. `then` runs behind it. */
export async function load(specifier: string, format: Format, then = ''): Promise<Loaded> {
  const coverage = mkdtempSync(join(tmpdir(), 'geohook-loaded-'))
  try {
    const started = startNode(
      [
        `--input-type=${format === 'esm' ? 'module' : 'commonjs'}`,
        '--eval',
        program(`${IMPORTS[format](specifier)}\n${then}`),
      ],
      { NODE_V8_COVERAGE: coverage, NODE_OPTIONS: undefined },
      { cwd: root },
    )
    if ((await started.exited) !== 0) throw new Error(started.output)
    const files = filesIn(coverage)
    const own = files.filter((file) => file.startsWith(join(root, 'dist/')))
    return {
      ...(JSON.parse(started.stdout) as Pick<Loaded, 'opened' | 'kept'>),
      own: own.map((file) => basename(file)).sort(),
      packages: [...new Set(files.flatMap((file) => packageOf(file) ?? []))].sort(),
    }
  } finally {
    rmSync(coverage, { recursive: true, force: true })
  }
}

/** The files that V8 ran, whether as modules or as CommonJS. */
function filesIn(coverage: string): string[] {
  return readdirSync(coverage)
    .flatMap((name) => JSON.parse(readFileSync(join(coverage, name), 'utf8')).result as { url: string }[])
    .filter(({ url }) => url.startsWith('file:') && !/\[eval\d*\]$/.test(url))
    .map(({ url }) => fileURLToPath(url))
}

const packageOf = (file: string): string | undefined =>
  /.*[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/.exec(file)?.[1]

/**
 * What a file in dist imports of what is built into Node. The build writes each import on a line of its own, and
 * geohook has no text that looks like one.
 */
export function builtinsOf(file: string): string[] {
  const code = readFileSync(join(root, 'dist', file), 'utf8')
  return [...code.matchAll(/^(?:import|export)\b[^"]*"([^"]+)"|\brequire\(['"]([^'"]+)['"]\)/gm)]
    .map(([, imported, required]) => imported ?? required ?? '')
    .filter((name) => isBuiltin(name))
}

/** The sources that a file in dist was built from: esbuild writes their names above them. */
export function sourcesOf(file: string): string[] {
  const code = readFileSync(join(root, 'dist', file), 'utf8')
  return [...code.matchAll(/^(?:"use strict";.*)?\/\/ (src\/\S+\.ts)$/gm)].map(([, source = '']) => source)
}

/** Packages and all that they depend on, as they are installed here. */
export function closureOf(
  names: readonly string[],
  from: string = join(root, 'package.json'),
  seen: Set<string> = new Set(),
): Set<string> {
  for (const name of names.filter((name) => !seen.has(name))) {
    const paths = createRequire(from).resolve.paths(name) ?? []
    const path = paths.map((folder) => join(folder, name, 'package.json')).find((file) => existsSync(file))
    if (path === undefined) throw new Error(`${name} is not installed`)
    const { dependencies = {} } = JSON.parse(readFileSync(path, 'utf8'))
    closureOf(Object.keys(dependencies), realpathSync(path), seen.add(name))
  }
  return seen
}
