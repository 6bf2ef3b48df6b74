import { importKey, sha256 } from '#runtime'
import { guard, stacklessError, type WebhookErrorOptions } from '../errors.ts'
import { bodyFormat, parse } from '../payload/parse.ts'
import type { HmacKey } from '../runtime/hmac.ts'
import { fromBinary, toBinary, utf8 } from '../shared/bytes.ts'
import {
  findKeyError,
  isEmpty,
  type Keyring,
  type KeySource,
  readReturned,
  type SignatureKey,
} from '../signature/keyring.ts'
import { DEFAULT_SIGNATURE_HEADER } from '../signature/profiles.ts'
import {
  decodeSignature,
  type SignatureCheck,
  type SignatureEncoding,
  splitSignedForm,
  startCheck,
} from '../signature/signature.ts'
import type { Seen } from './observer.ts'
import { readHeader } from './request.ts'
import type { HeaderBag, KeyFunction, RequestHead } from './types.ts'

/** The headers in which the receiver looks for a proof, in lower case. */
export interface ProofHeaders {
  signatureHeader: string
  /** The header that contains the key itself, if the sender does not sign. */
  secretHeader: string | undefined
}

/** The options of a verification. */
export interface VerifyConfig extends ProofHeaders {
  findKeys: FindKeys
  encoding: SignatureEncoding
  acceptUnsigned: boolean
}

/** A request that is authentic, or that the receiver accepts unsigned. */
interface Verified {
  proof: Proof
  /** The key that matched. */
  key?: HmacKey | undefined
}

/** The members of the delivery that its verification yields. */
interface Proof {
  /** The id of the delivery. */
  id: string
  /** Index of the key that matched. Absent if the receiver accepted an unsigned request. */
  keyIndex?: number
  /** The tenant that the key function returned. */
  tenant?: string
}

/** The verification of one request. */
export interface Verification {
  /** Set if the keys are found asynchronously. Rejects if they cannot be found, or none matches the header `secret`. */
  started?: Promise<unknown> | undefined
  /** Hashes the next part of the body before the rest arrives. Calls are optional. Keeps no reference to the bytes. */
  update(part: Uint8Array): void
  /**
   * Resolves with undefined if the request only registers a webhook, and has no delivery.
   *
   * @throws {WebhookError} `signature_missing`, `signature_malformed`, `signature_mismatch`, `key_unknown`
   */
  end(body: Uint8Array): Promise<Verified | undefined>
}

/**
 * Reads the signature and finds the keys. If the signature header is missing, a form may contain the signature in its
 * last field instead (docs/senders.md, "Signature").
 *
 * @throws {WebhookError} `signature_missing`, `signature_malformed`, `key_unavailable`
 */
export async function startSignatureVerification(seen: Seen, config: VerifyConfig): Promise<Verification> {
  const { request } = seen
  const { encoding, findKeys, signatureHeader } = config
  const signature = decodeSignature(readHeader(request.headers, signatureHeader), encoding)
  if (signature === 'signature_malformed') throw stacklessError(signature)
  if (signature !== 'signature_missing')
    return startWithKeys(findKeys(seen), (keys) => {
      const check = startCheck(keys.keyring)
      return { update: check.update, end: (body) => prove(check, body, signature, keys) }
    })
  const isForm = bodyFormat(readHeader(request.headers, 'content-type')) === 'form'
  if (!isForm) requireUnsignedAccepted(config)
  return startWithKeys(findKeys(seen), (keys) => ({
    update() {},
    async end(body) {
      const form = isForm ? splitSignedForm(body, signatureHeader) : undefined
      if (!form) {
        requireUnsignedAccepted(config)
        return proveUnsigned(body, keys)
      }
      const formSignature = decodeSignature(form.signature, encoding)
      if (typeof formSignature === 'string') throw stacklessError(formSignature)
      return prove(startCheck(keys.keyring), form.signed, formSignature, keys)
    },
  }))
}

/**
 * Starts a verification when its keys are found. The body is read in the meantime, because otherwise its small chunks
 * would pile up in Node's memory.
 */
function startWithKeys(
  keys: FoundKeys | Promise<FoundKeys>,
  start: (keys: FoundKeys) => Verification | Promise<Verification>,
): Verification | Promise<Verification> {
  if (!('then' in keys)) return start(keys)
  let verification: Verification | undefined
  let isLate = false
  const started = keys.then(start).then((result) => (verification = result))
  started.catch(() => {}) // the caller awaits it, unless reading the body fails first
  return {
    started,
    update(part) {
      // If a part arrives before the keys, it is missing in the hash, so `end()` hashes the whole body.
      if (!verification) isLate = true
      else if (!isLate) verification.update(part)
    },
    end: async (body) => (await started).end(body),
  }
}

/** @throws {WebhookError} `signature_missing` */
function requireUnsignedAccepted({ acceptUnsigned }: Pick<VerifyConfig, 'acceptUnsigned'>): void {
  if (!acceptUnsigned) throw stacklessError('signature_missing')
}

