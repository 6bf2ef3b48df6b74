import type { MockService } from 'geohook/mock'

/** The rows of the tables of examples/sync. SQLite returns JSON as text. */
export interface MirrorRows {
  features: {
    layer: number
    global_id: string
    object_id: string
    attributes: string | object
    geometry: string | object | null
  }[]
  attachments: {
    layer: number
    global_id: string
    feature: string
    name: string
    content_type: string
    bytes: Uint8Array
  }[]
}

/** Features and attachments by layer and id, in the order of their keys. */
export type Content = Record<string, unknown>

const toKey = (globalId: string): string => globalId.replace(/[{}]/g, '').toLowerCase()
const parse = (value: string | object | null): unknown =>
  typeof value === 'string' ? JSON.parse(value) : value

/** The content of a mirror. */
export const toContent = ({ features, attachments }: MirrorRows): Content =>
  sort([
    ...features.map(({ layer, global_id, object_id, attributes, geometry }): [string, unknown] => [
      `feature ${layer} ${global_id}`,
      { objectId: object_id, attributes: parse(attributes), geometry: parse(geometry) },
    ]),
    ...attachments.map(({ layer, global_id, feature, name, content_type, bytes }): [string, unknown] => [
      `attachment ${layer} ${global_id}`,
      { feature, name, contentType: content_type, data: Buffer.from(bytes).toString('base64') },
    ]),
  ])

/** The content that the mirror of a mock must have. */
export function contentOf(service: MockService): Content {
  const entries: [string, unknown][] = []
  for (const { id, features } of service.snapshot().featureData?.[0]?.layers ?? []) {
    for (const { objectId, globalId, attributes, geometry, attachments = [] } of features) {
      const feature = toKey(globalId)
      entries.push([
        `feature ${id} ${feature}`,
        { objectId: String(objectId), attributes, geometry: geometry ?? null },
      ])
      for (const { globalId, name, contentType, data } of attachments)
        entries.push([`attachment ${id} ${toKey(globalId)}`, { feature, name, contentType, data }])
    }
  }
  return sort(entries)
}

/** Also sorts the members of objects, whose order JSON in PostgreSQL does not keep. */
function sort(entries: [string, unknown][]): Content {
  const sorted = [...entries].sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(sorted.map(([key, value]) => [key, sortMembers(value)]))
}

function sortMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortMembers)
  if (typeof value !== 'object' || value === null) return value
  return sort(Object.entries(value))
}
