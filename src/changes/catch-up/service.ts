import { configInvalid } from '../../errors.ts'
import { ChangesError, showUrl } from '../errors.ts'
import type { ServiceDescription } from '../extract.ts'
import type { Origins } from '../origins.ts'
import type { LayerTracking } from './tracking.ts'

/**
 * Reads the URL of a feature service, and spells it as `parseChangesUrl` does.
 *
 * @throws {WebhookError} `config_invalid`
 */
export function readServiceUrl(text: string, origins: Origins): string {
  let url: URL
  try {
    url = origins.require(text, 'URL of the service')
  } catch (error) {
    const { message, hint } = error as ChangesError
    throw configInvalid(message, hint)
  }
  if (url.search || !/\/FeatureServer\/?$/i.test(url.pathname))
    throw configInvalid(`the URL of the service ${showUrl(url)} must end with /FeatureServer`)
  return url.href.replace(/\/$/, '')
}

/** @throws {WebhookError} `changes_failed` if the service does not track changes */
export function toTracking(service: string, { layerServerGens }: ServiceDescription): LayerTracking[] {
  if (layerServerGens.length === 0)
    throw new ChangesError('changes_failed', {
      message: `${showUrl(service)} does not track changes`,
      hint: 'Enable change tracking: the capabilities of the service must contain ChangeTracking.',
    })
  return layerServerGens.map(({ id, serverGen, minServerGen = Math.min(0, serverGen) }) => ({
    id,
    serverGen,
    minServerGen,
  }))
}
