import { configInvalid } from '../errors.ts'
import { type OptionNames, requireKnownOptions } from '../known-options.ts'
import type { SignatureEncoding } from './encoding.ts'
import { DEFAULT_SIGNATURE_HEADER } from './signature-header.ts'

/** Receiver options for one kind of sender. To create your own profile, copy an existing one and change its members. */
export interface Profile {
  readonly name: string
  /** The header (or form field) with the signature; case-insensitive. */
  readonly signatureHeader: string
  readonly encoding?: SignatureEncoding
  /** Set if the sender regularly sends a GET request for the signature of a token (docs/senders.md, "Handshake"). */
  readonly handshake?: {
    /** The query parameter that contains the token. */
    readonly parameter: string
    /** The JSON member of the response that contains the signature: `sha256=` followed by base64. */
    readonly member: string
  }
}

/**
 * The default profile: the service that docs/specification.md describes, with the signature in `x-service` and no
 * handshake.
 */
export const service: Profile = { name: 'service', signatureHeader: DEFAULT_SIGNATURE_HEADER }

/** ArcGIS Enterprise 11.2 and later, and ArcGIS Online with its handshake. */
export const arcgis: Profile = {
  name: 'arcgis',
  signatureHeader: 'x-esriHook-Signature',
  handshake: { parameter: 'crc_token', member: 'response_token' },
}

/** The name of a profile that geohook has. */
export type ProfileName = 'service' | 'arcgis'

const PROFILES: Readonly<Record<ProfileName, Profile>> = { service, arcgis }

const MEMBERS: OptionNames<Profile> = { name: true, signatureHeader: true, encoding: true, handshake: true }
const HANDSHAKE: OptionNames<NonNullable<Profile['handshake']>> = { parameter: true, member: true }

/**
 * Returns the profile with a name, or the given profile, whose handshake is checked. The caller checks the rest.
 *
 * @throws {WebhookError} `config_invalid` for an unknown name, and for an object with an unknown or invalid member
 */
export function readProfile(profile: ProfileName | Partial<Profile> = service): Partial<Profile> {
  if (typeof profile === 'string') {
    if (Object.hasOwn(PROFILES, profile)) return PROFILES[profile]
    throw configInvalid(`unknown profile ${profile}: use ${Object.keys(PROFILES).join(' or ')}, or an object`)
  }
  requireKnownOptions(profile, MEMBERS, 'profile member')
  const { handshake } = profile
  if (handshake === undefined) return profile
  requireKnownOptions(handshake, HANDSHAKE, 'handshake member')
  const { parameter, member } = handshake
  if (typeof parameter !== 'string' || typeof member !== 'string' || !parameter || !member)
    throw configInvalid('profile.handshake needs a parameter and a member, both strings')
  return profile
}
