import { describe, expect, it } from 'vitest'
import { ADAPTERS, ENTRIES, specifierOf } from './entries.ts'
import { builtinsOf, closureOf, type Format, type Loaded, load, sourcesOf } from './loaded.ts'

/** The packages that importing an entry may load, with what they depend on. An entry that is not named here loads none. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  otel: ['@opentelemetry/api'],
  // Express has `debug`, which loads supports-color where something else has installed it.
  mock: ['dayjs', 'express', 'undici', 'zod', 'supports-color'],
}
const HEAVY = ['express', 'undici', 'zod', 'commander', 'dayjs']
const FORMATS: readonly Format[] = ['esm', 'cjs']

/** What there is of Node in the entries that run in workers too: all of it stands behind these names. */
const OF_NODE: Readonly<Record<string, readonly string[]>> = {
  decoder: ['node:buffer'],
  hmac: ['node:crypto'],
  refusal: [],
  turn: ['node:timers'],
}
/** The entries for Node alone. */
const FOR_NODE = ['node', 'express', 'fastify', 'koa', 'sqlite', 'mock']

const isReceiver = (name: string): boolean => name === 'index' || name === 'otel' || ADAPTERS.includes(name)

describe.each(FORMATS)('importing from %s', (format) => {
  describe.each([...ENTRIES.keys()])('%s', (name) => {
    let loading: Promise<Loaded> | undefined
    const loaded = (): Promise<Loaded> => {
      loading ??= load(specifierOf(name), format)
      return loading
    }

    it('loads the packages that it needs, and no other', async () => {
      const { packages, own } = await loaded()
      expect(own).toContain(`${name}.${format === 'esm' ? 'js' : 'cjs'}`)
      const allowed = closureOf(PACKAGES[name] ?? [])
      expect(packages.filter((one) => !allowed.has(one))).toEqual([])
    })

    it('opens no timer, socket or handle', async () => {
      const { opened, kept } = await loaded()
      expect({ opened, kept }).toEqual({ opened: [], kept: [] })
    })

    if (isReceiver(name)) {
      it('loads nothing of the mock service, the command line, the tests of users, and explain', async () => {
        const { packages, own } = await loaded()
        const sources = own.flatMap(sourcesOf)
        expect(sources).toContain(ENTRIES.get(name)?.replace('src/index.ts', 'src/errors.ts'))
        expect(
          sources.filter((source) => /^src\/(mock|cli|testing|signature\/explain)\//.test(source)),
        ).toEqual([])
        expect(packages.filter((one) => HEAVY.includes(one))).toEqual([])
      })
    }

    if (!FOR_NODE.includes(name)) {
      it('takes nothing of Node but what has another side for other platforms', async () => {
        const { own } = await loaded()
        for (const file of own) {
          const [name = '', platform] = file.split('.')
          expect([file, builtinsOf(file)]).toEqual([file, platform === 'node' ? OF_NODE[name] : []])
        }
      })
    }
  })

  it('what is loaded is seen: the packages and built-in modules of an entry that has some', async () => {
    const { packages, own } = await load('geohook/mock', format)
    expect(packages).toContain('express')
    expect(packages).toContain('body-parser') // which express loads
    expect(own.flatMap(builtinsOf)).toContain('node:http')
    const main = await load('geohook', format)
    expect(main.own.flatMap(builtinsOf).sort()).toEqual(Object.values(OF_NODE).flat())
  })

  it.each([
    ['setTimeout(() => {}, 60_000).unref()', { opened: ['Timeout'], kept: [] }],
    [
      "process.getBuiltinModule('node:net').createServer().listen(0, '127.0.0.1').unref()",
      { opened: ['TCPSERVERWRAP'], kept: [] },
    ],
  ])('what is opened is seen: %s', async (statement, expected) => {
    const { opened, kept } = await load('geohook', format, statement)
    expect({ opened, kept }).toEqual(expected)
  })
})
