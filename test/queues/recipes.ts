import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { findPort } from '../helpers/port.ts'
import { type Started, startProgram } from '../helpers/process.ts'
import { root } from '../helpers/readme.ts'

const DOCS = readFileSync(join(root, 'docs/queues.md'), 'utf8')

/** Returns the code blocks of a language in a section of docs/queues.md. */
export function codeIn(heading: string, language = 'ts'): string[] {
  const [, section = ''] = DOCS.split(`\n## ${heading}\n`)
  const blocks = (section.split('\n## ')[0] ?? '').matchAll(/^```(\w+)\n(.*?)^```$/gms)
  const found = [...blocks].flatMap(([, tag, code = '']) => (tag === language ? code : []))
  if (found.length === 0) throw new Error(`docs/queues.md has no ${language} code in the section ${heading}`)
  return found
}

/** A change of a setting in the code of a recipe: shorter delays, for example. */
export type Change = readonly [from: string, to: string]

export function change(code: string, changes: readonly Change[]): string {
  for (const [from, to] of changes) {
    if (!code.includes(from)) throw new Error(`the recipe does not contain ${from}`)
    code = code.replaceAll(from, to)
  }
  return code
}

/**
 * Writes `receiver.js` and `recipe.js`, with the code of docs/queues.md, into a temporary folder.
 *
 * @param packages where the packages are that the code imports
 * @returns the folder
 */
export function writeRecipe(
  heading: string,
  packages: Readonly<Record<string, string>>,
  changes: readonly Change[] = [],
): string {
  const folder = mkdtempSync(join(tmpdir(), 'geohook-recipe-'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder, 'receiver.js'), codeIn('How it works')[0] ?? '')
  writeFileSync(join(folder, 'recipe.js'), change(codeIn(heading)[0] ?? '', changes))
  link(folder, packages)
  return folder
}

/** Links packages into the `node_modules` of a folder. */
export function link(folder: string, packages: Readonly<Record<string, string>>): void {
  for (const [name, target] of Object.entries(packages)) {
    const path = join(folder, 'node_modules', name)
    mkdirSync(dirname(path), { recursive: true })
    symlinkSync(target, path)
  }
}

/** Where the packages in the root's `node_modules` are, and geohook. */
export const installed = (...names: string[]): Record<string, string> => ({
  geohook: root,
  ...Object.fromEntries(names.map((name) => [name, join(root, 'node_modules', name)])),
})

/** A running recipe. */
export interface RunningRecipe {
  readonly output: string
  /** Its payload URL. */
  url: string
  /** Kills the process, and starts it again. */
  kill(): Promise<void>
  stop(): Promise<void>
}

/** Starts a recipe on a free port, and waits until it listens. */
export async function startRecipe(
  folder: string,
  env: Readonly<Record<string, string>>,
  program: string = process.execPath,
): Promise<RunningRecipe> {
  const port = await findPort()
  const url = `http://127.0.0.1:${port}/hooks/parcels`
  const start = async (): Promise<Started> => {
    const app = startProgram(program, ['recipe.js'], { ...env, PORT: `${port}` }, { cwd: folder })
    await listening(app, url)
    return app
  }
  let app = await start()
  return {
    url,
    get output() {
      return app.output
    },
    async kill() {
      await app.stop('SIGKILL')
      app = await start()
    },
    async stop() {
      await app.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Resolves when the app responds. Rejects with its output if it exits before that. */
export async function listening(app: Started, url: string): Promise<void> {
  for (;;) {
    if (app.child.exitCode !== null)
      throw new Error(`the recipe exited with ${app.child.exitCode}:\n${app.output}`)
    const response = await fetch(url).catch(() => undefined)
    if (response) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
