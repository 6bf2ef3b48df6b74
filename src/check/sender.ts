import { createHmac, randomUUID } from 'node:crypto'
import { DIALECT_OF, type Dialect, PROFILE_OF } from '../shared/senders.ts'
import type { SignatureKey } from '../signature/keyring.ts'
import { arcgis, type ProfileName, portal, service } from '../signature/profiles.ts'
import { createPayload, type PayloadEvents } from '../testing/payloads.ts'
import type { CheckOptions } from './types.ts'

/** How a signature is written. Members that are left out get the usual values of the sender. */
export interface Notation {
  readonly key?: SignatureKey
  readonly algorithm?: string
  readonly encoding?: 'hex' | 'base64'
  readonly prefix?: string
}

/** A new delivery. */
export interface NewDelivery {
  /** Occurs in the name of the webhook, and in no other delivery. */
  readonly id: string
  readonly body: Buffer
}

/** What one kind of sender writes. */
export interface Sender {
  readonly profile: ProfileName
  readonly dialect: Dialect
  readonly key: SignatureKey
  /** The header for the signature or, for senders that do not sign, for the key itself. */
  readonly header: string
  /** False for senders that send the key itself. */
  readonly isSigned: boolean
  readonly encoding: 'hex' | 'base64'
  readonly prefix: string
  /**
   * Creates a delivery that was never sent before.
   *
   * @param options `when` is in milliseconds since 1970; `note` is added to the name of the webhook
   */
  create(options?: { events?: PayloadEvents; when?: number; note?: string }): NewDelivery
  /** Returns the value of the header for a body. */
  credential(body: Uint8Array, notation?: Notation): string
  /** Returns a value that is well-formed, and right for no body. */
  wrongCredential(): string
}

const HEADERS: Readonly<Record<ProfileName, string>> = {
  service: service.signatureHeader,
  arcgis: arcgis.signatureHeader,
  portal: portal.secretHeader,
}

/**
 * True for a signature in base64 with both digits that receivers decode wrongly. All deliveries have such signatures,
 * because otherwise it would depend on chance whether a check finds such a receiver.
 */
const hasSpecialDigits = (signature: string): boolean => signature.includes('+') && signature.includes('/')

/** @param options options that are left out get their values from the profile or the dialect */
export function createSender(options: CheckOptions): Sender {
  const profile = options.profile ?? PROFILE_OF[options.dialect ?? 'service']
  const dialect = options.dialect ?? DIALECT_OF[profile]
  const isSigned = profile !== 'portal'
  const header = options.signatureHeader ?? HEADERS[profile]
  const encoding = options.encoding ?? (profile === 'arcgis' ? 'base64' : 'hex')
  const prefix = options.prefix ?? (profile === 'arcgis' ? 'sha256=' : '')
  const changeType = options.changeType ?? (dialect === 'organization' ? 'update' : 'FeaturesUpdated')
  const key = options.signatureKey

  function create(options: Parameters<Sender['create']>[0] = {}): NewDelivery {
    const { events = changeType, when, note } = options
    const id = randomUUID()
    const name = `geohook check ${id}${note === undefined ? '' : ` ${note}`}`
    const payload = createPayload(events, { dialect, name, id, when })
    const body = Buffer.from(JSON.stringify(payload))
    const isTelling = !isSigned || hasSpecialDigits(credential(body, { encoding: 'base64', prefix: '' }))
    return isTelling ? { id, body } : create(options)
  }

  function credential(body: Uint8Array, notation: Notation = {}): string {
    const { key: signingKey = key, algorithm = 'sha256' } = notation
    if (!isSigned) return Buffer.from(signingKey as Uint8Array).toString('latin1')
    const digest = createHmac(algorithm, signingKey)
      .update(body)
      .digest(notation.encoding ?? encoding)
    return (notation.prefix ?? prefix) + digest
  }

  const wrongCredential = (): string => credential(Buffer.from(randomUUID()), { key: 'another key' })

  return { profile, dialect, key, header, isSigned, encoding, prefix, create, credential, wrongCredential }
}
