import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import entries from '../../entries.json' with { type: 'json' }

export const root: string = fileURLToPath(new URL('../../', import.meta.url))

/** What an entry of the package is called, and its source. */
export const ENTRIES: ReadonlyMap<string, string> = new Map(Object.entries(entries))

/** The entries that put a receiver into a framework. */
export const ADAPTERS: readonly string[] = [...ENTRIES]
  .filter(([, source]) => source.startsWith('src/adapters/'))
  .map(([name]) => name)

/** The part of package.json that these tests look at. */
export interface Manifest {
  readonly exports: Record<string, string | Record<string, Record<string, string>>>
  readonly dependencies: Record<string, string>
  readonly peerDependencies: Record<string, string>
  readonly peerDependenciesMeta: Record<string, { optional?: boolean }>
}

export const manifest: Manifest = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))

/** What users write to get an entry. */
export const specifierOf = (name: string): string => (name === 'index' ? 'geohook' : `geohook/${name}`)
