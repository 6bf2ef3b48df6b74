import { gzipSync } from 'node:zlib'
import { explain } from 'geohook'
import { describe, expect, it } from 'vitest'
import { diagnosisOf } from './question.ts'
import { hmac, KEY } from './table.ts'

const hex = (digest: Uint8Array): string => Buffer.from(digest).toString('hex')

describe('explain, sizes', () => {
  const MAX_UNPACKED = 1024 * 1024

  it.each([
    [MAX_UNPACKED, 'body_decompressed'],
    [MAX_UNPACKED + 1, 'unexplained'],
  ])('a body that unpacks to %i bytes: %s', async (size, expected) => {
    const unpacked = Buffer.alloc(size, 'x')
    const headers = { 'x-service': hex(hmac(KEY, unpacked)) }
    const { cause } = await explain({ body: gzipSync(unpacked), headers }, { signatureKey: KEY })
    expect(cause).toBe(expected)
  })

  const nest = (length: number): string => `${'['.repeat(129)}"${'x'.repeat(length)}",1${']'.repeat(129)}`
  const indented = (json: string): string => JSON.stringify(JSON.parse(json), null, 4)
  /** Returns the limit minus the length of the indented JSON. The limit is four times the body plus 64 KiB. */
  const remaining = (json: string): number => 4 * json.length + 0x10000 - indented(json).length

  it('indents JSON up to four times its length plus 64 KiB', async () => {
    const length = -remaining(nest(0)) / 3
    expect(remaining(nest(length))).toBe(0)
    for (const [body, expected] of [
      [nest(length), 'body_reserialized'],
      [JSON.stringify(new Array(30_000).fill(1)), 'body_reserialized'],
    ] as const) {
      const headers = { 'x-service': hex(hmac(KEY, indented(body))) }
      expect((await explain({ body, headers }, { signatureKey: KEY })).cause).toBe(expected)
    }
  })

  /** JSON of at least this many bytes, and the signature of the same JSON written by Python. */
  function rewritten(size: number) {
    const items = Array.from({ length: size / 8 }, (_, index) => 1_000_000 + index)
    const signed = JSON.stringify(items).replaceAll(',', ', ')
    return {
      body: JSON.stringify(items),
      headers: { 'x-service': hex(hmac(KEY, signed)) },
      signatureKey: KEY,
    }
  }

  it('tests expensive hypotheses for bodies of up to 64 KiB', async () => {
    const request = rewritten(65_000)
    expect(request.body.length).toBeLessThanOrEqual(64 * 1024)
    expect((await diagnosisOf(request)).cause).toBe('body_reserialized')
  })

  it('tests only cheap hypotheses for larger bodies, and all with the option thorough', async () => {
    const request = rewritten(70_000)
    const { cause, evidence } = await diagnosisOf(request)
    expect(cause).toBe('unexplained')
    expect(evidence).toMatch(
      /Only the cheap .* because the body is larger than 64 KiB\. The option thorough tests more\.$/,
    )
    expect((await diagnosisOf({ ...request, thorough: true })).cause).toBe('body_reserialized')
  })

  it('tests only cheap hypotheses for bodies over 1 MiB, also with the option thorough', async () => {
    const { body, ...request } = rewritten(1_100_000)
    const { cause, evidence } = await diagnosisOf({ ...request, body, thorough: true, limit: '2mb' })
    expect(cause).toBe('unexplained')
    expect(evidence).toMatch(/Only the cheap .* because the body is larger than 1 MiB\.$/)
  })

  it('says if it has reached the limit on its work', async () => {
    const { body, headers, signatureKey } = rewritten(60_000)
    const request = { body: body.replace('1000000', '7'), headers, signatureKey }
    expect((await diagnosisOf(request)).evidence).toMatch(
      /Not all .* limit on the work was reached\. The option thorough tests more\.$/,
    )
  })
})