/**
 * Accepts a request without a signature. Of the found keys, only the tenant is used.
 *
 * @throws {WebhookError} `key_unknown` if the key function returned an object without a valid tenant
 */
async function proveUnsigned(body: Uint8Array, { tenant, tenantError }: FoundKeys): Promise<Verified> {
  if (tenantError) throw stacklessError('key_unknown', tenantError)
  return { proof: await toProof(body, tenant) }
}

async function prove(
  check: SignatureCheck,
  body: Uint8Array,
  signature: Uint8Array,
  keys: FoundKeys,
): Promise<Verified> {
  const [keyIndex, key] = await requireMatch(keys, (keyring) =>
    (keyring === keys.keyring ? check : startCheck(keyring)).end(body, signature),
  )
  return { proof: await toProof(signature, keys.tenant, keyIndex), key }
}

/**
 * Finds the key that matches. If none does, reads the file of a keyring again, once.
 *
 * @throws {WebhookError} `signature_mismatch`, `key_unknown` unless a key matched that is not a decoy
 */
async function requireMatch(
  { keyring, count, keyError, renew }: FoundKeys,
  match: (keyring: Keyring) => number | Promise<number>,
): Promise<[keyIndex: number, key: HmacKey]> {
  const keyIndex = await match(keyring)
  const key = keyring[keyIndex]
  if (key && keyIndex < count) return [keyIndex, key] // the keys from `count` on are decoys
  const renewed = await renew?.()
  if (renewed && renewed !== keyring)
    return requireMatch({ keyring: renewed, count: renewed.length, secret: '' }, match)
  throw stacklessError(count > 0 ? 'signature_mismatch' : 'key_unknown', keyError)
}

/**
 * The id is 32 hex digits of a hash. It is derived from the signature (or an unsigned body), so that it stays the same
 * when other keys are added or removed. The signature itself would be unsafe as the id: anyone who knows it could
 * replay the delivery. It depends on the tenant too, so the same bytes from two tenants are two deliveries.
 */
async function toProof(bytes: Uint8Array, tenant: string | undefined, keyIndex?: number): Promise<Proof> {
  const hash = await sha256(bytes)
  const named = tenant === undefined ? hash : await sha256(utf8(`${hash} ${tenant}`))
  const proof: Proof = { id: named.slice(0, 32) }
  if (keyIndex !== undefined) proof.keyIndex = keyIndex
  if (tenant !== undefined) proof.tenant = tenant
  return proof
}

/** Maximum size in bytes of the body of a registration. */
const MAX_REGISTRATION = 4096

/**
 * Checks the key that the sender has put into a header. The body is not signed, so nothing proves that it was not
 * changed. The delivery has the same id as a signed one.
 *
 * The registration of a webhook is accepted without the header too, because nothing is handled then (docs/decisions.md,
 * "Portal webhooks").
 *
 * @throws {WebhookError} `signature_missing`, `signature_mismatch`, `key_unknown`, `key_unavailable`
 */
export async function startSecretVerification(
  seen: Seen,
  config: VerifyConfig,
  headers: HeaderBag,
): Promise<Verification> {
  const secret = readHeader(headers, config.secretHeader as string)
  if (secret === undefined || isEmpty(secret)) return startMissing(seen, config)
  return startWithKeys(config.findKeys(seen), async (keys) => {
    const [keyIndex, key] = await requireMatch(keys, (keyring) => findKey(secret, keyring))
    // Hashing with only the matching key reveals nothing, because the sender has proved that it has the key.
    const hmac = key.start()
    return {
      update: hmac.update.bind(hmac),
      async end(body) {
        if (isRegistration(body) && !hasEvents(body, seen.request)) return undefined
        return { proof: await toProof(toDigest(await hmac.digest(body)), keys.tenant, keyIndex), key }
      },
    }
  })
}

function startMissing(
  seen: Seen,
  { acceptUnsigned, findKeys }: VerifyConfig,
): Verification | Promise<Verification> {
  const start = (keys?: FoundKeys): Verification => ({
    update() {},
    async end(body) {
      if (isRegistration(body) && !(keys && hasEvents(body, seen.request))) return undefined
      if (!keys) throw stacklessError('signature_missing')
      return proveUnsigned(body, keys)
    },
  })
  return acceptUnsigned ? startWithKeys(findKeys(seen), start) : start()
}

/** Random bytes, created on the first request, because Cloudflare Workers cannot generate them before it. */
let challenge: Uint8Array | undefined

/**
 * Returns the index of the key that equals the text, or -1. Compares HMACs of random bytes, so the time of a comparison
 * depends neither on the keys nor on how much of one is right, and every key is tried. The lengths are compared too,
 * because different keys can have the same HMAC, for example with and without zero bytes at the end (RFC 2104).
 */
