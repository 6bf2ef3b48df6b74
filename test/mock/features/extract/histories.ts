import fc from 'fast-check'
import { createMockService, type FeatureEdits, type LayerSeed, type MockService } from 'geohook/mock'
import { describe, expect, it } from 'vitest'
import { applyDocument, type Copy, createReader, type Document } from './reader.ts'
import { copyOf } from './support.ts'

/** One edit of a layer. Features and attachments are chosen among those that exist, by a number. */
interface Edit {
  layer: 0 | 1
  kind: 'add' | 'update' | 'move' | 'delete' | 'readd' | 'attach' | 'replace' | 'detach'
  target: number
  value: number
}

/** How a client extracts changes. */
interface Extraction {
  answer: 'job' | 'embedded'
  method: 'GET' | 'POST'
  by: 'serverGens' | 'layerServerGens'
  /** Where the window ends, from 0 (its begin) to 1 (the current generation). Only with `serverGens`. */
  end: number
  /** Number of generations by which the window begins too early. */
  overlap: number
  isLost: boolean
  isRepeated: boolean
}

type Step = { edits: Edit[] } | Extraction

const edit: fc.Arbitrary<Edit> = fc.record({
  layer: fc.constantFrom(0, 1),
  kind: fc.constantFrom('add', 'add', 'update', 'move', 'delete', 'readd', 'attach', 'replace', 'detach'),
  target: fc.nat(20),
  value: fc.nat(1000),
})
const extraction: fc.Arbitrary<Extraction> = fc.record({
  answer: fc.constantFrom('job', 'embedded'),
  method: fc.constantFrom('GET', 'POST'),
  by: fc.constantFrom('serverGens', 'layerServerGens'),
  end: fc.constantFrom(1, 1, 0.5, 0.8),
  overlap: fc.constantFrom(0, 0, 1, 3),
  isLost: fc.boolean(),
  isRepeated: fc.boolean(),
})
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ edits: fc.array(edit, { minLength: 1, maxLength: 4 }) }) },
  { weight: 2, arbitrary: extraction },
)
const history = fc.tuple(fc.array(step, { minLength: 1, maxLength: 12 }), extraction)

const fields = [{ name: 'name', type: 'esriFieldTypeString' }] as const
const LAYERS: LayerSeed[] = [
  { id: 0, name: 'Points', geometryType: 'esriGeometryPoint', fields },
  { id: 1, name: 'Table', fields },
]

/** Runs random histories on one mock after another, and compares the copy of a client with the mock's features. */
export function describeHistories(numRuns: number, timeout: number): void {
  describe('the changes of all windows, applied to an empty copy', () => {
    it(
      `are the features of the mock, in ${numRuns} histories`,
      async () => {
        // fast-check prints the seed and path of a failure; set `seed` in the options to repeat it.
        await fc.assert(
          fc.asyncProperty(history, ([steps, last]) => runHistory(steps, last)),
          { numRuns, verbose: 1 },
        )
      },
      timeout,
    )
  })
}

async function runHistory(steps: readonly Step[], last: Extraction): Promise<void> {
  const service = createMockService({
    services: [{ serviceName: 'Parcels', serviceType: 'FeatureServer', layers: LAYERS }],
    extractChanges: { polls: 1, redirect: steps.length % 2 === 0 },
  })
  try {
    const url = `${await service.listen()}/rest/services/Parcels/FeatureServer`
    const client = await createClient(url)
    const deleted: [Set<string>, Set<string>] = [new Set(), new Set()]
    for (const step of steps) {
      if ('edits' in step) for (const one of step.edits) apply(service, one, deleted)
      else await client.extract(step)
    }
    await client.extract({ ...last, end: 1, isLost: false })
    expect(client.copy).toEqual(copyOf({ service }))
  } finally {
    await service.close()
  }
}

/** Applies an edit. One that finds no target does nothing. */
function apply(service: MockService, edit: Edit, deleted: readonly [Set<string>, Set<string>]): void {
  const layerId = edit.layer
  const edits = toEdits(service, edit, deleted[layerId])
  if (!edits) return
  const isReadd = edit.kind === 'readd'
  const { layers } = service.features('Parcels').applyEdits({ layerId, ...edits }, { useGlobalIds: isReadd })
  const { addResults, updateResults, deleteResults, attachments } = layers[0]!
  for (const { success, error } of [
    ...[addResults, updateResults, deleteResults].flat(),
    ...Object.values(attachments).flat(),
  ])
    expect(success, JSON.stringify(error)).toBe(true)
}

function toEdits(
  service: MockService,
  { layer, kind, target, value }: Edit,
  deleted: Set<string>,
): FeatureEdits | undefined {
  const name = `name ${value}`
  const geometry = layer === 0 ? { geometry: value % 5 === 0 ? null : { x: value, y: -value } } : {}
  const features = service.snapshot().featureData?.[0]?.layers.find(({ id }) => id === layer)?.features ?? []
  const feature = features[target % features.length]
  if (kind === 'add') return { adds: [{ attributes: { name }, ...geometry }] }
  if (kind === 'readd') {
    const GlobalID = [...deleted][target % deleted.size]
    if (GlobalID === undefined) return undefined
    deleted.delete(GlobalID)
    return { adds: [{ attributes: { name, GlobalID }, ...geometry }] }
  }
  if (!feature) return undefined
  const OBJECTID = feature.objectId
  const content = { name: 'a.txt', contentType: 'text/plain', bytes: new TextEncoder().encode(name) }
  const [attachment] = feature.attachments ?? []
  switch (kind) {
    case 'update':
      return { updates: [{ attributes: { OBJECTID, name } }] }
    case 'move':
      return { updates: [{ attributes: { OBJECTID }, ...geometry }] }
    case 'delete':
      deleted.add(feature.globalId)
      return { deletes: [OBJECTID] }
    case 'attach':
      return { attachments: { adds: [{ parent: OBJECTID, ...content }] } }
    case 'replace':
      return attachment && { attachments: { updates: [{ attachment: attachment.globalId, ...content }] } }
    case 'detach':
      return attachment && { attachments: { deletes: [{ attachment: attachment.globalId }] } }
  }
}

/** A client that keeps a copy, and begins each window where the last one that it applied ended. */
async function createClient(url: string) {
  const copy: Copy = new Map()
  const generations = async () => {
    const { changeTrackingInfo } = await (await fetch(`${url}?f=json&returnUpdates=true`)).json()
    return changeTrackingInfo.layerServerGens[0] as { minServerGen: number; serverGen: number }
  }
  const { minServerGen } = await generations()
  let seen = minServerGen

  function request({ answer, method, by, overlap }: Extraction, end: number): Promise<Document> {
    const begin = Math.max(minServerGen, seen - overlap)
    const window: Record<string, string> =
      by === 'serverGens'
        ? { serverGens: JSON.stringify([begin, end]) }
        : { layerServerGens: JSON.stringify(LAYERS.map(({ id }) => ({ id, serverGen: begin }))) }
    const fields = {
      ...window,
      async: String(answer === 'job'),
      returnAttachments: 'true',
      returnAttachmentsDataByUrl: 'false',
    }
    return createReader({ method }).extract(`${url}/extractChanges`, fields)
  }

  return {
    copy,
    async extract(how: Extraction): Promise<void> {
      const { serverGen } = await generations()
      const end = seen + Math.floor((serverGen - seen) * how.end)
      const document = await request(how, end)
      if (how.isLost) return
      applyDocument(copy, document)
      if (how.isRepeated) applyDocument(copy, await request(how, end))
      seen = document.layerServerGens[0]?.serverGen ?? seen
    },
  }
}
