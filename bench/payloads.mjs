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

/** HMAC-SHA256 of a body under {@link KEY}. @param {'hex' | 'base64'} encoding */
export const signature = (body, encoding = 'hex') => createHmac('sha256', KEY).update(body).digest(encoding)

/** Headers with signatures for all servers under test, so that every server reads the same headers. */
export const signedHeaders = (body) => ({
  'content-type': 'application/json',
  'x-service': signature(body),
  'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
  'x-github-event': 'push',
  'x-hub-signature-256': `sha256=${signature(body)}`,
})

/** The bytes of a signed request. */
export function requestBytes(body) {
  const fields = {
    host: '127.0.0.1',
    'user-agent': 'bench',
    ...signedHeaders(body),
    'content-length': body.length,
  }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.concat([Buffer.from(`POST /hook HTTP/1.1\r\n${lines.join('')}\r\n`), body])
}

/** Formats a size: `1 KiB`. */
export function sizeName(bytes) {
  if (bytes < 1024) return `${bytes} B`
  return bytes < 1024 ** 2 ? `${bytes / 1024} KiB` : `${bytes / 1024 ** 2} MiB`
}
