import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = new URL('../', import.meta.url).pathname
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const architecture = read('docs/architecture.md')

describe('docs/architecture.md', () => {
  it('names only files and folders that exist', () => {
    const names = [...architecture.matchAll(/`([\w./*-]+(?:\.ts|\.json|\.cjs|\.md|\/))`/g)].map(
      ([, name = '']) => name,
    )
    expect(names.length).toBeGreaterThan(50)
    const files = ['src', 'src/mock', '.'].map((folder) => join(root, folder))
    const missing = names.filter(
      (name) => !name.includes('*') && !files.some((folder) => existsSync(join(folder, name))),
    )
    expect(missing).toEqual([])
  })

  it('names functions that exist in the files that it names', () => {
    const places = [...architecture.matchAll(/`(\w+)\(\)` (?:in|of) `([\w./-]+\.ts)`/g)]
    expect(places.length).toBeGreaterThan(5)
    const missing = places.filter(([, name = '', file = '']) => !read(`src/${file}`).includes(`${name}(`))
    expect(missing.map(([place]) => place)).toEqual([])
  })

  it('lists the layers in the order in which they may import each other', () => {
    const rows =
      (architecture.split('## Layers')[1] ?? '').split('\n## ')[0]?.matchAll(/^\| `(\w+)(?:\/|\.ts)`/gm) ?? []
    const layers = [...rows].map(([, name]) => name)
    const [, list = ''] = /const LAYERS = \[(.*?)\]/s.exec(read('.dependency-cruiser.cjs')) ?? []
    expect(layers).toEqual([...list.matchAll(/'(\w+)'/g)].map(([, name]) => name))
  })
})

describe('docs/reliability.md', () => {
  const tables = read('docs/reliability.md')
    .split('\n\n')
    .filter((paragraph) => paragraph.startsWith('| fault |'))
  const rows = tables.flatMap((table) => table.trim().split('\n').slice(2))

  it('names tests that exist for each fault', () => {
    expect(rows.length).toBeGreaterThan(30)
    const untested = rows.filter((row) => {
      const files = [...row.matchAll(/`(test\/[\w./-]+)`/g)].map(([, file = '']) => file)
      return files.length === 0 || files.some((file) => !existsSync(join(root, file)))
    })
    expect(untested).toEqual([])
  })

  it('names every test of platform faults', () => {
    const files = readdirSync(join(root, 'test/platform-faults')).filter((name) =>
      /\.(?:test|long)\.ts$/.test(name),
    )
    const missing = files.filter((name) => !rows.join('\n').includes(`test/platform-faults/${name}`))
    expect(missing).toEqual([])
  })
})
