import { setTimeout } from 'node:timers/promises'
import type { Feature } from 'geohook/changes'
import type { Random } from '../../inbox/crash/random.ts'

export const ORIGIN = 'https://gis.example.com'
export const SERVICE = `${ORIGIN}/server/rest/services/Parcels/FeatureServer`
export const LAYERS = [0, 1]
/** The generation before the first edit. */
const FIRST = 1_000

interface Edit {
  generation: number
  layer: number
  globalId: string
  kind: 'add' | 'update' | 'delete'
  /** The feature afterwards. */
  row?: Feature
}

/**
 * A feature service whose deleted features can return: they are added again with the same global id, and with another
 * object id. With the changes of such a feature, it lists the deletions before its return.
 */
export function createReturningService(random: Random) {
  const edits: Edit[] = []
  let generation = FIRST
  let objectId = 0
  /** Whether each layer has the generation of its own last edit. */
  const hasOwnGenerations = random.next() < 0.5

  const historyOf = (layer: number, globalId: string): Edit[] =>
    edits.filter((edit) => edit.layer === layer && edit.globalId === globalId)
  const stateAt = (layer: number, globalId: string, at: number): Feature | undefined =>
    historyOf(layer, globalId).findLast((edit) => edit.generation <= at)?.row
  const idsOf = (layer: number): string[] => [
    ...new Set(edits.flatMap((edit) => (edit.layer === layer ? edit.globalId : []))),
  ]
  const featuresOf = (layer: number): Map<string, Feature> =>
    new Map(
      idsOf(layer).flatMap((id) => {
        const row = stateAt(layer, id, generation)
        return row ? [[id, row] as const] : []
      }),
    )
  const generationOf = (layer: number): number =>
    hasOwnGenerations ? (edits.findLast((edit) => edit.layer === layer)?.generation ?? FIRST) : generation

  function edit(): void {
    generation++
    const layer = random.between(0, LAYERS.length - 1)
    const living = [...featuresOf(layer).keys()]
    const gone = idsOf(layer).filter((id) => !living.includes(id))
    const chosen = living[random.between(0, living.length - 1)]
    const kind = random.next()
    if (chosen === undefined || kind < 0.4) {
      const returning = random.next() < 0.7 ? gone[random.between(0, gone.length - 1)] : undefined
      const globalId = returning ?? `cf08a8a5-0d5f-4c2b-9a5b-${String(edits.length).padStart(12, 'a')}`
      edits.push({ generation, layer, globalId, kind: 'add', row: rowOf(globalId, ++objectId) })
    } else if (kind < 0.7) {
      const { OBJECTID } = (stateAt(layer, chosen, generation) as Feature).attributes
      edits.push({
        generation,
        layer,
        globalId: chosen,
        kind: 'update',
        row: rowOf(chosen, Number(OBJECTID)),
      })
    } else edits.push({ generation, layer, globalId: chosen, kind: 'delete' })
  }

  const rowOf = (globalId: string, OBJECTID: number): Feature => ({
    attributes: { OBJECTID, GlobalID: globalId, note: generation },
  })

  /** The same id in another spelling. */
  const spell = (globalId: string): string => (random.next() < 0.5 ? globalId : `{${globalId.toUpperCase()}}`)

  function changesOf(layer: number, min: number, max: number): object {
    const changed = edits.filter(
      (one) => one.layer === layer && one.generation > min && one.generation <= max,
    )
    const features = { adds: [] as Feature[], updates: [] as Feature[], deleteIds: [] as string[] }
    for (const globalId of new Set(changed.map((one) => one.globalId))) {
      const own = changed.filter((one) => one.globalId === globalId)
      const row = stateAt(layer, globalId, generation)
      const listed = row ? historyOf(layer, globalId).filter((one) => one.generation <= max) : own
      if (listed.some(({ kind }) => kind === 'delete')) features.deleteIds.push(spell(globalId))
      // Before it returns, a window lists only the deletion.
      if (!row || own.at(-1)?.kind === 'delete') continue
      const spelled = { attributes: { ...row.attributes, GlobalID: spell(globalId) } }
      features[own.some(({ kind }) => kind === 'add') ? 'adds' : 'updates'].push(spelled)
    }
    return { id: layer, features }
  }

  /** Answers the requests of `createChanges`. */
  async function fetch(url: URL, { body }: RequestInit): Promise<Response> {
    const fields = body as URLSearchParams
    await setTimeout(random.between(0, 3))
    const layerServerGens = LAYERS.map((id) => ({ id, serverGen: generationOf(id) }))
    let answer: object = {
      capabilities: 'ChangeTracking',
      changeTrackingInfo: {
        layerServerGens: layerServerGens.map((one) => ({ ...one, minServerGen: FIRST })),
      },
    }
    if (url.pathname.endsWith('/extractChanges')) {
      const [min = 0, max = generation] = JSON.parse(fields.get('serverGens') ?? '[]') as number[]
      const layers = fields.get('layers')?.split(',').map(Number) ?? LAYERS
      answer = { layerServerGens, edits: layers.map((layer) => changesOf(layer, min, max)) }
    }
    await setTimeout(random.between(0, 3))
    return Response.json(answer)
  }

  return {
    edit,
    fetch,
    featuresOf,
    idsOf,
    generationOf,
    historyOf,
    stateAt,
    get generation() {
      return generation
    },
  }
}
