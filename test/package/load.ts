import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startNode } from '../helpers/process.ts'
import { root } from './entries.ts'

/** The result of importing an entry: loaded modules and opened resources. */
export interface Loaded {
  /** Names of loaded files in `dist`. */
  readonly own: readonly string[]
  readonly packages: readonly string[]
  /** Timers, sockets and handles that were opened, including those that do not keep the process alive. */
  readonly opened: readonly string[]
  /** Opened resources that keep the process alive. */
  readonly kept: readonly string[]
}

const IMPORTS = {
  esm: (specifier: string) => `await import('${specifier}')`,
  cjs: (specifier: string) => `require('${specifier}')`,
}

export type Format = keyof typeof IMPORTS

/**
 * Returns a program that runs `statement` and prints the opened resources, including unref'd ones.
 *
 * - It opens the standard streams first. Otherwise `debug`, a dependency of Express, would open them.
 * - It records for ten more event loop ticks, because a server may start to listen some ticks after `listen()`.
 * - Then it waits up to ten seconds for files that are still being closed.
 */
const program = (statement: string): string => `
const { createHook } = process.getBuiltinModule('node:async_hooks')
void [process.stdout, process.stderr]
const opened = []
const before = process.getActiveResourcesInfo()
const kept = () => process.getActiveResourcesInfo().filter((name) => !before.includes(name))
const tick = () => new Promise(setImmediate)
const isHandle = (type) => /^(Timeout|WORKER)|(WRAP|WATCHER|PORT|PARSER)$/.test(type)
const hook = createHook({ init: (_, type) => void (isHandle(type) && opened.push(type)) }).enable()
;(async () => {
  ${statement}
  for (let i = 0; i < 10; i++) await tick()
  hook.disable()
  for (const end = Date.now() + 10_000; kept().length > 0 && Date.now() < end; ) await tick()
  process.stdout.write(JSON.stringify({ opened, kept: kept() }))
})()`

/** Imports a built entry in a new process, then runs the code `then`. V8 coverage lists the loaded files. */
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
      own: own.map((file) => relative(join(root, 'dist'), file)).sort(),
      packages: [...new Set(files.flatMap((file) => packageOf(file) ?? []))].sort(),
    }
  } finally {
    rmSync(coverage, { recursive: true, force: true })
  }
}

/** Returns the ES and CommonJS module files that V8 ran. */
function filesIn(coverage: string): string[] {
  return readdirSync(coverage)
    .flatMap((name) => JSON.parse(readFileSync(join(coverage, name), 'utf8')).result as { url: string }[])
    .filter(({ url }) => url.startsWith('file:') && !/\[eval\d*\]$/.test(url))
    .map(({ url }) => fileURLToPath(url))
}

const packageOf = (file: string): string | undefined =>
  /.*[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/.exec(file)?.[1]

/** Returns the built-in modules that a file in `dist` imports. The build writes each import on its own line. */
export function builtinsOf(file: string): string[] {
  const code = readFileSync(join(root, 'dist', file), 'utf8')
  return [...code.matchAll(/^(?:import|export)\b[^"]*"([^"]+)"|\brequire\(['"]([^'"]+)['"]\)/gm)]
    .map(([, imported, required]) => imported ?? required ?? '')
    .filter((name) => isBuiltin(name))
}

/** Returns the built-in modules that a file in `dist` loads on demand, in the order of their names in the file. */
export function builtinsOnDemand(file: string): string[] {
  const code = readFileSync(join(root, 'dist', file), 'utf8')
  return [...code.matchAll(/\bgetBuiltinModule\(['"]([^'"]+)['"]\)/g)].map(([, name = '']) => name)
}

/** Returns the source files that a file in `dist` contains, according to the comments that esbuild writes. */
export function sourcesOf(file: string): string[] {
  const code = readFileSync(join(root, 'dist', file), 'utf8')
  return [...code.matchAll(/^(?:"use strict";.*)?\/\/ (src\/\S+\.ts)$/gm)].map(([, source = '']) => source)
}

/** Returns packages and all their direct and indirect dependencies, as installed. */
export function closureOf(
  names: readonly string[],
  from: string = join(root, 'package.json'),
  visited: Set<string> = new Set(),
): Set<string> {
  for (const name of names.filter((name) => !visited.has(name))) {
    const paths = createRequire(from).resolve.paths(name) ?? []
    const path = paths.map((folder) => join(folder, name, 'package.json')).find((file) => existsSync(file))
    if (path === undefined) throw new Error(`${name} is not installed`)
    const { dependencies = {} } = JSON.parse(readFileSync(path, 'utf8'))
    closureOf(Object.keys(dependencies), realpathSync(path), visited.add(name))
  }
  return visited
}
