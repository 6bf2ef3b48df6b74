import { configInvalid } from '../errors.ts'
import { checkOptions, type OptionNames, requireKnownOptions } from '../options.ts'
import { isEncoding, requireHeaderName, type SignatureEncoding } from './signature.ts'

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
 * Receiver options for senders that prove who they are with the key itself, in a header of each request.
 *
 * **They do not sign the body.** Anyone who sees one request, such as a proxy that logs headers, knows the key and can
 * send any body. Use HTTPS, and a key that nothing else uses.
 */
export interface SecretProfile {
  readonly name: string
  /** The header with the key; case-insensitive. Its value is `***` for handlers, observers, inboxes and key functions. */
  readonly secretHeader: string
}

/** The default signature header, also the name of the form field (docs/specification.md, "Signature"). */
export const DEFAULT_SIGNATURE_HEADER = 'x-service'

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

/**
 * Organization webhooks of an ArcGIS portal, which send the key itself in the header `secret`. **The body is not
 * signed**: see {@link SecretProfile}.
 */
export const portal: SecretProfile = { name: 'portal', secretHeader: 'secret' }

/** The name of a profile that geohook has. */
export type ProfileName = 'service' | 'arcgis' | 'portal'

/** The members of both kinds of profiles. */
export type ProfileMembers = Partial<Profile & SecretProfile>

const PROFILES: Readonly<Record<ProfileName, Profile | SecretProfile>> = { service, arcgis, portal }

const MEMBERS: OptionNames<Profile & SecretProfile> = {
  name: true,
  signatureHeader: true,
  encoding: isEncoding,
  handshake: true,
  secretHeader: true,
}
const HANDSHAKE: OptionNames<NonNullable<Profile['handshake']>> = { parameter: true, member: true }

/** Headers that describe the body. The receiver needs their values, so it could not redact them. */
const BODY_HEADER = /^(content-|transfer-encoding$)/i

/**
 * Returns the profile with a name, or the given profile after checking its encoding, handshake and
 * `secretHeader`. The caller checks the rest.
 *
 * @throws {WebhookError} `config_invalid` for an unknown name, and for an object with an unknown or invalid member
 */
export function readProfile(profile: ProfileName | ProfileMembers = service): ProfileMembers {
  if (typeof profile === 'string') {
    if (Object.hasOwn(PROFILES, profile)) return PROFILES[profile]
    throw configInvalid(`unknown profile ${profile}: use ${Object.keys(PROFILES).join(', ')} or an object`)
  }
  checkOptions(profile, MEMBERS, 'profile member')
  requireSecretHeader(profile)
  const { handshake } = profile
  if (handshake === undefined) return profile
  requireKnownOptions(handshake, HANDSHAKE, 'handshake member')
  const { parameter, member } = handshake
  if (typeof parameter !== 'string' || typeof member !== 'string' || !parameter || !member)
    throw configInvalid('profile.handshake needs a parameter and a member, both strings')
  return profile
}

function requireSecretHeader(profile: ProfileMembers): void {
  const { secretHeader } = profile
  if (secretHeader === undefined) return
  requireHeaderName(secretHeader, 'profile.secretHeader')
  if (BODY_HEADER.test(secretHeader)) throw configInvalid('profile.secretHeader describes the body')
  requireUnsigned(profile, 'profile.')
}

/**
 * Checks that nothing says how a body is signed, where a profile with `secretHeader` says that it is not signed.
 *
 * @throws {WebhookError} `config_invalid`
 */
export function requireUnsigned(options: Partial<Record<string, unknown>>, where = ''): void {
  for (const name of ['signatureHeader', 'encoding', 'handshake'])
    if (options[name] !== undefined)
      throw configInvalid(
        `${where}${name} contradicts the profile's secretHeader: such senders do not sign`,
        `Leave out ${name}, or use a profile for senders that sign.`,
      )
}
