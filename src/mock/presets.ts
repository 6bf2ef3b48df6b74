import { arcgis } from '../signature/profiles.ts'
import type { Dialect } from '../testing/index.ts'
import type { SignerOptions } from '../testing/signer.ts'
import { DEFAULT_SETTINGS, type DeliverySettings, HOSTED_SETTINGS } from './delivery-settings.ts'
import type { ErrorFormat } from './http/errors.ts'
import type { Gathering } from './state/webhooks.ts'

/**
 * A product that a mock service imitates (docs/senders.md, "Three dialects"): the neutral service of
 * docs/specification.md, ArcGIS Enterprise, ArcGIS Online, or the organization webhooks of a portal.
 */
export type Like = 'service' | 'enterprise' | 'online' | 'portal'

/** Defaults of the options that depend on the product. */
interface Preset extends Gathering {
  dialect: Dialect
  errorFormat: ErrorFormat
  httpStatus: 'rest' | 'always200'
  defaultActive: boolean
  minimumWindowSeconds: number
  handshake: boolean
}

/** How the service signs (docs/specification.md, "Signature"). */
export type SignatureOptions = Pick<
  SignerOptions,
  'signatureHeader' | 'encoding' | 'prefix' | 'signatureIn' | 'percentEncoded' | 'formPayload'
>

const SERVICE: Preset = {
  dialect: 'service',
  errorFormat: 'messages',
  httpStatus: 'rest',
  defaultActive: true,
  gather: 'scheduled',
  windowSeconds: 20,
  minimumWindowSeconds: 1,
  handshake: false,
}

/** The vendor's clients lose the messages of other error formats, and of other HTTP statuses. */
const READABLE_ERRORS = { errorFormat: 'error', httpStatus: 'always200' } as const

export const PRESETS: Readonly<Record<Like, Preset>> = {
  service: SERVICE,
  enterprise: { ...SERVICE, ...READABLE_ERRORS, gather: 'always' },
  online: {
    ...SERVICE,
    ...READABLE_ERRORS,
    dialect: 'hosted',
    defaultActive: false,
    gather: 'always',
    windowSeconds: 30,
    minimumWindowSeconds: 30,
    handshake: true,
  },
  portal: { ...SERVICE, ...READABLE_ERRORS, dialect: 'organization', gather: 'never' },
}

/** The header and the encoding that the vendor's published sample receivers verify. */
const ARCGIS_SIGNATURE: SignatureOptions = {
  signatureHeader: arcgis.signatureHeader,
  encoding: 'base64',
  prefix: 'sha256=',
}

/** Hosted services sign forms in their last field, and JSON in a header (docs/senders.md, "Signature"). */
const HOSTED_SIGNATURE: SignatureOptions = {
  ...ARCGIS_SIGNATURE,
  signatureIn: 'field',
  formPayload: 'plain',
}

/** Defaults for signatures. */
export function signatureDefaults(like: Like, dialect: Dialect): SignatureOptions {
  if (dialect === 'hosted') return HOSTED_SIGNATURE
  return like === 'enterprise' ? ARCGIS_SIGNATURE : {}
}

export const settingsDefaults = (dialect: Dialect): DeliverySettings =>
  dialect === 'hosted' ? HOSTED_SETTINGS : DEFAULT_SETTINGS
