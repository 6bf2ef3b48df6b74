import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { KEY_CAUSES } from '../../src/explain/causes/key.ts'
import { commonKeyHypotheses, keyHypotheses } from '../../src/explain/keys.ts'
import { describeRows, KEY, type Row } from './table.ts'

/** The keys that both sides used, in base64, and the signature that the sender's runtime computed over {@link BODY}. */
interface Fixture {
  /** What was done. Names of rows without an explanation begin with `trap`. */
  name: string
  cause: Row['cause']
  sent: string
  got: string
  signature: string
}

const BODY = '{"events":[]}'
const RUNTIMES = ['python', 'php', 'go', 'ruby', 'java', 'node', 'shell']

const fixtures = RUNTIMES.map((runtime) => {
  const text = readFileSync(new URL(`fixtures/key-${runtime}.json`, import.meta.url), 'utf8')
  return [runtime, JSON.parse(text) as Fixture[]] as const
})
const rows = fixtures.flatMap(([, all]) => all)

for (const [runtime, all] of fixtures) {
  describeRows(
    `explain, keys of ${runtime}`,
    all.map(({ name, cause, sent, got, signature }) => ({
      cause,
      name,
      sent: { key: Buffer.from(sent, 'base64'), body: BODY },
      headers: () => ({ 'x-service': signature }),
      got: { key: Buffer.from(got, 'base64') },
    })),
  )
}

describe('fixtures of keys', () => {
  it.each(fixtures)('of %s have at least two traps', (_, all) => {
    const traps = all.filter(({ name }) => name.startsWith('trap'))
    expect(traps.length).toBeGreaterThanOrEqual(2)
    expect(traps).toEqual(all.filter(({ cause }) => cause === 'unexplained'))
  })

  // A key of the list is a matter of the receiver alone, so no runtime makes it differ.
  it.each(Object.keys(KEY_CAUSES).filter((cause) => cause !== 'key_previous'))('have two of %s', (cause) => {
    expect(rows.filter((row) => row.cause === cause).length).toBeGreaterThanOrEqual(2)
  })
})

describe('hypotheses about a key', () => {
  const KEYS = [
    KEY,
    '\ufeffFlurst\u00fccke "a", \'b\' $x #1; & c\\d\n',
    'a,b;c d|e:f'.repeat(20),
    Buffer.alloc(1024, 'ab'),
    Buffer.from(Array.from({ length: 64 }, (_, index) => 255 - index)),
    ...rows.map(({ got }) => Buffer.from(got, 'base64')),
  ].map((key) => Buffer.from(key as string))
  const toText = (value: string | Uint8Array): string => Buffer.from(value as string).toString('latin1')

  it('are at most 250, all different, and none is the key itself', () => {
    for (const key of KEYS) {
      const values = Array.from(keyHypotheses(key), ([, value]) => toText(value))
      expect(values.length).toBeLessThanOrEqual(250)
      expect(new Set([...values, toText(key)]).size).toBe(values.length + 1)
    }
  })

  it('begin with the common ones, at most 16', () => {
    for (const key of KEYS) {
      const common = [...commonKeyHypotheses(key)]
      expect(common.length).toBeLessThanOrEqual(16)
      expect([...keyHypotheses(key)].slice(0, common.length)).toEqual(common)
    }
  })

  it('are only the common ones for a key of more than 1024 bytes', () => {
    const key = Buffer.alloc(1025, 'ab')
    expect([...keyHypotheses(key)]).toEqual([...commonKeyHypotheses(key)])
  })

  it('are described without the key', () => {
    for (const key of KEYS) {
      if (key.length < 8) continue
      const revealing = [...keyHypotheses(key)].filter(
        ([, value, description]) =>
          description.includes(key.toString()) || (value.length >= 8 && description.includes(toText(value))),
      )
      expect(revealing).toEqual([])
    }
  })
})
