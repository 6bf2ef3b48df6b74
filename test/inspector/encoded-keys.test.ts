import { describe, expect, it } from 'vitest'
import { createRedactor } from '../../src/inspector/redact.ts'
import { JSON_TYPE } from '../helpers/deliver.ts'
import { expectTimes } from '../helpers/expect-times.ts'
import { send } from '../helpers/http.ts'
import { startInspected, textOf } from './helpers/reception-support.ts'

const TABS = ['', '/headers', '/signature', '/attempts', '/curl']
const lowerCaseEscapes = (text: string): string => text.replace(/%../g, (code) => code.toLowerCase())
const percentEncoded = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16)}`).join('')

describe('a key in a URL or a header', () => {
  const LATIN1 = Buffer.from('schl\u00fcssel26', 'latin1')
  it.each([
    ['with some characters percent-encoded', 'ab+/cd/EF+gh12==', 'ab%2B/cd/EF%2Bgh12%3D%3D'],
    ['with all reserved characters percent-encoded', 'pass w!rd(2026)', 'pass%20w%21rd%282026%29'],
    ['as a form value', 'pass w!rd(2026)', 'pass+w%21rd%282026%29'],
    [
      'in base64 with lower-case escapes',
      '???>>>~~~key???',
      lowerCaseEscapes(encodeURIComponent(Buffer.from('???>>>~~~key???').toString('base64'))),
    ],
    ['with letters percent-encoded', 'parcels2026', '%70%61rcels2026'],
    ['with everything percent-encoded', 'parcels2026', percentEncoded('parcels2026')],
    ['percent-encoded twice', 'pass w!rd(2026)', encodeURIComponent(percentEncoded('pass w!rd(2026)'))],
    ['percent-encoded as Latin-1', 'schl\u00fcssel26', 'schl%FCssel26'],
    ['in hex of Latin-1', 'schl\u00fcssel26', LATIN1.toString('hex')],
    ['in base64 of Latin-1', 'schl\u00fcssel26', LATIN1.toString('base64')],
    ['in JSON with backslashes', 'pass"word\\12', 'pass\\"word\\\\12'],
    ['in JSON with escaped slashes', 'ab+/cd/EF+gh12==', 'ab+\\/cd\\/EF+gh12=='],
    ['in ASCII-only JSON', 'schl\u00fcssel26', 'schl\\u00fcssel26'],
    ['with a percent sign before digits', '100%', '100%25ab'],
  ])('is hidden %s', async (_name, key, sent) => {
    const { hook, page } = await startInspected({ signatureKey: key })
    const headers = { 'content-type': JSON_TYPE, 'x-other': `key=${sent};v=1` }
    await send(`${hook}?key=${sent}&v=1`, { headers, body: '{}' })
    const [id = ''] = await page.ids()
    const paths = ['/', ...TABS.map((tab) => `/deliveries/${id}${tab}`)]
    const text = textOf((await Promise.all(paths.map(page.get))).map((found) => found.text).join('\n'))
    expect(text).not.toContain(sent)
    expect(text).toContain('x-other key=***')
  })

  it('is hidden as the name of a header, in any case', async () => {
    const { hook, page } = await startInspected({ signatureKey: 'Parcels2026' })
    await send(hook, { headers: { 'content-type': JSON_TYPE, Parcels2026: '1' }, body: '{}' })
    const [id = ''] = await page.ids()
    const { text } = await page.get(`/deliveries/${id}/headers`)
    expect(text).not.toMatch(/parcels2026/i)
    expect(textOf(text)).toContain('*** 1')
  })
})

describe('redaction', () => {
  const { text } = createRedactor(['parcels2026', 'pass w!rd'])

  it.each(['/a?b=%', '/a?b=%zz%4&c=%e2%82', 'C:\\path\\u12\\', '100% \\"quoted\\" %70arcels'])(
    'leaves text without a key as it is: %s',
    (given) => {
      expect(text(given)).toBe(given)
    },
  )

  it('replaces nothing but the key', () => {
    expect(text('%41\\"/%70arcels2026%3D%zz%70ass+w%21rd\\')).toBe('%41\\"/***%3D%zz***\\')
  })

  it.each(['%70', '%2570', '\\u0070', '\\p', 'parcels'])(
    'takes time linear in a text of %s, and does not depend on the number of keys',
    async (part) => {
      const many = createRedactor(Array.from({ length: 2000 }, (_, index) => `${index}-of-many-keys`))
      const short = part.repeat(1000)
      const long = short.repeat(16)
      const shortTexts = (hide: (text: string) => string) => () => {
        for (let count = 0; count < 16; count++) hide(short)
      }
      await expectTimes(8, () => text(long), shortTexts(text))
      await expectTimes(20, shortTexts(many.text), shortTexts(text))
    },
  )
})
