import { existsSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'

const root = new URL('../../', import.meta.url)
const FOLDERS = ['bench/node_modules/', 'node_modules/'].map((path) => new URL(path, root))

/** The measured version of each package. Packages in bench/node_modules take precedence, as for `import`. */
export function versionsOf(names) {
  return Object.fromEntries(
    names.map((name) => {
      const folders = name === 'geohook' ? [root] : FOLDERS.map((folder) => new URL(`${name}/`, folder))
      const file = folders.map((folder) => new URL('package.json', folder)).find(existsSync)
      if (!file) throw new Error(`${name} is not installed`)
      return [name, JSON.parse(readFileSync(file)).version]
    }),
  )
}

/** The version of the SQLite driver that receivers use, preferably node:sqlite. Empty without a driver. */
export function sqliteVersion() {
  if (isBuiltin('node:sqlite')) return { 'node:sqlite': process.versions.sqlite }
  return existsSync(new URL('node_modules/better-sqlite3/', root)) ? versionsOf(['better-sqlite3']) : {}
}
