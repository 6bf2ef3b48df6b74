import type { FeatureEdits, LayerSnapshot, MockService } from 'geohook/mock'
import { createRandom } from '../inbox/crash/random.ts'

/** Values by field type; other fields keep theirs. */
const VALUES: Readonly<Record<string, (number: number) => string | number>> = {
  esriFieldTypeString: (number) => `owner's Königstraße ${number}`,
  esriFieldTypeInteger: (number) => number,
  esriFieldTypeDouble: (number) => number / 4,
}

/**
 * Creates random edits of the features of the service `Parcels`: each existing feature gets at most one. The same seed
 * gives the same edits of the same features.
 */
export function randomEdits(
  service: MockService,
  { seed, count }: { seed: number; count: number },
): (FeatureEdits & { layerId: number })[] {
  const { next, between } = createRandom(seed)
  const layers = service.snapshot().featureData?.[0]?.layers ?? []
  const left = new Map(layers.map(({ id, features }) => [id, [...features]]))
  const edits = layers.map(({ id }) => ({
    layerId: id,
    adds: [] as object[],
    updates: [] as object[],
    deletes: [] as number[],
    attachments: { adds: [] as AttachmentRow[], deletes: [] as { parent: number; attachment: number }[] },
  }))
  for (let index = 0; index < count; index++) {
    const chosen = between(0, layers.length - 1)
    const layer = layers[chosen] as LayerSnapshot
    const { adds, updates, deletes, attachments } = edits[chosen] as (typeof edits)[number]
    const features = left.get(layer.id) ?? []
    const [feature] = features.splice(between(0, Math.max(0, features.length - 1)), 1)
    const kind = next()
    if (!feature || kind < 0.3) {
      if (feature) features.push(feature)
      adds.push({
        attributes: valuesOf(layer),
        ...(layer.geometryType && { geometry: createGeometry(layer) }),
      })
      continue
    }
    const { objectId: parent, attachments: [file] = [] } = feature
    if (kind < 0.8) {
      const geometry = layer.geometryType && kind > 0.6 ? { geometry: createGeometry(layer) } : {}
      updates.push({ attributes: { OBJECTID: parent, ...valuesOf(layer) }, ...geometry })
    } else if (kind < 0.9) deletes.push(parent)
    else if (file && next() < 0.5) attachments.deletes.push({ parent, attachment: file.id })
    else
      attachments.adds.push({
        parent,
        name: `note-${between(1, 999)}.txt`,
        contentType: 'text/plain',
        bytes: new Uint8Array(between(1, 200)).fill(between(0, 255)),
      })
  }
  return edits

  function valuesOf({ fields }: LayerSnapshot): Record<string, string | number | null> {
    const own = fields.filter(({ name, type }) => type in VALUES && !SYSTEM_FIELDS.includes(name))
    return Object.fromEntries(
      own.map(({ name, type }) => [name, next() < 0.1 ? null : (VALUES[type]?.(between(1, 9999)) ?? null)]),
    )
  }

  function createGeometry({ geometryType }: LayerSnapshot): object {
    const at = (): [number, number] => [between(-1e6, 1e6) / 1e4, between(-8e5, 8e5) / 1e4]
    const [x, y] = at()
    return geometryType === 'esriGeometryPoint' ? { x, y } : { paths: [[[x, y], at(), at()]] }
  }
}

interface AttachmentRow {
  parent: number
  name: string
  contentType: string
  bytes: Uint8Array
}

const SYSTEM_FIELDS = ['OBJECTID', 'GlobalID', 'CreationDate', 'Creator', 'EditDate', 'Editor']
