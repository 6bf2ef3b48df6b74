import { Option } from 'commander'
import { arcgis, type Profile, service } from '../../index.ts'

/** The profiles that `--profile` can name. */
export const PROFILES: Record<'service' | 'arcgis', Profile> = { service, arcgis }

export type ProfileName = keyof typeof PROFILES

/** Creates `--profile`, for commands that receive or check deliveries. */
export const profileOption = (): Option =>
  new Option('--profile <name>', 'kind of sender: service signs in x-service, arcgis in x-esriHook-Signature')
    .choices(Object.keys(PROFILES))
    .default('service')

/** Creates `--encoding` for commands that write signatures. */
export const writtenEncodingOption = (): Option =>
  new Option('--encoding <name>', 'encoding of the signature').choices(['hex', 'base64']).default('hex')

/** Creates `--encoding` for commands that read signatures. */
export const acceptedEncodingOption = (description: string): Option =>
  new Option('--encoding <name>', description).choices(['auto', 'hex', 'base64']).default('auto')
