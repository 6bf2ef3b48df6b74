import { explain } from 'geohook'
import { describe, expect, it } from 'vitest'
import { ESCAPES } from '../../src/explain/json/escapes.ts'
import { rewriteJson } from '../../src/explain/json/rewrite.ts'
import { WRITERS } from '../../src/explain/json/writers.ts'
import OUTPUTS from './fixtures/json-outputs.json' with { type: 'json' }
import { describeRows, hmac, KEY, type Row } from './table.ts'

/** For each runtime and each configuration of its writer: its output for each payload of json-payloads.json. */
const RUNTIMES = Object.entries(OUTPUTS as Record<string, Record<string, string[]>>)
const OUTPUT_LISTS = RUNTIMES.flatMap(([runtime, writers]) =>
  Object.entries(writers).map(([name, texts]) => ({ name: `${runtime}, ${name}`, texts })),
)
/** What `express.json()` and `JSON.stringify(req.body)` make of a body. */
const reparsed = (body: string): string => JSON.stringify(JSON.parse(body))

const causeOf = async (signed: string, body: string): Promise<string> => {
  const headers = { 'x-service': hmac(KEY, signed).toString('hex') }
  return (await explain({ body, headers, signatureKey: KEY })).cause
}

describe('explain, outputs of real JSON writers', () => {
  const SERVICE = 0

  it.each(OUTPUT_LISTS)('explains $name, parsed and written again by JavaScript', async ({ texts }) => {
    const signed = texts[SERVICE] as string
    if (signed.trimEnd() === reparsed(signed)) return // a line feed, at most
    expect(await causeOf(signed, reparsed(signed))).toBe('body_reserialized')
  })

  /**
   * Pairs of different outputs for the same payload: one was signed, the other received. The rest cannot be undone: a
   * sorted body lost its order, except in documented payloads, and a parsed number lost its digits after the last.
   */
  it.each([
    [0, 'a documented payload', 1],
    [1, 'numbers', 0.7],
    [2, 'empty objects and arrays', 1],
    [3, 'characters that are escaped', 0.73],
    [4, 'coordinates', 0.99],
    [5, 'a nested payload', 0.98],
  ])(
    'explains pairs of writers, payload %i: %s',
    (payload, _, share) => {
      const texts = OUTPUT_LISTS.filter(({ name }) => !/json_build_object|row_to_json/.test(name)).map(
        (list) => list.texts[payload] as string,
      )
      let pairs = 0
      let explained = 0
      for (const received of new Set(texts)) {
        const written = new Set([...rewriteJson(received)].map(([text]) => text))
        for (const signed of texts) {
          if (signed === received) continue
          pairs++
          if (written.has(signed)) explained++
        }
      }
      expect(explained / pairs).toBeGreaterThanOrEqual(share)
    },
    60_000,
  )

  it.each(RUNTIMES)('does not explain a changed value after %s', async (_, writers) => {
    const [service = ''] = Object.values(writers)[0] as string[]
    for (const change of [/"Parcels|"name" ?: ?"{/, /FeaturesCreated|it's|it\\u0027s|count/]) {
      const signed = service.replace(change, '$&s')
      expect(signed).not.toBe(service)
      expect(await causeOf(signed, reparsed(service))).toBe('unexplained')
    }
  })
})

describe('explain, JSON writers', () => {
  it('writes each text only once, and a bounded number of texts', () => {
    for (const { texts } of OUTPUT_LISTS) {
      const written = [...rewriteJson(texts[1] as string)].map(([text]) => text)
      expect(new Set(written).size).toBe(written.length)
      expect(written.length).toBeLessThanOrEqual(1200)
    }
  })

  it('has unique names and no duplicate rows', () => {
    expect(new Set(WRITERS.map(([name]) => name)).size).toBe(WRITERS.length)
    expect(Object.keys(ESCAPES).length).toBeLessThan(32) // as many as the keys of the written texts allow
  })

  it('names the writer and the change, but nothing of the body', async () => {
    const headers = { 'x-service': hmac(KEY, '{"aa": [], "b": 1.0}\n').toString('hex') }
    const { evidence } = await explain({ body: '{"b":1,"aa":[]}', headers, signatureKey: KEY })
    expect(evidence).toContain("the same JSON as Python's json.dumps writes it, with sorted member names")
  })

  it.each(['[', '{"a":'])('ignores JSON that is nested deeper than 200 levels: %s', (open) => {
    const nest = (depth: number): string =>
      `${open.repeat(depth)}1${(open === '[' ? ']' : '}').repeat(depth)}`
    expect([...rewriteJson(nest(201))]).toEqual([])
    expect([...rewriteJson(nest(100_000))]).toEqual([])
    expect([...rewriteJson(nest(200))].length).toBeGreaterThan(0)
  })
})

/** Documented rules of writers that are not installed here: the writer, the signed text and the received text. */
const DOCUMENTED: [string, string, string][] = [
  [
    'System.Text.Json, indented on Windows',
    '{\r\n  "name": "\\u003CFl\\u00FC\\u002B\\u003E",\r\n  "x": 1E-07,\r\n  "ids": []\r\n}',
    '{"name":"<Fl\u00fc+>","x":1e-7,"ids":[]}',
  ],
  [
    'System.Text.Json with UnsafeRelaxedJsonEscaping',
    '{"name":"<Fl\u00fc\\u00A0\\uD83D\\uDE00>","x":1E+16}',
    '{"name":"<Fl\u00fc\u00a0\u{1f600}>","x":10000000000000000}',
  ],
  ['Newtonsoft.Json', '{"x":1.0,"y":1E-05,"when":1}', '{"x":1,"y":0.00001,"when":1}'],
  ['Newtonsoft.Json, indented', '{\r\n  "x": 1.0,\r\n  "l": "\\u2028"\r\n}', '{"x":1,"l":"\u2028"}'],
  ["Swift's prettyPrinted", '{\n  "a" : [\n\n  ],\n  "u" : "a\\/b"\n}', '{"a":[],"u":"a/b"}'],
  ["Perl's JSON->pretty", '{\n   "a" : 1,\n   "b" : [\n      2\n   ]\n}\n', '{"b":[2],"a":1}'],
  ['org.json', '{"note":"<\\/b>","when":1,"events":[]}', '{"events":[],"note":"</b>","when":1}'],
]

describeRows('explain, documented JSON writers', [
  ...DOCUMENTED.map<Row>(([name, signed, received]) => ({
    cause: 'body_reserialized',
    name,
    sent: { body: signed },
    got: { body: received },
    evidence: /the same JSON as .* writes it/,
  })),
  ...DOCUMENTED.map<Row>(([name, signed, received]) => ({
    cause: 'unexplained',
    name: `${name}, and a value changed`,
    sent: {
      body: signed.replace(/([\]"\d])(?=\s*\}\s*$)/, (end) =>
        end === '"' ? 'x"' : end === ']' ? '"x"]' : `${end}5`,
      ),
    },
    got: { body: received },
  })),
])
