import { createHash, createHmac } from 'node:crypto'
import type { Cause, Diagnosis } from 'geohook'
import { describe, expect, it } from 'vitest'
import { FIXES } from '../../src/explain/causes.ts'
import { diagnosisOf, type Question } from './question.ts'

/** A request whose signature `explain` diagnoses: what the sender signed, and what the receiver received. */
export interface Row {
  /** Description of the sender's or the receiver's mistake. */
  name: string
  cause: Cause
  /** Further causes, if there are several mistakes. */
  also?: Cause | readonly Cause[]
  /** Key that the sender signed with, and body that it signed. Default: {@link KEY} and {@link JSON_BODY}. */
  sent?: { key?: string | Uint8Array; body?: string | Uint8Array }
  /** Builds the headers from the digest. Default: hex in `x-service`. */
  headers?: (digest: Buffer) => Question['headers']
  /** Builds the URL from the digest. */
  url?: (digest: Buffer) => string
  /** Key, body and header name on the receiver's side. Default: the same as the sender's. */
  got?: {
    key?: Question['signatureKey'] | undefined
    body?: string | Uint8Array | ((digest: Buffer) => string | Uint8Array)
    signatureHeader?: string
    encoding?: Question['encoding']
  }
  /** Pattern that the evidence must match. */
  evidence?: RegExp
}

export const KEY = 'Parcels2026Kataster'

/** `JSON.stringify` of a payload with characters that some serializers escape: `/=&<'+` and an umlaut. */
export const JSON_BODY =
  '{"serviceType":"FeatureServer","changesUrl":"https://gis.example/Flur/FeatureServer/extractChanges?gens=[1,2]&async=true",' +
  '"name":"Flurst\u00fccke <neu> + it\'s","events":[{"eventType":"FeaturesCreated","when":1730385704000}],"extent":[]}'

export const hmac = (key: string | Uint8Array, body: string | Uint8Array, hash = 'sha256'): Buffer =>
  createHmac(hash, key).update(body).digest()

/** Tests each row of a table. */
export function describeRows(title: string, rows: readonly Row[]): void {
  describe(title, () => {
    it.each(rows.map((row) => [`${row.cause}: ${row.name}`, row] as const))('says %s', async (_, row) => {
      const { options, digest } = toRequest(row)
      const diagnosis = await diagnosisOf(options)
      expect(diagnosis).toMatchObject({
        cause: row.cause,
        ok: row.cause === 'ok' || row.cause === 'key_previous',
        fix: [row.cause, ...[row.also ?? []].flat()].map((cause) => FIXES[cause]).join(' '),
      })
      expect(diagnosis.also).toEqual(row.also && [row.also].flat())
      expect(diagnosis.evidence).toMatch(row.evidence ?? /\.$/)
      for (const sentence of [diagnosis.evidence, diagnosis.fix]) {
        expect(sentence).toMatch(/^[A-Z].{10,}\.$/)
        expect(sentence.replace(/".*?"/g, 'x'), 'a part is missing').not.toMatch(/\s[\s.)]|\(\)/)
      }
      expectNoSecrets(diagnosis, options, [row.sent?.key ?? KEY], [digest])
      if (row.cause === 'unexplained') expectFingerprints(diagnosis, options)
    })

    it('has no duplicate rows', () => {
      expect(new Set(rows.map(({ cause, name }) => `${cause}: ${name}`)).size).toBe(rows.length)
    })
  })
}

function toRequest({ sent = {}, headers, url, got = {} }: Row): { options: Question; digest: Buffer } {
  const { key = KEY, body = JSON_BODY } = sent
  const digest = hmac(key, body)
  const received = typeof got.body === 'function' ? got.body(digest) : (got.body ?? body)
  const options = {
    body: received,
    headers: headers ? headers(digest) : { 'x-service': digest.toString('hex') },
    // The key may be `undefined`, as in an application whose environment variable is not set.
    signatureKey: ('key' in got ? got.key : key) as string,
    ...(url ? { url: url(digest) } : {}),
    ...(got.encoding ? { encoding: got.encoding } : {}),
    ...(got.signatureHeader ? { signatureHeader: got.signatureHeader } : {}),
  }
  return { options, digest }
}

const sha256 = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** Checks the fingerprints, with which both sides can compare keys without revealing them. */
function expectFingerprints({ evidence }: Diagnosis, { body, signatureKey }: Question): void {
  expect(evidence).toMatch(
    /^The (body|payload field) has \d+ bytes and the SHA-256 [0-9a-f]{64}\. The SHA-256 of the key begins/,
  )
  if (evidence.startsWith('The body')) expect(evidence).toContain(`SHA-256 ${sha256(body as string)}.`)
  for (const key of [signatureKey].flat() as (string | Uint8Array)[]) {
    expect(evidence).toMatch(new RegExp(`key begins with .*\\b${sha256(key).slice(0, 4)}\\b`))
  }
  // The evidence shows only 16 bits of each key's hash, because more would let an attacker verify guesses of the key.
  expect(evidence).toMatch(/key begins with [0-9a-f]{4}( or [0-9a-f]{4})*\./)
}

/** Checks that a diagnosis reveals no keys or signatures, so that it can be written to a log or a ticket. */
export function expectNoSecrets(
  diagnosis: Diagnosis,
  { body, signatureKey }: Question,
  otherKeys: readonly (string | Uint8Array)[] = [],
  otherDigests: readonly Buffer[] = [],
): void {
  const text = JSON.stringify(diagnosis).toLowerCase()
  const own = [(signatureKey as string) ?? []].flat() as (string | Uint8Array)[]
  const keys = [...own, ...otherKeys].map((key) => Buffer.from((key as string) ?? ''))
  const digests = keys.map((key) => hmac(key, body as string))
  for (const secret of [...keys, ...digests, ...otherDigests]) {
    // Skips short texts, which a sentence may contain by chance.
    if (secret.toString().trim().length < 8) continue
    for (const encoding of ['utf8', 'hex', 'base64', 'base64url'] as const) {
      const written = secret.toString(encoding).trim().replace(/=+$/, '').toLowerCase()
      expect(text.includes(written), `the diagnosis contains a secret in ${encoding}`).toBe(false)
    }
  }
}
