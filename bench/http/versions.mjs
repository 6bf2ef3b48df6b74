import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const require = createRequire(import.meta.url)

/**
 * The versions of packages as they are found from here: those of `bench/package.json` first, then the project's own.
 *
 * @param {readonly string[]} names
 * @returns {Record<string, string>}
 */
export const versionsOf = (names) => Object.fromEntries(names.map((name) => [name, versionOf(name)]))

/** From the file itself: not every package exports it. */
function versionOf(name) {
  const files = require.resolve.paths(name).map((folder) => join(folder, name, 'package.json'))
  return JSON.parse(readFileSync(files.find(existsSync), 'utf8')).version
}
