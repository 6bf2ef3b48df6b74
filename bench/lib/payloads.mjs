import { createHmac } from 'node:crypto'

export const KEY = 'parcels2026parcels2026parcels202'

/**
 * The payload of a feature service as JSON of exactly `size` bytes. The `changesUrl` is padded to this size.
 *
 * @param {number} size in bytes, at least 256
 */
export function jsonBody(size) {
  const write = (length) =>
    JSON.stringify({
      name: 'bench',
      layerId: 0,
      orgId: '',
      serviceName: 'Parcels',
      serviceType: 'FeatureServer',
      lastUpdatedTime: 1730385704000,
      events: [{ eventType: 'FeaturesCreated', when: 1730385704000 }],
      changesUrl: 'x'.repeat(length),
    })
  return Buffer.from(write(size - write(0).length))
}

/** The same payload in the field `payload` of a form of exactly `size` bytes. */
export function formBody(size) {
  const write = (json) => `payload=${encodeURIComponent(json)}`
  const fixed = write(jsonBody(256)).length - 256
  return Buffer.from(write(jsonBody(Math.max(256, size - fixed)).toString()))
}

/** HMAC-SHA256 of a body under {@link KEY}. @param {'hex' | 'base64'} encoding */
export const signature = (body, encoding = 'hex') => createHmac('sha256', KEY).update(body).digest(encoding)

/** Formats a size: `1 KiB`. */
export function sizeName(bytes) {
  if (bytes < 1024) return `${bytes} B`
  return bytes < 1024 ** 2 ? `${bytes / 1024} KiB` : `${bytes / 1024 ** 2} MiB`
}