async function findKey(secret: string, keyring: Keyring): Promise<number> {
  challenge ??= crypto.getRandomValues(new Uint8Array(32))
  const given = importKey(headerBytes(secret))
  const digest = toDigest(await given.start().digest(challenge))
  const matches = await Promise.all(
    keyring.map((key) => key.start().matches(challenge as Uint8Array, digest)),
  )
  return keyring.findIndex((key, index) => matches[index] && key.length === given.length)
}

const toDigest = (hex: string): Uint8Array => decodeSignature(hex, 'hex') as Uint8Array

/** Platforms decode headers as Latin-1: one character per byte. Text with other characters was decoded as UTF-8. */
export const headerBytes = (text: string): Uint8Array =>
  /[^\0-\xff]/.test(text) ? utf8(text) : fromBinary(text)

/** The name of a member, in JSON or in a form. */
const REGISTRATION = /(?:"|%22)WebhookRegistry(?:"|%22)[\s+]*(?::|%3[Aa])/

/** The events of a delivery are objects. A registration may list the names of events. */
const EVENTS = /(?:"|%22)events(?:"|%22)[\s+]*(?::|%3[Aa])[\s+]*(?:\[|%5[Bb])[\s+]*(?:\{|%7[Bb])/

/**
 * Returns true for a body that looks like a registration: it has a member `WebhookRegistry`. The body is not parsed,
 * because its sender may be unknown.
 */
const isRegistration = (body: Uint8Array): boolean =>
  body.length <= MAX_REGISTRATION && REGISTRATION.test(toBinary(body))

/**
 * True if the body is a delivery with events, or looks like one that cannot be decoded, whose sender gets the error.
 * Parses the body, so call it only for a sender that may send deliveries.
 */
function hasEvents(body: Uint8Array, { headers }: RequestHead): boolean {
  try {
    return parse(body, readHeader(headers, 'content-type'), DEFAULT_SIGNATURE_HEADER).changeTypes.length > 0
  } catch {
    return EVENTS.test(toBinary(body))
  }
}

/** The keys with which one request is verified. */
interface FoundKeys {
  /** The keys that are valid for the request, newest first, followed by decoys: keys that senders cannot know. */
  keyring: Keyring
  /** Number of valid keys in the keyring. 0 if there is no usable key for the request. */
  count: number
  /** The tenant that the key function returned. */
  tenant?: string | undefined
  /** Set if the key function returned an object without a valid tenant. */
  tenantError?: WebhookErrorOptions | undefined
  /** The reason why the keys from the key function are unusable. */
  keyError?: WebhookErrorOptions | undefined
  /** The random text from which decoys are made; empty without a key function. */
  secret: string
  renew?: KeySource['renew'] | undefined
}

/** Finds the keys of a request, and sets `seen.tenant` for the observer. @throws {WebhookError} `key_unavailable` */
type FindKeys = (seen: Seen) => FoundKeys | Promise<FoundKeys>

/**
 * Returns the function that finds the keys of each request. With a key function every request takes the same time, so
 * that timing does not reveal which tenants exist. Decoys extend each keyring to the largest size so far. Each decoy is
 * as long as the longest key so far at its index, and a string or bytes like the latest one. Every key is imported and
 * checked for each request.
 */
export function createKeyFinder(keys: KeySource | KeyFunction, clock: () => number): FindKeys {
  if (typeof keys !== 'function') {
    const { renew } = keys
    const toFound = (keyring: Keyring) => ({ keyring, count: keyring.length, secret: '', renew })
    return () => {
      const keyring = keys.current(clock)
      return 'then' in keyring ? keyring.then(toFound) : toFound(keyring)
    }
  }
  let secret = ''
  const decoys: SignatureKey[] = []
  return (seen) =>
    // The result of a key function can have getters that throw, so all reads are guarded.
    guard('key_unavailable', async () => {
      const { keys: given, tenant, error: tenantError } = readReturned(await keys(seen.request))
      seen.tenant = tenant
      // Created on the first request, because Cloudflare Workers cannot generate random values before it.
      secret ||= crypto.randomUUID()
      decoys[0] ??= secret
      const list = given ?? decoys
      const listError = findKeyError(list, true)
      const keyError = tenantError ?? listError
      const valid = keyError ? decoys : list
      const keyring: HmacKey[] = []
      for (let index = 0; index < Math.max(valid.length, decoys.length); index++) {
        const key = valid[index] ?? (decoys[index] as SignatureKey)
        decoys[index] = adaptDecoy(decoys[index] ?? secret, key, secret)
        keyring.push(importKey(key))
      }
      const count = given && !keyError ? list.length : 0
      return { keyring, count, tenant, tenantError, keyError, secret }
    })
}

/** Returns a decoy of the type of `key`, and at least as long: strings take longer to import than bytes. */
function adaptDecoy(decoy: SignatureKey, key: SignatureKey, secret: string): SignatureKey {
  if (typeof decoy === typeof key && decoy.length >= key.length) return decoy
  const text = ''.padEnd(Math.max(decoy.length, key.length), secret)
  return typeof key === 'string' ? text : utf8(text)
}
