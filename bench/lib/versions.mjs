import { existsSync, readFileSync } from 'node:fs'

const root = new URL('../../', import.meta.url)
const FOLDERS = ['bench/node_modules/', 'node_modules/'].map((path) => new URL(path, root))

/** Which version of each package is measured: what is installed for the benchmarks comes first, as for `import`. */
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
