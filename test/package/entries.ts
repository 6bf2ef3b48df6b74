import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import entries from '../../scripts/entries.json' with { type: 'json' }

export const root: string = fileURLToPath(new URL('../../', import.meta.url))

/** Source files of the package's entries, by entry name. */
export const ENTRIES: ReadonlyMap<string, string> = new Map(Object.entries(entries))

/** Names of the entries for frameworks. */
export const ADAPTERS: readonly string[] = [...ENTRIES]
  .filter(([, source]) => source.startsWith('src/adapters/'))
  .map(([name]) => name)

/** Members of `package.json` that these tests read. */
export interface Manifest {
  readonly exports: Record<string, string | Record<string, Record<string, string>>>
  readonly dependencies: Record<string, string>
  readonly peerDependencies: Record<string, string>
  readonly peerDependenciesMeta: Record<string, { optional?: boolean }>
}

export const manifest: Manifest = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))

/** Returns the import specifier of an entry. */
export const specifierOf = (name: string): string => (name === 'index' ? 'geohook' : `geohook/${name}`)
