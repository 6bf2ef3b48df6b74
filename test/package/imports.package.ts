import { describe, expect, it } from 'vitest'
import { ADAPTERS, ENTRIES, specifierOf } from './entries.ts'
import { builtinsOf, builtinsOnDemand, closureOf, type Format, type Loaded, load, sourcesOf } from './load.ts'

/** Packages that an entry may load, including their dependencies. Entries not listed must not load any package. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  otel: ['@opentelemetry/api'],
}
const FORMATS: readonly Format[] = ['esm', 'cjs']

/**
 * Built-in modules that the file for Node uses. Unless an entry is in `NODE_ENTRIES`, its other files may use none. Node
 * takes longer to load `node:crypto` than geohook, so the file must load it on demand.
 */
const ON_DEMAND = ['node:crypto']
/** Entries that run only on Node. */
const NODE_ENTRIES = ['node', 'express', 'fastify', 'koa', 'sqlite', 'inspector', 'check', 'mock']

const isReceiver = (name: string): boolean => name === 'index' || name === 'otel' || ADAPTERS.includes(name)

describe.each(FORMATS)('importing from %s', (format) => {
  describe.each([...ENTRIES.keys()])('%s', (name) => {
    let loading: Promise<Loaded> | undefined
    const loaded = (): Promise<Loaded> => {
      loading ??= load(specifierOf(name), format)
      return loading
    }

    it('loads only the packages that it needs', async () => {
      const { packages, own } = await loaded()
      expect(own).toContain(`${name}.${format === 'esm' ? 'js' : 'cjs'}`)
      const allowed = closureOf(PACKAGES[name] ?? [])
      expect(packages.filter((package_) => !allowed.has(package_))).toEqual([])
    })

    it('opens no timer, socket or handle', async () => {
      const { opened, kept } = await loaded()
      expect({ opened, kept }).toEqual({ opened: [], kept: [] })
    })

    if (isReceiver(name)) {
      it('loads no code of the mock service, the command line, geohook/testing or explain', async () => {
        const { own } = await loaded()
        const sources = own.flatMap(sourcesOf)
        expect(sources).toContain(ENTRIES.get(name)?.replace('src/index.ts', 'src/errors.ts'))
        expect(
          sources.filter((source) => /^src\/(mock|cli|testing|signature\/explain)\//.test(source)),
        ).toEqual([])
      })
    }

    if (!NODE_ENTRIES.includes(name)) {
      it('uses built-in modules only in the file for Node, and loads them on demand', async () => {
        const { own } = await loaded()
        for (const file of own) {
          expect([file, builtinsOf(file)]).toEqual([file, []])
          const used = file.startsWith('runtime.node.') ? ON_DEMAND : []
          expect([file, builtinsOnDemand(file).sort()]).toEqual([file, used])
        }
      })
    }
  })

  it('the tests above detect packages and built-in modules that an entry loads', async () => {
    expect((await load('geohook/otel', format)).packages).toContain('@opentelemetry/api')
    expect((await load('geohook/mock', format)).own.flatMap(builtinsOf)).toContain('node:http')
  })

  it('the main entry is three files, one of them for the runtime', async () => {
    const { own } = await load('geohook', format)
    const copies = own.filter((file) => sourcesOf(file).includes('src/errors.ts'))
    expect(own).toHaveLength(3)
    expect(copies).toEqual([expect.stringMatching(/^chunk-/)])
  })

  it.each([
    ['setTimeout(() => {}, 60_000).unref()', { opened: ['Timeout'], kept: [] }],
    [
      "process.getBuiltinModule('node:net').createServer().listen(0, '127.0.0.1').unref()",
      { opened: ['TCPSERVERWRAP'], kept: [] },
    ],
  ])('the tests above detect opened resources: %s', async (statement, expected) => {
    const { opened, kept } = await load('geohook', format, statement)
    expect({ opened, kept }).toEqual(expected)
  })
})
