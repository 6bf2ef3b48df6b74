import { existsSync, readFileSync } from 'node:fs'

const FOLDERS = ['../node_modules/', '../../node_modules/'].map((path) => new URL(path, import.meta.url))

/** Which version of each package is measured: what is installed for the benchmarks comes first, as for `import`. */
export function versionsOf(names) {
  return Object.fromEntries(
    names.map((name) => {
      const file = FOLDERS.map((folder) => new URL(`${name}/package.json`, folder)).find(existsSync)
      if (!file) throw new Error(`${name} is not installed`)
      return [name, JSON.parse(readFileSync(file)).version]
    }),
  )
}
